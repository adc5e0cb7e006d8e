# SPDX-License-Identifier: Apache-2.0
"""What is asked of a CNClaim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..api import names
from ..api.types import Resource
from ..reporting.conditions import condition
from ..reporting.reasons import ConditionType, PoolReason
from ..reporting.report import Report
from ..workload.component import Reference
from ..workload.kind import Judge, Kind, PassEnd, PassStart, Planner, Reporter
from ..workload.plans import Plan, is_paused
from ..workload.references import by_name
from .reading import claim_facts, pool_facts
from .responsibility import responsible_pool


def _references(start: PassStart) -> dict[str, Reference]:
    resource = start.resource
    metadata = resource["metadata"]
    pools = {"api_version": names.API_VERSION, "kind": names.CN_POOL, "labels": {}}
    return {
        "self": by_name(resource["apiVersion"], resource["kind"], metadata),
        "pools": {**pools, "namespace": metadata["namespace"]},
    }


def _plan(start: PassStart) -> Plan:
    """Return a plan that says in ``waiting_for`` that no pool serves the claim."""
    if is_paused(start.resource):
        return Plan(paused=True)
    return Plan(waiting_for=why_unserved(start.resource, start.observed.get("pools") or []))


def _report(end: PassEnd[Plan]) -> Report:
    """Report that a claim has no pool; any other report is that of its pool."""
    resource, plan = end.resource, end.plan
    status = dict(resource.get("status") or {})
    message = end.failure or plan.waiting_for
    named = (resource.get("spec") or {}).get("podName")
    # The Pod that a claim names is not known to be gone; that of a lost one is.
    if plan.waiting_for and not (status.get("phase") == "Lost" or (named and _has_pod(status))):
        status = unserved_status(resource, plan.waiting_for)
    return Report(status, [], not message, message, "")


def _warnings(resource: Resource, old: Resource | None) -> list[str]:
    spec = resource.get("spec") or {}
    if old is None and not spec.get("cnLabels"):
        return ["spec.cnLabels: without labels, the compute node serves every tenant"]
    return []


def _has_pod(status: Mapping[str, Any]) -> bool:
    return status.get("phase") in {"Bound", "Outdated"}


def why_unserved(claim: Resource, pools: Sequence[Mapping[str, Any]]) -> str:
    """Return why no pool serves a claim; empty if one does."""
    facts = claim_facts(claim)
    found = [pool_facts(pool) for pool in pools]
    if responsible_pool(facts, found, {}):
        return ""
    if facts.pool and facts.pool not in {pool.name for pool in found}:
        return f"CNPool {facts.pool} does not exist"
    return "no CNPool of the namespace has podLabels that the selector matches"


def unserved_status(claim: Resource, why: str) -> dict[str, Any]:
    """Return the status of a claim without a pool."""
    generation = int(claim["metadata"].get("generation") or 0)
    conditions = [
        condition(ConditionType.READY, False, PoolReason.NO_MATCHING_POOL, why, generation),
    ]
    return {"phase": "Pending", "conditions": conditions}


CN_CLAIM: Final = Kind(
    plan_type=Plan,
    planner=Planner(references=_references, plan=_plan),
    reporter=Reporter(report=_report),
    judge=Judge(warnings_of_change=_warnings),
)
"""A claim without a pool. Otherwise its pool serves it, writes its status and releases its Pod."""
