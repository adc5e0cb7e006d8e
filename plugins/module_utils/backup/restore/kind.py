# SPDX-License-Identifier: Apache-2.0
"""What is asked of a RestoreJob."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ...admission.pod_security import Level, asked_mistakes
from ...admission.pods import OVERLAY
from ...admission.sets import overlay_mistakes
from ...admission.shapes import Mistake, look_for
from ...api import durations, names
from ...api.errors import InvalidSpec
from ...api.fields import Fields
from ...api.types import Resource
from ...location import locations
from ...reporting.report import Report
from ...workload.component import Reference
from ...workload.kind import Judge, Kind, PassEnd, PassStart, Planner, Reporter
from ...workload.references import by_name
from ...workload.removal import Removal
from ..claimed_paths import claim_references
from ..folder_mounts import require_mountable
from ..task import jobs
from ..task.objects import removal_of_task, task_references
from ..task.observed import moment_of
from ..task.plan import JobPlan, PassContext
from ..task.status import report_on_job
from ..verification.observed import VerificationObserved
from ..verification.observing import is_verification, verification_mistakes, verification_references
from ..verification.planning import plan_verification
from .observed import RestoreObserved
from .planning import plan_restore_job
from .task import SUFFIX, owning_cluster, secret_references

_PLACES = (("target", locations.TARGET), ("externalSource", locations.SOURCE))


def _references(start: PassStart) -> dict[str, Reference]:
    """Return what to observe, by label.

    The Secrets of a Backup's location are known once that was observed: it is a sibling then.
    """
    resource = start.resource
    metadata = resource["metadata"]
    backups = [sibling for sibling in start.play.siblings if sibling.get("kind") == names.BACKUP]
    if is_verification(resource):
        return verification_references(resource, backups[0] if backups else None)
    found = {
        "self": by_name(resource["apiVersion"], resource["kind"], metadata),
        **task_references(
            resource, metadata["namespace"], jobs.base_name(metadata["name"], SUFFIX)
        ),
        **secret_references(resource, backups[0] if backups else None),
        **claim_references(resource),
    }
    spec = Fields("", resource).table("spec")
    named = spec.text("backupName")
    if named:
        place = {"namespace": "", "name": named}
        found["backup"] = by_name(names.API_VERSION, names.BACKUP, place)
    owner = owning_cluster(resource)
    if owner:
        place = {**metadata, "name": owner["name"]}
        found["cluster"] = by_name(names.API_VERSION, names.CLUSTER, place)
    return found


def _plan(start: PassStart) -> JobPlan:
    whole = with_overlay(start.resource)
    invalid = _JUDGE.invalid(start.resource, start.play.level)
    context = PassContext.of(start)
    if is_verification(whole):
        verification = VerificationObserved.read(start.observed)
        return plan_verification(whole, verification, context, invalid)
    return plan_restore_job(whole, RestoreObserved.read(start.observed), context, invalid)


def _report(end: PassEnd[JobPlan]) -> Report:
    return report_on_job(end.resource, end.plan, end.failure, moment_of(end.observed), {})


def _removal(start: PassStart) -> list[Removal]:
    """Return the step that ends the Job; what was copied stays."""
    return [removal_of_task(start.resource, start.resource["metadata"]["namespace"])]


def _mistakes(resource: Resource) -> list[Mistake]:
    spec = with_overlay(resource).get("spec")
    found = look_for(_in_spec(Fields("spec", spec))) if isinstance(spec, Mapping) else []
    return [_as_written(resource, one) for one in found]


def _unsafe(resource: Resource, level: Level) -> list[Mistake]:
    spec = with_overlay(resource).get("spec")
    if not isinstance(spec, Mapping):
        return []
    return look_for(
        _as_written(
            resource,
            Mistake(
                mistake.field.replace(".sharedStorage", f".{place}"),
                mistake.message,
                mistake.reason,
            ),
        )
        for place, _role in _PLACES
        for mistake in asked_mistakes(
            "spec", {"overlay": spec.get("overlay"), "sharedStorage": spec.get(place)}, level
        )
    )


def _as_written(resource: Resource, mistake: Mistake) -> Mistake:
    """Name the field that the user wrote: the overlay may stand beside the spec."""
    spec = resource.get("spec")
    is_beside = bool(resource.get("overlay")) and not (spec or {}).get("overlay")
    if not is_beside or not mistake.field.startswith("spec.overlay"):
        return mistake
    return replace(mistake, field=mistake.field.removeprefix("spec."))


def with_overlay(resource: Resource) -> dict[str, Any]:
    """Return a RestoreJob with the overlay in its spec, where it once stood beside it."""
    spec, beside = resource.get("spec"), resource.get("overlay")
    if not isinstance(spec, Mapping) or not beside or spec.get("overlay"):
        return dict(resource)
    return {**resource, "spec": {**spec, "overlay": beside}}


def _in_spec(spec: Fields) -> Iterator[Mistake]:
    yield from overlay_mistakes(OVERLAY, "spec.overlay", spec.raw("overlay"))
    try:
        if bool(spec.text("backupName")) == bool(spec.table("externalSource").data):
            raise spec.refuse("backupName", "either backupName or externalSource must be set")
        verified = spec.raw("verify") is not None
        if verified == bool(spec.table("target").data):
            raise spec.refuse("target", "either target or verify must be set")
        if verified:
            spec.required_text("backupName", "must be given with verify")
            yield from verification_mistakes(spec.table("verify"))
        for place, role in _PLACES:
            if spec.table(place).data:
                locations.from_fields(spec.table(place), role)
                require_mountable(spec.table(place))
        jobs.Settings.of(spec, "any")
        durations.seconds(spec, "ttl")
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message)


_JUDGE: Final = Judge(mistakes=_mistakes, unsafe=_unsafe)
RESTORE_JOB: Final = Kind(
    plan_type=JobPlan,
    planner=Planner(references=_references, plan=_plan, removal=_removal),
    reporter=Reporter(report=_report),
    judge=_JUDGE,
)
"""One copy of a backup to the storage of a new cluster."""
