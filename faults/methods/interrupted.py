# SPDX-License-Identifier: Apache-2.0
"""The operator is killed after each write that it makes (Sieve's intermediate states)."""

from __future__ import annotations

import random
from collections.abc import Iterator

from faults.lives import MOST_WRITES, disturbed, steps_of, write_of
from faults.points import Fault, Method, Point
from faults.simulation.world import Killed, World

NAME = "interrupted"


def points(kind: str, _rng: random.Random) -> Iterator[Point]:
    """Yield each write of each step of the life of a kind."""
    for step in steps_of(kind):
        for number in range(1, MOST_WRITES + 1):
            yield Point(NAME, kind, f"{step}:{number}")


def run(point: Point) -> None:
    """Kill the operator after a write, and let another one go on.

    Raises:
        Fault: the end is not that of an undisturbed life.
    """
    step, _, number = point.place.partition(":")
    if step not in steps_of(point.kind):
        raise Fault(f"{point.kind} has no step {step}")

    count = write_of(point.kind, step, int(number))

    def kill(world: World) -> None:
        world.session.survives = len(world.session.writes) + count
        try:
            world.settle()
        except Killed:
            return
        world.session.survives = None

    disturbed(point.kind, step, kill)


METHOD = Method(NAME, "the operator is killed after each write", points, run)
