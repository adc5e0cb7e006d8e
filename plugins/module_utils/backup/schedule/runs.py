# SPDX-License-Identifier: Apache-2.0
"""What a schedule has led to: its BackupJobs, which go after their ttl, and its Backups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...api import names
from ...api.timestamps import unix_time
from ...api.types import Manifest, Resource
from .spec import ScheduleSpec

Json = dict[str, Any]

LABEL_SCHEDULE: Final = "matrixorigin.io/backup-schedule"
"""On a BackupJob and its Backup: name of the BackupSchedule."""
ANNOTATION_DUE: Final = "matrixorigin.io/scheduled-at"
"""On a BackupJob: when it was due, RFC 3339."""
COMPLETED: Final = "Completed"
FAILED: Final = "Failed"
UNKNOWN: Final = "Unknown"
"""Phase of a run whose BackupJob was deleted before it ended."""
ENDED: Final = frozenset({COMPLETED, FAILED, UNKNOWN})
REMEMBERED: Final = 10
"""Runs in ``status.history``."""
_COPIED: Final = ("phase", "startTime", "completionTime", "backup", "size")


@dataclass(frozen=True, slots=True)
class Past:
    """The runs of a schedule.

    Attributes:
        runs: as ``status.history`` has them, newest first.
    """

    runs: Sequence[Mapping[str, Any]]

    @property
    def active(self) -> list[str]:
        """Names of the BackupJobs that have not ended."""
        return [run["name"] for run in self.runs if run["phase"] not in ENDED]

    @property
    def failures(self) -> list[Mapping[str, Any]]:
        """The runs that failed since the last one that completed, newest first."""
        failed = []
        for run in self.runs:
            if run["phase"] == COMPLETED:
                break
            if run["phase"] == FAILED:
                failed.append(run)
        return failed


def labels(spec: ScheduleSpec) -> dict[str, str]:
    """Return the labels of the BackupJobs and Backups of a schedule."""
    return labels_of(spec.namespace, spec.name)


def labels_of(namespace: str, name: str) -> dict[str, str]:
    """Return the labels of the BackupJobs and Backups of the schedule of that name."""
    return {names.LABEL_NAMESPACE: namespace, LABEL_SCHEDULE: name}


def past_of(resource: Resource, jobs: Iterable[Manifest]) -> Past:
    """Return the runs of a schedule: those whose BackupJobs exist, and those remembered.

    Args:
        resource: the BackupSchedule with its status so far.
        jobs: its BackupJobs.
    """
    found = {run["name"]: run for run in map(_run_of, jobs)}
    remembered = {
        run["name"]: _forgotten(run)
        for run in (resource.get("status") or {}).get("history") or []
        if run["name"] not in found
    }
    runs = sorted(
        [*found.values(), *remembered.values()],
        key=lambda run: (unix_time(run.get("scheduleTime")), run["name"]),
        reverse=True,
    )
    ended = [run for run in runs if run["phase"] in ENDED][:REMEMBERED]
    return Past([run for run in runs if run["phase"] not in ENDED or run in ended])


def _run_of(job: Manifest) -> Json:
    metadata, status = job["metadata"], job.get("status") or {}
    due = (metadata.get("annotations") or {}).get(ANNOTATION_DUE)
    copied = {name: status[name] for name in _COPIED if status.get(name) not in (None, "")}
    run: Json = {
        "name": metadata["name"],
        "scheduleTime": due or metadata.get("creationTimestamp"),
        "type": (job.get("spec") or {}).get("type") or "full",
        "phase": "Pending",
        **copied,
    }
    if base := ((job.get("spec") or {}).get("base") or {}).get("backupName"):
        run["base"] = base
    if run["phase"] == FAILED:
        states = {condition.get("type"): condition for condition in status.get("conditions") or []}
        run["reason"] = str((states.get("Degraded") or {}).get("reason") or "")
        run["message"] = str(status.get("message") or "")
    return run


def _forgotten(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a run whose BackupJob is gone."""
    return run if run.get("phase") in ENDED else {**run, "phase": UNKNOWN}
