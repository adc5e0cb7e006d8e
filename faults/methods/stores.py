# SPDX-License-Identifier: Apache-2.0
"""Programs of backup Jobs on one store: killed after any request, two at once, one inside another.

Also a verification that reads a database while something else than the data fails. The store and
the scheduler are those of `tests.ownership`; the programs are the product's, but for the statement
of the database.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from faults.points import Fault, Method, Point

NAME = "stores"
KINDS = frozenset({"Backup", "BackupJob", "BackupSchedule", "BucketClaim"})
_SEEDS = 300
_ORDERS = 12
"""Orders of the requests of two programs that a seed stands for."""
_MOST_REQUESTS = 60
_OWNER = "matrixone-owner.json"
"""The mark of an owner."""


def points(kind: str, rng: random.Random) -> Iterator[Point]:
    """Yield seeds for each scenario, for kinds whose Jobs write to stores."""
    if kind in KINDS:
        for scenario in _SCENARIOS:
            for _ in range(_SEEDS):
                yield Point(NAME, kind, f"{scenario}:{rng.randrange(10**6)}")


def run(point: Point) -> None:
    """Run programs on one store.

    Raises:
        Fault: a backup that was made is damaged or gone, or one that is deleted does not go.
    """
    scenario, _, seed = point.place.partition(":")
    programs: Any = importlib.import_module("tests.ownership.test_interleavings")
    try:
        _SCENARIOS[scenario](programs, int(seed))
    except AssertionError as error:
        raise Fault(f"{scenario}: {error}") from error


def _two_owners(programs: Any, seed: int) -> None:
    """Let two owners back up to one target: at most one has it, and it is whole."""
    _interleaved(programs, seed, programs.PLACE)


def _inside(programs: Any, seed: int) -> None:
    """Let one back up inside the target of another."""
    _interleaved(programs, seed, random.Random(seed).choice(("b/x", "b/tae/x")))  # noqa: S311


def _interleaved(programs: Any, seed: int, place: str) -> None:
    rng = random.Random(seed)  # noqa: S311 - repeatable
    conditions = rng.choice(list(programs.Conditions))
    one, other = (partial(programs.back_up, f"u{n}", name) for n, name in enumerate(("aa", "bb")))

    def begin() -> Any:
        bucket = programs.Bucket(conditions=conditions)
        processes = (
            programs.Process(one, bucket, programs.PLACE),
            programs.Process(other, bucket, place),
        )
        return programs.World(bucket, processes)

    for world in programs.every_end(begin, _ORDERS, seed):
        programs.require_whole(world)
        programs.require_whole(world, place)
        made = [process.outcome for process in world.processes].count("made")
        if made > 1:
            raise Fault(f"both have made a backup:\n{programs.trace(world)}")


def _deleted(programs: Any, seed: int) -> None:
    """Kill a deletion after any request: the next one ends it, and its mark goes last."""
    number = seed % _MOST_REQUESTS
    bucket = programs.Bucket()
    programs.run(bucket, partial(programs.back_up, "u1", "00"))
    deletion = partial(programs.delete, "u1")
    if programs.run(bucket, partial(deletion, "aa"), number) == "killed" and bucket.objects:
        if f"{programs.PLACE}/{_OWNER}" not in bucket.objects:
            raise Fault(f"the mark is gone, and these are left: {sorted(bucket.objects)}")
        came = programs.run(bucket, partial(deletion, "bb"))
        if came != "deleted":
            raise Fault(f"a deletion that was killed after {number} requests cannot go on: {came}")
    if bucket.objects:
        raise Fault(f"it is deleted, and left {sorted(bucket.objects)}")


def _made_again(programs: Any, seed: int) -> None:
    """Kill a backup after any request: the next attempt makes it, and nobody else gets in."""
    bucket, number = programs.Bucket(), seed % _MOST_REQUESTS
    programs.run(bucket, partial(programs.back_up, "u1", "aa"), number)
    came = programs.run(bucket, partial(programs.back_up, "u1", "bb"))
    if came not in {"made", "found"}:
        raise Fault(f"a backup that was killed after {number} requests cannot be made: {came}")
    record = bucket.objects[f"{programs.PLACE}/{programs.RECORD}"]
    if bucket.objects[f"{programs.PLACE}/mo_meta"] != record:
        raise Fault("the record is not beside the files of its attempt")


def _outer(programs: Any, seed: int) -> None:
    """Delete a backup around another one: what was made inside of it must be there afterwards."""
    bucket, number = programs.Bucket(), seed % _MOST_REQUESTS
    inner = "b/x"
    first, second = ((inner, programs.PLACE), (programs.PLACE, inner))[seed % 2], None
    for uid, place in zip(("u1", "u2"), first, strict=True):
        second = programs.Process(partial(programs.back_up, uid, uid), bucket, place)
        while not second.has_ended:
            second.step()
    before = {key for key in bucket.objects if key.startswith(f"{inner}/")}
    deletion = programs.Process(
        partial(programs.delete, ("u2", "u1")[seed % 2], "dd"), bucket, programs.PLACE, 1, number
    )
    while not deletion.has_ended:
        deletion.step()
    lost = before - set(bucket.objects)
    if lost:
        raise Fault(f"deleting a backup took files of another: {sorted(lost)}")


def _read_back(_programs: Any, seed: int) -> None:
    """Verify a backup while things fail: only a database that answers refutes it."""
    rng, reading = random.Random(seed), importlib.import_module(_READING)  # noqa: S311
    kinds = rng.choices(("data", "surroundings", "lost"), (4, 1, 1), k=reading.ATTEMPTS)
    errors = {"data": reading.OF_DATA, "surroundings": reading.SURROUNDINGS, "lost": [None]}
    attempts = [rng.choice(errors[kind]) or reading.lost() for kind in kinds]
    silent = rng.choice((0, 0, 1, 3))
    found = reading.read(reading.Database(attempts, silent=silent))
    is_damaged = set(kinds) == {"data"} and not silent
    if bool(found.unreadable) is not is_damaged:
        said = "refuted" if found.unreadable else "not refuted"
        raise Fault(f"a backup is {said}; the attempts ended with {kinds}, silence {silent}")


_READING = "tests.backup.program.test_reading_back"
"""A database that answers as a script says, and what databases have said."""
_SCENARIOS: Mapping[str, Callable[[Any, int], None]] = {
    "two-owners": _two_owners,
    "inside": _inside,
    "deleted": _deleted,
    "made-again": _made_again,
    "outer": _outer,
    "read-back": _read_back,
}
METHOD = Method(NAME, "programs on one store, killed, two at once, one inside another", points, run)
