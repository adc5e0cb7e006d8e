# SPDX-License-Identifier: Apache-2.0
"""Random histories of pools, claims and claim sets: crashes, conflicts, stale reads, lost nodes.

The model is `tests.pool.model`, which plays HAKeeper, sessions and users as well; here its seeds
are points, so that a night has thousands of them.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator

from faults.points import Fault, Method, Point

NAME = "histories"
KINDS = frozenset({"CNPool", "CNClaim", "CNClaimSet"})
_SEEDS = 2000
_STEPS = 400


def points(kind: str, rng: random.Random) -> Iterator[Point]:
    """Yield seeds of histories for the kinds of pools."""
    if kind in KINDS:
        for _ in range(_SEEDS):
            yield Point(NAME, kind, str(rng.randrange(10**6)))


def run(point: Point) -> None:
    """Play a history.

    Raises:
        Fault: a promise was broken; the message has the end of the history.
    """
    checker = importlib.import_module("tests.pool.model.checker")
    try:
        checker.Model(int(point.place)).run(_STEPS)
    except checker.Violation as error:
        raise Fault(str(error)) from error


METHOD = Method(NAME, "random histories of pools and claims", points, run)
