# SPDX-License-Identifier: Apache-2.0
"""What is asked of a BackupJob."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...admission.pod_security import Level
from ...admission.shapes import Mistake, look_for
from ...api import names
from ...api.errors import InvalidSpec
from ...api.fields import Fields
from ...api.timestamps import timestamp_now
from ...api.types import Manifest, References, Resource
from ...reporting.reasons import BackupReason
from ...reporting.report import Applied, Report
from ...workload.component import Reference
from ...workload.kind import ALONE, Kind, Play, Scripts
from ...workload.plans import Observed, named
from ...workload.references import by_name
from ...workload.removal import Removal
from ..claimed_paths import claim_references
from ..manifest import INCREMENTAL
from ..sources import named_source
from ..task import jobs
from ..task.objects import removals_with_result, task_references
from ..task.plan import JobPlan, PassContext
from ..task.status import report_on_job
from . import leftovers
from .mistakes import job_mistakes, unsafe_in
from .planning import plan_backup_job
from .starting import SUFFIX, login_secret, target_secrets


class BackupJobKind(Kind[JobPlan]):
    """One backup of a database."""

    plan_type = JobPlan

    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label."""
        del play
        metadata, base = resource["metadata"], jobs.base_name(resource["metadata"]["name"], SUFFIX)
        of_task = task_references(resource, metadata["namespace"], base)
        if metadata.get("deletionTimestamp"):
            # The Pod has just ended, and a cache of ConfigMaps may not know yet what it reported.
            of_task["result"]["latest"] = True
            return of_task | _backups(resource)
        kind, name = named_source(resource)
        found = {
            "self": by_name(resource["apiVersion"], resource["kind"], metadata),
            **(
                {"source": by_name(names.API_VERSION, kind, {**metadata, "name": name})}
                if name
                else {}
            ),
            "jobs": _listed(resource, names.BACKUP_JOB),
            "cnSets": _listed(resource, names.CN_SET),
            "logSets": _listed(resource, names.LOG_SET),
            **of_task,
        }
        for label, secret in {**target_secrets(resource), **login_secret(resource)}.items():
            found[label] = by_name("v1", "Secret", {**metadata, "name": secret})
        return found | claim_references(resource) | _backups(resource)

    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> JobPlan:
        """Decide what a pass does."""
        around = PassContext.of(observed, play)
        return plan_backup_job(resource, observed, around, self.invalid(resource, play.level))

    def report(
        self, resource: Resource, plan: JobPlan, observed: Observed, applied: Applied, failure: str
    ) -> Report:
        """Report what a pass came to."""
        del applied
        recorded: JobPlan = plan
        facts: dict[str, Any] = {}
        if plan.record and not failure:
            recorded, facts = _recorded(plan, observed.get("recorded") or {})
        now = str(observed.get("now") or timestamp_now())
        return report_on_job(resource, recorded, failure, now, facts)

    def removal(self, resource: Resource, observed: Observed) -> list[Removal]:
        """Return the steps that end the Job and delete its result; what was written stays."""
        del observed
        return removals_with_result(resource, resource["metadata"]["namespace"])

    def render(
        self, resource: Resource, scripts: Scripts, references: References
    ) -> list[Manifest]:
        """Refuse to render: what a BackupJob leads to depends on a database that runs."""
        del scripts, references
        raise InvalidSpec("kind", f"the objects of a {resource['kind']} depend on what is observed")

    def mistakes(self, resource: Resource) -> list[Mistake]:
        """Return what is wrong with a BackupJob beyond its schema."""
        spec = resource.get("spec")
        return look_for(job_mistakes(Fields("spec", spec))) if isinstance(spec, Mapping) else []

    def unsafe(self, resource: Resource, level: Level) -> list[Mistake]:
        """Return what a BackupJob asks for in its Pod beyond a level of Pod security."""
        spec = resource.get("spec")
        return look_for(unsafe_in(Fields("spec", spec), level)) if isinstance(spec, Mapping) else []

    def metrics(self, resource: Resource, status: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the metric of a BackupJob: whether it has left something."""
        return leftovers.metrics_of(resource, status)

    def warnings(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid BackupJob."""
        del resource, old
        return []


def _backups(resource: Resource) -> dict[str, Reference]:
    """Return the reference to what an incremental backup may continue."""
    if (resource.get("spec") or {}).get("type") != INCREMENTAL:
        return {}
    backups = {"api_version": names.API_VERSION, "kind": names.BACKUP, "labels": {}}
    return {"backups": {**backups, "if_allowed": True}}


def _listed(resource: Resource, kind: str) -> Reference:
    namespace = resource["metadata"]["namespace"]
    return {
        "api_version": names.API_VERSION,
        "kind": kind,
        "namespace": namespace,
        "labels": {},
    }


def _recorded(plan: JobPlan, recorded: Mapping[str, Any]) -> tuple[JobPlan, dict[str, Any]]:
    """Return what became of the record: the Backup's name, or why there is none.

    The backup is whole and has its record beside it in any case.
    """
    record, *others = plan.record
    objects = recorded.get("objects") or {}
    name, live = record["metadata"]["name"], objects.get(named(record))
    why = recorded.get("msg") or "it was not created"
    if live is None:
        message = f"the backup is complete, but it has no Backup: {why}"
        return _with_problem(plan, BackupReason.NOT_RECORDED, message), {}
    if (live.get("meta") or {}).get("id") != record["meta"]["id"]:
        message = f"the backup is complete, but another Backup has the name {name}"
        return _with_problem(plan, BackupReason.NAME_TAKEN, message), {}
    if any(named(one) not in objects for one in others):
        message = f"the backup is complete, but it is not going to be verified: {why}"
        return _with_problem(plan, BackupReason.NOT_RECORDED, message), {"backup": name}
    return plan, {"backup": name}


def _with_problem(plan: JobPlan, reason: BackupReason, message: str) -> JobPlan:
    return replace(plan, problem={"reason": reason.value, "message": message}, message=message)
