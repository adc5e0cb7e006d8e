# SPDX-License-Identifier: Apache-2.0
"""The conditions Reconciling and Stalled, by which tools tell progress from failure.

Flux, Config Sync and others follow kstatus (the README of pkg/kstatus in
https://github.com/kubernetes-sigs/cli-utils): Reconciling is True
while the controller works towards the spec, Stalled is True when it cannot get there by itself;
both are absent otherwise, and never True together. They follow from the other conditions, so that
they cannot contradict them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .reasons import (
    ACCEPTED,
    BackupReason,
    ConditionType,
    EarlyReason,
    ObjectReason,
    Reason,
)

Condition = dict[str, Any]

KSTATUS_TYPES: Final = frozenset({ConditionType.RECONCILING.value, ConditionType.STALLED.value})
_NEEDS_A_PERSON: Final = frozenset(
    {
        Reason.INVALID_SPEC.value,
        Reason.VOLUME_REFUSED.value,
        Reason.ROLLOUT_STUCK.value,
        Reason.FAILOVER_BLOCKED.value,
        Reason.VOLUME_DELETED.value,
        Reason.PODS_NOT_CREATED.value,
        Reason.RESTORE_FAILED.value,
        EarlyReason.UNSUPPORTED_REPLICAS.value,
        EarlyReason.VOLUME_SHRINK_REFUSED.value,
        EarlyReason.VOLUME_NOT_EXPANDABLE.value,
        BackupReason.FAILED.value,
        BackupReason.BROKEN.value,
        ObjectReason.USER_EXISTS.value,
        ObjectReason.DATABASE_EXISTS.value,
        ObjectReason.DATABASE_LOST.value,
        ObjectReason.PASSWORD_REFUSED.value,
    }
)
_BAD: Final = (
    (ACCEPTED, "False"),
    (ConditionType.SYNCED.value, "False"),
    (ConditionType.DEGRADED.value, "True"),
    (ConditionType.READY.value, "False"),
)
_INTENDED: Final = frozenset(
    {
        Reason.PAUSED.value,
        Reason.UPGRADE_PAUSED.value,
        Reason.WAITING_FOR_WINDOW.value,
        BackupReason.SUSPENDED.value,
        EarlyReason.STOPPED.value,
        Reason.HIBERNATED.value,
    }
)
"""Why something is neither served nor applied, because somebody wants it so."""


def with_kstatus(conditions: Iterable[Mapping[str, Any]]) -> list[Condition]:
    """Return conditions with Reconciling and Stalled as the others imply them."""
    others = [dict(condition) for condition in conditions if condition["type"] not in KSTATUS_TYPES]
    states = {other["type"]: other for other in others}
    if not others or states.get(ConditionType.PAUSED.value, {}).get("status") == "True":
        return others
    stalled, working = _stalled(states), _working(states)
    if stalled:
        return [*others, _as(ConditionType.STALLED, stalled)]
    return [*others, _as(ConditionType.RECONCILING, working)] if working else others


def needs_a_person(reason: object) -> bool:
    """Return whether a reason says that the operator cannot get any further by itself."""
    return reason in _NEEDS_A_PERSON


def _stalled(states: Mapping[str, Condition]) -> Condition | None:
    found = (states[kind] for kind, bad in _BAD if states.get(kind, {}).get("status") == bad)
    return next((one for one in found if needs_a_person(one["reason"])), None)


def _working(states: Mapping[str, Condition]) -> Condition | None:
    """Return the condition that says best what is under way."""
    progressing = states.get(ConditionType.PROGRESSING.value, {})
    if progressing.get("status") == "True":
        return progressing
    for kind in (ConditionType.SYNCED, ConditionType.READY):
        found = states.get(kind.value, {"status": "True"})
        if found["status"] != "True" and found["reason"] not in _INTENDED:
            return found
    return None


def _as(kind: ConditionType, source: Condition) -> Condition:
    kept = {name: value for name, value in source.items() if name != "lastTransitionTime"}
    return {**kept, "type": kind.value, "status": "True"}
