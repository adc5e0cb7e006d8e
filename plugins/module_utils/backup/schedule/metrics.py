# SPDX-License-Identifier: Apache-2.0
"""Metrics of a BackupSchedule, from its status; the operator exposes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...api.quantities import to_bytes
from ...api.timestamps import unix_time
from ...api.types import Resource
from .runs import COMPLETED

Json = dict[str, Any]

METRICS: Final = {
    "matrixone_backup_newest_timestamp_seconds": (
        "Moment up to which the newest backup of a schedule that can be restored holds the data."
    ),
    "matrixone_backup_schedule_created_timestamp_seconds": "Creation of a backup schedule.",
    "matrixone_backup_alert_after_seconds": (
        "Age of the newest backup of a schedule from which there is something wrong."
    ),
    "matrixone_backup_next_timestamp_seconds": "Time at which the next backup is due.",
    "matrixone_backup_suspended": "1 while a backup schedule is suspended.",
    "matrixone_backup_failures": "Backups that failed since the last one that completed.",
    "matrixone_backup_last_duration_seconds": "Duration of the last backup that completed.",
    "matrixone_backup_last_size_bytes": "Size of the last backup that completed.",
    "matrixone_backups": "Backups of a schedule.",
    "matrixone_backups_restorable": "Backups of a schedule that can be restored.",
    "matrixone_backups_broken": (
        "Backups of a schedule of which verification found objects missing or corrupt."
    ),
    "matrixone_backups_unchained": (
        "Whole backups of a schedule that cannot be restored, for want of what they are based on."
    ),
}
"""Names and descriptions. Their labels are ``schedule_namespace`` and ``schedule``: Prometheus has
its own ``namespace``, that of the operator."""


def metrics_of(resource: Resource, status: Mapping[str, Any]) -> list[Json]:
    """Return the requests to the metrics API that show a status.

    Args:
        resource: the BackupSchedule.
        status: of this pass.
    """
    values = _values(resource, status)
    return [_request(resource, name, values.get(name)) for name in METRICS]


def no_metrics_of(resource: Resource) -> list[Json]:
    """Return the requests to the metrics API that remove the series of a schedule."""
    return [_request(resource, name, None) for name in METRICS]


def _request(resource: Resource, name: str, value: float | None) -> Json:
    metadata = resource["metadata"]
    labels = {"schedule_namespace": metadata["namespace"], "schedule": metadata["name"]}
    gauge = {"remove": True} if value is None else {"set": value}
    return {"name": name, "description": METRICS[name], "labels": labels, "gauge": gauge}


def _values(resource: Resource, status: Mapping[str, Any]) -> dict[str, float | None]:
    counts = status.get("backups") or {}
    completed = [run for run in status.get("history") or [] if run.get("phase") == COMPLETED]
    last = completed[0] if completed else {}
    numbers = (
        _moment(status.get("lastBackupTime")),
        _moment(resource["metadata"].get("creationTimestamp")),
        status.get("alertAfterSeconds"),
        _moment(status.get("nextScheduleTime")),
        float(bool((resource.get("spec") or {}).get("suspend"))),
        status.get("failures"),
        _duration(last),
        _size(last),
        *(counts.get(name) for name in ("total", "restorable", "broken", "unchained")),
    )
    return dict(zip(METRICS, numbers, strict=True))


def _moment(text: str | None) -> float | None:
    return unix_time(text) if text else None


def _duration(run: Mapping[str, Any]) -> float | None:
    start, end = run.get("startTime"), run.get("completionTime")
    return unix_time(end) - unix_time(start) if start and end else None


def _size(run: Mapping[str, Any]) -> float | None:
    return float(to_bytes(run["size"])) if run.get("size") else None
