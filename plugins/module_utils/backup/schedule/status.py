# SPDX-License-Identifier: Apache-2.0
"""Status of a BackupSchedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...api.timestamps import timestamp, unix_time
from ...api.types import Manifest, Resource
from ...reporting.conditions import Condition, condition, paused, phase, summary
from ...reporting.reasons import BackupReason, ConditionType, Reason
from ..chains import Link, unchained, whole
from ..links import links_of, unclear
from ..verification.verdicts import is_refuted
from .planning import SchedulePlan
from .runs import COMPLETED, REMEMBERED, Past, past_of
from .verifying import verification_status

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known at the end of a pass.

    Attributes:
        resource: the BackupSchedule with its status so far.
        plan: what was decided.
        past: its runs, with the one that was started.
        links: its Backups.
        restorable: those that can be restored, newest first.
        broken: number of Backups of which objects are missing or corrupt.
        failure: why the pass failed; empty if it did not.
        proofs: its RestoreJobs, with the one that was started.
        backups: its Backups as they were observed.
        unseen: whether the operator may not read Backups; what the runs say counts then.
    """

    resource: Resource
    plan: SchedulePlan
    past: Past
    links: Sequence[Link]
    restorable: Sequence[Link]
    broken: int
    failure: str
    unseen: bool = False
    proofs: Sequence[Manifest] = ()
    backups: Sequence[Manifest] = ()

    @classmethod
    def of(
        cls,
        resource: Resource,
        plan: SchedulePlan,
        jobs: Sequence[Manifest],
        backups: Sequence[Manifest] | None,
        failure: str,
        proofs: Sequence[Manifest] = (),
    ) -> Facts:
        """Gather them from the BackupJobs and Backups of the schedule; None if it knows none."""
        found = backups or ()
        links, past = links_of(found), past_of(resource, jobs)
        broken = sum(
            (one.get("status") or {}).get("phase") == "Broken" or is_refuted(one) for one in found
        )
        unseen = backups is None
        return cls(
            resource, plan, past, links, whole(links), broken, failure, unseen, proofs, found
        )

    @property
    def unchained(self) -> int:
        """Number of whole Backups that cannot be restored for want of a base."""
        return len(unchained(self.links))

    @property
    def reaches(self) -> str:
        """Up to when there is a backup, RFC 3339; empty if there is none."""
        before = (self.resource.get("status") or {}).get("lastBackupTime") or ""
        newest = timestamp(self.restorable[0].at.timestamp()) if self.restorable else ""
        if any(not link.known for link in self.links):
            return max(newest, before)  # what counted before still does, until it is known better
        if not self.unseen:
            return newest
        # A Job starts before its statement, so that this is never too late.
        started = [run.get("startTime") or "" for run in self.past.runs if _is_complete(run)]
        return max([*started, before])

    @property
    def newest(self) -> float:
        """Up to when there is a backup, or else since when there could be one; Unix time."""
        return unix_time(self.reaches or self.resource["metadata"].get("creationTimestamp"))


def schedule_status(facts: Facts) -> Json:
    """Return the status to write, complete but for the conditions' times."""
    before, plan = facts.resource.get("status") or {}, facts.plan
    conditions = _conditions(facts)
    completed = [run["completionTime"] for run in facts.past.runs if run["phase"] == COMPLETED]
    started = [run["scheduleTime"] for run in facts.past.runs if run.get("scheduleTime")]
    newest = facts.restorable[0] if facts.restorable else None
    status: Json = {
        "observedGeneration": int(facts.resource["metadata"].get("generation") or 0),
        "conditions": conditions,
        "phase": phase(conditions).value,
        "folder": plan.folder or before.get("folder"),
        "lastScheduleTime": max([*started, before.get("lastScheduleTime") or ""]),
        "lastMissedTime": plan.missed or before.get("lastMissedTime"),
        "lastSuccessfulTime": max([*completed, before.get("lastSuccessfulTime") or ""]),
        "nextScheduleTime": plan.next,
        "lastBackup": newest.name if newest else "",
        "lastBackupTime": facts.reaches,
        "alertAfterSeconds": _alert_after(facts) or None,
        "history": list(facts.past.runs[:REMEMBERED]),
    }
    return {
        **{name: value for name, value in status.items() if value not in (None, "")},
        "message": _message(facts, conditions),
        "active": facts.past.active,
        "failures": len(facts.past.failures),
        **verification_status(facts.resource, facts.proofs, facts.backups, plan.next_verify),
        **({} if facts.unseen else {"backups": _counts(facts)}),
    }


def _alert_after(facts: Facts) -> int:
    """Return the age in seconds that is too much for the newest backup; 0 for none."""
    if facts.plan.asleep:
        return 0
    before = facts.resource.get("status") or {}
    return facts.plan.too_old or int(before.get("alertAfterSeconds") or 0)


def _message(facts: Facts, conditions: Sequence[Condition]) -> str:
    plan = facts.plan
    waits = summary(conditions) or ("" if plan.due or plan.missed else plan.why)
    return "; ".join(filter(None, (waits, plan.retention_waits)))


def _counts(facts: Facts) -> Json:
    return {
        "total": len(facts.links),
        "restorable": len(facts.restorable),
        "broken": facts.broken,
        "unchained": facts.unchained,
        "unknown": len(unclear(facts.backups)),
    }


def _is_complete(run: Mapping[str, Any]) -> bool:
    return bool(run["phase"] == COMPLETED)


def _conditions(facts: Facts) -> list[Condition]:
    generation = int(facts.resource["metadata"].get("generation") or 0)
    states = {
        ConditionType.READY: _ready(facts),
        ConditionType.SYNCED: _synced(facts),
        ConditionType.DEGRADED: _degraded(facts),
    }
    found = [
        condition(kind, holds, reason, message, generation)
        for kind, (holds, reason, message) in states.items()
    ]
    return [*found, *paused(facts.resource, facts.plan.paused, generation)]


_State = tuple[bool, Reason | BackupReason, str]


def _ready(facts: Facts) -> _State:
    plan = facts.plan
    if plan.invalid:
        return False, Reason.INVALID_SPEC, plan.invalid
    if plan.paused or not plan.next:
        return False, BackupReason.SUSPENDED, "no backups are made"
    return True, BackupReason.SCHEDULED, f"the next backup is due at {plan.next}"


def _synced(facts: Facts) -> _State:
    plan = facts.plan
    if plan.paused:
        return False, Reason.PAUSED, "an annotation pauses this resource"
    if plan.invalid:
        return False, Reason.INVALID_SPEC, plan.invalid
    if facts.failure:
        return False, Reason.APPLY_FAILED, facts.failure
    return True, Reason.APPLIED, ""


def _degraded(facts: Facts) -> _State:
    failures = facts.past.failures
    failed = ""
    if failures:
        last: Mapping[str, Any] = failures[0]
        why = last.get("message") or last.get("reason") or "it does not say why"
        failed = f"BackupJob {last['name']} failed: {why}"
    if _is_too_old(facts):
        since = timestamp(facts.newest)
        said = f"no backup since {since} can be restored"
        return True, BackupReason.BACKUP_TOO_OLD, f"{said}; {failed}" if failed else said
    if failed:
        return True, BackupReason.BACKUP_FAILED, failed
    if facts.broken or facts.unchained:
        count = facts.broken + facts.unchained
        return (
            True,
            BackupReason.BACKUP_BROKEN,
            f"{count} of {len(facts.links)} Backups are of no use",
        )
    return False, Reason.AS_EXPECTED, ""


def _is_too_old(facts: Facts) -> bool:
    limit = _alert_after(facts)
    return bool(limit) and unix_time(facts.plan.now) - facts.newest > limit
