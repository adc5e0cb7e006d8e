# SPDX-License-Identifier: Apache-2.0
"""What is asked of a MatrixoneCluster of the first operator."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from ..admission.sets import set_mistakes, version_warnings
from ..admission.shapes import Mistake, look_for
from ..api.types import Manifest, References, Resource
from ..reporting.report import Applied, Report
from ..workload.component import Reference
from ..workload.kind import ALONE, Kind, Play, Scripts
from ..workload.plans import Observed
from ..workload.removal import Removal
from .planning import EarlyPlan, plan_early
from .references import early_references
from .removal import removal_of_early
from .rendering import render_early
from .reports import report_on_early


class EarlyKind(Kind[EarlyPlan]):
    """A database in one Pod."""

    plan_type = EarlyPlan

    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label."""
        del play
        return early_references(resource)

    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> EarlyPlan:
        """Decide what a pass does."""
        del play
        return plan_early(resource, observed, datetime.now(timezone.utc))

    def report(
        self,
        resource: Resource,
        plan: EarlyPlan,
        observed: Observed,
        applied: Applied,
        failure: str,
    ) -> Report:
        """Report what a pass came to."""
        return report_on_early(resource, plan, observed, applied, failure)

    def removal(self, resource: Resource, observed: Observed) -> list[Removal]:
        """Return the steps that delete a MatrixoneCluster."""
        return removal_of_early(resource, observed)

    def render(
        self, resource: Resource, scripts: Scripts, references: References
    ) -> list[Manifest]:
        """Return every object of a MatrixoneCluster, which has no start script."""
        del scripts, references
        return render_early(resource)

    def mistakes(self, resource: Resource) -> list[Mistake]:
        """Return what is wrong with a MatrixoneCluster beyond its schema."""
        spec = resource.get("spec")
        return look_for(set_mistakes("spec", spec)) if isinstance(spec, Mapping) else []

    def warnings(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid MatrixoneCluster."""
        del old
        spec = resource.get("spec")
        if not isinstance(spec, Mapping):
            return []
        return list(version_warnings(spec))
