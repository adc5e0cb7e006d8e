# SPDX-License-Identifier: Apache-2.0
"""What is asked of a BackupSchedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...admission.pod_security import Level
from ...admission.shapes import Mistake, look_for
from ...api import names
from ...api.fields import Fields
from ...api.timestamps import timestamp_now
from ...api.types import Resource
from ...reporting.report import Applied, Report
from ...workload.component import Reference
from ...workload.kind import ALONE, OwningKind, Play
from ...workload.plans import Observed
from ...workload.references import by_name
from .. import users
from ..job.mistakes import unsafe_in
from .metrics import metrics_of, no_metrics_of
from .planning import SchedulePlan, plan_schedule
from .reports import report_on_schedule
from .runs import labels_of
from .spec import needs_backups, schedule_mistakes


class BackupScheduleKind(OwningKind[SchedulePlan]):
    """Backups at fixed times. Its BackupJobs go with it, its Backups stay."""

    plan_type = SchedulePlan

    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label.

        Backups are in no namespace: an operator of single namespaces may not read them.
        """
        del play
        metadata = resource["metadata"]
        ours = labels_of(metadata["namespace"], metadata["name"])
        found = {"api_version": names.API_VERSION, "labels": ours}
        return {
            **(users.references() if _deletes(resource) else {}),
            "self": by_name(resource["apiVersion"], resource["kind"], metadata),
            "jobs": {**found, "kind": "BackupJob", "namespace": metadata["namespace"]},
            "backups": {**found, "kind": "Backup", "if_allowed": True},
            "restoreJobs": {
                **found,
                "kind": names.RESTORE_JOB,
                "namespace": metadata["namespace"],
            },
        }

    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> SchedulePlan:
        """Decide what a pass does."""
        now = str(observed.get("now") or timestamp_now())
        invalid = self.invalid(resource, play.level)
        if observed.get("backups") is None and not invalid:
            invalid = needs_backups(resource)
        return plan_schedule(resource, observed, now, invalid)

    def report(
        self,
        resource: Resource,
        plan: SchedulePlan,
        observed: Observed,
        applied: Applied,
        failure: str,
    ) -> Report:
        """Report what a pass came to."""
        return report_on_schedule(resource, plan, observed, applied, failure)

    def mistakes(self, resource: Resource) -> list[Mistake]:
        """Return what is wrong with a BackupSchedule beyond its schema."""
        return look_for(schedule_mistakes(resource))

    def unsafe(self, resource: Resource, level: Level) -> list[Mistake]:
        """Return what its BackupJobs ask for in their Pods beyond a level of Pod security."""
        template = (resource.get("spec") or {}).get("template")
        if not isinstance(template, Mapping):
            return []
        return look_for(unsafe_in(Fields("spec.template", template), level))

    def metrics(self, resource: Resource, status: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the metrics of a BackupSchedule."""
        return no_metrics_of(resource) if status is None else metrics_of(resource, status)

    def warnings(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid BackupSchedule."""
        del old
        spec = resource.get("spec") or {}
        kept = (spec.get("template") or {}).get("deletionPolicy") == "Retain"
        if spec.get("retention") and kept:
            what = "Retain keeps the data of the Backups that retention deletes"
            return [f"spec.template.deletionPolicy: {what}"]
        return []


def _deletes(resource: Resource) -> bool:
    """Return whether a BackupSchedule deletes Backups, as far as its spec can be read."""
    spec = resource.get("spec")
    return isinstance(spec, Mapping) and bool(spec.get("retention"))
