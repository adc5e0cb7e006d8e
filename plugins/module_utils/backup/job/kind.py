# SPDX-License-Identifier: Apache-2.0
"""What is asked of a BackupJob."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ...admission.pod_security import Level
from ...admission.shapes import Mistake, look_for
from ...api import names
from ...api.fields import Fields
from ...api.types import Resource
from ...reporting.reasons import BackupReason
from ...reporting.report import Report
from ...workload.component import Reference
from ...workload.kind import Judge, Kind, PassEnd, PassStart, Planner, Reporter
from ...workload.plans import named
from ...workload.references import by_name
from ...workload.removal import Removal
from ..claimed_paths import claim_references
from ..manifest import INCREMENTAL
from ..sources import named_source
from ..task import jobs
from ..task.objects import removals_with_result, secret_references, task_references
from ..task.observed import moment_of
from ..task.plan import JobPlan, PassContext
from ..task.status import report_on_job
from . import leftovers
from .mistakes import job_mistakes, unsafe_in
from .observed import JobObserved
from .planning import plan_backup_job
from .starting import SUFFIX, login_secret, target_secrets


def _references(start: PassStart) -> dict[str, Reference]:
    resource = start.resource
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
            {"source": by_name(names.API_VERSION, kind, {**metadata, "name": name})} if name else {}
        ),
        "jobs": _listed(resource, names.BACKUP_JOB),
        "cnSets": _listed(resource, names.CN_SET),
        "logSets": _listed(resource, names.LOG_SET),
        **of_task,
    }
    secrets = {**target_secrets(resource), **login_secret(resource)}
    found |= secret_references(metadata["namespace"], secrets)
    return found | claim_references(resource) | _backups(resource)


def _plan(start: PassStart) -> JobPlan:
    invalid = _JUDGE.invalid(start.resource, start.play.level)
    observed = JobObserved.read(start.observed)
    return plan_backup_job(start.resource, observed, PassContext.of(start), invalid)


def _report(end: PassEnd[JobPlan]) -> Report:
    recorded: JobPlan = end.plan
    facts: dict[str, Any] = {}
    if recorded.record and not end.failure:
        recorded, facts = _recorded(recorded, end.observed.get("recorded") or {})
    return report_on_job(end.resource, recorded, end.failure, moment_of(end.observed), facts)


def _removal(start: PassStart) -> list[Removal]:
    """Return the steps that end the Job and delete its result; what was written stays."""
    return removals_with_result(start.resource, start.resource["metadata"]["namespace"])


def _mistakes(resource: Resource) -> list[Mistake]:
    spec = resource.get("spec")
    return look_for(job_mistakes(Fields("spec", spec))) if isinstance(spec, Mapping) else []


def _unsafe(resource: Resource, level: Level) -> list[Mistake]:
    spec = resource.get("spec")
    return look_for(unsafe_in(Fields("spec", spec), level)) if isinstance(spec, Mapping) else []


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
    if any(named(other) not in objects for other in others):
        message = f"the backup is complete, but it is not going to be verified: {why}"
        return _with_problem(plan, BackupReason.NOT_RECORDED, message), {"backup": name}
    return plan, {"backup": name}


def _with_problem(plan: JobPlan, reason: BackupReason, message: str) -> JobPlan:
    return replace(plan, problem={"reason": reason.value, "message": message}, message=message)


_JUDGE: Final = Judge(mistakes=_mistakes, unsafe=_unsafe)
BACKUP_JOB: Final = Kind(
    plan_type=JobPlan,
    planner=Planner(references=_references, plan=_plan, removal=_removal),
    reporter=Reporter(report=_report, metrics=leftovers.metrics_of),
    judge=_JUDGE,
)
"""One backup of a database."""
