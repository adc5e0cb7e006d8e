# SPDX-License-Identifier: Apache-2.0
"""What is asked of a MatrixOneCluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..admission.pod_security import Level, asked_mistakes
from ..admission.shapes import Mistake, look_for
from ..api.types import Resource
from ..reporting.report import Report
from ..workload.component import Reference
from ..workload.kind import Judge, Kind, PassEnd, PassStart, Planner, Reporter
from ..workload.removal import Removal
from .admission import cluster_deletion_warnings, cluster_mistakes, cluster_warnings
from .canary import apart
from .data_version import with_data_version
from .parts import parts_of
from .planning import ClusterPlan, plan_cluster
from .references import cluster_references
from .removal import removal_of_cluster
from .reports import report_on_cluster
from .upgrading import with_upgrade


def _references(start: PassStart) -> dict[str, Reference]:
    return cluster_references(start.resource)


def _plan(start: PassStart) -> ClusterPlan:
    resource, observed = start.resource, start.observed
    in_use = observed.get("logSet") is not None
    present = with_upgrade(with_data_version(resource, observed), observed)
    invalid = _JUDGE.invalid(present, start.play.level, in_use=in_use)
    return plan_cluster(resource, apart(observed), invalid)


def _report(end: PassEnd[ClusterPlan]) -> Report:
    return report_on_cluster(replace(end, observed=apart(end.observed)))


def _removal(start: PassStart) -> list[Removal]:
    return removal_of_cluster(start.resource)


def _has_spec(resource: Resource) -> bool:
    return isinstance(resource.get("spec"), Mapping)


def _mistakes(resource: Resource) -> list[Mistake]:
    return cluster_mistakes(resource) if _has_spec(resource) else []


def _unsafe(resource: Resource, level: Level) -> list[Mistake]:
    if not _has_spec(resource):
        return []
    parts = parts_of(resource["spec"])
    return look_for(
        found for _name, path, one in parts for found in asked_mistakes(path, one, level)
    )


def _warnings(resource: Resource, old: Resource | None) -> list[str]:
    return cluster_warnings(resource, old) if _has_spec(resource) else []


def _deletion_warnings(resource: Resource) -> list[str]:
    return cluster_deletion_warnings(resource) if _has_spec(resource) else []


_JUDGE: Final = Judge(
    mistakes=_mistakes,
    unsafe=_unsafe,
    warnings_of_change=_warnings,
    deletion_warnings=_deletion_warnings,
)
CLUSTER: Final = Kind(
    plan_type=ClusterPlan,
    planner=Planner(references=_references, plan=_plan, removal=_removal),
    reporter=Reporter(report=_report),
    judge=_JUDGE,
)
"""A database of all components."""
