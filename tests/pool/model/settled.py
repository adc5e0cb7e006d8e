# SPDX-License-Identifier: Apache-2.0
"""What must be true when faults have ended and the operator has nothing more to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import keys
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.claim_kind import (
    CN_CLAIM,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import PassEnd

from tests.pool.model.monitor import Monitor
from tests.pool.model.operator import pool_of
from tests.pool.model.world import World

Json = dict[str, Any]
_ROLE = CN_CLAIM


@dataclass
class Settled:
    """Checks a world in which nothing happens any more."""

    world: World
    monitor: Monitor

    def check(self) -> None:
        server = self.world.server
        pods = server.list("Pod")
        held: dict[str, list[str]] = {}
        for name, pod in pods.items():
            holder = (pod["metadata"].get("annotations") or {}).get(keys.ANNOTATION_CLAIM_UID)
            if holder:
                held.setdefault(holder, []).append(name)
        waiting: list[Json] = []
        for name, claim in server.list("CNClaim").items():
            mine = held.pop(claim["metadata"]["uid"], [])
            phase = self.phase_of(claim)
            if phase in {"Bound", "Outdated"}:
                self.check_bound(name, claim, mine)
            elif mine:
                self.monitor.fail(f"{name} is {phase} and has {mine}")
            elif phase == "Lost":
                self.check_lost(name, claim)
            else:
                waiting.append(claim)
        if held:
            self.monitor.fail(f"Pods are bound to claims that are gone: {held}")
        self.check_waiting(waiting)
        self.check_pools()
        self.check_sets()

    def phase_of(self, claim: Json) -> str | None:
        """Return what is reported: by the pool of a claim, or without one by the claim's own role."""
        status: Json = claim.get("status") or {}
        if keys.LABEL_POOL not in (claim["metadata"].get("labels") or {}):
            pools = {"pools": list(self.world.server.list("CNPool").values())}
            status = _ROLE.reporter.report(PassEnd(claim, _ROLE.plan(claim, pools))).status
        return status.get("phase")

    def check_bound(self, name: str, claim: Json, mine: list[str]) -> None:
        uid, spec = claim["metadata"]["uid"], claim["spec"]
        if mine != [spec.get("podName")] or spec.get("sourcePod"):
            self.monitor.fail(f"{name} has {mine}: {spec}")
        if not self.world.store_facts(mine[0]).serves(self.monitor.accounts[uid]):
            self.monitor.fail(f"{name} has {mine[0]}, which does not serve it")

    def check_lost(self, name: str, claim: Json) -> None:
        if claim["spec"].get("podName"):
            self.monitor.fail(f"{name} is Lost and names a Pod")
        if claim["metadata"].get("ownerReferences"):
            self.monitor.fail(f"{name} is Lost and its claim set keeps it")

    def check_waiting(self, waiting: list[Json]) -> None:
        """Claims wait only where the pool may not grow, or their owner has what it may have."""
        pools = {name: pool_of(pool) for name, pool in self.world.server.list("CNPool").items()}
        pools = {name: pool for name, pool in pools.items() if not pool.deleting}
        for claim in waiting:
            name = claim["spec"].get("poolName")
            chosen = pools.get(name or "") or pools.get(min(pools, default=""))
            if chosen is None or (name and name not in pools):
                continue
            pods = self.pods_of(chosen.name)
            full = chosen.max_pods is not None and len(pods) >= chosen.max_pods
            owner = claim["spec"].get("ownerName")
            of_owner = sum(pod["metadata"]["labels"].get(keys.LABEL_OWNER) == owner for pod in pods)
            spent = bool(owner) and chosen.quota is not None and of_owner >= chosen.quota
            if not full and not spent:
                self.monitor.fail(f"{claim['metadata']['name']} waits for ever: {claim}")

    def check_pools(self) -> None:
        for name, live in self.world.server.list("CNPool").items():
            pool, pods = pool_of(live), self.pods_of(name)
            if pool.deleting:
                self.monitor.fail(f"pool {name} is never deleted")
            phases = [pod["metadata"]["labels"][keys.LABEL_PHASE] for pod in pods]
            full = pool.max_pods is not None and len(pods) >= pool.max_pods
            idle = phases.count("Idle")
            if idle != pool.max_idle and not (full and idle < pool.max_idle):
                self.monitor.fail(f"pool {name} has {phases}, maxIdle {pool.max_idle}")
            if set(phases) - {"Idle", "Bound"}:
                self.monitor.fail(f"pool {name} has {phases}")
            outdated = [
                pod["metadata"]["name"]
                for pod in pods
                if pod["metadata"]["labels"][keys.LABEL_PHASE] == "Idle"
                and pod["metadata"]["labels"]["matrixorigin.io/instance"] != pool.generation
            ]
            if outdated:
                self.monitor.fail(f"pool {name} keeps {outdated} of earlier templates")
            old = set(live["spec"]["generations"]) - {pool.generation}
            used = {pod["metadata"]["labels"]["matrixorigin.io/instance"] for pod in pods}
            if old - used:
                self.monitor.fail(f"generations {old - used} have no Pods and stay")

    def check_sets(self) -> None:
        for name, one in self.world.server.list("CNClaimSet").items():
            uid = one["metadata"]["uid"]
            claims = [
                claim
                for claim in self.world.server.list("CNClaim").values()
                if (claim["metadata"].get("ownerReferences") or [{}])[0].get("uid") == uid
            ]
            phases = [(claim.get("status") or {}).get("phase") for claim in claims]
            rolls = "Outdated" in phases and len(claims) == one["spec"]["replicas"] + 1
            if len(claims) != one["spec"]["replicas"] and not rolls:
                self.monitor.fail(f"claim set {name} has {phases} for {one['spec']['replicas']}")

    def pods_of(self, pool: str) -> list[Json]:
        pods = self.world.server.list("Pod").values()
        return [pod for pod in pods if pod["metadata"]["labels"].get(keys.LABEL_POOL) == pool]
