# SPDX-License-Identifier: Apache-2.0
"""Status of a CNPool, from what its pass found at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..api.types import Resource
from ..reporting.conditions import Condition, condition, paused, phase, summary
from ..reporting.reasons import LIMITED, ConditionType, PoolReason, Reason
from .facts import Phase, PodFacts, Snapshot
from .responsibility import responsible_pool
from .sizing import idle_target
from .writes import PoolPlan

Json = dict[str, Any]

_NAMED: Final = 20
_IN_USE: Final = (Phase.BOUND, Phase.DRAINING)
_State = tuple[bool, Reason | PoolReason, str]


def served(snapshot: Snapshot, plan: PoolPlan) -> Json:
    """Return what a pass found, as it travels through variables of Ansible.

    Args:
        snapshot: at its end.
        plan: what is left to do then.
    """
    pool = snapshot.pool
    pods = [pod for pod in snapshot.pods.values() if pod.pool == pool.name]
    gone = [pod for pod in pods if is_gone(pod)]
    phases = Counter(pod.phase for pod in pods if pod not in gone)
    claims = [
        claim
        for claim in snapshot.claims.values()
        if not claim.deleting
        and responsible_pool(claim, snapshot.pools, snapshot.pods) == pool.name
    ]
    bound = {pod.claim for pod in pods if pod.phase is Phase.BOUND and pod.live}
    return {
        "pods": {
            "total": len(pods),
            "starting": phases[Phase.UNKNOWN],
            "idle": phases[Phase.IDLE],
            "bound": phases[Phase.BOUND],
            "draining": phases[Phase.DRAINING],
            "terminating": len(gone),
        },
        "claims": {
            "total": len(claims),
            "bound": sum(claim.name in bound for claim in claims),
            "pending": len(plan.waiting),
            "waiting": [
                {"name": one.claim, "reason": one.message} for one in plan.waiting[:_NAMED]
            ],
        },
        "silent": sorted(
            pod.name for pod in pods if pod not in gone and snapshot.store(pod.name).silent
        ),
        "waiting": dict(Counter(str(one.reason) for one in plan.waiting)),
        "oldestWaiting": _oldest(snapshot, plan),
        "idleDesired": 0
        if pool.deleting
        else idle_target(pool, phases[Phase.BOUND] + phases[Phase.DRAINING], snapshot.now),
        "generation": pool.generation,
        "generations": [
            {
                "name": name,
                "pods": sum(pod.generation == name for pod in pods),
                "inUse": sum(pod.generation == name and pod.phase in _IN_USE for pod in pods),
            }
            for name in snapshot.generations
        ],
    }


def is_gone(pod: PodFacts) -> bool:
    """Return whether a Pod does not count any more: it ends, or is about to be deleted."""
    return not pod.live or pod.phase is Phase.TERMINATING


def _oldest(snapshot: Snapshot, plan: PoolPlan) -> float | None:
    """Return when the oldest claim was created that more Pods would serve; None without one."""
    refused = PoolReason.OWNER_QUOTA
    waiting = [snapshot.claims.get(one.claim) for one in plan.waiting if one.reason != refused]
    return min((claim.created for claim in waiting if claim is not None), default=None)


def pool_status(resource: Resource, found: Mapping[str, Any]) -> Json:
    """Return the status to write, complete but for the conditions' times.

    Args:
        resource: the CNPool with its status so far.
        found: what its pass returned: what `served` has, ``limited``, ``problem``, ``missing`` and
            ``errors``.
    """
    generation = int(resource["metadata"].get("generation") or 0)
    states = {
        ConditionType.READY: _ready(resource, found),
        ConditionType.SYNCED: _synced(found),
        ConditionType.PROGRESSING: _progressing(found),
        ConditionType.DEGRADED: _degraded(found),
    }
    conditions = [
        condition(kind, holds, reason, message, generation)
        for kind, (holds, reason, message) in states.items()
    ]
    conditions += [_limited(found, generation), *paused(resource, False, generation)]
    return {
        "observedGeneration": generation,
        "conditions": conditions,
        "phase": phase(conditions).value,
        "message": summary(conditions) or str(found.get("limited") or ""),
        **{name: found[name] for name in ("pods", "claims", "generation", "generations")},
    }


def paused_status(resource: Resource) -> Json:
    """Return the status of what an annotation pauses: as it was, and paused."""
    generation = int(resource["metadata"].get("generation") or 0)
    before = resource.get("status") or {}
    others = [one for one in before.get("conditions") or [] if one["type"] != "Paused"]
    conditions = [*others, *paused(resource, True, generation)]
    return {
        **before,
        "conditions": conditions,
        "phase": phase(conditions).value,
        "message": summary(conditions),
    }


def invalid_status(resource: Resource, invalid: str) -> Json:
    """Return the status of a pool whose spec cannot be used; its Pods stay as they are."""
    generation = int(resource["metadata"].get("generation") or 0)
    conditions = [
        condition(kind, False, Reason.INVALID_SPEC, invalid, generation)
        for kind in (ConditionType.READY, ConditionType.SYNCED)
    ]
    return {
        **(resource.get("status") or {}),
        "observedGeneration": generation,
        "conditions": conditions,
        "phase": phase(conditions).value,
        "message": invalid,
    }


def _ready(resource: Resource, found: Mapping[str, Any]) -> _State:
    scaling = ((resource["spec"].get("strategy") or {}).get("scaleStrategy")) or {}
    pods, claims = found["pods"], found["claims"]
    if pods["idle"]:
        return True, PoolReason.SERVING, f"{pods['idle']} idle Pods"
    wanted = scaling.get("maxIdle") or scaling.get("maxIdlePercent") or claims["pending"]
    if not wanted:
        return True, PoolReason.SERVING, "no idle Pods are wanted"
    waiting = f", {claims['pending']} claims wait" if claims["pending"] else ""
    reason = PoolReason.CLAIMS_PENDING if claims["pending"] else PoolReason.NO_IDLE_NODE
    return False, reason, f"no idle Pods, {pods['starting']} start{waiting}"


def _synced(found: Mapping[str, Any]) -> _State:
    errors = found.get("errors") or []
    if errors:
        return False, Reason.APPLY_FAILED, "; ".join(errors[:3])
    missing = found.get("missing")
    if missing:
        message = f"CNSet {missing} has not rendered what its Pods need, see its conditions"
        return False, Reason.DEPENDENCY_NOT_READY, message
    former = [
        one for one in found["generations"] if one["name"] != found["generation"] and one["pods"]
    ]
    replaced = sum(generation["pods"] - generation["inUse"] for generation in former)
    if replaced:
        return False, Reason.ROLLING_OUT, f"{replaced} Pods of earlier templates are replaced"
    used = sum(generation["inUse"] for generation in former)
    return True, Reason.APPLIED, f"{used} Pods of earlier templates are in use" if used else ""


def _progressing(found: Mapping[str, Any]) -> _State:
    pods = found["pods"]
    if pods["starting"] or pods["terminating"]:
        message = f"{pods['starting']} Pods start, {pods['terminating']} terminate"
        return True, Reason.SCALING, message
    if pods["draining"]:
        return True, Reason.DRAINING, f"{pods['draining']} Pods drain"
    return False, Reason.SETTLED, ""


def _degraded(found: Mapping[str, Any]) -> _State:
    problem = str(found.get("problem") or "")
    if problem:
        message = f"work states cannot be read or set: {problem}"
        return True, Reason.HAKEEPER_UNREACHABLE, message
    if found.get("silent"):
        return True, Reason.STORES_FAILED, silence(found["silent"])
    return False, Reason.AS_EXPECTED, ""


def silence(pods: Sequence[str]) -> str:
    """Return how a status says that Pods give no sign of life."""
    more = f" and {len(pods) - _NAMED} more" if len(pods) > _NAMED else ""
    return f"not heard for too long, or without an answer: {', '.join(pods[:_NAMED])}{more}"


def _limited(found: Mapping[str, Any], generation: int) -> Condition:
    limited = str(found.get("limited") or "")
    reason = PoolReason.MAX_PODS_REACHED if limited else PoolReason.WITHIN_LIMITS
    made = condition(ConditionType.READY, bool(limited), reason, limited, generation)
    return {**made, "type": LIMITED}
