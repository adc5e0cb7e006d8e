# SPDX-License-Identifier: Apache-2.0
"""Clocks that differ: the operator's from that of the API server, or those of two operators.

Kubernetes asks for no more than roughly equal clocks, and leader election does not compare them.
What an operator computes from times that others wrote must therefore bear a wrong clock: nothing is
lost or made twice because of it, and the end is the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from faults import lives
from faults.points import Method, Point
from faults.scenes import scenes

NAME = "clocks"
_SKEWS = {
    "9m-behind": -540.0,
    "5m-behind": -300.0,
    "20s-behind": -20.0,
    "20s-ahead": 20.0,
    "5m-ahead": 300.0,
    "30m-ahead": 1800.0,
}
"""How far the operator's clock is from that of the API server, in seconds.

What waits, waits as much longer as a clock is behind; where one is ahead, nothing may happen early.
"""
_ALL, _ONE, _IN_TURN = "all", "one", "in-turn"
"""The operator of all steps has that clock, of one step, or every other pass of one step."""

_STEPS_TO_END = 6
"""How many steps of three seconds a Pod takes to end meanwhile: there is something to wait for."""


def points(kind: str, _rng: random.Random) -> Iterator[Point]:
    """Yield each step of a life with each clock, in that step alone and in all before it."""
    for step in lives.steps_of(kind):
        for skew in _SKEWS:
            for who in (_ALL, _ONE, _IN_TURN):
                yield Point(NAME, kind, f"{step}:{skew}:{who}")


def run(point: Point) -> None:
    """Live a life until a step, and the one after it by an operator whose clock is right.

    Raises:
        Fault: an end is not that of a life with equal clocks, or something was made twice or lost.
    """
    step, name, who = point.place.split(":")
    skew = _SKEWS[name]
    world = scenes()[point.kind].world()
    world.settle()
    steps = lives.steps_of(point.kind)
    for each in steps[: steps.index(step) + 2]:
        if each == step:
            world.skews = (0.0, skew) if who == _IN_TURN else (skew,)
        else:
            before = steps.index(each) < steps.index(step)
            world.skews = (skew,) if who == _ALL and before else (0.0,)
        world.controllers.steps_to_end = _STEPS_TO_END if each == step else 1
        lives.take(world, point.kind, each)
        lives.settle(world, each)
        # An operator whose clock is behind waits longer, by no more than that.
        world.pass_time(max(0.0, -skew))
        lives.settle(world, each)
        lives.compare(point.kind, each, world)


METHOD = Method(NAME, "the operator's clock is not that of the API server", points, run)
