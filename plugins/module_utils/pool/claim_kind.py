# SPDX-License-Identifier: Apache-2.0
"""What is asked of a CNClaim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..admission.shapes import Mistake
from ..api import names
from ..api.types import Resource
from ..reporting.conditions import condition
from ..reporting.reasons import ConditionType, PoolReason
from ..reporting.report import Applied, Report
from ..workload.component import Reference
from ..workload.kind import ALONE, OwningKind, Play
from ..workload.plans import Observed, Plan, is_paused
from ..workload.references import by_name
from .reading import claim_facts, pool_facts
from .responsibility import responsible_pool


class ClaimKind(OwningKind[Plan]):
    """A claim: its pool serves it, writes its status and releases its Pod.

    This is for claims without a pool.
    """

    plan_type = Plan

    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label."""
        del play
        metadata = resource["metadata"]
        pools = {"api_version": names.API_VERSION, "kind": names.CN_POOL, "labels": {}}
        return {
            "self": by_name(resource["apiVersion"], resource["kind"], metadata),
            "pools": {**pools, "namespace": metadata["namespace"]},
        }

    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> Plan:
        """Return a plan that says in ``waiting_for`` that no pool serves the claim."""
        del play
        if is_paused(resource):
            return Plan(paused=True)
        return Plan(waiting_for=why_unserved(resource, observed.get("pools") or []))

    def report(
        self, resource: Resource, plan: Plan, observed: Observed, applied: Applied, failure: str
    ) -> Report:
        """Report that a claim has no pool; any other report is that of its pool."""
        del observed, applied
        status = dict(resource.get("status") or {})
        message = failure or plan.waiting_for
        named = (resource.get("spec") or {}).get("podName")
        # The Pod that a claim names is not known to be gone; that of a lost one is.
        if plan.waiting_for and not (status.get("phase") == "Lost" or (named and _has_pod(status))):
            status = unserved_status(resource, plan.waiting_for)
        return Report(status, [], not message, message, "")

    def mistakes(self, resource: Resource) -> list[Mistake]:
        """Return nothing: the schema says it all."""
        del resource
        return []

    def warnings(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid CNClaim."""
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
