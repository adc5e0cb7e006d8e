# SPDX-License-Identifier: Apache-2.0
"""Who gets a prefix or folder, and who is refused."""

from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.owners import Owner
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.folder import (
    FolderStore,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership import (
    deletion,
    marks,
    taking,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership.errors import (
    Contested,
    Foreign,
    Superseded,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership.marks import Mark

from .stores import Bucket, Conditions, MemoryStore, put

RECORD = "matrixone-backup.json"


def mark(uid: str = "u1", nonce: str = "aa") -> Mark:
    return Mark(Owner("BackupJob", "prod", "nightly", uid), uid, nonce, "2026-11-25T12:00:00Z")


def no_sleep(_seconds: float) -> None:
    return


@pytest.fixture(params=[*Conditions, "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryStore | FolderStore:
    if request.param == "folder":
        return FolderStore(str(tmp_path / "backups" / "mo"))
    return MemoryStore(Bucket(conditions=request.param), "backups/mo")


def test_a_mark_names_its_owner_and_is_the_only_object(store: MemoryStore | FolderStore) -> None:
    hold = taking.take(store, mark(), no_sleep)
    hold.require()
    assert [one.key for one in store.entries()] == ["matrixone-owner.json"]
    found = marks.read(store, "matrixone-owner.json")
    assert found == mark()
    assert str(found) == "BackupJob prod/nightly (u1, since 2026-11-25T12:00:00Z)"
    assert hold.conditional is not (
        isinstance(store, MemoryStore) and store.bucket.conditions is not Conditions.KNOWN
    )


def test_another_owner_is_refused_and_changes_nothing(store: MemoryStore | FolderStore) -> None:
    first = taking.take(store, mark(), no_sleep)
    with pytest.raises(Foreign, match="taken by BackupJob prod/nightly"):
        taking.take(store, mark("u2", "bb"), no_sleep)
    first.require()
    assert len(list(store.entries())) == 1


def test_a_later_attempt_of_the_same_owner_takes_over(store: MemoryStore | FolderStore) -> None:
    first = taking.take(store, mark(), no_sleep)
    second = taking.take(store, mark(nonce="bb"), no_sleep)
    second.require()
    with pytest.raises(Superseded, match="that of 2"):
        first.require()
    with pytest.raises(Superseded):
        deletion.discard(first, ["anything"], no_sleep)
    third = taking.take(store, mark(nonce="cc"), no_sleep)
    assert (second.number, third.number) == (2, 3)
    deletion.release(third, no_sleep)
    assert list(store.entries()) == []


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("backups/mo/other", "not empty: it holds other"),
        ("backups/mo/ns/name/tae/x", "not empty: it holds ns/name/tae/x"),
        (f"backups/{RECORD}", "inside of what"),
        ("backups/matrixone-backup.attempt.json", "inside of what"),
        ("matrixone-owner.json", "inside of what"),
        ("backups/matrixone-restore.json", "inside of what"),
        (f"backups/mo/{RECORD}", "not empty"),
        ("backups/mo-2/tae/x", ""),
        (f"backups/mo2/{RECORD}", ""),
        (f"backups/other/{RECORD}", ""),
        ("backups/readme", ""),
    ],
)  # fmt: skip
def test_what_is_around_and_below(key: str, says: str) -> None:
    bucket = Bucket()
    put(bucket, key)
    store = MemoryStore(bucket, "backups/mo")
    if not says:
        taking.take(store, mark(), no_sleep)
        return
    for attempt in (taking.require_free, lambda *args: taking.take(*args, no_sleep)):
        with pytest.raises(Foreign, match=says):
            attempt(store, mark())
    assert list(bucket.objects) == [key]


def test_credentials_for_one_prefix_are_enough() -> None:
    class Closed(MemoryStore):
        def ancestors(self):  # type: ignore[no-untyped-def]
            for store, path in super().ancestors():
                yield Closed(store.bucket, store.prefix, _forbid), path

    taking.take(Closed(Bucket(), "backups/mo"), mark(), no_sleep)


def _forbid(_request: str) -> None:
    from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.errors import (  # noqa: PLC0415
        Forbidden,
    )

    raise Forbidden("403")


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"nonsense", b'{"id": 5}', b"x" * 9000])
def test_a_mark_that_cannot_be_read_is_somebodys(content: bytes) -> None:
    bucket = Bucket()
    put(bucket, "b/matrixone-owner.json", content)
    with pytest.raises(Foreign, match="not what this program writes"):
        taking.take(MemoryStore(bucket, "b"), mark(), no_sleep)


def test_a_request_that_somebody_left_where_requests_decide() -> None:
    """Where the store knows conditions, it is in nobody's way; an own one is never."""
    left = "b/matrixone-owner.request-ff.json"
    for conditions in Conditions:
        bucket = Bucket(conditions=conditions)
        put(bucket, left, marks.to_json(mark("u9", "ff")))
        store = MemoryStore(bucket, "b")
        if conditions is Conditions.KNOWN:
            taking.take(store, mark(), no_sleep)
            continue
        with pytest.raises(Contested, match=r"delete matrixone-owner\.request-ff\.json"):
            taking.take(store, mark(), no_sleep)
        assert list(bucket.objects) == [left]
        taking.take(store, mark("u9", "gg"), no_sleep)


def test_an_answer_that_was_lost() -> None:
    """The server wrote the object, and the repeated request was refused."""

    class Lossy(MemoryStore):
        def create(self, key: str, content: bytes) -> bool:
            super().create(key, content)
            return super().create(key, content)

    taking.take(Lossy(Bucket(), "b"), mark(), no_sleep).require()


def test_two_that_ended_before_their_last_look() -> None:
    """Their marks are one inside the other; neither goes on, and neither is deleted."""
    bucket = Bucket()
    for place, one in (("b", mark("u1")), ("b/x", mark("u2", "bb"))):
        put(bucket, f"{place}/matrixone-owner.json", marks.to_json(one))
    for place, one in (("b", mark("u1", "cc")), ("b/x", mark("u2", "dd"))):
        with pytest.raises(Foreign):
            taking.take(MemoryStore(bucket, place), one, no_sleep)
    assert {"b/matrixone-owner.json", "b/x/matrixone-owner.json"} <= set(bucket.objects)


@pytest.mark.parametrize(("state", "free"), [("Done", True), ("Running", False)])
def test_a_database_of_a_whole_bucket_that_was_restored(state: str, free: bool) -> None:
    bucket = Bucket()
    copied = Mark(Owner("RestoreJob", "prod", "new", "r"), "r", state=state, backup="b")
    put(bucket, "matrixone-restore.json", marks.to_json(copied))
    put(bucket, "data/one")
    store = MemoryStore(bucket, "data")
    claim = Mark(Owner("BucketClaim", "prod", "c", "u1"), "u1")
    if free:
        taking.take(store, claim, no_sleep, is_empty=False)
        return
    with pytest.raises(Foreign, match="is a part of what"):
        taking.take(store, claim, no_sleep, is_empty=False)
