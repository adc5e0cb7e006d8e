# SPDX-License-Identifier: Apache-2.0
"""Two at once: another operator, or a user, acts between two writes of a pass.

A process that has lost its lease goes on with the pass that it is in, with what it read before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from faults import checks, lives
from faults.points import Fault, Method, Point
from faults.scenes import scenes, subject
from faults.simulation.world import Session, Unsettled, World

NAME = "together"
OPERATOR, USER = "operator", "user"


def points(kind: str, _rng: random.Random) -> Iterator[Point]:
    """Yield each write of each step, once with another operator and once with a user."""
    steps = lives.steps_of(kind)
    for step in steps:
        for number in range(1, lives.MOST_WRITES + 1):
            yield Point(NAME, kind, f"{OPERATOR}:{step}:{number}")
            if step != steps[-1]:
                yield Point(NAME, kind, f"{USER}:{step}:{number}")


def run(point: Point) -> None:
    """Let somebody act before a write of a pass.

    Raises:
        Fault: the end is not that of one alone.
    """
    who, step, number = point.place.split(":")
    count = lives.write_of(point.kind, step, int(number))
    (_beside_another if who == OPERATOR else _beside_a_user)(point.kind, step, count)


def _beside_another(kind: str, step: str, number: int) -> None:
    def disturb(world: World) -> None:
        def another() -> None:
            first, world.session = world.session, Session(world.server)
            try:
                world.settle()
            except Unsettled as error:
                raise Fault(f"two operators: {error}") from error
            finally:
                world.session = first

        _before_write(world, number, another)
        world.round()
        world.session.disturb = None

    # The Job of a former leader whose resource is gone is garbage: it goes with its owner.
    # A StatefulSet that it creates again has the same Pods.
    tolerated = ("jobs",) if step in (lives.DELETE, "delete-data") else ("statefulsets",)
    lives.disturbed(kind, step, disturb, tolerated)


def _beside_a_user(kind: str, step: str, number: int) -> None:
    world = scenes()[kind].world()
    world.settle()
    steps = lives.steps_of(kind)
    following = steps[steps.index(step) + 1]
    for name in steps[: steps.index(step)]:
        lives.take(world, kind, name)
        lives.settle(world, name)
    lives.take(world, kind, step)
    _before_write(world, number, lambda: lives.take(world, kind, following))
    lives.settle(world, step)
    world.session.disturb = None
    if world.get(kind, subject(kind)["metadata"]["name"]) is not None:
        checks.require_reported(world, kind, subject(kind)["metadata"]["name"])
    expected = lives.undisturbed(kind)[following].state
    checks.require_same(expected, checks.state(world), f"{following} in the middle of {step}")


def _before_write(world: World, number: int, act: object) -> None:
    """Let somebody act before a write, once; the request itself follows."""
    counted = 0

    def disturb(method: str, path: str) -> None:
        nonlocal counted
        if method == "GET" or "/events" in path:
            return
        counted += 1
        if counted == number and callable(act):
            act()

    world.session.disturb = disturb


METHOD = Method(NAME, "another operator or a user acts in the middle of a pass", points, run)
