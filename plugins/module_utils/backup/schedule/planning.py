# SPDX-License-Identifier: Apache-2.0
"""What one pass over a BackupSchedule is going to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Final

from ...api import names
from ...api.errors import InvalidSpec
from ...api.timestamps import timestamp, unix_time
from ...api.types import Manifest, Resource
from ...workload.plans import Plan, is_paused, named
from .. import users
from ..chains import Choice, Link, choose
from ..links import links_of, unclear
from ..task.tasks import Reason as TaskReason
from .observed import ScheduleObserved
from .retention import expired
from .runs import ANNOTATION_DUE, FAILED, Past, labels, past_of
from .spec import WAIT, ScheduleSpec
from .verifying import decide

Json = dict[str, Any]

_SPOILED: Final = frozenset({TaskReason.CHAIN_BROKEN.value, TaskReason.BASE_MISSING.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePlan(Plan):
    """A plan for a BackupSchedule.

    Attributes:
        remove: Backups to delete, in order.
        retention_waits: why no Backup is deleted; empty if nothing keeps retention from it.
        now: the present, RFC 3339.
        due: when the backup was due that is started; empty if none is.
        missed: when the last backup was due that is left out; empty if none is.
        why: why it is left out, or why the one that is started is full or incremental.
        next: when the next backup is due; empty if there is none, or while suspended.
        too_old: age in seconds of the newest backup from which there is something wrong.
        asleep: whether the database sleeps, so that nothing is written that a backup could lack.
        waits: whether a backup that is due waits until it wakes.
        verify: name of the Backup whose verification is started; empty if none is.
        next_verify: when the next verification is due; empty if none is.
        folder: of the backups, below the target; empty while the spec cannot be read.
    """

    remove: Sequence[Mapping[str, Any]] = ()
    retention_waits: str = ""
    now: str = ""
    due: str = ""
    missed: str = ""
    why: str = ""
    next: str = ""
    too_old: int = 0
    asleep: bool = False
    waits: bool = False
    verify: str = ""
    next_verify: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class _Retained:
    """What retention deletes, or why it deletes nothing."""

    remove: Sequence[Json] = ()
    waits: str = ""


@dataclass(frozen=True, slots=True)
class _Run:
    """A decision about the backup that is due; None for what does not apply."""

    start: datetime | None = None
    missed: datetime | None = None
    why: str = ""
    waits: bool = False


def plan_schedule(
    resource: Resource, observed: ScheduleObserved, now: str, invalid: str
) -> SchedulePlan:
    """Decide what a pass does.

    Args:
        resource: the BackupSchedule.
        observed: its BackupJobs, Backups and RestoreJobs, and what may use its Backups.
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
    past = past_of(resource, observed.jobs)
    backups = observed.backups or ()
    links = links_of(backups)
    retained = _Retained() if spec.suspended else _retain(spec, backups, observed, moment)
    run = _Run() if spec.suspended else _decide(spec, resource, past, moment)
    if run.start and observed.source_sleeps:
        why = f"the backup of {_text(run.start)} waits until the database wakes"
        run = _Run(why=why, waits=True)
    job = _job(spec, run.start, past, links) if run.start else None
    following = None if spec.suspended else spec.schedule.next_after(moment)
    proof = decide(spec, resource, observed.restore_jobs, links, moment)
    objects = [*([job[0]] if job else []), *([proof.job] if proof.job else [])]
    return SchedulePlan(
        now=now,
        objects=objects,
        create_only=[named(manifest) for manifest in objects],
        verify=proof.job["spec"]["backupName"] if proof.job else "",
        next_verify=proof.next,
        folder=spec.folder,
        due=_text(run.start),
        missed=_text(run.missed),
        why=job[1].why if job else run.why or proof.why,
        next=_text(following),
        too_old=int(spec.too_old(moment).total_seconds()),
        asleep=observed.source_sleeps,
        waits=run.waits,
        remove=retained.remove,
        retention_waits=retained.waits,
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


def _retain(
    spec: ScheduleSpec, backups: Sequence[Manifest], observed: ScheduleObserved, now: datetime
) -> _Retained:
    """Decide which Backups go: none while it is not known how one of them is, or who needs them."""
    if not spec.retention.deletes:
        return _Retained()
    if unknown := unclear(backups):
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        why = f"it is not known yet whether Backup {unknown[0]}{more} can be restored"
        return _Retained(waits=f"no Backup is deleted: {why}")
    everything = observed.everything
    if everything is None:
        return _Retained(waits="no Backup is deleted: the operator may not list what uses them")
    links = links_of(backups)
    used = _used(backups, expired(links, spec.retention, now, spec.schedule.zone), everything)
    expired_names = expired(links, spec.retention, now, spec.schedule.zone, used)
    return _Retained(
        [
            {"apiVersion": names.API_VERSION, "kind": "Backup", "metadata": {"name": name}}
            for name in expired_names
        ]
    )


def _used(
    backups: Sequence[Manifest], expired_names: Sequence[str], everything: users.Everything
) -> set[str]:
    """Return the names of the Backups that something needs beyond those that go with them.

    An increment of the same schedule that goes, too, goes first.
    """
    removed = set(expired_names)
    by_name = {backup["metadata"]["name"]: backup for backup in backups}
    staying = [backup for backup in everything.backups if backup["metadata"]["name"] not in removed]
    others = replace(everything, backups=staying)
    return {name for name in expired_names if any(users.users_of(by_name[name], others))}


def _time(text: str) -> datetime:
    return datetime.fromtimestamp(unix_time(text), timezone.utc)


def _text(moment: datetime | None) -> str:
    return timestamp(moment.timestamp()) if moment else ""
