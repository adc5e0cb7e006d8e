# SPDX-License-Identifier: Apache-2.0
"""Clusters that are old and have a history, Pods that are slow, time-outs from both sides."""

from __future__ import annotations

import random
from collections.abc import Iterator

from faults import lives
from faults.points import Method, Point
from faults.scenes import scenes
from faults.simulation.world import World

NAME = "aged"
_AGES = {"new": 0.0, "9m": 540.0, "11m": 660.0, "hours": 3 * 3600.0, "days": 3 * 86400.0}
"""Below and above ten minutes, after which a log store is replaced unless told otherwise."""
_HISTORIES = ("none", "restarted", "rolled")
_STEPS_TO_END = (1, 6, 20)
"""How many steps of three seconds a Pod takes to end: below and above what HAKeeper remembers."""
_ROLLS = 10


def points(kind: str, _rng: random.Random) -> Iterator[Point]:
    """Yield each step of a life at each age, with each history, with Pods as slow."""
    for step in lives.steps_of(kind)[1:]:
        for age in _AGES:
            for history in _HISTORIES:
                for slow in _STEPS_TO_END:
                    yield Point(NAME, kind, f"{step}:{age}:{history}:{slow}")


def run(point: Point) -> None:
    """Let a cluster become old before a step.

    Raises:
        Fault: the step does not come to what it comes to when everything is new and quick.
    """
    step, age, history, slow = point.place.split(":")
    world = scenes()[point.kind].world()
    world.settle()
    steps = lives.steps_of(point.kind)
    for name in steps[: steps.index(step)]:
        lives.take(world, point.kind, name)
        lives.settle(world, name)
    _live_on(world, history)
    world.pass_time(_AGES[age])
    lives.settle(world, "being old")
    world.controllers.steps_to_end = int(slow)
    lives.take(world, point.kind, step)
    lives.settle(world, step)
    world.controllers.steps_to_end = 1
    lives.settle(world, step)
    lives.compare(point.kind, step, world)


def _live_on(world: World, history: str) -> None:
    """Let what happens to clusters happen: Pods end and come back, nodes restart."""
    rounds = {"none": 0, "restarted": 1, "rolled": _ROLLS}[history]
    for _ in range(rounds):
        pods = [key for key, _pod in world.server.of_kind("Pod")]
        for key in pods[:1] if history == "rolled" else pods:
            world.server.delete(key)
            lives.settle(world, history)


METHOD = Method(NAME, "old clusters with a history, slow Pods", points, run)
