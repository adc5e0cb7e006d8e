# SPDX-License-Identifier: Apache-2.0
"""What a pass over a BackupSchedule reports at its end: status, Events, metrics, the next pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...api import names
from ...api.cron import duration
from ...api.timestamps import unix_time
from ...api.types import Manifest, Resource
from ...reporting.applied import Applied
from ...reporting.events import Occurrence, occurrence
from ...reporting.report import Report, is_ready_and_synced, unobserved
from ...workload.kind import PassEnd
from .observed import ScheduleObserved
from .planning import SchedulePlan
from .runs import COMPLETED, FAILED
from .status import Facts, schedule_status

_PERIOD: Final = 600
"""Seconds after which the ages of backups are looked at again."""
_SOON: Final = 30
"""The same while a database sleeps, or it is not known of a Backup whether it can be restored."""
_NAMED: Final = 5
"""Deleted Backups that an Event names."""


def report_on_schedule(end: PassEnd[SchedulePlan]) -> Report:
    """Report what a pass came to."""
    resource, plan, observed = end.resource, end.plan, ScheduleObserved.read(end.observed)
    applied, failure = end.applied, end.failure
    if failure and not plan.now:
        return unobserved(resource, failure)
    removed = {change.name for change in applied.deleted() if change.kind == "Backup"}
    backups = observed.backups
    if backups is not None:
        backups = [backup for backup in backups if backup["metadata"]["name"] not in removed]
    jobs = _seen(observed.jobs, applied, "BackupJob")
    proofs = _seen(observed.restore_jobs, applied, names.RESTORE_JOB)
    facts = Facts.of(resource, plan, jobs, backups, failure, proofs)
    status = schedule_status(facts)
    return Report(
        status=status,
        events=[*_of_run(plan, applied), *_of_ends(resource, status), *_of_removal(plan, removed)],
        ready=is_ready_and_synced(status),
        message=str(status["message"]),
        requeue=_requeue(plan, plan.waits or any(not link.known for link in facts.links)),
    )


def _seen(observed: Iterable[Manifest], applied: Applied, kind: str) -> list[Manifest]:
    """Return the objects of a kind, with the one that was created."""
    found = {one["metadata"]["name"]: one for one in observed}
    for manifest in applied.objects.values():
        if manifest["kind"] == kind:
            found[manifest["metadata"]["name"]] = manifest
    return list(found.values())


def _requeue(plan: SchedulePlan, is_soon: bool) -> str:
    """Return when to look again: what is waited for does not belong to it, so none triggers."""
    if not plan.next:
        return duration(_SOON) if is_soon else ""
    first = min(unix_time(one) for one in (plan.next, plan.next_verify) if one)
    return duration(min(first - unix_time(plan.now), _SOON if is_soon else _PERIOD))


def _of_run(plan: SchedulePlan, applied: Applied) -> list[Occurrence]:
    found = []
    created = [change for change in applied.done if change.kind == "BackupJob"]
    if created and plan.due:
        kind = plan.objects[0]["spec"]["type"]
        note = f"created BackupJob {created[0].name}, which is {kind}: {plan.why}"
        found.append(occurrence("BackupStarted", note, action="Create"))
    proofs = [change for change in applied.done if change.kind == names.RESTORE_JOB]
    if proofs and plan.verify:
        note = f"created RestoreJob {proofs[0].name}, which verifies Backup {plan.verify}"
        found.append(occurrence("VerificationStarted", note, action="Create"))
    if plan.missed:
        note = f"left out the backup of {plan.missed}: {plan.why}"
        found.append(occurrence("BackupMissed", note, action="Create", warning=True))
    return found


def _of_ends(resource: Resource, status: Mapping[str, Any]) -> list[Occurrence]:
    """Return the Events for runs that have ended since the status was written."""
    before = {
        run["name"]: run.get("phase") for run in (resource.get("status") or {}).get("history") or []
    }
    found = []
    for run in reversed(status.get("history") or []):
        if run["name"] not in before or before[run["name"]] == run["phase"]:
            continue
        if run["phase"] == COMPLETED:
            note = f"BackupJob {run['name']} completed: Backup {run.get('backup') or 'unknown'}"
            found.append(occurrence("BackupCompleted", note, action="Observe"))
        if run["phase"] == FAILED:
            why = run.get("message") or run.get("reason") or "it does not say why"
            note = f"BackupJob {run['name']} failed: {why}"
            found.append(occurrence("BackupFailed", note, action="Observe", warning=True))
    return found


def _of_removal(plan: SchedulePlan, removed: set[str]) -> list[Occurrence]:
    gone = [one["metadata"]["name"] for one in plan.remove if one["metadata"]["name"] in removed]
    if not gone:
        return []
    more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
    note = f"deleted what retention does not keep: {', '.join(gone[:_NAMED])}{more}"
    return [occurrence("BackupsDeleted", note, action="Delete")]
