# SPDX-License-Identifier: Apache-2.0
"""Kubernetes Events: what a human would want to know of a pass; none if nothing happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from .kstatus import KSTATUS_TYPES
from .reasons import (
    ACCEPTED,
    BackupReason,
    ConditionType,
    EarlyReason,
    ObjectReason,
    Phase,
    Reason,
)

_LONGEST_NOTE = 1024  # bytes that events.k8s.io/v1 takes


class Occurrence(TypedDict):
    """An Event to emit.

    Keys:
        type: ``Normal`` or ``Warning``.
        reason: CamelCase word, e.g. ``Created``.
        action: what the operator was doing, CamelCase.
        note: one sentence.
    """

    type: str
    reason: str
    action: str
    note: str


_ACTIONS = {
    ConditionType.READY.value: "Observe",
    ConditionType.SYNCED.value: "Apply",
    ConditionType.PROGRESSING.value: "Reconcile",
    ConditionType.DEGRADED.value: "Observe",
    ConditionType.PAUSED.value: "Pause",
}
_WARNINGS = frozenset(
    {
        Reason.INVALID_SPEC.value,
        Reason.VOLUME_REFUSED.value,
        Reason.CREDENTIAL_NOT_APPLIED.value,
        Reason.CONNECTION_SECRET_NOT_APPLIED.value,
        Reason.APPLY_FAILED.value,
        Reason.OBSERVATION_FAILED.value,
        Reason.ROLLOUT_STUCK.value,
        Reason.UPGRADE_HELD.value,
        Reason.CANARY_FAILED.value,
        Reason.CATALOG_UPGRADE_STUCK.value,
        Reason.STORES_FAILED.value,
        Reason.HAKEEPER_UNREACHABLE.value,
        Reason.FAILOVER_BLOCKED.value,
        Reason.VOLUME_DELETED.value,
        Reason.RESTORE_FAILED.value,
        Reason.STORAGE_CREDENTIAL_CHANGED.value,
        BackupReason.BACKUP_BROKEN.value,
        BackupReason.BACKUP_TOO_OLD.value,
        BackupReason.JOB_FAILED.value,
        BackupReason.VERIFICATION_FAILED.value,
        BackupReason.VERIFICATION_INCOMPLETE.value,
        ObjectReason.USER_EXISTS.value,
        ObjectReason.DATABASE_EXISTS.value,
        ObjectReason.DATABASE_LOST.value,
        ObjectReason.PASSWORD_REFUSED.value,
    }
)
_STOPPED = frozenset(
    {EarlyReason.STOPPED.value, Reason.HIBERNATED.value, BackupReason.SUSPENDED.value}
)
"""Why something is not served because somebody wants it so."""
_QUIET = frozenset(
    {
        Reason.RECONCILING.value,
        Reason.APPLIED.value,
        Reason.AS_EXPECTED.value,
        Reason.NOT_PAUSED.value,
        Reason.ROLLING_OUT.value,
        Reason.UPGRADING_CATALOG.value,
        Reason.SETTLED.value,
        BackupReason.SCHEDULED.value,
        BackupReason.BACKUP_FAILED.value,  # each failure has an Event of its own
        Reason.ALL_SETS_SYNCED.value,
        Reason.DEPENDENCY_NOT_READY.value,
        Reason.LOG_SERVICE_NOT_SYNCED.value,
        Reason.DN_SET_NOT_SYNCED.value,
        Reason.SOME_CN_SETS_NOT_SYNCED.value,
        Reason.PROXY_NOT_SYNCED.value,
        Reason.WEB_UI_NOT_SYNCED.value,
        EarlyReason.SPEC_ACCEPTED.value,
        EarlyReason.WAITING_FOR_ROLL_OUT.value,
        BackupReason.JOB_PENDING.value,
        BackupReason.JOB_RUNNING.value,
        BackupReason.COMPLETE.value,
        BackupReason.STARTING.value,
    }
)
"""Reasons that add nothing to another condition's event of the same moment."""
_OF_SYNCED = frozenset(
    {
        Reason.INVALID_SPEC.value,
        Reason.APPLY_FAILED.value,
        Reason.UPGRADE_HELD.value,
        Reason.UPGRADE_PAUSED.value,
    }
)
"""Why an earlier spec is served; the condition Synced tells it."""


def transitions(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> list[Occurrence]:
    """Return the events that the change from one status to the next deserves.

    Args:
        before: status of the live object before it is written.
        after: status to write.
    """
    known = {entry.get("type"): entry for entry in (before or {}).get("conditions") or []}
    found = []
    for entry in after.get("conditions") or []:
        if entry["type"] in KSTATUS_TYPES:
            continue
        old = known.get(entry["type"], {})
        moved = (old.get("status"), old.get("reason")) != (entry["status"], entry["reason"])
        # Work on a new generation leaves the phase as it was, and readiness unknown for a moment.
        served_on = old.get("status") == "Unknown" and (before or {}).get("phase") == Phase.READY
        goes_on = (before or {}).get("phase") == Phase.DELETING == entry["reason"]
        if not moved or goes_on or (served_on and _serves(entry)):
            continue
        if _worth_telling(entry, old):
            found.append(_told(entry))
    return found


def _serves(entry: Mapping[str, Any]) -> bool:
    return bool(entry["type"] == ConditionType.READY.value and entry["status"] == "True")


def _worth_telling(entry: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Leave out what only repeats another condition, or a beginning that is no news."""
    reason = entry["reason"]
    if reason == Reason.DELETING.value:
        return bool(entry["type"] == ConditionType.PROGRESSING.value)
    grows = entry["type"] == ConditionType.SYNCED.value and reason == Reason.GROWING_VOLUMES.value
    if grows or (_serves(entry) and reason in _OF_SYNCED):
        return False
    if entry["type"] == ConditionType.PROGRESSING.value and reason == Reason.ROLLING_OUT.value:
        return True
    if entry["type"] == ConditionType.READY.value and entry["status"] == "False":
        return old.get("status") in {"True", "Unknown"}
    if entry["type"] == ConditionType.PAUSED.value and entry["status"] == "False":
        return bool(old)
    return reason not in _QUIET


def _told(entry: Mapping[str, Any]) -> Occurrence:
    failed = entry["status"] == "False"
    lost = entry["type"] == ConditionType.READY.value and entry["reason"] not in _STOPPED
    refused = entry["type"] == ACCEPTED
    return occurrence(
        entry["reason"],
        entry["message"] or entry["reason"],
        action=_ACTIONS.get(entry["type"], "Check"),
        warning=(failed and (lost or refused))
        or entry["reason"] in _WARNINGS
        or _is_degraded(entry),
    )


def _is_degraded(entry: Mapping[str, Any]) -> bool:
    return bool(entry["type"] == ConditionType.DEGRADED.value and entry["status"] == "True")


def occurrence(
    reason: str, note: str, *, action: str = "Reconcile", warning: bool = False
) -> Occurrence:
    """Return an event; a note that is too long for the API is cut."""
    kept = note.encode()[:_LONGEST_NOTE].decode(errors="ignore")
    kind = "Warning" if warning else "Normal"
    return {"type": kind, "reason": reason, "action": action, "note": kept}


def from_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], workloads: Iterable[str]
) -> list[Occurrence]:
    """Return the events for what ``apply`` did to the workloads.

    Args:
        before: changed objects as they were, by ``Kind/name``.
        after: objects as they are, by ``Kind/name``.
        workloads: ``Kind/name`` of those to speak about.
    """
    found = []
    for name in workloads:
        old, new = before.get(name), after.get(name)
        if old and new:
            was = (old.get("spec") or {}).get("replicas")
            now = (new.get("spec") or {}).get("replicas")
            if was != now:
                note = f"scaled {name.replace('/', ' ')} from {was} to {now}"
                found.append(occurrence("Scaled", note, action="Scale"))
    return found
