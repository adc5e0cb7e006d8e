# SPDX-License-Identifier: Apache-2.0
"""Backups own their targets: nothing is written into, or deleted from, what is another one's.

The database's statement is played by a function that writes what it writes.
"""

import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.owners import (
    PLAYBOOK,
    Owner,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program import (
    attempts,
    backing_up,
    identities,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.errors import (
    TaskFailed,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    Login,
    Reason,
    Task,
    Verb,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.errors import (
    Forbidden,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.folder import (
    FolderStore,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.interface import (
    ObjectStore as Store,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.s3 import (
    S3Store,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.locations import (
    FolderLocation,
    Location,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership import (
    marks,
    taking,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership.marks import Mark

from testbed.object_store import ObjectStore

from . import written
from .pods import Pods, bucket, keys_of

FILES = {"a_00000": b"a" * 3000, "ckp/meta_0": b"checkpoint"}
NOBODY = Login("127.0.0.1", 1)


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.rpc)])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Location]:
    if request.param == "folder":
        yield FolderLocation(str(tmp_path / "v"), str(tmp_path / "v"))
        return
    server: ObjectStore = request.getfixturevalue("server")
    yield bucket(server, f"backups/{tmp_path.name}")


@pytest.fixture
def pods(request: pytest.FixtureRequest, root: Location, tmp_path: Path) -> Pods:
    keys = {} if isinstance(root, FolderLocation) else keys_of(request.getfixturevalue("server"))
    return Pods(tmp_path / "pods", keys, {"username": "dump", "password": "a-word"})


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the statement write its files, and nothing wait."""
    monkeypatch.setattr(backing_up, "version", lambda _entrance: "8.0.30-MatrixOne-v1.3.0")
    monkeypatch.setattr(
        backing_up,
        "run",
        lambda _entrance, _text, store, *_: written.statement(store, FILES),
    )
    monkeypatch.setattr(backing_up, "_CLEANING_PAUSE", 0.01)
    monkeypatch.setattr(backing_up, "SETTLED", 0.01)


def opened(pods: Pods, place: Location) -> Store:
    store: Any = pods.store(place)  # type: ignore[arg-type]
    return store  # type: ignore[no-any-return]


def make(place: Location, name: str = "u1", **more: Any) -> Task:
    owner = Owner("BackupJob", "prod", name)
    return Task(Verb.BACKUP, name, login=NOBODY, target=place, owner=owner, **more)


def delete(place: Location, name: str = "u1") -> Task:
    owner = Owner("Backup", "", name)
    return Task(Verb.DELETE, f"d-{name}", target=place, expected_id=name, owner=owner)


def keys(pods: Pods, place: Location) -> set[str]:
    return {one.key for one in opened(pods, place).entries()}


def test_a_backup_is_marked_and_deleted_whole(root: Location, pods: Pods) -> None:
    place = root.below("mo")
    ended = pods.attempt(make(place))
    assert (ended.code, ended.result.message) == (0, ""), ended
    mark = marks.read(opened(pods, place), "matrixone-owner.json")
    assert mark
    assert (mark.id, str(mark.owner)) == ("u1", "BackupJob prod/u1")
    again = pods.attempt(make(place))
    assert (again.code, again.result.manifest) == (0, ended.result.manifest)
    assert pods.attempt(delete(place)).code == 0
    assert keys(pods, root) == set()


def test_no_target_inside_or_around_another_backup(root: Location, pods: Pods) -> None:
    place = root.below("mo")
    assert pods.attempt(make(place)).code == 0
    for target in (place.below("prod/nightly/1"), place.below("tae"), root, place):
        ended = pods.attempt(make(target, "u2"))
        assert (ended.code, ended.result.reason) == (2, Reason.TARGET_NOT_EMPTY), ended
    before = keys(pods, root)
    assert pods.attempt(make(root.below("mo-2"), "u2")).code == 0
    assert keys(pods, place) == {key.removeprefix("mo/") for key in before}


def test_what_earlier_releases_have_put_into_one_another(root: Location, pods: Pods) -> None:
    """Nothing is marked. The inner one is deleted by its record, the outer one only after it."""
    outer, inner = root.below("mo"), root.below("mo/prod-nightly/1")
    for place, name in ((outer, "u1"), (inner, "u2")):
        written.backup(opened(pods, place), name, FILES)
    whole = keys(pods, inner)
    refused = pods.attempt(delete(outer))
    assert (refused.code, refused.result.reason) == (2, Reason.TARGET_NOT_EMPTY), refused
    assert "prod-nightly/1/matrixone-backup.json" in refused.result.message
    assert keys(pods, inner) == whole
    assert pods.attempt(delete(inner, "u2")).code == 0
    assert keys(pods, inner) == set()
    assert opened(pods, outer).size("matrixone-backup.json")
    assert pods.attempt(delete(outer)).code == 0
    assert keys(pods, root) == set()


def test_unknown_files_stay_and_are_named(root: Location, pods: Pods) -> None:
    store = opened(pods, root.below("mo"))
    written.backup(store, "u1", FILES)
    for key in ("notes.txt", "photos/1"):
        store.write(key, [b"x"], 1)
    ended = pods.attempt(delete(root.below("mo")))
    assert ended.code == 0
    assert "stay in" in ended.result.message
    assert "notes.txt, photos/1" in ended.result.message
    assert keys(pods, root) == {"mo/notes.txt", "mo/photos/1"}


class Killed(BaseException):
    """The Pod is gone."""


def killing(monkeypatch: pytest.MonkeyPatch, after: int) -> Callable[[], int]:
    """Let the process end before its write of that number; return how many there were."""
    count = 0

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            if count == after:
                raise Killed
            count += 1
            return method(*args, **kwargs)

        return call

    for kind in (FolderStore, S3Store):
        for name in ("write", "create", "erase"):
            monkeypatch.setattr(kind, name, counted(getattr(kind, name)))
    return lambda: count


def _sample() -> Iterator[int]:
    """Yield some of the writes: a server takes a second for what a folder does at once."""
    first = random.randrange(4)  # noqa: S311
    print(f"every fourth write from {first}")  # noqa: T201
    yield from range(first, 60, 4)


@pytest.mark.parametrize("verb", [Verb.BACKUP, Verb.DELETE])
@pytest.mark.parametrize("marked", [True, False], ids=["marked", "of an earlier release"])
def test_killed_before_each_write(root: Location, pods: Pods, verb: Verb, marked: bool) -> None:
    """The next attempt finishes, others keep everything, and nobody else gets in before."""
    if verb is Verb.BACKUP and not marked:
        pytest.skip("every new backup is marked")
    near = root.below("near")
    written.backup(opened(pods, near), "n", FILES)
    beside = keys(pods, near)
    for after in range(60) if isinstance(root, FolderLocation) else _sample():
        place = root.below(f"mo{after}")
        task = make(place)
        if verb is Verb.DELETE:
            if marked:
                assert pods.attempt(task).code == 0
            else:
                written.backup(opened(pods, place), "u1", FILES)
            task = delete(place)
        with pytest.MonkeyPatch.context() as patch:
            killing(patch, after)
            try:
                pods.attempt(task)
                assert after > 5
                break
            except Killed:
                pass
        left = keys(pods, place)
        if verb is Verb.DELETE or "matrixone-owner.json" in left:
            other = pods.attempt(make(place, "u2")) if left else None
            assert other is None or other.result.reason is Reason.TARGET_NOT_EMPTY
        ended = pods.attempt(task)
        assert ended.code == 0, (after, ended)
        if verb is Verb.DELETE:
            assert keys(pods, place) == set(), after
        else:
            check = Task(Verb.VERIFY, "v", source=place, expected_id="u1")
            assert pods.attempt(replace(check, source=place)).code == 0
        assert keys(pods, near) == beside
    else:
        pytest.fail("it never ended")


def test_what_cannot_be_deleted_is_no_failure_of_a_backup(
    root: Location, pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials without the right to delete, and buckets with object lock."""

    def refuse(*_: object) -> None:
        raise Forbidden("403")

    for kind in (FolderStore, S3Store):
        monkeypatch.setattr(kind, "erase", refuse)
    ended = pods.attempt(make(root.below("mo")))
    assert (ended.code, ended.result.manifest is not None) == (0, True), ended


@pytest.mark.parametrize(
    ("reason", "attempt", "left"),
    [
        (Reason.OUT_OF_SPACE, 1, set()),
        (Reason.OBJECT_CORRUPT, 1, set()),
        (Reason.UNREACHABLE, 1, {"matrixone-owner.json", "mo_meta"}),
        (Reason.UNREACHABLE, 2, set()),
        (Reason.STATEMENT_FAILED, 2, {"matrixone-owner.json", "matrixone-owner.0002.json"}),
        (Reason.DEADLINE_EXCEEDED, 1, {"matrixone-owner.json", "mo_meta"}),
    ],
)
def test_what_a_failed_backup_leaves(
    root: Location, pods: Pods, monkeypatch: pytest.MonkeyPatch, reason: Reason, attempt: int,
    left: set[str],
) -> None:  # fmt: skip
    def fail(_entrance: object, _text: object, store: Store, *_: object) -> None:
        store.write("mo_meta", [b"x"], 1)
        raise TaskFailed(reason, "it failed")

    monkeypatch.setattr(backing_up, "run", fail)
    task = make(root.below("mo"), attempts=2)
    for _ in range(attempt):
        ended = pods.attempt(task)
    assert ended.result.reason is reason
    assert keys(pods, root) == {f"mo/{key}" for key in left}
    assert ended.result.message.endswith(tasks.REMOVED) is (not left)


def test_a_backup_made_again_at_an_address_is_another_one(root: Location, pods: Pods) -> None:
    place, uid = root.below("mo"), "address-1"
    ids = []
    for _ in range(2):
        name = identities.id_at(opened(pods, place), uid)
        owner = Owner(PLAYBOOK, name="host", uid=uid)
        task = Task(Verb.BACKUP, name, login=NOBODY, target=place, owner=owner)
        assert pods.attempt(task).code == 0
        assert identities.id_at(opened(pods, place), uid) == name, "the same play changes nothing"
        ids.append(name)
        assert pods.attempt(Task(Verb.DELETE, "d", target=place, owner=owner)).code == 0
    assert len(set(ids)) == 2
    written.backup(opened(pods, place), uid, FILES)
    assert identities.id_at(opened(pods, place), uid) == uid, "one of an earlier release"


def test_two_plays_at_once(root: Location, pods: Pods) -> None:
    store = opened(pods, root.below("mo"))
    owner = Owner(PLAYBOOK, name="host", uid="address-1")
    task = Task(Verb.BACKUP, "b1", login=NOBODY, target=root.below("mo"), owner=owner)
    progress: Any = type("Clock", (), {"sleep": staticmethod(lambda _seconds: None)})()
    with attempts.attempt(store, attempts.mark_of(task), progress):
        ended = pods.attempt(task)
        assert (ended.code, ended.result.reason) == (2, Reason.TARGET_NOT_EMPTY)
        assert "is being written by Playbook host" in ended.result.message
    assert pods.attempt(task).code == 0, "that one has ended"


def test_a_play_on_another_machine_may_still_run(root: Location, pods: Pods) -> None:
    store = opened(pods, root.below("mo"))
    owner = Owner(PLAYBOOK, name="far", uid="address-1")
    taking.take(store, Mark(owner, "b1", process="another/4026531840"), lambda _seconds: None)
    task = Task(Verb.BACKUP, "b1", login=NOBODY, target=root.below("mo"), owner=owner)
    ended = pods.attempt(task)
    assert (ended.code, ended.result.reason) == (2, Reason.TARGET_NOT_EMPTY)
    assert "state: absent" in ended.result.message
    assert pods.attempt(Task(Verb.DELETE, "d", target=root.below("mo"), owner=owner)).code == 0
    assert keys(pods, root) == set()


def test_a_folder_whose_volume_is_missing_is_no_success(tmp_path: Path) -> None:
    pods = Pods(tmp_path / "pods", {}, {})
    place = FolderLocation("/backups-nowhere/mo/1", "/backups-nowhere/mo/1")
    for target in (place, FolderLocation(str(tmp_path / "a/b"), str(tmp_path / "a/b"))):
        ended = pods.attempt(delete(target))
        assert (ended.code, ended.result.reason) == (2, Reason.TARGET_MISSING), ended
    shared = FolderLocation("/dev/shm", "/dev/shm").below("never")
    assert pods.attempt(delete(shared)).code == 0, "a volume, and the folder is gone"


@pytest.mark.rpc
def test_requests_that_delete_have_the_older_checksum(
    server: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And this server knows conditional writes."""
    pods = Pods(tmp_path / "pods", keys_of(server))
    store = opened(pods, bucket(server, f"backups/{tmp_path.name}"))
    sent: list[dict[str, str]] = []
    connection = store._connection  # type: ignore[attr-defined]
    client = connection._of(connection._clients, 1)
    client.meta.events.register(
        "before-send.s3.DeleteObjects", lambda request, **_: sent.append(dict(request.headers))
    )
    hold = taking.take(store, Mark(Owner("BackupJob", "p", "n", "u"), "u"), lambda _seconds: None)
    assert hold.conditional
    [headers] = sent
    names = {name.lower() for name in headers}
    assert "content-md5" in names
    assert not any(name.startswith("x-amz-checksum") for name in names)
    assert store.create("matrixone-owner.json", json.dumps({}).encode()) is False


@pytest.mark.parametrize("owners", [("u1", "u2"), ("u1", "u1")], ids=["two owners", "one owner"])
def test_two_attempts_at_once(root: Location, pods: Pods, owners: tuple[str, str]) -> None:
    """In threads, on the real store: one backup is there, and it is whole."""
    for number in range(5):
        place = root.below(f"mo{number}")
        with ThreadPoolExecutor(2) as pool:
            made = [make(place, name) for name in owners]
            ended = list(pool.map(pods.attempt, made))
        if owners[0] == owners[1] and all(one.code for one in ended):
            ended = [pods.attempt(make(place, owners[0]))]  # as the Job does
        whole = [name for name, one in zip(owners, ended, strict=False) if one.code == 0]
        assert whole, ended
        if owners[0] != owners[1]:
            assert len(whole) == 1, ended
        check = pods.attempt(Task(Verb.VERIFY, "v", source=place, expected_id=whole[0]))
        assert check.code == 0, check


def test_an_interrupted_reclaim_leaves_no_mark(tmp_path: Path) -> None:
    """Another database may get the path when the claim is released."""
    pods = Pods(tmp_path / "pods", {}, {})
    place = FolderLocation(str(tmp_path / "data"), str(tmp_path / "data"))
    store = FolderStore(place.path)
    for number in range(3):
        store.write(f"data/{number}", [b"x"], 1)
    owner = Owner("BucketClaim", "prod", "c")
    task = Task(Verb.RECLAIM, "claim-1", target=place, owner=owner)
    with pytest.MonkeyPatch.context() as patch:
        erase = FolderStore.erase

        def interrupted(self: FolderStore, items: Any) -> None:
            if any(item.key.startswith("data/") for item in items):
                raise TaskFailed(Reason.INTERRUPTED, "the Pod was told to end")
            erase(self, items)

        patch.setattr(FolderStore, "erase", interrupted)
        assert pods.attempt(task).result.reason is Reason.INTERRUPTED
    assert {one.key for one in store.entries()} == {"data/0", "data/1", "data/2"}
    assert pods.attempt(replace(task, id="claim-2")).code == 0
    assert list(store.entries()) == []
