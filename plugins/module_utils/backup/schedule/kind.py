# SPDX-License-Identifier: Apache-2.0
"""What is asked of a BackupSchedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...admission.pod_security import Level
from ...admission.shapes import Mistake, look_for
from ...api import names
from ...api.fields import Fields, as_table
from ...api.types import Resource
from ...workload.component import Reference
from ...workload.kind import Judge, Kind, PassStart, Planner, Reporter
from ...workload.references import by_name
from .. import users
from ..job.mistakes import unsafe_in
from ..task.observed import moment_of
from .metrics import metrics_of, no_metrics_of
from .observed import ScheduleObserved
from .planning import SchedulePlan, plan_schedule
from .reports import report_on_schedule
from .runs import labels_of
from .spec import needs_backups, schedule_mistakes


def _references(start: PassStart) -> dict[str, Reference]:
    """Return what to observe, by label.

    Backups are in no namespace: an operator of single namespaces may not read them.
    """
    resource = start.resource
    metadata = resource["metadata"]
    namespace = metadata["namespace"]
    found = {"api_version": names.API_VERSION, "labels": labels_of(namespace, metadata["name"])}
    return {
        **(users.references() if _deletes(resource) else {}),
        "self": by_name(resource["apiVersion"], resource["kind"], metadata),
        **_source(resource),
        "jobs": {**found, "kind": names.BACKUP_JOB, "namespace": namespace},
        "backups": {**found, "kind": names.BACKUP, "if_allowed": True},
        "restoreJobs": {**found, "kind": names.RESTORE_JOB, "namespace": namespace},
    }


def _source(resource: Resource) -> dict[str, Reference]:
    """Return the reference of the cluster that is backed up; nothing where it names none."""
    template = as_table(as_table(resource.get("spec")).get("template"))
    name = as_table(template.get("source")).get("clusterRef")
    if not name or not isinstance(name, str):
        return {}
    place = {"namespace": resource["metadata"]["namespace"], "name": name}
    return {"source": by_name(names.API_VERSION, names.CLUSTER, place)}


def _plan(start: PassStart) -> SchedulePlan:
    resource, observed = start.resource, ScheduleObserved.read(start.observed)
    invalid = _JUDGE.invalid(resource, start.play.level)
    if observed.backups is None and not invalid:
        invalid = needs_backups(resource)
    return plan_schedule(resource, observed, moment_of(start.observed), invalid)


def _metrics(resource: Resource, status: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return no_metrics_of(resource) if status is None else metrics_of(resource, status)


def _mistakes(resource: Resource) -> list[Mistake]:
    return look_for(schedule_mistakes(resource))


def _unsafe(resource: Resource, level: Level) -> list[Mistake]:
    """Return what its BackupJobs ask for in their Pods beyond a level of Pod security."""
    template = (resource.get("spec") or {}).get("template")
    if not isinstance(template, Mapping):
        return []
    return look_for(unsafe_in(Fields("spec.template", template), level))


def _warnings(resource: Resource) -> list[str]:
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


_JUDGE: Final = Judge(mistakes=_mistakes, unsafe=_unsafe, warnings=_warnings)
BACKUP_SCHEDULE: Final = Kind(
    plan_type=SchedulePlan,
    planner=Planner(references=_references, plan=_plan),
    reporter=Reporter(report=report_on_schedule, metrics=_metrics),
    judge=_JUDGE,
)
"""Backups at fixed times. Its BackupJobs are deleted with it, its Backups stay."""
