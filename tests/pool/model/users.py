# SPDX-License-Identifier: Apache-2.0
"""What users do to pools, claims and claim sets."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import timestamp
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import keys

from tests.pool.model.faults import Faults
from tests.pool.model.monitor import Monitor
from tests.pool.model.world import World

Json = dict[str, Any]


class Users(Faults):
    """Random changes; each returns what it did, or None."""

    world: World
    rng: random.Random
    monitor: Monitor

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
        how = self.rng.randrange(3) if target else 0
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

    def _claim(self, fits: Callable[[Json], bool]) -> Json | None:
        claims = [one for one in self.world.server.list("CNClaim").values() if fits(one)]
        return self.rng.choice(claims) if claims else None
