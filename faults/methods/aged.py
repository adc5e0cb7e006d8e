# SPDX-License-Identifier: Apache-2.0
"""Clusters that are old and have a history, Pods that are slow, time-outs from both sides."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import unix_time

from faults import checks, lives
from faults.points import Fault, Method, Point
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
    world = _lived(point.kind, step, _AGES[age], history, int(slow))
    if point.kind not in _BY_TIME or _AGES[age] < _DAY:
        lives.compare(point.kind, step, world)
        return
    _require_kept(lives.undisturbed(point.kind)[step].state, world)
    lives.compare(point.kind, step, world, expected=_quickly(point.kind, step, age))


_DAY = 86400.0
_BY_TIME = frozenset({"BackupSchedule"})
"""Kinds that do something by the time of day: after a day their end is that of a life as old."""


@cache
def _quickly(kind: str, step: str, age: str) -> lives.Outcome:
    """Return what a step comes to in a cluster of an age where nothing else happens."""
    return lives.outcome(_lived(kind, step, _AGES[age], "none", 1))


def _lived(kind: str, step: str, age: float, history: str, slow: int) -> World:
    world = scenes()[kind].world()
    world.settle()
    steps = lives.steps_of(kind)
    for name in steps[: steps.index(step)]:
        lives.take(world, kind, name)
        lives.settle(world, name)
    _live_on(world, history)
    world.pass_time(age)
    lives.settle(world, "being old")
    world.controllers.steps_to_end = slow
    lives.take(world, kind, step)
    lives.settle(world, step)
    world.controllers.steps_to_end = 1
    lives.settle(world, step)
    return world


def _require_kept(expected: Mapping[str, Any], world: World) -> None:
    """Require that a schedule keeps the same Backups at each age, and no Job past its time.

    Raises:
        Fault: it does not.
    """
    names = [
        {_OWNER.sub("", name) for name in state if name.startswith("Backup/")}
        for state in (expected, checks.state(world))
    ]
    if names[0] != names[1]:
        raise Fault(f"Backups depend on age: {sorted(names[0])} when new, {sorted(names[1])} now")
    old = [
        key[3]
        for key, found in world.server.of_kind("BackupJob")
        if unix_time(found["metadata"]["creationTimestamp"]) < world.server.present - _DAY
    ]
    if old:
        raise Fault(f"BackupJobs outlive their time to live: {old}")


_OWNER = re.compile(r"<[^>]*>")


def _live_on(world: World, history: str) -> None:
    """Let what happens to clusters happen: Pods end and come back, nodes restart."""
    rounds = {"none": 0, "restarted": 1, "rolled": _ROLLS}[history]
    for _ in range(rounds):
        pods = [key for key, _pod in world.server.of_kind("Pod")]
        for key in pods[:1] if history == "rolled" else pods:
            world.server.delete(key)
            lives.settle(world, history)


METHOD = Method(NAME, "old clusters with a history, slow Pods", points, run)
