# SPDX-License-Identifier: Apache-2.0
"""Status of a CNClaimSet, from what its pass found at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..api.types import Resource
from ..reporting.conditions import condition, paused, phase, summary
from ..reporting.reasons import ConditionType, PoolReason, Reason

Json = dict[str, Any]

_State = tuple[bool, Reason | PoolReason, str]


def claim_set_status(resource: Resource, found: Mapping[str, Any]) -> Json:
    """Return the status to write, complete but for the conditions' times.

    Args:
        resource: the CNClaimSet with its status so far.
        found: what its pass returned: ``status`` of its plan, and ``errors``.
    """
    generation = int(resource["metadata"].get("generation") or 0)
    fields = dict(found.get("status") or {})
    desired = int(resource["spec"].get("replicas") or 0)
    present, ready = int(fields.get("replicas") or 0), int(fields.get("readyReplicas") or 0)
    states = {
        ConditionType.READY: _ready(desired, ready),
        ConditionType.SYNCED: _synced(desired, present, found.get("errors") or []),
        ConditionType.PROGRESSING: _progressing(desired, present, ready),
    }
    conditions = [
        condition(kind, holds, reason, message, generation)
        for kind, (holds, reason, message) in states.items()
    ]
    conditions += paused(resource, False, generation)
    return {
        **fields,
        "observedGeneration": generation,
        "conditions": conditions,
        "phase": phase(conditions).value,
        "message": summary(conditions),
    }


def _ready(desired: int, ready: int) -> _State:
    if ready >= desired:
        return True, PoolReason.SERVING, f"{ready} of {desired} claims have a Pod"
    return False, PoolReason.CLAIMS_PENDING, f"{ready} of {desired} claims have a Pod"


def _synced(desired: int, present: int, errors: list[str]) -> _State:
    if errors:
        return False, Reason.APPLY_FAILED, "; ".join(errors[:3])
    if present != desired:
        return False, Reason.SCALING, f"{present} of {desired} claims exist"
    return True, Reason.APPLIED, ""


def _progressing(desired: int, present: int, ready: int) -> _State:
    if present != desired:
        return True, Reason.SCALING, f"{present} of {desired} claims exist"
    if ready < desired:
        return True, Reason.SCALING, f"{desired - ready} claims wait for a Pod"
    return False, Reason.SETTLED, ""
