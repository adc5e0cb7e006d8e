# SPDX-License-Identifier: Apache-2.0
"""What a schedule has led to: its BackupJobs, which go after their ttl, and its Backups."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final

from ..api import names
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.timestamps import unix_time
from ..api.types import Manifest, Resource
from ..location.locations import TARGET, from_fields
from .chains import Link
from .schedule_spec import ScheduleSpec
from .sources import scope_of_record
from .verdicts import is_refuted

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
        states = {one.get("type"): one for one in status.get("conditions") or []}
        run["reason"] = str((states.get("Degraded") or {}).get("reason") or "")
        run["message"] = str(status.get("message") or "")
    return run


def _forgotten(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a run whose BackupJob is gone."""
    return run if run.get("phase") in ENDED else {**run, "phase": UNKNOWN}


def links_of(backups: Iterable[Manifest]) -> list[Link]:
    """Return the Backups of a schedule as chains and retention see them.

    One whose meta cannot be read is left out: it is neither built on nor deleted.
    """
    found = (_link_of(backup) for backup in backups)
    return [link for link in found if link is not None]


def _link_of(backup: Manifest) -> Link | None:
    metadata, meta = backup["metadata"], Fields("", backup).table("meta")
    try:
        at = datetime.fromtimestamp(unix_time(meta.required_text("atTime")), timezone.utc)
        location = from_fields(meta.table("location"), TARGET, scope_of_record(meta), in_use=True)
        return Link(
            name=metadata["name"],
            id=meta.required_text("id"),
            base=meta.table("base").text("id"),
            at=at,
            good=_is_good(backup),
            root=f"{meta.text('sourceRef')} {posixpath.dirname(location.address)}",
            pinned=(metadata.get("annotations") or {}).get(names.ANNOTATION_KEEP) == "true",
        )
    except (InvalidSpec, ValueError):
        return None


def _is_good(backup: Manifest) -> bool:
    is_available = (backup.get("status") or {}).get("phase") == "Available"
    is_going = bool(backup["metadata"].get("deletionTimestamp"))
    return is_available and not is_going and not is_refuted(backup)
