# SPDX-License-Identifier: Apache-2.0
"""What is asked of a CNClaimSet."""

from __future__ import annotations

from typing import Final

from ..api.types import Resource
from ..reporting.report import Report, is_ready_and_synced, unobserved
from ..workload.component import Reference
from ..workload.kind import Judge, Kind, PassEnd, PassStart, Planner, Reporter
from ..workload.plans import Plan, is_paused
from ..workload.references import by_name
from .claim_set_status import claim_set_status
from .pool_status import paused_status


def _references(start: PassStart) -> dict[str, Reference]:
    resource = start.resource
    return {"self": by_name(resource["apiVersion"], resource["kind"], resource["metadata"])}


def _plan(start: PassStart) -> Plan:
    """Return whether it is paused; which claims there are is decided by passes."""
    return Plan(paused=is_paused(start.resource))


def _report(end: PassEnd[Plan]) -> Report:
    """Report what a pass came to; ``results`` of what was observed are those of the pass."""
    resource, found = end.resource, dict(end.observed.get("results") or {})
    if end.failure and not found:
        return unobserved(resource, end.failure)
    if end.plan.paused:
        return Report(paused_status(resource), [], False, "paused", "")
    if not found:
        return Report(dict(resource.get("status") or {}), [], False, "", "")
    status = claim_set_status(resource, found)
    requeue = "2s" if found.get("errors") or found.get("unfinished") else ""
    return Report(status, [], is_ready_and_synced(status), str(status["message"]), requeue)


def _warnings(resource: Resource, old: Resource | None) -> list[str]:
    template = (resource.get("spec") or {}).get("template") or {}
    if old is None and not (template.get("spec") or {}).get("cnLabels"):
        return ["spec.template.spec.cnLabels: without labels, the compute nodes serve every tenant"]
    return []


CN_CLAIM_SET: Final = Kind(
    plan_type=Plan,
    planner=Planner(references=_references, plan=_plan),
    reporter=Reporter(report=_report),
    judge=Judge(warnings_of_change=_warnings),
)
"""A number of equal claims."""
