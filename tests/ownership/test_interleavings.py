# SPDX-License-Identifier: Apache-2.0
"""Two attempts on one target, in every order of their requests to the store.

The programs are those of the product; only the statement of the database is played. It knows no
marks, and replaces no file: MatrixOne refuses to write one that exists (``S3FS.Write``,
``LocalFS.Write``). That it looks and writes in two steps is left out.
"""

import os
import random
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.owners import Owner
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program import (
    attempts,
    backing_up,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.layout import (
    is_of_backup,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership import (
    deletion,
    taking,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership.marks import Mark

from .scheduler import Process, Program, Sleep, World, every_end
from .stores import Bucket, Conditions, MemoryStore

RECORD = "matrixone-backup.json"
PLACE = "b"
MOST = int(os.environ.get("INTERLEAVINGS", "600"))
"""Orders of each test; all of the longest test are about 20,000."""
SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))  # noqa: S311


class Clock:
    """The part of a task's progress that these programs need."""

    def __init__(self, sleep: Sleep) -> None:
        self.sleep = sleep

    def check(self) -> None:
        return


def mark(uid: str, nonce: str) -> Mark:
    return Mark(Owner("BackupJob", "prod", uid, uid), uid, nonce, "2026-11-25T12:00:00Z")


def back_up(uid: str, nonce: str, store: MemoryStore, sleep: Sleep) -> str:
    """Make a backup of two files, whose content is the attempt's name."""
    progress, own = Clock(sleep), nonce.encode()
    with attempts.attempt(store, mark(uid, nonce), progress) as hold:  # type: ignore[arg-type]
        if store.size(RECORD) is not None:
            return "found"
        backing_up._remove_earlier_attempts(hold, progress)  # type: ignore[arg-type]
        for key in (f"tae/{nonce}", "mo_meta"):
            if not store.put_new(key, own):
                return "refused"
        if b"".join(store.read("mo_meta")) != own:
            return "damaged"
        backing_up._write_record(hold, own, progress)  # type: ignore[arg-type]
    return "made"


def delete(uid: str, nonce: str, store: MemoryStore, sleep: Sleep) -> str:
    """Delete the backup of an owner."""
    hold = taking.take(store, mark(uid, nonce), sleep, own={RECORD}, is_empty=False)
    deletion.discard(hold, [RECORD], sleep)
    deletion.clear(hold, is_of_backup, lambda _count: None, sleep)
    deletion.release(hold, sleep)
    return "deleted"


def ends(one: Program, other: Program, conditions: Conditions, place: str = PLACE) -> list[World]:
    def begin() -> World:
        bucket = Bucket(conditions=conditions)
        return World(bucket, (Process(one, bucket, PLACE), Process(other, bucket, place)))

    print(f"SEED={SEED}")  # noqa: T201
    return list(every_end(begin, MOST, SEED))


def require_whole(world: World, place: str = PLACE) -> None:
    """A record is beside all files of its attempt, and whoever says that it made one has one."""
    record = world.bucket.objects.get(f"{place}/{RECORD}")
    if record is not None:
        assert world.bucket.objects[f"{place}/mo_meta"] == record, trace(world)
        assert world.bucket.objects[f"{place}/tae/{record.decode()}"] == record, trace(world)
    for process in world.processes:
        if process.prefix == place and process.outcome in ("made", "found"):
            assert record is not None, trace(world)


def trace(world: World) -> str:
    return "\n".join(
        f"{number}: {process.outcome}: {process.trace}"
        for number, process in enumerate(world.processes)
    )


def outcomes(worlds: list[World]) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(sorted(str(one.outcome).split(":")[0] for one in world.processes)) for world in worlds
    )


@pytest.mark.parametrize("conditions", Conditions)
def test_two_owners_on_one_target(conditions: Conditions) -> None:
    worlds = ends(partial(back_up, "u1", "aa"), partial(back_up, "u2", "bb"), conditions)
    for world in worlds:
        require_whole(world)
        made = [one for one in world.processes if one.outcome == "made"]
        assert len(made) <= 1, trace(world)
        if conditions is Conditions.KNOWN:
            assert len(made) == 1, trace(world)
    assert outcomes(worlds).keys() >= {("Foreign", "made")}


def test_two_attempts_of_one_owner() -> None:
    worlds = ends(
        partial(back_up, "u1", "aa"), partial(back_up, "u1", "bb"), Conditions.KNOWN
    )  # fmt: skip
    for world in worlds:
        require_whole(world)
        ended = {one.outcome for one in world.processes}
        assert ended & {"made", "found", "damaged", "refused"}, trace(world)
    assert ("Superseded", "made") in outcomes(worlds)


@pytest.mark.parametrize("conditions", Conditions)
@pytest.mark.parametrize("inside", ["b/x", "b/tae/x"])
def test_one_target_inside_the_other(conditions: Conditions, inside: str) -> None:
    worlds = ends(partial(back_up, "u1", "aa"), partial(back_up, "u2", "bb"), conditions, inside)
    for world in worlds:
        require_whole(world)
        require_whole(world, inside)
        assert [one.outcome for one in world.processes].count("made") <= 1, trace(world)


@pytest.mark.parametrize("program", [back_up, delete], ids=["backed up again", "deleted"])
def test_a_process_that_ends_after_any_request(
    program: Callable[[str, str, MemoryStore, Sleep], str],
) -> None:
    """The next attempt of the same owner finishes; another owner never gets in before that."""
    for kill_after in range(200):
        bucket = Bucket()
        if program is delete:
            run(bucket, partial(back_up, "u1", "00"))
        killed = run(bucket, partial(program, "u1", "aa"), kill_after)
        if killed != "killed":
            assert kill_after > 10
            return
        whose = [key for key in bucket.objects if key == f"{PLACE}/matrixone-owner.json"]
        if whose:
            assert run(bucket, partial(back_up, "u2", "cc")).startswith("Foreign")
        if program is delete and not whose:
            assert not bucket.objects, "the mark goes last"
            continue
        assert run(bucket, partial(program, "u1", "bb")) in ("made", "found", "deleted")
        if program is delete:
            assert not bucket.objects
        else:
            record = bucket.objects[f"{PLACE}/{RECORD}"]
            assert bucket.objects[f"{PLACE}/mo_meta"] == record
    pytest.fail("it never ended")


def run(bucket: Bucket, program: Program, kill_after: int | None = None) -> str:
    process = Process(program, bucket, PLACE, 1, kill_after)
    while not process.has_ended:
        process.step()
    return str(process.outcome)
