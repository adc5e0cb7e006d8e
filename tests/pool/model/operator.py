# SPDX-License-Identifier: Apache-2.0
"""The passes of the operator, which can be interrupted before every write and call."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import timestamp
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.records import (
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import (
    claim_sets,
    planning,
    reading,
    writes,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import (
    ClaimFacts,
    PodFacts,
    PoolFacts,
    Snapshot,
)

from tests.pool.model.monitor import Monitor
from tests.pool.model.server import Refused, merge
from tests.pool.model.world import Unreachable, World

Json = dict[str, Any]
ROUNDS = 12
_PODS: dict[tuple[str, str], PodFacts] = {}
_CLAIMS: dict[tuple[str, str], ClaimFacts] = {}


def pod_of(pod: Json) -> PodFacts:
    return _cached(_PODS, pod, reading.pod_facts)


def claim_of(claim: Json) -> ClaimFacts:
    return _cached(_CLAIMS, claim, reading.claim_facts)


def _cached(known: dict[tuple[str, str], Any], one: Json, read: Any) -> Any:
    """Objects never change: the same version is read once."""
    key = (one["metadata"]["uid"], one["metadata"]["resourceVersion"])
    found = known.get(key)
    if found is None or found[0] is not one:
        if len(known) > 5000:
            known.clear()
        known[key] = found = (one, read(one))
    return found[1]


def pool_of(pool: Json) -> PoolFacts:
    return reading.pool_facts(pool, pool["spec"]["generation"])


@dataclass
class Operator:
    """One process; its passes are generators that yield before each write."""

    world: World
    monitor: Monitor

    def pool_pass(self, name: str, age: int) -> Iterator[None]:
        """Run a pass of a pool; ``age`` writes ago is what its cache shows first."""
        snapshot = self._snapshot(name, age)
        read_at = _read_at(snapshot)
        for _round in range(ROUNDS):
            if snapshot is None:
                return
            plan = planning.plan_pool(snapshot)
            self.monitor.check_plan(plan, snapshot)
            if plan.sample or plan.hand_over:
                yield
                snapshot = self._asked(snapshot, plan)
                plan = planning.plan_pool(snapshot)
            if plan.finished:
                yield
                self._remove_pool(name)
                return
            if plan.wants_fresh:
                yield
                snapshot = self._snapshot(name, 0)
                read_at = _read_at(snapshot)
                continue
            if not plan.writes:
                return
            failed = False
            for write in plan.writes:
                yield
                failed = not (yield from self._execute(write, snapshot, read_at)) or failed
                if failed and self.world.rng.random() < 0.3:
                    break
            if failed or self.world.rng.random() < 0.5 or any(map(_is_listed_after, plan.writes)):
                snapshot = self._snapshot(name, 0)
                read_at = _read_at(snapshot)
            else:
                snapshot = self._after(snapshot, plan.writes)
                read_at |= {one.name: snapshot.now for one in plan.writes if _is_of_pod(one)}

    def _asked(self, snapshot: Snapshot, plan: writes.PoolPlan) -> Snapshot:
        """Add what compute nodes say about their load, and the transaction node about locks."""
        loads = {pod: self.world.store_facts(pod, loaded=True) for pod in plan.sample}
        locks = self.world.handed_over(plan.hand_over)
        stores = {**snapshot.stores, **loads, **locks}
        return replace(snapshot, now=self.world.now, stores=stores)

    def claim_set_pass(self, name: str, age: int) -> Iterator[None]:
        """Run a pass of a claim set."""
        for _round in range(ROUNDS):
            claim_set = self.world.server.get("CNClaimSet", name)
            if claim_set is None:
                return
            server = self.world.server
            claims = [claim_of(one) for one in server.list("CNClaim", age).values()]
            plan = claim_sets.plan_claim_set(
                reading.claim_set_facts(claim_set),
                claims,
                {key: pod_of(one) for key, one in server.list("Pod", age).items()},
                fresh=not age,
            )
            if plan.wants_fresh:
                age = 0
                yield
                continue
            if plan.finished:
                yield
                if server.get("CNClaimSet", name) is claim_set:
                    server.delete("CNClaimSet", name)
                return
            if not plan.writes:
                if not age:
                    self.monitor.check_done(claim_set, claims)
                return
            for write in plan.writes:
                yield
                yield from self._execute(write, None, {})
            age = 0

    def _snapshot(self, name: str, age: int) -> Snapshot | None:
        server = self.world.server
        pool = server.get("CNPool", name)
        if pool is None:
            return None
        pods = {key: pod_of(one) for key, one in server.list("Pod", age).items()}
        claim_age = self.world.rng.choice((0, age)) if age else 0
        claims = {key: claim_of(one) for key, one in server.list("CNClaim", claim_age).items()}
        self._ensure_generation(pool)
        pool = server.get("CNPool", name) or pool
        return Snapshot(
            pool=pool_of(pool),
            now=self.world.now,
            pods=pods,
            claims=claims,
            pools=tuple(pool_of(one) for one in server.list("CNPool").values()),
            stores={
                key: self.world.store_facts(key) for key, pod in pods.items() if pod.pool == name
            },
            generations=tuple(pool["spec"]["generations"]),
            reached=self.world.hakeeper_up,
            fresh=not age,
        )

    def _ensure_generation(self, pool: Json) -> None:
        present, known = pool["spec"]["generation"], pool["spec"]["generations"]
        if present in known or pool["metadata"].get("deletionTimestamp"):
            return

        def change(live: Json) -> None:
            live["spec"]["generations"] = [*known, present]

        self.world.server.update("CNPool", pool["metadata"]["name"], change)

    def _after(self, snapshot: Snapshot, done: tuple[writes.Write, ...]) -> Snapshot:
        """Return what is known from the answers to a round."""
        server = self.world.server
        pods, claims, stores = dict(snapshot.pods), dict(snapshot.claims), dict(snapshot.stores)
        for write in done:
            if _is_of_pod(write):
                _refresh(pods, server.get("Pod", write.name), write.name, pod_of)
            elif isinstance(write, writes.ClaimWrite | writes.ClaimStatus):
                _refresh(claims, server.get("CNClaim", write.name), write.name, claim_of)
            elif isinstance(write, writes.StoreWrite):
                before = stores[write.pod]
                labels = before.labels if write.labels is None else dict(write.labels)
                stores[write.pod] = replace(before, state=write.state, labels=labels)
        now = self.world.now
        return replace(snapshot, now=now, pods=pods, claims=claims, stores=stores)

    # --- writes -----------------------------------------------------------------------------

    def _execute(
        self, write: writes.Write, seen: Snapshot | None, read_at: Mapping[str, float]
    ) -> Generator[None, None, bool]:
        """Send a write; return whether it was accepted."""
        try:
            if isinstance(write, writes.StoreWrite):
                done = yield from self._set_store(write, read_at)
                if done:
                    self.monitor.executed(write)
                return done
            self._send(write, seen)
            self.monitor.executed(write)
        except (Refused, Unreachable):
            return False
        return True

    def _set_store(
        self, write: writes.StoreWrite, read_at: Mapping[str, float]
    ) -> Generator[None, None, bool]:
        """Call HAKeeper in the order that `StoreWrite` asks for, and not too late."""
        labels = {key: tuple(values) for key, values in (write.labels or {}).items()}
        if write.state is WorkState.WORKING and labels:
            calls = [(write.state, labels)]
        elif write.state is WorkState.WORKING:
            calls = [(None, labels), (write.state, None)]
        elif write.labels is None:
            calls = [(write.state, None)]
        else:
            calls = [(write.state, None), (None, labels)]
        for index, (state, tags) in enumerate(calls):
            if index:
                yield
            if self.world.now - read_at[write.pod] > writes.SECONDS_OF_STORE_WRITES:
                return False
            self.world.set_state(write.pod, state, tags)
        return True

    def _send(self, write: writes.Write, seen: Snapshot | None) -> None:
        world, server = self.world, self.world.server
        if isinstance(write, writes.PodWrite):
            self.monitor.before_pod_write(write)

            def change(pod: Json) -> None:
                merge(pod["metadata"]["labels"], write.labels)
                merge(pod["metadata"]["annotations"], write.annotations)

            server.update("Pod", write.name, change, write.uid, write.version)
        elif isinstance(write, writes.PodDelete):
            self.monitor.before_pod_delete(write)
            live = server.get("Pod", write.name)
            if live is None or live["metadata"]["resourceVersion"] != write.version:
                raise Refused("Conflict")
            world.end_pod(write.name)
        elif isinstance(write, writes.PodCreate):
            for _index in range(write.count):
                pool = server.get("CNPool", seen.pool.name)
                if pool is None:
                    return
                world.create_pod(pool, write.generation)
                self.monitor.after_pod_create(seen)
        elif isinstance(write, writes.GenerationDelete):
            self._delete_generation(seen.pool.name, write.name)
        else:
            self._send_claim(write, seen)

    def _send_claim(self, write: writes.Write, seen: Snapshot | None) -> None:
        server = self.world.server
        if isinstance(write, writes.ClaimWrite):
            self.monitor.before_claim_write(write, seen)

            def change(claim: Json) -> None:
                merge(claim["spec"], write.spec)
                merge(claim["metadata"]["labels"], write.labels)
                if write.owner_references is not None:
                    claim["metadata"]["ownerReferences"] = list(write.owner_references)

            server.update("CNClaim", write.name, change, write.uid, write.version)
        elif isinstance(write, writes.ClaimStatus):

            def report(claim: Json) -> None:
                claim["status"] = dict(write.status)

            server.update("CNClaim", write.name, report, write.uid, write.version)
        elif isinstance(write, writes.ClaimDelete):
            self.monitor.before_claim_delete(write)
            server.delete("CNClaim", write.name, write.uid, write.version)
        elif isinstance(write, writes.ClaimCreate):
            manifest = dict(write.manifest)
            stamped = {**manifest["metadata"], "creationTimestamp": timestamp(self.world.now)}
            created = server.create("CNClaim", {**manifest, "metadata": stamped}, self.world.now)
            self.monitor.after_claim_create(created)

    def _delete_generation(self, pool: str, name: str) -> None:
        if self.world.has_pod_of(name):
            raise Refused("Conflict")
        self.monitor.before_generation_delete(name)

        def change(live: Json) -> None:
            live["spec"]["generations"] = [
                one for one in live["spec"]["generations"] if one != name
            ]

        self.world.server.update("CNPool", pool, change)

    def _remove_pool(self, name: str) -> None:
        pool = self.world.server.get("CNPool", name)
        if pool is not None and pool["metadata"].get("deletionTimestamp"):
            self.monitor.before_pool_removal(name)
            self.world.server.delete("CNPool", name)


def _refresh(known: dict[str, Any], live: Mapping[str, Any] | None, name: str, read: Any) -> None:
    if live is None:
        known.pop(name, None)
    else:
        known[name] = read(live)


def _read_at(snapshot: Snapshot | None) -> dict[str, float]:
    """Return when each Pod was read; the answer to a write is another reading."""
    return dict.fromkeys(snapshot.pods, snapshot.now) if snapshot else {}


def _is_listed_after(write: writes.Write) -> bool:
    return isinstance(write, writes.PodCreate | writes.GenerationDelete)


def _is_of_pod(write: writes.Write) -> bool:
    return isinstance(write, writes.PodWrite | writes.PodDelete)
