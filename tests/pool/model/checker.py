# SPDX-License-Identifier: Apache-2.0
"""Random histories of pools, claims and claim sets; see `tests.pool.model.__main__`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import planning

from tests.pool.model.monitor import Monitor, Violation
from tests.pool.model.operator import Operator
from tests.pool.model.server import Refused
from tests.pool.model.settled import Settled
from tests.pool.model.users import Users
from tests.pool.model.world import World

Json = dict[str, Any]
_ROUNDS_TO_SETTLE = 120
_SECONDS_OF_ROUND = 3.0
_QUIET_ROUNDS = 3
_SECONDS_OF_TWO = 5.0
"""For how long a process may write that is no longer the leader: it renews its lease in time."""
_SECONDS_OF_PASS = 15.0
"""For how long a pass may act on what it read while the other process still wrote."""


class Model(Users):
    """One history: a world, an operator, and what happens to them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - repeatable
        self.world = World(self.rng)
        self.monitor = Monitor(self.world)
        self.monitor.free_at_most = 4
        self.operator = Operator(self.world, self.monitor)
        self.tasks: dict[str, Iterator[None]] = {}
        self.former: list[Iterator[None]] = []
        self.former_until = 0.0
        self.steps = 0
        self._create_pool("a")
        self.actions: list[tuple[int, Callable[[], str | None]]] = [
            (220, self.advance_operator),
            (40, self.advance_former),
            (40, self.pass_time),
            (50, self.start_pod),
            (14, self.begin_session),
            (14, self.end_session),
            (12, self.create_claim),
            (7, self.delete_claim),
            (14, self.migrate),
            (6, self.migrate_and_scale_in),
            (5, self.cancel_migration),
            (4, self.name_any_pod),
            (3, self.unname_pod),
            (5, self.kill_pod),
            (2, self.restart_store),
            (3, self.lose_node),
            (6, self.find_node),
            (12, self.remove_ended_pod),
            (6, self.touch_pod),
            (3, self.flap_readiness),
            (4, self.forget_store),
            (6, self.toggle_hakeeper),
            (3, self.toggle_samples),
            (6, self.crash),
            (3, self.change_template),
            (4, self.change_pool),
            (4, self.change_claim_set),
            (1, self.end_or_begin_pool),
            (1, self.end_claim_set),
        ]
        self.weights = [weight for weight, _action in self.actions]

    def run(self, steps: int) -> None:
        """Take random steps, then let everything become quiet.

        Raises:
            Violation: something does not hold; its message has the end of the history.
        """
        try:
            for _step in range(steps):
                self.step()
            self.settle()
        except Violation as error:
            story = "\n  ".join(self.monitor.log[-60:])
            raise Violation(f"{error}\n  {story}") from error

    def step(self) -> None:
        ((_weight, action),) = self.rng.choices(self.actions, self.weights)
        self.steps += 1
        try:
            said = action()
        except Refused as error:
            said = f"{action.__name__}: {error}"
        if said:
            self.monitor.tell(said)
        self.monitor.check()

    def advance_operator(self) -> str | None:
        server = self.world.server
        jobs = [f"pool {name}" for name in server.list("CNPool")]
        jobs += [f"set {name}" for name in server.list("CNClaimSet")]
        if not jobs:
            return None
        job = self.rng.choice(jobs)
        task = self.tasks.get(job)
        if task is None:
            age = self.rng.choice((0, 0, 0, 1, 3, 10))
            kind, name = job.split()
            start = self.operator.pool_pass if kind == "pool" else self.operator.claim_set_pass
            task = self.tasks[job] = start(name, age)
        for _write in range(self.rng.choice((1, 1, 2, 20))):
            if next(task, self) is self:
                del self.tasks[job]
                break
            self.monitor.check()
        return None

    def crash(self) -> str:
        """The process ends, or goes on for a moment beside the one that takes over."""
        if self.rng.random() < 0.5:
            self.former = list(self.tasks.values())
            self.former_until = self.world.now + _SECONDS_OF_TWO
            self.monitor.two_until = self.former_until + _SECONDS_OF_PASS
        self.tasks.clear()
        return f"operator is replaced; {len(self.former)} of its passes go on"

    def advance_former(self) -> None:
        """Go on with a pass of a process that is no longer the leader."""
        if self.world.now >= self.former_until:
            self.former.clear()
        if self.former:
            task = self.rng.choice(self.former)
            if next(task, self) is self:
                self.former.remove(task)
            self.monitor.check()

    def settle(self) -> None:
        """End all faults; within so many passes, every claim is served and nothing is written."""
        world, server = self.world, self.world.server
        self.monitor.tell("faults end")
        self.former.clear()
        world.hakeeper_up = world.sampling_works = True
        while world.lost_nodes:
            self.find_node()
        for store in world.stores.values():
            store.registered = True
        quiet = 0
        for _round in range(_ROUNDS_TO_SETTLE):
            before = server.version, self.monitor.written
            world.sessions.clear()
            world.now += _SECONDS_OF_ROUND
            self._kubelet()
            self.monitor.check()
            for job in [f"pool {name}" for name in server.list("CNPool")] + [
                f"set {name}" for name in server.list("CNClaimSet")
            ]:
                self._finish(job)
            quiet = quiet + 1 if (server.version, self.monitor.written) == before else 0
            # What drains, migrates or is kept for a while writes nothing for as long.
            if quiet > _QUIET_ROUNDS and not self._waits_for_time():
                break
        else:
            self.monitor.fail("does not become quiet")
        Settled(self.world, self.monitor).check()

    def _finish(self, job: str) -> None:
        kind, name = job.split()
        self.tasks.pop(job, None)
        start = self.operator.pool_pass if kind == "pool" else self.operator.claim_set_pass
        for _write in start(name, 0):
            self.monitor.check()
        self.steps += 1

    def _kubelet(self) -> None:
        for name, pod in dict(self.world.server.list("Pod")).items():
            if pod["metadata"].get("deletionTimestamp"):
                self.world.vanish(name)
            elif pod["status"]["phase"] == "Pending":
                self.world.start_pod(name)
            elif pod["status"]["phase"] == "Running" and not _is_ready(pod):
                self.world.set_ready(name, True)

    def _waits_for_time(self) -> bool:
        snapshots = [self.operator._snapshot(name, 0) for name in self.world.server.list("CNPool")]
        plans = [planning.plan_pool(one) for one in snapshots if one is not None]
        return any(plan.requeue is not None and plan.requeue <= 60 for plan in plans)


def _is_ready(pod: Json) -> bool:
    return any(one["status"] == "True" for one in pod["status"].get("conditions") or ())


def explore(seeds: range, steps: int, seen: Counter[str] | None = None) -> int:
    """Run histories; return how many steps they took together.

    Args:
        seeds: one for each history.
        steps: random ones of each.
        seen: what happened is added to it.

    Raises:
        Violation: with the seed.
    """
    total = 0
    for seed in seeds:
        model = Model(seed)
        try:
            model.run(steps)
        except Violation as error:
            raise Violation(f"seed {seed}: {error}") from error
        total += model.steps
        if seen is not None:
            seen.update(model.monitor.seen)
    return total
