# SPDX-License-Identifier: Apache-2.0
"""What is asked of a RestoreJob."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...admission.pod_security import Level, asked_mistakes
from ...admission.pods import OVERLAY
from ...admission.sets import overlay_mistakes
from ...admission.shapes import Mistake, look_for
from ...api import durations, names
from ...api.errors import InvalidSpec
from ...api.fields import Fields
from ...api.timestamps import timestamp_now
from ...api.types import Manifest, References, Resource
from ...location import locations
from ...reporting.report import Applied, Report
from ...workload.component import Reference
from ...workload.kind import ALONE, Kind, Play, Scripts
from ...workload.plans import Observed
from ...workload.references import by_name
from ...workload.removal import Removal
from ..claimed_paths import claim_references
from ..folder_mounts import require_mountable
from ..task import jobs
from ..task.objects import removal_of_task, task_references
from ..task.plan import JobPlan, PassContext
from ..task.status import report_on_job
from ..verification.observing import is_verification, verification_mistakes, verification_references
from ..verification.planning import plan_verification
from .planning import plan_restore_job
from .task import SUFFIX, owning_cluster, secret_references

_PLACES = (("target", locations.TARGET), ("externalSource", locations.SOURCE))


class RestoreJobKind(Kind[JobPlan]):
    """One copy of a backup to the storage of a new cluster."""

    plan_type = JobPlan

    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label.

        The Secrets of a Backup's location are known once that was observed: it is a sibling then.
        """
        metadata = resource["metadata"]
        backups = [one for one in play.siblings if one.get("kind") == names.BACKUP]
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

    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> JobPlan:
        """Decide what a pass does."""
        around = PassContext.of(observed, play)
        whole = with_overlay(resource)
        invalid = self.invalid(resource, play.level)
        if is_verification(whole):
            return plan_verification(whole, observed, around, invalid)
        return plan_restore_job(whole, observed, around, invalid)

    def report(
        self, resource: Resource, plan: JobPlan, observed: Observed, applied: Applied, failure: str
    ) -> Report:
        """Report what a pass came to."""
        del applied
        now = str(observed.get("now") or timestamp_now())
        return report_on_job(resource, plan, failure, now, {})

    def removal(self, resource: Resource, observed: Observed) -> list[Removal]:
        """Return the step that ends the Job; what was copied stays."""
        del observed
        return [removal_of_task(resource, resource["metadata"]["namespace"])]

    def render(
        self, resource: Resource, scripts: Scripts, references: References
    ) -> list[Manifest]:
        """Refuse to render: what a RestoreJob leads to depends on the Backup."""
        del scripts, references
        raise InvalidSpec("kind", f"the objects of a {resource['kind']} depend on what is observed")

    def mistakes(self, resource: Resource) -> list[Mistake]:
        """Return what is wrong with a RestoreJob beyond its schema."""
        spec = with_overlay(resource).get("spec")
        found = look_for(_mistakes(Fields("spec", spec))) if isinstance(spec, Mapping) else []
        return [_as_written(resource, one) for one in found]

    def unsafe(self, resource: Resource, level: Level) -> list[Mistake]:
        """Return what a RestoreJob asks for in its Pod beyond a level of Pod security."""
        spec = with_overlay(resource).get("spec")
        if not isinstance(spec, Mapping):
            return []
        return look_for(
            _as_written(
                resource,
                Mistake(one.field.replace(".sharedStorage", f".{place}"), one.message, one.reason),
            )
            for place, _role in _PLACES
            for one in asked_mistakes(
                "spec", {"overlay": spec.get("overlay"), "sharedStorage": spec.get(place)}, level
            )
        )

    def warnings(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid RestoreJob."""
        del resource, old
        return []


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


def _mistakes(spec: Fields) -> Iterator[Mistake]:
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
