# SPDX-License-Identifier: Apache-2.0
"""When a schedule has its newest backup proven by restoring it, and what came of the last time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from ...api.timestamps import timestamp, unix_time
from ...api.types import Manifest, Resource
from ..chains import Link, whole
from ..sources import has_ended
from ..verification.orders import verification_of
from .runs import ANNOTATION_DUE, labels
from .spec import ScheduleSpec

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verifying:
    """What a pass does about verifications.

    Attributes:
        job: the RestoreJob to create; None for none.
        due: when it was due, RFC 3339.
        next: when the next one is due; empty if none is.
        why: what one that is due waits for; empty if nothing.
    """

    job: Manifest | None = None
    due: str = ""
    next: str = ""
    why: str = ""


def decide(
    spec: ScheduleSpec,
    resource: Resource,
    jobs: Sequence[Manifest],
    links: Sequence[Link],
    now: datetime,
) -> Verifying:
    """Decide about the last verification that was due; none is done twice, none is made up for.

    Args:
        spec: of the BackupSchedule.
        resource: the BackupSchedule with its status so far.
        jobs: its RestoreJobs.
        links: its Backups.
        now: the present.
    """
    if spec.verification is None or spec.suspended:
        return Verifying()
    following = _text(spec.verification.next_after(now))
    created = resource["metadata"].get("creationTimestamp") or timestamp(now.timestamp())
    due = spec.verification.last_until(now, since=_last(resource, jobs) or _time(created))
    if due is None:
        return Verifying(next=following)
    active = [one["metadata"]["name"] for one in jobs if not has_ended(one)]
    if active:
        why = f"the verification of {_text(due)} waits for RestoreJob {active[0]}"
        return Verifying(next=following, why=why)
    newest = next(iter(whole(links)), None)
    if newest is None:
        why = f"the verification of {_text(due)} waits for a Backup that can be restored"
        return Verifying(next=following, why=why)
    job = verification_of(
        f"{spec.name}-v{due.astimezone(timezone.utc):%Y%m%d%H%M}",
        spec.namespace,
        newest.name,
        spec.verify,
        spec.template,
        labels(spec),
    )
    job["metadata"]["annotations"] = {ANNOTATION_DUE: _text(due)}
    return Verifying(job, _text(due), following)


def verification_status(
    resource: Resource, jobs: Sequence[Manifest], backups: Iterable[Manifest], verifying_next: str
) -> Json:
    """Return the fields of the status about verifications; those that are not known are left out.

    Args:
        resource: the BackupSchedule with its status so far.
        jobs: its RestoreJobs, with the one that was created.
        backups: its Backups, which know the result when a RestoreJob of a short ttl is gone.
        verifying_next: when the next one is due; empty if none is.
    """
    before = resource.get("status") or {}
    last = _last(resource, jobs)
    ended = [_record(job) for job in jobs if _result(job)]
    ended += [
        {**_result(backup), "backup": backup["metadata"]["name"]}
        for backup in backups
        if _result(backup)
    ]
    ended += [before["verification"]] if before.get("verification") else []
    newest = max(ended, key=lambda one: str(one.get("completionTime")), default={})
    found = {
        "lastVerifyTime": _text(last) if last else "",
        "nextVerifyTime": verifying_next,
        "verification": newest,
    }
    return {name: value for name, value in found.items() if value}


def _record(job: Manifest) -> Json:
    return {**_result(job), "backup": str((job.get("spec") or {}).get("backupName") or "")}


def _result(one: Manifest) -> Mapping[str, Any]:
    return (one.get("status") or {}).get("verification") or {}


def _last(resource: Resource, jobs: Sequence[Manifest]) -> datetime | None:
    """Return when the last verification was due that was started.

    A RestoreJob counts even if the operator ended before it had written the status.
    """
    known = [(resource.get("status") or {}).get("lastVerifyTime")]
    known += [(job["metadata"].get("annotations") or {}).get(ANNOTATION_DUE) for job in jobs]
    return max((_time(one) for one in known if one), default=None)


def _time(text: str) -> datetime:
    return datetime.fromtimestamp(unix_time(text), timezone.utc)


def _text(moment: datetime | None) -> str:
    return timestamp(moment.timestamp()) if moment else ""
