# SPDX-License-Identifier: Apache-2.0
"""What the status and the metrics of a BucketClaim say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..api.types import Resource
from ..reporting.conditions import condition, paused
from ..reporting.kstatus import Condition
from ..reporting.reasons import PATH_MARKED, BackupReason, ConditionType
from .claims import DELETING, IN_USE, PENDING, RELEASED, was_refused
from .plans import BucketPlan

Json = dict[str, Any]
_WAITS: Final = (PENDING, BackupReason.PATH_TAKEN.value)

METRIC: Final = "matrixone_bucket_claim_state"
DESCRIPTION: Final = "1 for the state of a BucketClaim: Pending, InUse, Released or Deleting."
"""Its labels are ``claim_namespace``, ``claim``, ``path`` and ``state``: Prometheus has its own
``namespace``, that of the operator."""
_STATES: Final = (PENDING, IN_USE, RELEASED, DELETING)


def status_of(resource: Resource, plan: BucketPlan, failure: str) -> Json:
    """Return the status of a claim after a pass."""
    before: Mapping[str, Any] = resource.get("status") or {}
    generation = int(resource["metadata"].get("generation") or 0)
    if plan.paused and before.get("conditions"):
        kept = [one for one in before["conditions"] if one["type"] != ConditionType.PAUSED.value]
        return {**before, "conditions": [*kept, *paused(resource, True, generation)]}
    state = before.get("state", PENDING) if failure and not plan.bind_to else plan.phase
    granted = plan.facts.get("granted") or before.get("granted")
    return {
        "state": PENDING if plan.paused else state,
        "bindTo": plan.bind_to,
        "message": failure or plan.invalid or plan.message,
        "observedGeneration": generation,
        **({"progress": plan.facts["progress"]} if "progress" in plan.facts else {}),
        **({"granted": granted} if granted else {}),
        "conditions": [
            *_conditions(resource, plan, failure, generation),
            *_marked(plan, granted, generation),
            *paused(resource, plan.paused, generation),
        ],
    }


def _conditions(
    resource: Resource, plan: BucketPlan, failure: str, generation: int
) -> list[Condition]:
    message, is_deleting = failure or plan.invalid or plan.message, plan.phase == DELETING
    usable = plan.phase in (IN_USE, RELEASED) and not plan.invalid
    reasons = {
        IN_USE: BackupReason.IN_USE,
        RELEASED: BackupReason.RELEASED,
        DELETING: BackupReason.DELETING,
    }
    # A pass that failed has not found out that the path is free.
    is_taken = plan.problem.get("reason") == BackupReason.PATH_TAKEN.value or (
        bool(failure) and was_refused(resource)
    )
    waiting = BackupReason.PATH_TAKEN if is_taken else BackupReason.WAITING
    reason = reasons.get(plan.phase, waiting)
    reason = BackupReason.INVALID_SPEC if plan.invalid else reason
    return [
        condition(ConditionType.READY, usable, reason, message, generation),
        _synced(plan, failure, reason, generation),
        condition(
            ConditionType.PROGRESSING,
            is_deleting,
            BackupReason.DELETING_DATA if is_deleting else BackupReason.SETTLED,
            message if is_deleting else "",
            generation,
        ),
        _told(ConditionType.DEGRADED.value, "True", plan.problem, generation)
        if plan.problem and (plan.phase, plan.problem["reason"]) != _WAITS
        else condition(ConditionType.DEGRADED, False, BackupReason.AS_EXPECTED, "", generation),
    ]


def _marked(plan: BucketPlan, granted: Any, generation: int) -> list[Condition]:
    """Return whether the path is marked as the claim's; nothing while it has none."""
    if plan.unmarked:
        is_waiting = plan.unmarked["reason"] == BackupReason.WAITING.value
        status = "Unknown" if is_waiting else "False"
        return [_told(PATH_MARKED, status, plan.unmarked, generation)]
    if isinstance(granted, Mapping) and granted.get("mark"):
        message = plan.message if plan.phase == IN_USE else ""
        said = {"reason": BackupReason.MARKED.value, "message": message}
        return [_told(PATH_MARKED, "True", said, generation)]
    return []


def _told(kind: str, status: str, said: Mapping[str, str], generation: int) -> Condition:
    """Return a condition with a reason of a task, which is no `BackupReason`."""
    return {
        "type": kind,
        "status": status,
        "observedGeneration": generation,
        "reason": said["reason"],
        "message": said["message"],
    }


def _synced(plan: BucketPlan, failure: str, reason: BackupReason, generation: int) -> Condition:
    if failure:
        why, message = BackupReason.APPLY_FAILED, failure
    elif plan.phase in (IN_USE, RELEASED) and not plan.invalid:
        return condition(ConditionType.SYNCED, True, BackupReason.APPLIED, "", generation)
    else:
        why, message = reason, plan.invalid or plan.message
    return condition(ConditionType.SYNCED, False, why, message, generation)


def metrics_of(resource: Resource, status: Mapping[str, Any] | None) -> list[Json]:
    """Return the requests to the metrics API that set or remove the series of a claim."""
    metadata, found = resource["metadata"], (status or {}).get("state")
    labels = {"claim_namespace": metadata["namespace"], "claim": metadata["name"]}
    path = str(((resource.get("spec") or {}).get("s3") or {}).get("path") or "")
    return [
        {
            "name": METRIC,
            "description": DESCRIPTION,
            "labels": {**labels, "path": path, "state": state},
            "gauge": {"remove": True} if found is None else {"set": float(found == state)},
        }
        for state in _STATES
    ]
