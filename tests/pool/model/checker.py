# SPDX-License-Identifier: Apache-2.0
"""Random histories of pools, claims and claim sets; see `tests.pool.model.__main__`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import timestamp
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import keys, planning

from tests.pool.model.monitor import Monitor, Violation
from tests.pool.model.operator import Operator, pool_of
from tests.pool.model.server import Refused
from tests.pool.model.world import World

Json = dict[str, Any]
_ROUNDS_TO_SETTLE = 120
_SECONDS_OF_ROUND = 3.0
_QUIET_ROUNDS = 3


class Model:
    """One history: a world, an operator, and what happens to them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - repeatable
        self.world = World(self.rng)
        self.monitor = Monitor(self.world)
        self.monitor.free_at_most = 4
        self.operator = Operator(self.world, self.monitor)
        self.tasks: dict[str, Iterator[None]] = {}
        self.steps = 0
        self.names = 0
        self._create_pool("a")
        self.actions: list[tuple[int, Callable[[], str | None]]] = [
            (220, self.advance_operator),
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

    # --- operator ---------------------------------------------------------------------------

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
        self.tasks.clear()
        return "operator crashes"

    # --- time, nodes and load ---------------------------------------------------------------

    def pass_time(self) -> None:
        self.world.now += self.rng.choice((1, 2, 4, 8))

    def start_pod(self) -> str | None:
        name = self._pod(lambda pod: pod["status"]["phase"] == "Pending")
        if name:
            self.world.start_pod(name)
        return name and f"{name} starts"

    def begin_session(self) -> str | None:
        name = self._pod(lambda pod: self.world.is_routed(pod["metadata"]["name"]))
        if name:
            self.world.sessions[name] = self.world.sessions.get(name, 0) + 1
        return name and f"session on {name}"

    def end_session(self) -> str | None:
        name = self.rng.choice(sorted(self.world.sessions) or [""])
        if name:
            self.world.sessions.pop(name)
        return None

    def kill_pod(self) -> str | None:
        name = self._pod(_is_live)
        if not name:
            return None
        how = self.rng.choice((self.world.fail_pod, self.world.end_pod, self.world.vanish))
        how(name)
        return f"{how.__name__} {name}"

    def restart_store(self) -> str | None:
        name = self._pod(_is_live)
        if name:
            self.world.restart(name)
        return name and f"{name} restarts"

    def lose_node(self) -> str | None:
        if len(self.world.lost_nodes) > 1:
            return None
        node = self.rng.choice(self.world.nodes)
        self.world.lost_nodes.add(node)
        for name, pod in self.world.server.list("Pod").items():
            if pod["spec"].get("nodeName") == node and name in self.world.stores:
                self.world.stores[name].registered = False
                self.world.set_ready(name, False)
        return f"node {node} is lost"

    def find_node(self) -> str | None:
        for node in sorted(self.world.lost_nodes)[:1]:
            self.world.lost_nodes.remove(node)
            for name, pod in self.world.server.list("Pod").items():
                if pod["spec"].get("nodeName") == node and name in self.world.stores:
                    self.world.stores[name].registered = True
                    self.world.set_ready(name, True)
            return f"node {node} is back"
        return None

    def remove_ended_pod(self) -> str | None:
        name = self._pod(lambda pod: bool(pod["metadata"].get("deletionTimestamp")))
        if name:
            self.world.vanish(name)
        return name and f"{name} has gone"

    def touch_pod(self) -> None:
        name = self._pod(_is_live)
        if name:
            self.world.server.update("Pod", name, lambda pod: None)

    def flap_readiness(self) -> str | None:
        name = self._pod(lambda pod: pod["status"]["phase"] == "Running")
        if name:
            self.world.set_ready(name, self.rng.random() < 0.7)
        return name and f"readiness of {name}"

    def forget_store(self) -> str | None:
        name = self.rng.choice(sorted(self.world.stores) or [""])
        if name:
            store = self.world.stores[name]
            store.registered = not store.registered
        return name and f"{name} registered: {self.world.stores[name].registered}"

    def toggle_hakeeper(self) -> str:
        self.world.hakeeper_up = not self.world.hakeeper_up or self.rng.random() < 0.5
        return f"HAKeeper up: {self.world.hakeeper_up}"

    def toggle_samples(self) -> None:
        self.world.sampling_works = not self.world.sampling_works

    # --- users ------------------------------------------------------------------------------

    def create_claim(self) -> str | None:
        claims = self.world.server.list("CNClaim")
        if len(claims) >= 6:
            return None
        if len(self.world.server.list("CNClaimSet")) < 1 and self.rng.random() < 0.5:
            return self._create_claim_set()
        # Names are given again: what belongs to a claim must not pass on to the next of its name.
        name = self.rng.choice([one for one in ("x", "y", "z", "w") if one not in claims] or ["v"])
        tenant = self.rng.choice(("t1", "t2", "t3", ""))
        spec = {
            "selector": self.rng.choice(({"matchLabels": {"pool": "shared"}}, {})),
            "cnLabels": [{"key": "account", "values": [f"{tenant}-{name}"]}] if tenant else [],
            "ownerName": tenant,
            "priority": self.rng.choice((0, 0, 5)),
            "additionalPodLabels": self.rng.choice(
                ({}, {"tier": "gold", keys.LABEL_PHASE: "Idle"})
            ),
        }
        self._create("CNClaim", name, spec)
        return f"claim {name} of {tenant}"

    def delete_claim(self) -> str | None:
        name = self.rng.choice(sorted(self.world.server.list("CNClaim")) or [""])
        if name:
            self.world.server.delete("CNClaim", name)
        return name and f"claim {name} is deleted"

    def migrate(self) -> str | None:
        claim = self._claim(lambda one: bool(one["spec"].get("podName")))
        target = self._pod(lambda pod: pod["metadata"]["labels"][keys.LABEL_PHASE] == "Idle")
        if not claim or not target:
            return None
        old = claim["spec"]["podName"]
        self._edit(claim, {"podName": target, "sourcePod": {"podName": old}})
        return f"user moves {claim['metadata']['name']} from {old} to {target}"

    def migrate_and_scale_in(self) -> str | None:
        """Move a claim of a claim set while that shrinks."""
        claim = self._claim(
            lambda one: bool(one["spec"].get("podName") and one["metadata"].get("ownerReferences"))
        )
        target = self._pod(lambda pod: pod["metadata"]["labels"][keys.LABEL_PHASE] == "Idle")
        live = self.world.server.get("CNClaimSet", "s")
        if not claim or not target or live is None or live["spec"]["replicas"] < 2:
            return None
        source = {"podName": claim["spec"]["podName"]}
        self._edit(claim, {"podName": target, "sourcePod": source})
        replicas = live["spec"]["replicas"]
        self._scale(live, replicas - 1)
        return f"user moves {claim['metadata']['name']} to {target}; claim set s: {replicas - 1}"

    def cancel_migration(self) -> str | None:
        claim = self._claim(lambda one: bool(one["spec"].get("sourcePod")))
        if not claim:
            return None
        source, target = claim["spec"]["sourcePod"]["podName"], claim["spec"].get("podName")
        how = self.rng.randrange(3)
        if how == 0:
            self._edit(claim, {"podName": source, "sourcePod": None})
        elif how == 1:
            self._edit(claim, {"podName": source, "sourcePod": {"podName": target}})
        else:
            self._edit(claim, {"sourcePod": None})
        return f"user cancels the move of {claim['metadata']['name']} ({how})"

    def name_any_pod(self) -> str | None:
        claim, pod = self._claim(lambda _one: True), self._pod(lambda _pod: True)
        if not claim or not pod:
            return None
        self._edit(claim, {"podName": pod})
        return f"user lets {claim['metadata']['name']} name {pod}"

    def unname_pod(self) -> str | None:
        claim = self._claim(lambda one: bool(one["spec"].get("podName")))
        if not claim:
            return None
        self._edit(claim, {"podName": None})
        return f"user lets {claim['metadata']['name']} name no Pod"

    def change_template(self) -> str | None:
        name = self.rng.choice(sorted(self.world.server.list("CNPool")) or [""])
        if not name:
            return None
        generation = f"{name}-g{self.rng.randrange(3)}"
        self._edit_pool(name, {"generation": generation})
        return f"template {generation}"

    def change_pool(self) -> str | None:
        name = self.rng.choice(sorted(self.world.server.list("CNPool")) or [""])
        if not name:
            return None
        live = self.world.server.get("CNPool", name)
        before = live["spec"]["strategy"]["scaleStrategy"].get("maxPods")
        self.monitor.limits.append((self.world.now, name, before))
        strategy = self._strategy()
        spec = {
            "strategy": strategy,
            "placement": self.rng.choice((None, "Packed", "Spread")),
            "quotas": self.rng.choice(({}, {}, {"default": 2})),
        }
        self._edit_pool(name, spec)
        return f"pool {name}: {strategy['scaleStrategy']}"

    def change_claim_set(self) -> str | None:
        name = self.rng.choice(sorted(self.world.server.list("CNClaimSet")) or [""])
        if not name:
            return None
        replicas = self.rng.choice((0, 1, 2, 2, 3))
        live = self.world.server.get("CNClaimSet", name)
        self._scale(live, replicas)
        return f"claim set {name}: {replicas}"

    def _scale(self, live: Json, replicas: int) -> None:
        name = live["metadata"]["name"]
        self.monitor.replicas.append((self.world.now, name, live["spec"]["replicas"]))
        self.monitor.replicas.append((self.world.now, name, replicas))
        self.world.server.update(
            "CNClaimSet", name, lambda one: one["spec"].update(replicas=replicas)
        )

    def end_or_begin_pool(self) -> str | None:
        pools = self.world.server.list("CNPool")
        if len(pools) < 2:
            name = next(one for one in ("a", "b") if one not in pools)
            self._create_pool(name)
            return f"pool {name} is created"
        name = self.rng.choice(sorted(pools))
        return self._end("CNPool", name)

    def end_claim_set(self) -> str | None:
        name = self.rng.choice(sorted(self.world.server.list("CNClaimSet")) or [""])
        return self._end("CNClaimSet", name) if name else None

    # --- the end ----------------------------------------------------------------------------

    def settle(self) -> None:
        """End all faults; within so many passes, every claim is served and nothing is written."""
        world, server = self.world, self.world.server
        self.monitor.tell("faults end")
        world.hakeeper_up = world.sampling_works = True
        while world.lost_nodes:
            self.find_node()
        for store in world.stores.values():
            store.registered = True
        quiet = 0
        for _round in range(_ROUNDS_TO_SETTLE):
            before = server.version
            world.sessions.clear()
            world.now += _SECONDS_OF_ROUND
            self._kubelet()
            self.monitor.check()
            for job in [f"pool {name}" for name in server.list("CNPool")] + [
                f"set {name}" for name in server.list("CNClaimSet")
            ]:
                self._finish(job)
            quiet = quiet + 1 if server.version == before else 0
            # What drains, migrates or is kept for a while writes nothing for as long.
            if quiet > _QUIET_ROUNDS and not self._waits_for_time():
                break
        else:
            self.monitor.fail("does not become quiet")
        self._check_served()

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

    def _check_served(self) -> None:
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
            phase = (claim.get("status") or {}).get("phase")
            if phase in {"Bound", "Outdated"}:
                self._check_bound(name, claim, mine)
            elif mine:
                self.monitor.fail(f"{name} is {phase} and has {mine}")
            elif phase == "Lost":
                self._check_lost(name, claim)
            else:
                waiting.append(claim)
        if held:
            self.monitor.fail(f"Pods are bound to claims that are gone: {held}")
        self._check_waiting(waiting)
        self._check_pools()
        self._check_sets()

    def _check_bound(self, name: str, claim: Json, mine: list[str]) -> None:
        uid, spec = claim["metadata"]["uid"], claim["spec"]
        if mine != [spec.get("podName")] or spec.get("sourcePod"):
            self.monitor.fail(f"{name} has {mine}: {spec}")
        if not self.world.store_facts(mine[0]).serves(self.monitor.accounts[uid]):
            self.monitor.fail(f"{name} has {mine[0]}, which does not serve it")

    def _check_lost(self, name: str, claim: Json) -> None:
        if claim["spec"].get("podName"):
            self.monitor.fail(f"{name} is Lost and names a Pod")
        if claim["metadata"].get("ownerReferences"):
            self.monitor.fail(f"{name} is Lost and its claim set keeps it")

    def _check_waiting(self, waiting: list[Json]) -> None:
        """Claims wait only where the pool may not grow, or their owner has what it may have."""
        pools = {name: pool_of(pool) for name, pool in self.world.server.list("CNPool").items()}
        pools = {name: pool for name, pool in pools.items() if not pool.deleting}
        for claim in waiting:
            name = claim["spec"].get("poolName")
            chosen = pools.get(name or "") or pools.get(min(pools, default=""))
            if chosen is None or (name and name not in pools):
                continue
            pods = self._pods_of(chosen.name)
            full = chosen.max_pods is not None and len(pods) >= chosen.max_pods
            owner = claim["spec"].get("ownerName")
            of_owner = sum(pod["metadata"]["labels"].get(keys.LABEL_OWNER) == owner for pod in pods)
            spent = bool(owner) and chosen.quota is not None and of_owner >= chosen.quota
            if not full and not spent:
                self.monitor.fail(f"{claim['metadata']['name']} waits for ever: {claim}")

    def _check_pools(self) -> None:
        for name, live in self.world.server.list("CNPool").items():
            pool, pods = pool_of(live), self._pods_of(name)
            if pool.deleting:
                self.monitor.fail(f"pool {name} is never deleted")
            phases = [pod["metadata"]["labels"][keys.LABEL_PHASE] for pod in pods]
            full = pool.max_pods is not None and len(pods) >= pool.max_pods
            idle = phases.count("Idle")
            if idle != pool.max_idle and not (full and idle < pool.max_idle):
                self.monitor.fail(f"pool {name} has {phases}, maxIdle {pool.max_idle}")
            if set(phases) - {"Idle", "Bound"}:
                self.monitor.fail(f"pool {name} has {phases}")
            old = set(live["spec"]["generations"]) - {pool.generation}
            used = {pod["metadata"]["labels"]["matrixorigin.io/instance"] for pod in pods}
            if old - used:
                self.monitor.fail(f"generations {old - used} have no Pods and stay")

    def _check_sets(self) -> None:
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

    def _pods_of(self, pool: str) -> list[Json]:
        pods = self.world.server.list("Pod").values()
        return [pod for pod in pods if pod["metadata"]["labels"].get(keys.LABEL_POOL) == pool]

    # --- objects ----------------------------------------------------------------------------

    def _strategy(self) -> Json:
        scale = {"maxIdle": self.rng.choice((0, 1, 2, 3))}
        limit = self.rng.choice((None, None, 3, 5, 8))
        if limit is not None:
            scale["maxPods"] = limit
        timeout = self.rng.choice(("0s", "20s"))
        return {"scaleStrategy": scale, "updateStrategy": {"reclaimTimeout": timeout}}

    def _create_pool(self, name: str) -> None:
        spec = {
            "podLabels": {"pool": "shared"},
            "generation": f"{name}-g0",
            "generations": [],
            "strategy": self._strategy(),
            "template": {"scalingConfig": {"storeDrainTimeout": "60s", "minDelaySeconds": 15}},
        }
        self._create("CNPool", name, spec)

    def _create_claim_set(self) -> str:
        spec = {
            "replicas": self.rng.choice((1, 2)),
            # It does not select what the template leads to: claims must not be created for ever.
            "selector": {"matchLabels": {"other": "label"}},
            "template": {
                "spec": {
                    "selector": {"matchLabels": {"pool": "shared"}},
                    "cnLabels": [{"key": "account", "values": ["set"]}],
                }
            },
        }
        self._create("CNClaimSet", "s", spec)
        return "claim set s"

    def _create(self, kind: str, name: str, spec: Json) -> None:
        metadata = {"name": name, "labels": {}, "creationTimestamp": timestamp(self.world.now)}
        self.world.server.create(kind, {"metadata": metadata, "spec": spec}, self.world.now)

    def _edit(self, claim: Json, spec: Json) -> None:
        def change(live: Json) -> None:
            for key, value in spec.items():
                live["spec"].pop(key, None)
                if value is not None:
                    live["spec"][key] = value

        self.monitor.user_named[claim["metadata"]["uid"]] = self.world.now
        self.world.server.update("CNClaim", claim["metadata"]["name"], change)

    def _edit_pool(self, name: str, spec: Json) -> None:
        self.world.server.update("CNPool", name, lambda pool: pool["spec"].update(spec))

    def _end(self, kind: str, name: str) -> str:
        at = timestamp(self.world.now)
        self.world.server.update(
            kind, name, lambda one: one["metadata"].update(deletionTimestamp=at)
        )
        return f"{kind} {name} is deleted"

    def _pod(self, fits: Callable[[Json], bool]) -> str | None:
        names = [name for name, pod in self.world.server.list("Pod").items() if fits(pod)]
        return self.rng.choice(names) if names else None

    def _claim(self, fits: Callable[[Json], bool]) -> Json | None:
        claims = [one for one in self.world.server.list("CNClaim").values() if fits(one)]
        return self.rng.choice(claims) if claims else None


def _is_live(pod: Json) -> bool:
    return not pod["metadata"].get("deletionTimestamp") and pod["status"]["phase"] != "Failed"


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
