# SPDX-License-Identifier: Apache-2.0
"""Two at once: another operator, or a user, acts between two writes of a pass, or two passes.

A process that has lost its lease goes on with the pass that it is in, with what it read before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from faults import checks, lives
from faults.points import Fault, Method, Point
from faults.scenes import NAMESPACE, scenes, subject
from faults.simulation.server import ApiServer
from faults.simulation.world import Session, Unsettled, World

Json = dict[str, Any]
NAME = "together"
OPERATOR, USER, LATER = "operator", "user", "later"
"""Who acts: another operator or a user in the middle of a pass, or a user between two passes."""
_MOST_ROUNDS = 8
"""In which nearly every step is done."""


def points(kind: str, _rng: random.Random) -> Iterator[Point]:
    """Yield each write of each step, with another operator and with a user, and each round."""
    steps = lives.steps_of(kind)
    for step in steps:
        for number in range(1, lives.MOST_WRITES + 1):
            yield Point(NAME, kind, f"{OPERATOR}:{step}:{number}")
            if step != steps[-1]:
                yield Point(NAME, kind, f"{USER}:{step}:{number}")
        if step != steps[-1]:
            for number in range(1, _MOST_ROUNDS + 1):
                yield Point(NAME, kind, f"{LATER}:{step}:{number}")


def run(point: Point) -> None:
    """Let somebody act before a write of a pass, or after a round.

    Raises:
        Fault: the end is not that of one alone.
    """
    who, step, number = point.place.split(":")
    if who == LATER:
        _beside_a_user(point.kind, step, 0, int(number))
        return
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


def _beside_a_user(kind: str, step: str, number: int, rounds: int = 0) -> None:
    """Let a user do the next step before a write of this one, or after some rounds of it."""
    world = scenes()[kind].world()
    world.settle()
    unmade = checks.state(world)
    steps, name = lives.steps_of(kind), subject(kind)["metadata"]["name"]
    following = steps[steps.index(step) + 1]
    for earlier in steps[: steps.index(step)]:
        lives.take(world, kind, earlier)
        lives.settle(world, earlier)
    changed, ended = [], _ended_jobs(world)

    def change() -> None:
        changed.append(following)
        lives.take(world, kind, following)

    _before_write(world, number, change)
    lives.take(world, kind, step)
    if rounds:
        world.pass_rounds(rounds)
        change()
    else:
        lives.settle(world, step)
    world.session.disturb = None
    if not changed:
        # What `take` itself has written is not the operator's: the last writes may not come.
        change()
    lives.settle(world, following)
    where = f"{following} in the middle of {step}"
    lives.promised(world, kind, following)
    if _is_refused(lives.undisturbed(kind)[following].state, kind):
        _require_taken_back(world, kind, step, where)
        return
    if world.get(kind, name) is not None:
        checks.require_reported(world, kind, name)
    expected = lives.undisturbed(kind)[following].state
    if following == lives.DELETE and kind in _ONCE and not ended:
        # What was deleted before its Job had ended leaves no more than if it had never been there.
        # The Job may end while the deletion waits for its turn: that counts as before it.
        expected = unmade
    checks.require_same(expected, checks.state(world), where)


_ONCE = frozenset({"BackupJob", "RestoreJob"})
"""Kinds whose Job does one thing; what it has made stays when they are deleted."""


def _ended_jobs(world: World) -> list[str]:
    """Return a list that gets the name of each Job whose program ends."""
    ended: list[str] = []
    run_program = world.controllers.program

    def run(server: ApiServer, job: Json) -> bool:
        if run_program is None or not run_program(server, job):
            return False
        ended.append(str(job["metadata"]["name"]))
        return True

    world.controllers.program = run
    return ended


def _is_refused(state: Mapping[str, Json], kind: str) -> bool:
    """Tell whether a step ends with a spec that the operator refuses, even undisturbed."""
    name = subject(kind)["metadata"]["name"]
    found = state.get(f"{kind}/{NAMESPACE}/{name}") or {}
    return (checks.conditions(found).get("Synced") or {}).get("status") == "False"


def _require_taken_back(world: World, kind: str, step: str, where: str) -> None:
    """Require that a change which is refused stops the one before it, until it is taken back.

    Raises:
        Fault: it is not refused, or the change before it does not end then.
    """
    found = checks.require_reported(world, kind, subject(kind)["metadata"]["name"])
    if (checks.conditions(found).get("Synced") or {}).get("status") != "False":
        raise Fault(f"{where}: it is refused at rest, and not now")
    resource = lives.after_step(kind, step)
    if resource is not None:
        world.apply(resource)
    lives.settle(world, f"{where}, and taken back")
    expected = lives.undisturbed(kind)[step].state
    checks.require_same(expected, checks.state(world), f"{where}, and taken back")


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
