# SPDX-License-Identifier: Apache-2.0
"""A pass of a pool: rounds of deciding and writing until there is nothing left to write."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar

from ..clients.kubernetes.session import Session
from ..clients.matrixone import Deadline
from ..clients.matrixone.records import WorkState
from .executing import Executor, WriteResults
from .facts import ClaimFacts, PodFacts, Snapshot
from .objects import Objects, owning_pool
from .planning import plan_pool
from .reading import claim_facts, pod_facts, pool_facts
from .stores import Stores, open_stores
from .writes import ClaimStatus, ClaimWrite, HandOver, PodWrite, PoolPlan, StoreWrite, Write

_MOST_ROUNDS: Final = 40


@dataclass(slots=True)
class PassResult:
    """How a pass ended.

    Attributes:
        snapshot: what is there at its end.
        plan: what there is still to do, and why claims wait.
        written: what was written.
        rounds: how often it decided.
        problem: why HAKeeper did not answer; empty if it did.
        unfinished: whether it ended by its time and not because nothing was left to write.
        stuck: whether it ended because nothing could be written.
        missing: generation whose Pods could not be created, because it is not rendered yet.
    """

    snapshot: Snapshot
    plan: PoolPlan
    written: WriteResults = field(default_factory=WriteResults)
    rounds: int = 0
    problem: str = ""
    unfinished: bool = False
    stuck: bool = False
    missing: str = ""


def run_pass(
    session: Session,
    pool: Mapping[str, Any],
    generation: str,
    seconds: float,
    *,
    fresh: bool = False,
) -> PassResult:
    """Run a pass of a pool, which ends after so many seconds whatever MatrixOne does.

    Args:
        session: connection to the API server.
        pool: the CNPool.
        generation: name of the CNSet that its template leads to.
        seconds: how long it may take.
        fresh: whether it begins with what the API server has, and not with an operator's cache,
            which is enough to find out whether there is anything to do.

    Raises:
        KubeError: the API server refuses to list.
    """
    objects = Objects(session, pool["metadata"]["namespace"])
    objects.begin(fresh=fresh)
    deadline = Deadline.after(seconds)
    mine = objects.of_pool(pool["metadata"]["name"])
    with open_stores(session, pool, mine, deadline) as stores:
        if not mine:
            # Nothing is asked, so nothing can be wrong: claims wait for Pods, not for HAKeeper.
            stores.reached, stores.problem = True, ""
        return PoolReconciler(objects, stores, pool, generation, deadline).run()


def _is_urgent(write: Write) -> bool:
    """Tell whether a claim waits for a write: one that can be served, or one that is gone.

    Pods for later claims and those that are too many are decided on again after that.
    """
    if isinstance(write, StoreWrite):
        return write.state is WorkState.WORKING
    if isinstance(write, PodWrite):
        return write.reason in {"Bound", "Released"}
    return isinstance(write, ClaimWrite | ClaimStatus)


_F = TypeVar("_F")


class Facts(Generic[_F]):
    """What objects say, read once for each answer of the API server.

    Args:
        read: reads one object, which nobody changes afterwards.
    """

    def __init__(self, read: Callable[[Mapping[str, Any]], _F]) -> None:
        self._read = read
        self._known: dict[str, tuple[Mapping[str, Any], _F]] = {}

    def of(self, objects: Mapping[str, Mapping[str, Any]]) -> dict[str, _F]:
        """Return what objects say, by name."""
        known = self._known
        self._known = {
            name: known[name] if name in known and known[name][0] is one else (one, self._read(one))
            for name, one in objects.items()
        }
        return {name: facts for name, (_object, facts) in self._known.items()}


class PoolReconciler:
    """Decides and writes for one pool; `run` is called once.

    Args:
        objects: what is known of the namespace.
        stores: what HAKeeper and the compute nodes say.
        pool: the CNPool.
        generation: name of the CNSet that its template leads to.
        deadline: when the pass ends.
    """

    def __init__(
        self,
        objects: Objects,
        stores: Stores,
        pool: Mapping[str, Any],
        generation: str,
        deadline: Deadline,
    ) -> None:
        self._objects = objects
        self._stores = stores
        self._pool = pool
        self._generation = generation
        self._deadline = deadline
        self._executor = Executor(objects, stores, pool)
        self._pod_facts: Facts[PodFacts] = Facts(pod_facts)
        self._claim_facts: Facts[ClaimFacts] = Facts(claim_facts)
        self._sampled: set[str] = set()
        self._asked_for_locks: set[str] = set()
        self._has_served = False

    def run(self) -> PassResult:
        """Decide and write until nothing is left, or the time is over."""
        snapshot = self._snapshot()
        done = PassResult(snapshot, plan_pool(snapshot))
        while self._goes_on(done):
            done.rounds += 1
            self._round(done)
            done.snapshot = self._snapshot()
            done.plan = plan_pool(done.snapshot)
        done.problem = "" if self._stores.reached else self._stores.problem
        done.missing = self._executor.missing
        return done

    def _goes_on(self, done: PassResult) -> bool:
        plan = done.plan
        left = bool(plan.writes or self._unsampled(plan) or self._unasked(plan))
        left = left or (plan.wants_fresh and not self._objects.fresh)
        if left and (done.rounds >= _MOST_ROUNDS or self._deadline.remaining() <= 0):
            done.unfinished = True
            return False
        return left and not done.written.problems and not done.stuck

    def _round(self, done: PassResult) -> None:
        planned = done.plan.writes
        urgent = [write for write in planned if _is_urgent(write)]
        if self._has_served and not urgent:
            # Those of a burst that came meanwhile do not wait for the Pods of later ones.
            self._has_served = False
            self._objects.load_claims()
            return
        written = self._executor.run(urgent)
        if any(written.done.values()):
            self._has_served = True
        else:
            # What else is planned follows from the same snapshot, and concerns other objects.
            written.add(self._executor.run([one for one in planned if not _is_urgent(one)]))
        done.written.add(written)
        unsampled = self._unsampled(done.plan)
        if unsampled:
            self._stores.sample(unsampled)
            self._sampled.update(unsampled)
        unasked = self._unasked(done.plan)
        if unasked:
            self._stores.hand_over(unasked)
            self._asked_for_locks.update(one.pod for one in unasked)
        idle = not any(written.done.values())
        if written.dropped or idle:
            wants = done.plan.wants_fresh or bool(written.dropped)
            if wants:
                self._objects.load(fresh=True)
            elif done.plan.writes:
                # The same would be decided again.
                done.stuck = True

    def _unsampled(self, plan: PoolPlan) -> list[str]:
        return [name for name in plan.sample if name not in self._sampled]

    def _unasked(self, plan: PoolPlan) -> list[HandOver]:
        return [one for one in plan.hand_over if one.pod not in self._asked_for_locks]

    def _snapshot(self) -> Snapshot:
        objects = self._objects
        name = self._pool["metadata"]["name"]
        found = {**objects.pools, name: self._pool}
        pools = tuple(
            replace(pool_facts(one), generation=self._generation if key == name else "")
            for key, one in sorted(found.items())
        )
        return Snapshot(
            pool=next(pool for pool in pools if pool.name == name),
            now=time.time(),
            pods=self._pod_facts.of(objects.pods),
            claims=self._claim_facts.of(objects.claims),
            pools=pools,
            stores=dict(self._stores.facts),
            generations=tuple(
                key for key, one in sorted(objects.generations.items()) if owning_pool(one) == name
            ),
            reached=self._stores.reached,
            fresh=objects.fresh,
        )
