# SPDX-License-Identifier: Apache-2.0
"""What one pass over a BackupSchedule is going to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final

from ..api import names
from ..api.errors import InvalidSpec
from ..api.timestamps import timestamp, unix_time
from ..api.types import Manifest, Resource
from ..workload.plans import Observed, Plan, is_paused, named
from .chains import Choice, Link, choose
from .retention import expired
from .schedule_runs import (
    ANNOTATION_DUE,
    FAILED,
    Past,
    labels,
    links_of,
    past_of,
)
from .schedule_spec import WAIT, ScheduleSpec
from .schedule_verifying import decide
from .tasks import Reason as TaskReason

Json = dict[str, Any]

_SPOILED: Final = frozenset({TaskReason.CHAIN_BROKEN.value, TaskReason.BASE_MISSING.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePlan(Plan):
    """A plan for a BackupSchedule.

    Attributes:
        remove: Backups to delete, in order.
        now: the present, RFC 3339.
        due: when the backup was due that is started; empty if none is.
        missed: when the last backup was due that is left out; empty if none is.
        why: why it is left out, or why the one that is started is full or incremental.
        next: when the next backup is due; empty if there is none, or while suspended.
        too_old: age in seconds of the newest backup from which there is something wrong.
        verify: name of the Backup whose verification is started; empty if none is.
        next_verify: when the next verification is due; empty if none is.
    """

    remove: Sequence[Mapping[str, Any]] = ()
    now: str = ""
    due: str = ""
    missed: str = ""
    why: str = ""
    next: str = ""
    too_old: int = 0
    verify: str = ""
    next_verify: str = ""


@dataclass(frozen=True, slots=True)
class _Run:
    """A decision about the backup that is due; None for what does not apply."""

    start: datetime | None = None
    missed: datetime | None = None
    why: str = ""


def plan_schedule(resource: Resource, observed: Observed, now: str, invalid: str) -> SchedulePlan:
    """Decide what a pass does.

    Args:
        resource: the BackupSchedule.
        observed: its BackupJobs as ``jobs``, its Backups as ``backups``, its RestoreJobs as
            ``restoreJobs``.
        now: the present, RFC 3339.
        invalid: what is wrong with the spec; empty if nothing is.
    """
    if is_paused(resource):
        return SchedulePlan(paused=True, now=now)
    try:
        spec = ScheduleSpec.of(resource)
    except InvalidSpec as error:
        return SchedulePlan(invalid=str(error), now=now)
    if invalid:
        return SchedulePlan(invalid=invalid, now=now)
    moment = _time(now)
    past = past_of(resource, observed.get("jobs") or [])
    links = links_of(observed.get("backups") or [])
    run = _Run() if spec.suspended else _decide(spec, resource, past, moment)
    job = _job(spec, run.start, past, links) if run.start else None
    following = None if spec.suspended else spec.schedule.next_after(moment)
    proof = decide(spec, resource, observed.get("restoreJobs") or [], links, moment)
    objects = [*([job[0]] if job else []), *([proof.job] if proof.job else [])]
    return SchedulePlan(
        now=now,
        objects=objects,
        create_only=[named(one) for one in objects],
        verify=proof.job["spec"]["backupName"] if proof.job else "",
        next_verify=proof.next,
        due=_text(run.start),
        missed=_text(run.missed),
        why=job[1].why if job else run.why or proof.why,
        next=_text(following),
        too_old=int(spec.too_old(moment).total_seconds()),
        remove=[] if spec.suspended else _removed(spec, links, moment),
    )


def _decide(spec: ScheduleSpec, resource: Resource, past: Past, now: datetime) -> _Run:
    """Decide about the last backup that was due and is neither started nor left out yet."""
    last = _last(resource, past)
    created = _time(resource["metadata"].get("creationTimestamp") or timestamp(now.timestamp()))
    if last is None and spec.immediate:
        return _Run(start=created)
    due = spec.schedule.last_until(now, since=last or created)
    if due is None:
        return _Run()
    if spec.deadline is not None and now - due > spec.deadline:
        late = int((now - due).total_seconds())
        return _Run(missed=due, why=f"{late} s have passed, more than startingDeadlineSeconds")
    if past.active:
        return _waiting(spec, due, past.active[0])
    return _Run(start=due)


def _waiting(spec: ScheduleSpec, due: datetime, active: str) -> _Run:
    if spec.policy == WAIT:
        return _Run(why=f"the backup of {_text(due)} waits for BackupJob {active}")
    return _Run(missed=due, why=f"BackupJob {active} has not ended")


def _last(resource: Resource, past: Past) -> datetime | None:
    """Return when the last backup was due that was started or left out.

    A BackupJob counts even if the operator ended before it had written the status.
    """
    status = resource.get("status") or {}
    known = [status.get("lastScheduleTime"), status.get("lastMissedTime")]
    known += [run.get("scheduleTime") for run in past.runs]
    return max((_time(one) for one in known if one), default=None)


def _job(
    spec: ScheduleSpec, due: datetime, past: Past, links: Sequence[Link]
) -> tuple[Manifest, Choice]:
    """Return the BackupJob of a run, and what it builds on."""
    choice = choose(links, spec.full_every, spec.root, spoiled=_spoiled(past, links))
    job: Manifest = {
        "apiVersion": names.API_VERSION,
        "kind": "BackupJob",
        "metadata": {
            "name": spec.job_name(due),
            "namespace": spec.namespace,
            "labels": labels(spec),
            "annotations": {ANNOTATION_DUE: _text(due)},
        },
        "spec": spec.job_spec(due, choice.base),
    }
    return job, choice


def _spoiled(past: Past, links: Sequence[Link]) -> list[str]:
    """Return the ids of Backups on which a run could not build."""
    bases = {
        run.get("base")
        for run in past.runs
        if run["phase"] == FAILED and run.get("reason") in _SPOILED
    }
    return [link.id for link in links if link.name in bases]


def _removed(spec: ScheduleSpec, links: Sequence[Link], now: datetime) -> list[Json]:
    return [
        {"apiVersion": names.API_VERSION, "kind": "Backup", "metadata": {"name": name}}
        for name in expired(links, spec.retention, now, spec.schedule.zone)
    ]


def _time(text: str) -> datetime:
    return datetime.fromtimestamp(unix_time(text), timezone.utc)


def _text(moment: datetime | None) -> str:
    return timestamp(moment.timestamp()) if moment else ""
