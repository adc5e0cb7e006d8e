# SPDX-License-Identifier: Apache-2.0
"""The spec of a BackupSchedule, read once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from ...admission.shapes import Mistake
from ...api import durations
from ...api.cron import Schedule, schedule_in, zone_in
from ...api.errors import InvalidSpec
from ...api.fields import Fields
from ...api.types import Resource
from ...location.locations import TARGET, Location, from_fields
from ..job.mistakes import mistakes_in
from ..verification.observing import verification_mistakes
from .retention import Policy

Json = dict[str, Any]

FOLDER_TIME: Final = "%Y%m%dT%H%M%SZ"
"""How the folder of a backup is named after the time at which it was due, UTC."""
WAIT: Final = "Wait"
FORBID: Final = "Forbid"
_SPARE: Final = timedelta(hours=2)
"""How late a backup may be by default before an alert fires."""
_AHEAD: Final = 10
"""How many runs are considered for the longest time between two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSpec:
    """What a BackupSchedule asks for.

    Attributes:
        name: of the BackupSchedule.
        namespace: of it and its BackupJobs.
        schedule: when backups are due.
        suspended: nothing is started or deleted.
        deadline: how late a backup may start; None for any time.
        policy: `WAIT` or `FORBID`, for a backup that is due while another runs.
        immediate: the first one is due at the schedule's creation.
        full_every: every how many backups one is full.
        retention: which are kept.
        template: spec of the BackupJobs.
        target: where the backups are, without the schedule's own folder.
        folder: of all backups of the schedule, below the target.
        alert_after: age of the newest backup that is too much; None to derive it.
        verification: when the newest backup is proven by restoring it; None for never.
        verify: ``spec.verify`` of the RestoreJobs for that.
    """

    name: str
    namespace: str
    schedule: Schedule
    suspended: bool
    deadline: timedelta | None
    policy: str
    immediate: bool
    full_every: int
    retention: Policy
    template: Mapping[str, Any]
    target: Location
    folder: str
    alert_after: timedelta | None
    verification: Schedule | None = None
    verify: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, resource: Resource) -> ScheduleSpec:
        """Read a BackupSchedule.

        Raises:
            InvalidSpec: a field cannot be used.
        """
        spec = Fields("", resource).table("spec")
        late = spec.number("startingDeadlineSeconds", 1)
        template, verify = spec.table("template"), spec.table("verify")
        proven, zone = spec.raw("verify") is not None, zone_in(spec)
        return cls(
            name=resource["metadata"]["name"],
            namespace=resource["metadata"].get("namespace") or "default",
            schedule=schedule_in(spec, "schedule", zone),
            suspended=spec.flag("suspend"),
            deadline=None if late is None else timedelta(seconds=late),
            policy=spec.choice("concurrencyPolicy", (WAIT, FORBID), WAIT),
            immediate=spec.flag("immediate"),
            full_every=spec.number("fullEvery", 1) or 1,
            retention=_retention(spec.table("retention")),
            template=template.data,
            target=from_fields(template.table("target"), TARGET),
            folder=_folder(resource),
            alert_after=_span(spec, "alertAfter"),
            verification=schedule_in(verify, "schedule", zone) if proven else None,
            verify={key: value for key, value in verify.data.items() if key != "schedule"},
        )

    @property
    def root(self) -> str:
        """What is backed up and where to, as text: backups of one chain have it in common."""
        source = self.template.get("source") or {}
        named = source.get("cnSetRef") or source.get("clusterRef")
        kind = "cnset" if source.get("cnSetRef") else "matrixonecluster"
        return f"{kind}/{self.namespace}/{named} {self.target.below(self.folder).address}"

    def too_old(self, now: datetime) -> timedelta:
        """Return the age of the newest backup from which there is something wrong."""
        if self.alert_after:
            return self.alert_after
        runs = list(itertools.islice(_around(self.schedule, now), _AHEAD))
        gaps = [later - earlier for earlier, later in itertools.pairwise(runs)]
        return max(gaps, default=timedelta(days=366)) + _SPARE

    def job_spec(self, due: datetime, base: str) -> Json:
        """Return the spec of the BackupJob for a run.

        Args:
            due: when it was due.
            base: name of the Backup to build on; empty for a full backup.
        """
        kept = not (self.retention.counts or self.retention.max_age)
        chosen = {"deletionPolicy": "Retain" if kept else "Delete", **self.template}
        chosen["target"] = _below(self.template["target"], self._folder_of(due))
        chain = {"base": {"backupName": base}, "type": "incremental"} if base else {"type": "full"}
        return {**chosen, **chain}

    def job_name(self, due: datetime) -> str:
        """Return the name of the BackupJob for a run: 13 characters longer than the schedule's."""
        return f"{self.name}-{due.astimezone(timezone.utc):%Y%m%d%H%M}"

    def _folder_of(self, due: datetime) -> str:
        return f"{self.folder}/{due.astimezone(timezone.utc).strftime(FOLDER_TIME)}"


def schedule_mistakes(resource: Resource) -> Iterator[Mistake]:
    """Yield what is wrong with a BackupSchedule beyond its schema."""
    spec = resource.get("spec")
    if not isinstance(spec, Mapping):
        return
    found: list[Mistake] = []
    try:
        ScheduleSpec.of(resource)
    except InvalidSpec as error:
        found.append(Mistake(error.field_path, error.message))
    yield from found
    template = spec.get("template")
    if isinstance(template, Mapping):
        of_job = mistakes_in(Fields("spec.template", template))
        yield from (one for one in of_job if one not in found)
        yield from _verify_mistakes(Fields("spec", spec))


def _verify_mistakes(spec: Fields) -> Iterator[Mistake]:
    if not isinstance(spec.raw("verify"), Mapping):
        return
    yield from verification_mistakes(spec.table("verify"))
    source = (spec.table("template").raw("source") or {}) if spec.raw("template") else {}
    if isinstance(source, Mapping) and not source.get("clusterRef"):
        yield Mistake("spec.verify", "can be given only where template.source has clusterRef")


def needs_backups(resource: Resource) -> str:
    """Say what a BackupSchedule asks for that needs to know its Backups; empty if nothing."""
    spec = ScheduleSpec.of(resource)
    asked = {
        "spec.fullEvery: increments": spec.full_every > 1,
        "spec.retention: deletion": spec.retention.counts or spec.retention.max_age,
        "spec.verify: verification": spec.verification is not None,
    }
    why = "cannot be used with an operator that may not read Backups, as one of single namespaces"
    return "; ".join(f"{name} {why}" for name, is_asked in asked.items() if is_asked)


def _folder(resource: Resource) -> str:
    """Return the folder of a schedule's backups: no other schedule's, whatever they are named.

    One that has made backups keeps the folder that it had: earlier releases did not record it, and
    gave ``prod/eu-nightly`` and ``prod-eu/nightly`` the same one.
    """
    status = Fields("", resource).table("status")
    metadata = resource["metadata"]
    namespace, name = metadata.get("namespace") or "default", metadata["name"]
    if folder := status.text("folder"):
        return folder
    return f"{namespace}-{name}" if status.text("lastScheduleTime") else f"{namespace}/{name}"


def _retention(fields: Fields) -> Policy:
    return Policy(
        last=fields.number("keepLast") or 0,
        daily=fields.number("keepDaily") or 0,
        weekly=fields.number("keepWeekly") or 0,
        monthly=fields.number("keepMonthly") or 0,
        max_age=_span(fields, "maxAge"),
    )


def _span(fields: Fields, name: str) -> timedelta | None:
    """Return a duration; None if it is absent or zero."""
    seconds = durations.seconds(fields, name)
    try:
        return timedelta(seconds=seconds) if seconds else None
    except OverflowError as error:
        raise fields.refuse(name, "is longer than a million years") from error


def _around(schedule: Schedule, moment: datetime) -> Iterator[datetime]:
    """Yield the last run until a moment, if it is of the last year, and all that follow."""
    last = schedule.last_until(moment, since=moment - timedelta(days=366))
    if last is not None:
        yield last
    run = schedule.next_after(moment)
    while run is not None:
        yield run
        run = schedule.next_after(run)


def _below(target: Mapping[str, Any], folder: str) -> Json:
    """Return a target whose path is a folder inside that of another."""
    provider = "s3" if target.get("s3") else "fileSystem"
    fields = target[provider]
    return {**target, provider: {**fields, "path": f"{fields['path'].rstrip('/')}/{folder}"}}
