# SPDX-License-Identifier: Apache-2.0
"""What must hold after every step of the model, and at every write of the operator."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.records import (
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import (
    keys,
    reading,
    writes,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import (
    ClaimFacts,
    Snapshot,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.selectors import matches

from tests.pool.model.rolls import broken_roll, may_not_have
from tests.pool.model.world import PROXIES_LEARN, World

Json = dict[str, Any]
_IN_FLIGHT = 30.0
"""Seconds after which a pass has noticed what a user changed."""


class Violation(AssertionError):
    """A property of the model does not hold."""


def _labels(one: Json) -> Json:
    return one["metadata"].get("labels") or {}


def _notes(one: Json) -> Json:
    return one["metadata"].get("annotations") or {}


class Monitor:
    """Checks the world; it knows what was, where that decides what may be."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.accounts: dict[str, dict[str, tuple[str, ...]]] = {}
        self.last_claim: dict[str, str] = {}
        self.sources: dict[tuple[str, str], float] = {}
        self.limits: list[tuple[float, str, int | None]] = []
        self.replicas: list[tuple[float, str, int]] = []
        self.seen_versions: dict[str, str] = {}
        self.free_at_most = 0
        self.two_until = 0.0
        self.user_named: dict[str, float] = {}
        self.left: dict[tuple[str, str], float] = {}
        self.log: list[str] = []
        self.seen: Counter[str] = Counter()

    @property
    def written(self) -> int:
        """Return how many writes of the operator were accepted, those to HAKeeper among them."""
        return sum(self.seen.values())

    def tell(self, text: str) -> None:
        self.log.append(f"{self.world.now - 1_800_000_000:.0f} {text}")

    def executed(self, write: writes.Write) -> None:
        """Note what the operator wrote."""
        kind = type(write).__name__
        if isinstance(write, writes.PodWrite):
            self.seen[f"{kind} {write.labels.get(keys.LABEL_PHASE) or 'notes'}"] += 1
        elif isinstance(write, writes.StoreWrite):
            self.seen[f"{kind} {write.state}"] += 1
        elif isinstance(write, writes.ClaimWrite):
            self.seen[f"{kind} {'Pod' if write.spec.get('podName') else 'other'}"] += 1
        elif isinstance(write, writes.ClaimStatus):
            self.seen[f"{kind} {write.status['phase']}"] += 1
        else:
            self.seen[kind] += 1
        name = getattr(write, "name", "") or getattr(write, "pod", "")
        self.tell(f"    {kind} {name}: {getattr(write, 'why', '')} {getattr(write, 'spec', '')}")

    def fail(self, text: str) -> None:
        raise Violation(text)

    # --- after every step -------------------------------------------------------------------

    def check(self) -> None:
        """Check what must hold at any time."""
        server = self.world.server
        pods, claims = server.list("Pod"), server.list("CNClaim")
        for claim in claims.values():
            self._learn(claim)
        for name, pod in pods.items():
            self._check_pod(name, pod)
        self._check_records(pods, claims)

    def _learn(self, claim: Json) -> None:
        uid, version = claim["metadata"]["uid"], claim["metadata"]["resourceVersion"]
        source = (claim["spec"].get("sourcePod") or {}).get("podName")
        if source:
            self.sources[uid, source] = self.world.now
        if self.seen_versions.get(uid) != version:
            self.seen_versions[uid] = version
            self.accounts[uid] = dict(reading.cn_labels(claim["spec"].get("cnLabels")))

    def _check_pod(self, name: str, pod: Json) -> None:
        labels, uid = _labels(pod), pod["metadata"]["uid"]
        phase, holder = labels.get(keys.LABEL_PHASE), _notes(pod).get(keys.ANNOTATION_CLAIM_UID)
        if phase == "Bound":
            self._check_holder(name, uid, holder)
        elif holder or labels.get(keys.LABEL_CLAIMED_BY) or labels.get(keys.LABEL_CLAIM_SET):
            self.fail(f"{name} is {phase} and still has labels of a claim")
        elif "tier" in labels:
            self.fail(f"{name} is {phase} and still has additional labels")
        if phase == "Idle" and self.world.sessions.get(name):
            self.fail(f"{name} is Idle and has sessions")
        store = self.world.stores.get(name)
        if store is None or store.state is not WorkState.WORKING:
            return
        if phase in {"Idle", "Unknown"}:
            self.fail(f"{name} is {phase} and works in HAKeeper")
        expected = self.accounts.get(self.last_claim.get(uid, ""), {})
        if store.labels != expected:
            self.fail(f"{name} ({phase}) works with labels {store.labels}, not {expected}")

    def _check_holder(self, name: str, uid: str, holder: str | None) -> None:
        before = self.last_claim.get(uid)
        if holder is None:
            self.fail(f"{name} is Bound without the uid of a claim")
        elif before != holder:
            self.last_claim[uid] = holder

    def _check_records(self, pods: Json, claims: Json) -> None:
        """No two claims report the same Pod as theirs."""
        served: dict[str, str] = {}
        for name, claim in claims.items():
            status, wanted = claim.get("status") or {}, claim["spec"].get("podName")
            recorded = (status.get("store") or {}).get("podName")
            if status.get("phase") not in {"Bound", "Outdated"} or wanted != recorded:
                continue
            if recorded not in pods:
                continue
            if recorded in served:
                self.fail(f"{name} and {served[recorded]} both report {recorded}")
            served[recorded] = name

    # --- writes of the operator -------------------------------------------------------------

    def before_pod_write(self, write: writes.PodWrite) -> None:
        """Check a change of phase; only those that the API server will accept."""
        live = self.world.server.get("Pod", write.name)
        if live is None or write.version not in {"", live["metadata"]["resourceVersion"]}:
            return
        before, after = _labels(live).get(keys.LABEL_PHASE), write.labels.get(keys.LABEL_PHASE)
        if after == "Bound":
            self._check_bind(live, write, before)
        if "has moved to" in write.why:
            self._check_source(write.name, live)
        if after == "Terminating":
            self._check_terminate(write.name, live, before)
        if after == "Idle" and before not in {"Unknown", "Draining"}:
            self.fail(f"{write.name} goes from {before} to Idle")
        if before == "Terminating" and after not in {None, before}:
            self.fail(f"{write.name} is Terminating and changes to {after}")

    def _check_bind(self, live: Json, write: writes.PodWrite, before: str | None) -> None:
        name = write.name
        holder = _notes(live).get(keys.ANNOTATION_CLAIM_UID)
        if before != "Idle" or holder:
            self.fail(f"{name} is {before}, held by {holder}, and is bound")
        uid = str(write.annotations[keys.ANNOTATION_CLAIM_UID])
        for other, pod in self.world.server.list("Pod").items():
            same = _notes(pod).get(keys.ANNOTATION_CLAIM_UID) == uid
            gone = pod["metadata"].get("deletionTimestamp") or pod["status"]["phase"] == "Failed"
            if other == name or not same or gone:
                continue
            # A pass of a former leader may have decided just before a user, or its successor, let
            # the claim name another Pod: the one that it does not name is released by the next pass.
            moved = max(
                self.sources.get((uid, other), 0.0),
                self.user_named.get(uid, 0.0),
                self.left.get((uid, name), 0.0),
            )
            if self.world.now - moved >= _IN_FLIGHT:
                self.fail(f"claim {uid} has {other} and gets {name} outside of a migration")

    def before_claim_write(self, write: writes.ClaimWrite, seen: Snapshot | None) -> None:
        """No owner gets more Pods than its quota, but for those that users chose themselves."""
        live = self.world.server.get("CNClaim", write.name)
        if live is None or live["metadata"]["resourceVersion"] != write.version or seen is None:
            return
        before = live["spec"].get("podName")
        if before and write.spec.get("podName", before) != before:
            self.left[live["metadata"]["uid"], before] = self.world.now
        owner = live["spec"].get("ownerName")
        limit = seen.pool.quotas.get(owner, seen.pool.quota) if owner else None
        if limit is None or not write.why.startswith("gets Pod"):
            return
        claims = self.world.server.list("CNClaim").values()
        named = [one for one in claims if one["spec"].get("ownerName") == owner]
        chosen = {
            pod
            for pod in (one["spec"].get("podName") for one in named)
            if pod and (seen.pods[pod].pool if pod in seen.pods else "") == seen.pool.name
        }
        by_users = sum(one["metadata"]["uid"] in self.user_named for one in named)
        if len(chosen) >= limit + by_users:
            self.fail(
                f"{owner} has {sorted(chosen)}, quota {limit}, and {write.name} gets one more"
            )

    def check_plan(self, plan: writes.PoolPlan, seen: Snapshot) -> None:
        """Check what a pass of a pool decides from what it has seen."""
        broken = broken_roll(plan, seen)
        if broken:
            self.fail(broken)
        self._check_order(plan, seen)

    def _check_order(self, plan: writes.PoolPlan, seen: Snapshot) -> None:
        """No claim gets a Pod that one before it waits for."""
        waiting = [
            seen.claims[one.claim] for one in plan.waiting if one.reason.startswith(("No", "Pool"))
        ]
        for write in plan.writes:
            if not isinstance(write, writes.ClaimWrite) or not write.why.startswith("gets Pod"):
                continue
            pod, claim = seen.pods[str(write.spec["podName"])], seen.claims[write.name]
            for one in waiting:
                before = (-one.priority, one.created) < (-claim.priority, claim.created)
                fits = matches(one.selector, pod.labels) and not may_not_have(seen, one, pod)
                if before and fits:
                    self.fail(f"{write.name} gets {pod.name}, and {one.name} waited longer for it")

    def _check_source(self, name: str, live: Json) -> None:
        """The source of a migration is left when proxies know the target.

        A user may have named another one since the operator looked, which is not bound to the claim.
        """
        claim = self.world.server.get("CNClaim", _labels(live).get(keys.LABEL_CLAIMED_BY, ""))
        target = (claim or {"spec": {}})["spec"].get("podName")
        pod = self.world.server.get("Pod", target or "")
        if claim is None or pod is None or target == name:
            return
        facts = reading.pod_facts(pod)
        since = facts.claimed_at if facts.claim_uid == claim["metadata"]["uid"] else None
        if since is not None and self.world.now - since < PROXIES_LEARN:
            self.fail(f"{name} is released {self.world.now - since} s after {target} was bound")

    def _check_terminate(self, name: str, live: Json, before: str | None) -> None:
        if before == "Bound":
            self.fail(f"{name} is Bound and is given up")
        if before != "Draining":
            return
        reclaimed = reading.pod_facts(live).reclaimed_at
        pool = self.world.server.get("CNPool", _labels(live).get(keys.LABEL_POOL, "")) or {}
        deleting = (pool.get("metadata") or {}).get("deletionTimestamp")
        policy = reading.drain_policy((pool.get("spec") or {}).get("template") or {})
        late = reclaimed is not None and self.world.now >= reclaimed + policy.timeout - 1
        store = self.world.stores.get(name)
        gone = store is None or not store.registered
        if self.world.sessions.get(name) and not late and not gone and not deleting:
            self.fail(f"{name} has sessions and is given up before its time")

    def before_pod_delete(self, write: writes.PodDelete) -> None:
        """Only what no claim can get any more is deleted."""
        live = self.world.server.get("Pod", write.name)
        if live is None or live["metadata"]["resourceVersion"] != write.version:
            return
        phase, status = _labels(live).get(keys.LABEL_PHASE), live["status"].get("phase")
        if phase != "Terminating" and status != "Failed":
            self.fail(f"{write.name} is {phase} and is deleted")

    def after_pod_create(self, seen: Snapshot) -> None:
        """Neither maxPods is exceeded, nor are Pods created that nobody needs."""
        now, name = self.world.now, seen.pool.name
        pods = [
            pod
            for pod in self.world.server.list("Pod").values()
            if _labels(pod).get(keys.LABEL_POOL) == name
            and not pod["metadata"].get("deletionTimestamp")
            and pod["status"]["phase"] != "Failed"
        ]
        recent = [
            limit for at, pool, limit in self.limits if pool == name and now - at < _IN_FLIGHT
        ]
        allowed = [seen.pool.max_pods, *recent]
        if now < self.two_until:
            # Nothing that the API server knows keeps two processes from creating one each.
            return
        if None not in allowed and len(pods) > max(one for one in allowed if one is not None):
            self.fail(f"{name} has {len(pods)} Pods, maxPods is {allowed}")
        present = [
            pod for pod in pods if _labels(pod)["matrixorigin.io/instance"] == seen.pool.generation
        ]
        free = sum(_labels(pod)[keys.LABEL_PHASE] in {"Unknown", "Idle"} for pod in present)
        claims = len(self.world.server.list("CNClaim")) + 3
        if free > self.free_at_most + claims:
            self.fail(f"{name} has {free} free Pods for {claims} claims")

    def after_claim_create(self, created: Json) -> None:
        """A claim set never has more claims than its replicas and one for a roll."""
        reference = created["metadata"]["ownerReferences"][0]
        name, now = reference["name"], self.world.now
        live = [
            claim
            for claim in self.world.server.list("CNClaim").values()
            if (claim["metadata"].get("ownerReferences") or [{}])[0].get("uid") == reference["uid"]
            and (claim.get("status") or {}).get("phase") != "Lost"
        ]
        recent = [
            number for at, one, number in self.replicas if one == name and now - at < _IN_FLIGHT
        ]
        present = self.world.server.get("CNClaimSet", name)
        allowed = max([*recent, present["spec"]["replicas"] if present else 0])
        if len(live) > allowed + 1:
            self.fail(f"{name} has {len(live)} claims for {allowed} replicas")

    def check_done(self, claim_set: Json, claims: list[ClaimFacts]) -> None:
        """A claim set that has nothing to do has no claims too many, nor too few."""
        uid, replicas = claim_set["metadata"]["uid"], claim_set["spec"]["replicas"]
        own = [one for one in claims if one.controller == uid and one.phase != "Lost"]
        rolls = any(one.phase == "Outdated" or one.source for one in own)
        if not replicas <= len(own) <= replicas + rolls * len(own):
            self.fail(f"claim set leaves {len(own)} claims for {replicas} replicas")

    def before_claim_delete(self, write: writes.ClaimDelete) -> None:
        """A claim set does not delete claims that migrate, unless all of them leave."""
        live = self.world.server.get("CNClaim", write.name)
        if live is None or live["metadata"]["resourceVersion"] != write.version:
            return
        set_name = _labels(live).get(keys.LABEL_CLAIM_SET, "")
        claim_set = self.world.server.get("CNClaimSet", set_name)
        if claim_set is None or claim_set["metadata"].get("deletionTimestamp"):
            return
        now = self.world.now
        zero = [
            number
            for at, one, number in self.replicas
            if one == set_name and now - at < _IN_FLIGHT and not number
        ]
        lost = (live.get("status") or {}).get("phase") == "Lost"
        if (
            live["spec"].get("sourcePod")
            and not lost
            and not zero
            and claim_set["spec"]["replicas"]
        ):
            self.fail(f"{write.name} migrates and is deleted")

    def before_generation_delete(self, name: str) -> None:
        """A generation goes when it has no Pods, since they use its ConfigMap and Services."""
        for pod in self.world.server.list("Pod").values():
            if _labels(pod).get("matrixorigin.io/instance") == name:
                self.fail(f"generation {name} is deleted and still has {pod['metadata']['name']}")

    def before_pool_removal(self, name: str) -> None:
        """A pool ends after its Pods."""
        for pod in self.world.server.list("Pod").values():
            if _labels(pod).get(keys.LABEL_POOL) == name:
                self.fail(f"pool {name} is gone and still has {pod['metadata']['name']}")
