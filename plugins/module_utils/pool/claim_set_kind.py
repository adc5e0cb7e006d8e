# SPDX-License-Identifier: Apache-2.0
"""What is asked of a CNClaimSet."""

from __future__ import annotations

from ..admission.shapes import Mistake
from ..api.types import Resource
from ..reporting.report import Applied, Report, is_ready_and_synced, unobserved
from ..workload.component import Reference
from ..workload.kind import ALONE, OwningKind, Play
from ..workload.plans import Observed, Plan, is_paused
from ..workload.references import by_name
from .claim_set_status import claim_set_status
from .pool_status import paused_status


class ClaimSetKind(OwningKind[Plan]):
    """A number of equal claims."""

    plan_type = Plan

    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label."""
        del play
        return {"self": by_name(resource["apiVersion"], resource["kind"], resource["metadata"])}

    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> Plan:
        """Return whether it is paused; which claims there are is decided by passes."""
        del observed, play
        return Plan(paused=is_paused(resource))

    def report(
        self, resource: Resource, plan: Plan, observed: Observed, applied: Applied, failure: str
    ) -> Report:
        """Report what a pass came to; ``results`` of what was observed are those of the pass."""
        del applied
        found = dict(observed.get("results") or {})
        if failure and not found:
            return unobserved(resource, failure)
        if plan.paused:
            return Report(paused_status(resource), [], False, "paused", "")
        if not found:
            return Report(dict(resource.get("status") or {}), [], False, "", "")
        status = claim_set_status(resource, found)
        requeue = "2s" if found.get("errors") or found.get("unfinished") else ""
        return Report(status, [], is_ready_and_synced(status), str(status["message"]), requeue)

    def mistakes(self, resource: Resource) -> list[Mistake]:
        """Return nothing: the schema says it all."""
        del resource
        return []

    def warnings(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid CNClaimSet."""
        template = (resource.get("spec") or {}).get("template") or {}
        if old is None and not (template.get("spec") or {}).get("cnLabels"):
            return [
                "spec.template.spec.cnLabels: without labels, the compute nodes serve every tenant"
            ]
        return []
