# SPDX-License-Identifier: Apache-2.0
"""What a verification by restoring came to: its record, and what the Backup shows of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...api import quantities
from ...api.timestamps import unix_time
from ...api.types import Resource
from ...reporting.conditions import Condition
from ...reporting.reasons import RESTORABLE, BackupReason
from ..task.tasks import Reading, Reason

Json = dict[str, Any]

PASSED, FAILED, INCOMPLETE = "Passed", "Failed", "Incomplete"
"""Results. Incomplete says nothing about the backup."""
_OF_DATA: Final = frozenset(
    {
        Reason.TABLE_UNREADABLE.value,
        Reason.CHECK_FAILED.value,
        Reason.OBJECT_MISSING.value,
        Reason.OBJECT_CORRUPT.value,
        Reason.CHAIN_BROKEN.value,
        Reason.BASE_MISSING.value,
    }
)
"""Reasons that are in the backup, not in what was needed to restore it."""
_REFUSED: Final = _OF_DATA | {Reason.CATALOG_NOT_UPGRADED.value}
"""Reasons for which a verification has failed: those of the data, and that of the new version."""
_STATES: Final = {
    PASSED: ("True", BackupReason.RESTORE_VERIFIED),
    FAILED: ("False", BackupReason.VERIFICATION_FAILED),
    INCOMPLETE: ("Unknown", BackupReason.VERIFICATION_INCOMPLETE),
}
METRICS: Final = {
    "matrixone_backup_verification_passed": (
        "1 if the backup was restored and read as expected, 0 if it was not; absent if unknown."
    ),
    "matrixone_backup_verification_incomplete": (
        "1 if the last verification of the backup ended without a result."
    ),
    "matrixone_backup_verification_timestamp_seconds": "End of the last verification.",
    "matrixone_backup_verification_duration_seconds": "Duration of the last verification.",
    "matrixone_backup_verification_tables": "Tables that the last verification could read.",
    "matrixone_backup_verification_rows": "Rows that the last verification could read.",
}
"""Names and descriptions; their labels are ``backup`` and ``source``."""


def verdict(
    job: str, begun: str, now: str, reason: str = "", message: str = "",
    reading: Reading | None = None, version: str = "",
) -> Json:  # fmt: skip
    """Return the record of a verification, ``status.verification``.

    Args:
        job: name of the RestoreJob.
        begun: when it began, RFC 3339; empty if it did not.
        now: the present.
        reason: what is wrong; empty if nothing is.
        message: the same for people.
        reading: what could be read; None if nothing was.
        version: that the RestoreJob named, to rehearse an upgrade; empty if it did not.
    """
    failed = FAILED if reason in _REFUSED else INCOMPLETE
    found: Json = {
        "result": failed if reason else PASSED,
        "restoreJob": job,
        "completionTime": now,
        "seconds": int(unix_time(now) - unix_time(begun or now)),
    }
    if version:
        found["version"] = version
    if reason:
        found |= {"reason": reason, "message": message}
    if reading is not None:
        size = quantities.canonical(reading.bytes)
        found |= {"tables": reading.tables, "rows": reading.rows, "size": size}
    return found


def backup_status(backup: Resource | None, record: Mapping[str, Any]) -> Json:
    """Return the status of a Backup with the record of its verification; empty if it is gone.

    A rehearsal says something about a version of MatrixOne, and nothing about the Backup.
    """
    if backup is None or not record.get("result"):
        return {}
    before = backup.get("status") or {}
    if record.get("version"):
        return {**before, "rehearsal": dict(record)}
    others = [
        condition for condition in before.get("conditions") or [] if not _is_restorable(condition)
    ]
    generation = int(backup["metadata"].get("generation") or 0)
    return {
        **before,
        "verification": dict(record),
        "conditions": [*others, _restorable(record, generation)],
    }


def kept_conditions(backup: Resource) -> list[Condition]:
    """Return the condition Restorable of a Backup as it is; empty if it has none."""
    found = (backup.get("status") or {}).get("conditions") or []
    return [dict(one) for one in found if _is_restorable(one)]


def is_of_data(reason: str) -> bool:
    """Return whether a reason for which a task failed is in the backup."""
    return reason in _OF_DATA


def is_refuted(backup: Mapping[str, Any]) -> bool:
    """Return whether a verification has found data of a Backup missing.

    A check that differs is no reason to build on nothing or to keep it no longer: the check itself
    may be wrong.
    """
    record = (backup.get("status") or {}).get("verification") or {}
    return bool(
        record.get("result") == FAILED and record.get("reason") != Reason.CHECK_FAILED.value
    )


def metrics_of(backup: Resource, status: Mapping[str, Any] | None) -> list[Json]:
    """Return the requests to the metrics API that set or remove the series of a Backup.

    Args:
        backup: the Backup.
        status: of this pass; None for a Backup that is being deleted.
    """
    record = (status or {}).get("verification") or {}
    source = str((backup.get("meta") or {}).get("sourceRef") or "")
    labels = {"backup": backup["metadata"]["name"], "source": source}
    return [
        {
            "name": name,
            "description": METRICS[name],
            "labels": labels,
            "gauge": {"remove": True} if value is None else {"set": float(value)},
        }
        for name, value in zip(METRICS, _values(record), strict=True)
    ]


def _values(record: Mapping[str, Any]) -> tuple[float | None, ...]:
    result = record.get("result")
    if not result:
        return (None,) * len(METRICS)
    return (
        None if result == INCOMPLETE else float(result == PASSED),
        float(result == INCOMPLETE),
        unix_time(record.get("completionTime")),
        record.get("seconds"),
        record.get("tables"),
        record.get("rows"),
    )


def _is_restorable(one: Mapping[str, Any]) -> bool:
    return bool(one.get("type") == RESTORABLE)


def _restorable(record: Mapping[str, Any], generation: int) -> Condition:
    holds, reason = _STATES[record["result"]]
    read = f"{record['tables']} tables with {record['rows']} rows" if "tables" in record else ""
    message = str(record.get("message") or f"{read} were read after a restore")
    return {
        "type": RESTORABLE,
        "status": holds,
        "observedGeneration": generation,
        "reason": reason.value,
        "message": message,
    }
