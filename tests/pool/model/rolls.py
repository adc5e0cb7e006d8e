# SPDX-License-Identifier: Apache-2.0
"""What plans must keep to while Pods of a new template replace idle ones of earlier templates."""

from __future__ import annotations

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import keys, writes
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import (
    ClaimFacts,
    Phase,
    PodFacts,
    Snapshot,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.selectors import matches
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.sizing import idle_target


def broken_roll(plan: writes.PoolPlan, seen: Snapshot) -> str:
    """Return what a plan breaks; empty if that is nothing."""
    return _cooled(plan, seen) or _misled(plan, seen)


def _cooled(plan: writes.PoolPlan, seen: Snapshot) -> str:
    """Warm Pods go only when as many new ones are warm, or where these need their place."""
    pods = [pod for pod in _own(seen) if pod.live]
    gone = {
        one.name
        for one in plan.writes
        if isinstance(one, writes.PodWrite) and one.labels.get(keys.LABEL_PHASE) == "Terminating"
    }
    free = set(_free(plan, seen))
    lost = [pod.name for pod in pods if pod.name in gone & free and _is_older(seen, pod)]
    if not lost or seen.pool.deleting:
        return ""
    used = sum(pod.phase in {Phase.BOUND, Phase.DRAINING} for pod in pods)
    wanted = idle_target(seen.pool, used, seen.now)
    places = (seen.pool.max_pods or 0) - len(pods) + len(gone)
    holding = {pod.claim_uid for pod in pods if pod.phase is Phase.BOUND}
    claims = sum(not one.deleting and one.uid not in holding for one in seen.claims.values())
    needed = seen.pool.max_pods is not None and places <= max(1, claims)
    if len(free - gone) >= wanted or needed:
        return ""
    return f"{lost} are given up, and {sorted(free - gone)} are idle of {wanted}"


def _misled(plan: writes.PoolPlan, seen: Snapshot) -> str:
    """Claims get Pods of an earlier template only where that is of use."""
    left = set(_free(plan, seen))
    present = [pod for pod in _own(seen) if pod.name in left and not _is_older(seen, pod)]
    for write in plan.writes:
        if not isinstance(write, writes.ClaimWrite) or not write.why.startswith("gets Pod"):
            continue
        claim, pod = seen.claims[write.name], seen.pods[str(write.spec["podName"])]
        if not _is_older(seen, pod):
            continue
        if may_not_have(seen, claim, pod):
            return f"{claim.name} replaces a claim and gets {pod.name} of an earlier template"
        better = [one.name for one in present if matches(claim.selector, one.labels)]
        if better:
            return f"{claim.name} gets {pod.name} of an earlier template, and not {better}"
    return ""


def may_not_have(seen: Snapshot, claim: ClaimFacts, pod: PodFacts) -> bool:
    """Return whether a claim replaces one of an earlier template, and a Pod is of such a one too."""
    outdated = {
        one.controller
        for one in seen.claims.values()
        if one.controller and one.phase == "Outdated" and not one.deleting
    }
    return _is_older(seen, pod) and claim.controller in outdated


def _own(seen: Snapshot) -> list[PodFacts]:
    return [pod for pod in seen.pods.values() if pod.pool == seen.pool.name]


def _is_older(seen: Snapshot, pod: PodFacts) -> bool:
    return pod.generation != seen.pool.generation


def _free(plan: writes.PoolPlan, seen: Snapshot) -> list[str]:
    """Return the Pods that could be bound at once and that no claim names or gets."""
    named = {claim.pod for claim in seen.claims.values()}
    named |= {
        str(one.spec.get("podName")) for one in plan.writes if isinstance(one, writes.ClaimWrite)
    }
    return [
        pod.name
        for pod in _own(seen)
        if pod.phase is Phase.IDLE
        and pod.ready
        and pod.live
        and pod.name not in named
        and (seen.store(pod.name).clean or not seen.reached)
    ]
