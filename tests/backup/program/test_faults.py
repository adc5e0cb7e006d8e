# SPDX-License-Identifier: Apache-2.0
"""What the program says and leaves when something is wrong, on a real server and in folders."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.manifest import Base
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program import (
    blocks,
    listing,
    statements,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.contents import (
    Contents,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.errors import (
    TaskFailed,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.stores import (
    Mounts,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    BaseBackup,
    Login,
    Reason,
    Task,
    Verb,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.interface import (
    ObjectStore as Store,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.locations import (
    FolderLocation,
    Location,
    S3Location,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership import marks

from testbed import object_store
from testbed.object_store import ObjectStore
from tests.support.waiting import eventually

from . import written
from .pods import Pods, bucket, keys_of

pytestmark = pytest.mark.rpc
OLD = {"old_00000": b"o" * 5000}
FILES = {"a_00000": b"a" * 3000, "b_00000": os.urandom(70_000), "ckp/meta_0": b"checkpoint"}
NOBODY = Login("127.0.0.1", 1)


@pytest.fixture
def pods(server: ObjectStore, tmp_path: Path) -> Pods:
    return Pods(tmp_path / "pods", keys_of(server), {"username": "dump", "password": "a-word"})


@pytest.fixture(params=["bucket", "folder"])
def root(request: pytest.FixtureRequest, server: ObjectStore, tmp_path: Path) -> Location:
    """Where this test's backups are: of a name that no other test uses."""
    if request.param == "folder":
        return FolderLocation(str(tmp_path / "v"), str(tmp_path / "v"))
    return bucket(server, f"backups/{tmp_path.name}")


@pytest.fixture
def mounts(server: ObjectStore, tmp_path: Path) -> Mounts:
    folder = tmp_path / "secrets"
    (folder / "target").mkdir(parents=True)
    for key, value in keys_of(server).items():
        (folder / "target" / key).write_text(value)
    return Mounts(folder)


@pytest.fixture
def chain(root: Location, mounts: Mounts) -> tuple[Location, Location]:
    """A full backup and one that continues it."""
    full, more = root.below("1"), root.below("2")
    written.backup(mounts.open(full), "b1", OLD)
    base = Base(full.address, "b1")
    written.backup(mounts.open(more), "b2", FILES, older=OLD, base=base)
    return full, more


def verify(source: Location, expected: str | None = None) -> Task:
    return Task(Verb.VERIFY, "v", source=source, expected_id=expected)


def restored(store: Store, in_bucket: bool) -> dict[str, bytes]:
    """Return the content of a cluster's storage, without the program's own marks."""
    folder = "data/" if in_bucket else ""
    contents = Contents(store)
    keys = [entry.key for entry in store.entries() if not marks.is_mark(entry.key)]
    plain = {}
    for key in keys:
        stored = b"".join(store.read(key))
        plain[key.removeprefix(folder)] = blocks.decode(stored) if contents.in_blocks else stored
    return plain


EXPECTED: Mapping[str, bytes] = {**OLD, **FILES, "hk_data": written.HAKEEPER}


@pytest.mark.parametrize("to_bucket", [True, False], ids=["to-bucket", "to-folder"])
def test_a_chain_is_restored_byte_for_byte_and_once(
    chain: tuple[Location, Location],
    server: ObjectStore,
    pods: Pods,
    mounts: Mounts,
    tmp_path: Path,
    to_bucket: bool,
) -> None:
    folder = str(tmp_path / "new")
    target = (
        bucket(server, f"data/{tmp_path.name}") if to_bucket else FolderLocation(folder, folder)
    )
    task = Task(Verb.RESTORE, "r1", source=chain[1], target=target, expected_id="b2")
    assert pods.run(task).code == 0
    store = mounts.open(target)
    assert restored(store, to_bucket) == EXPECTED
    written.erase(store, "data/a_00000", "a_00000")
    assert pods.attempt(task).code == 0
    assert "a_00000" not in restored(store, to_bucket), "a running cluster must not be touched"
    other = pods.run(replace(task, id="r2"))
    assert (other.code, other.result.reason) == (2, Reason.TARGET_NOT_EMPTY)


@pytest.mark.parametrize(
    ("key", "content", "reason"),
    [
        ("tae/b_00000", os.urandom(70_000), Reason.OBJECT_CORRUPT),
        ("tae/b_00000", b"short", Reason.OBJECT_CORRUPT),
        ("tae/b_00000", None, Reason.OBJECT_MISSING),
        ("tae/ckp/meta_0", b"checkpoinT", Reason.OBJECT_CORRUPT),
        ("tae/tae_list", b"a_00000,3000,,true,1-0\n", Reason.OBJECT_CORRUPT),
        ("tae/tae_list", None, Reason.OBJECT_MISSING),
        ("hakeeper/hk_data", b"other", Reason.OBJECT_CORRUPT),
        ("hakeeper/hk_data", None, Reason.OBJECT_MISSING),
        ("matrixone-backup.json", None, Reason.OBJECT_MISSING),
        ("matrixone-backup.json", b"{}", Reason.OBJECT_CORRUPT),
    ],
)  # fmt: skip
def test_damage_is_found_when_verified_and_when_restored(
    chain: tuple[Location, Location],
    pods: Pods,
    mounts: Mounts,
    tmp_path: Path,
    key: str,
    content: bytes | None,
    reason: Reason,
) -> None:
    store = mounts.open(chain[1])
    written.erase(store, key)
    if content is not None:
        written.put(store, key, content)
    target = str(tmp_path / "new")
    place = FolderLocation(target, target)
    for task in (verify(chain[1]), Task(Verb.RESTORE, "r", source=chain[1], target=place)):
        ended = pods.attempt(task)
        assert (ended.code, ended.result.reason) == (2, reason), ended
        assert key.removeprefix("tae/") in ended.result.message
    assert key.removeprefix("tae/") not in restored(mounts.open(place), in_bucket=False)


def test_one_bit_of_a_folder_is_found_without_a_checksum_in_the_list(
    pods: Pods, mounts: Mounts, tmp_path: Path
) -> None:
    place = FolderLocation(str(tmp_path / "v"), str(tmp_path / "v"))
    written.backup(mounts.open(place), "b", FILES)
    (tmp_path / "v" / "matrixone-backup.sha256").write_text("")
    path = tmp_path / "v" / "tae" / "ckp" / "meta_0"
    stored = bytearray(path.read_bytes())
    stored[-1] ^= 1
    path.write_bytes(stored)
    ended = pods.attempt(verify(place))
    assert (ended.code, ended.result.reason) == (2, Reason.OBJECT_CORRUPT), ended


def test_a_chain_without_its_base_or_with_another(
    chain: tuple[Location, Location], pods: Pods, mounts: Mounts
) -> None:
    full, more = chain
    continued = Task(
        Verb.BACKUP, "b3", type="incremental", base=BaseBackup(full, "other"),
        login=NOBODY, target=full.at(f"{more.address}x"),
    )  # fmt: skip
    ended = pods.attempt(continued)
    assert (ended.code, ended.result.reason) == (2, Reason.BASE_MISSING), ended
    written.erase(mounts.open(full), "tae/old_00000")
    assert pods.attempt(verify(more)).result.reason == Reason.CHAIN_BROKEN
    written.erase(mounts.open(full))
    ended = pods.attempt(verify(more))
    assert (ended.code, ended.result.reason) == (2, Reason.CHAIN_BROKEN), ended
    assert pods.attempt(verify(more, "b9")).result.reason == Reason.OBJECT_CORRUPT


def test_a_chain_that_was_moved_together(
    chain: tuple[Location, Location], root: Location, pods: Pods, mounts: Mounts
) -> None:
    moved = root.below("moved")
    for place, name in zip(chain, ("1", "2"), strict=True):
        old, new = mounts.open(place), mounts.open(moved.below(name))
        for entry in list(old.entries()):
            new.write(entry.key, old.read(entry.key), entry.size)
        written.erase(old)
    assert pods.attempt(verify(moved.below("2"), "b2")).code == 0
    found = list(listing.backups(mounts.open(moved)))
    assert [(path, one.id) for path, one in found] == [("1", "b1"), ("2", "b2")]


def test_places_that_are_taken_or_the_clusters_own(
    chain: tuple[Location, Location], root: Location, pods: Pods, mounts: Mounts
) -> None:
    full, more = chain
    for target in (more, more.below("inside"), root):
        ended = pods.attempt(Task(Verb.RESTORE, "r", source=more, target=target))
        assert (ended.code, ended.result.reason) == (2, Reason.TARGET_IS_SOURCE), ended
    task = Task(Verb.BACKUP, "n", login=NOBODY, target=full)
    for own in (full, root, full.below("data")):
        ended = pods.attempt(replace(task, forbidden=(own,)))
        assert (ended.code, ended.result.reason) == (2, Reason.TARGET_IS_SOURCE), ended
    ended = pods.attempt(replace(task, target=root.below("new")))
    assert (ended.code, ended.result.reason) == (1, Reason.UNREACHABLE), ended
    assert list(mounts.open(root.below("new")).entries()) == []


def test_deleting_takes_one_backup_alone(
    chain: tuple[Location, Location], root: Location, pods: Pods, mounts: Mounts
) -> None:
    full, more = chain
    near = mounts.open(root.below("10"))
    near.write("kept", [b"x"], 1)
    wrong = pods.attempt(Task(Verb.DELETE, "d", target=full, expected_id="b2"))
    assert (wrong.code, wrong.result.reason) == (2, Reason.TARGET_NOT_EMPTY)
    foreign = pods.attempt(Task(Verb.DELETE, "d", target=root.below("10"), expected_id="b1"))
    assert (foreign.code, foreign.result.reason) == (2, Reason.TARGET_NOT_EMPTY)
    needed = pods.attempt(Task(Verb.DELETE, "d", target=full, expected_id="b1"))
    assert (needed.code, needed.result.reason) == (2, Reason.CHAIN_BROKEN)
    assert mounts.open(full).size("matrixone-backup.json")
    for _ in range(2):
        assert pods.attempt(Task(Verb.DELETE, "d", target=more, expected_id="b2")).code == 0
    assert list(mounts.open(more).entries()) == []
    assert [entry.key for entry in near.entries()] == ["kept"]
    assert mounts.open(full).size("matrixone-backup.json")
    assert pods.attempt(Task(Verb.DELETE, "d", target=full, expected_id="b1")).code == 0
    assert list(mounts.open(full).entries()) == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_restore_that_is_killed_goes_on(
    root: Location, server: ObjectStore, pods: Pods, mounts: Mounts, tmp_path: Path, how: int
) -> None:
    files = {f"f{number}_00000": os.urandom(40_000) for number in range(600)}
    written.backup(mounts.open(root), "b", files)
    target = bucket(server, f"data/{tmp_path.name}")
    task = Task(Verb.RESTORE, "r", source=root, target=target, parallelism=1)
    store = mounts.open(target)
    program = pods.start(task)
    eventually(lambda: len(list(store.entries())) > 5, seconds=60)
    program.send_signal(how)
    if how == signal.SIGTERM:
        ended = pods.end(program)
        assert (ended.code, ended.result.reason) == (1, Reason.INTERRUPTED), ended
    else:
        program.communicate(timeout=30)
    assert len(list(store.entries())) < len(files)
    other = pods.attempt(replace(task, id="another"))
    assert (other.code, other.result.reason) == (2, Reason.TARGET_NOT_EMPTY)
    again = pods.attempt(replace(task, parallelism=8))
    assert again.code == 0, again
    assert restored(store, in_bucket=True) == {**files, "hk_data": written.HAKEEPER}


def test_a_bucket_that_is_missing_closed_or_out_of_reach(
    server: ObjectStore, pods: Pods, tmp_path: Path
) -> None:
    place = bucket(server, "backups/x/1")
    cases: list[tuple[S3Location, Pods, int, Reason]] = [
        (replace(place, bucket="nothing"), pods, 2, Reason.TARGET_MISSING),
        (place, Pods(tmp_path / "a", {**pods.keys, "AWS_SECRET_ACCESS_KEY": "wrong-one"}), 2,
         Reason.ACCESS_DENIED),
        (place, Pods(tmp_path / "b", {**pods.keys, "AWS_ACCESS_KEY_ID": "nobody-knows"}), 2,
         Reason.ACCESS_DENIED),
        (place, Pods(tmp_path / "c", {}), 2, Reason.ACCESS_DENIED),
        (replace(place, endpoint="http://127.0.0.1:1"), pods, 1, Reason.UNREACHABLE),
        (replace(place, prefix=""), pods, 2, Reason.INVALID_TASK),
    ]  # fmt: skip
    for target, with_keys, code, reason in cases:
        ended = with_keys.attempt(Task(Verb.BACKUP, "b", login=NOBODY, target=target))
        assert (ended.code, ended.result.reason) == (code, reason), ended


def test_keys_that_the_statement_cannot_use(
    server: ObjectStore, pods: Pods, mounts: Mounts
) -> None:
    (mounts.folder / "target" / "AWS_SESSION_TOKEN").write_text("t")
    task = Task(Verb.BACKUP, "b", login=NOBODY, target=bucket(server, "backups/x"))
    with pytest.raises(TaskFailed, match="AWS_SESSION_TOKEN"):
        statements.statement(task, mounts, [])


@pytest.fixture
def small_volume(tmp_path: Path) -> Iterator[Path]:
    volume = tmp_path / "small"
    volume.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", volume], check=True)
    try:
        yield volume
    finally:
        subprocess.run(["umount", "--lazy", volume], check=True)


@pytest.mark.parametrize(
    ("runs", "code"), [("1.3.0", 0), ("", 0), ("1.2.4", 2), ("2.0.1", 2), ("4.2.0", 2)]
)
def test_a_backup_is_not_restored_into_a_version_that_cannot_run_on_it(
    pods: Pods, mounts: Mounts, tmp_path: Path, runs: str, code: int
) -> None:
    """It was written by 1.3.0; nothing is copied."""
    source = FolderLocation(str(tmp_path / "v"), str(tmp_path / "v"))
    written.backup(mounts.open(source), "b", {"f_00000": b"x"})
    target = FolderLocation(str(tmp_path / "mo"), str(tmp_path / "mo"))
    ended = pods.attempt(Task(Verb.RESTORE, "r", source=source, target=target, runs=runs))
    assert ended.code == code, ended
    assert ended.result.reason == (Reason.VERSION_NOT_SUITABLE if code else None)
    assert bool(list(mounts.open(target).entries())) is not bool(code)
    assert not code or "restore it into 1.3.0" in ended.result.message


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system")
@pytest.mark.parametrize("to_bucket", [True, False], ids=["to-bucket", "to-folder"])
def test_a_target_that_is_full(
    pods: Pods, mounts: Mounts, small_volume: Path, tmp_path: Path, to_bucket: bool
) -> None:
    source = FolderLocation(str(tmp_path / "v"), str(tmp_path / "v"))
    files = {f"f{number}_00000": os.urandom(1 << 20) for number in range(6)}
    written.backup(mounts.open(source), "b", files)
    if not to_bucket:
        target = FolderLocation(str(small_volume / "mo"), str(small_volume / "mo"))
        ended = pods.attempt(Task(Verb.RESTORE, "r", source=source, target=target))
        assert (ended.code, ended.result.reason) == (2, Reason.OUT_OF_SPACE), ended
        return
    with object_store.serving(small_volume) as server:
        server.make_bucket("data")
        full = Pods(tmp_path / "full", keys_of(server))
        began = time.monotonic()
        ended = full.attempt(
            Task(Verb.RESTORE, "r", source=source, target=bucket(server, "data/mo"))
        )
        assert ended.result.reason in (Reason.OUT_OF_SPACE, Reason.UNREACHABLE), ended
        assert time.monotonic() - began < 120
