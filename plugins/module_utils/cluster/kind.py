# SPDX-License-Identifier: Apache-2.0
"""What is asked of a MatrixOneCluster."""

from __future__ import annotations

from collections.abc import Mapping

from ..admission.pod_security import Level, asked_mistakes
from ..admission.shapes import Mistake, look_for
from ..api.types import Manifest, References, Resource
from ..reporting.report import Applied, Report
from ..workload.component import Reference
from ..workload.kind import ALONE, Kind, Play, Scripts
from ..workload.plans import Observed
from ..workload.removal import Removal
from .admission import cluster_deletion_warnings, cluster_mistakes, cluster_warnings
from .canary import apart
from .children import render_with_children
from .data_version import with_data_version
from .parts import parts_of
from .planning import ClusterPlan, plan_cluster
from .references import cluster_references
from .removal import removal_of_cluster
from .reports import report_on_cluster
from .upgrading import with_upgrade


class ClusterKind(Kind[ClusterPlan]):
    """A database of all components."""

    plan_type = ClusterPlan

    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label."""
        del play
        return cluster_references(resource)

    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> ClusterPlan:
        """Decide what a pass does."""
        in_use = observed.get("logSet") is not None
        present = with_upgrade(with_data_version(resource, observed), observed)
        invalid = self.invalid(present, play.level, in_use=in_use)
        return plan_cluster(resource, apart(observed), invalid)

    def report(
        self,
        resource: Resource,
        plan: ClusterPlan,
        observed: Observed,
        applied: Applied,
        failure: str,
    ) -> Report:
        """Report what a pass came to."""
        return report_on_cluster(resource, plan, apart(observed), applied, failure)

    def removal(self, resource: Resource, observed: Observed) -> list[Removal]:
        """Return the steps that delete a cluster."""
        del observed
        return removal_of_cluster(resource)

    def render(
        self, resource: Resource, scripts: Scripts, references: References
    ) -> list[Manifest]:
        """Return every object that a cluster leads to, children's children included."""
        del references
        return render_with_children(resource, scripts)

    def mistakes(self, resource: Resource) -> list[Mistake]:
        """Return what is wrong with a cluster beyond its schema."""
        return cluster_mistakes(resource) if isinstance(resource.get("spec"), Mapping) else []

    def unsafe(self, resource: Resource, level: Level) -> list[Mistake]:
        """Return what a cluster asks for in its Pods beyond a level of Pod security."""
        spec = resource.get("spec")
        if not isinstance(spec, Mapping):
            return []
        parts = parts_of(spec)
        return look_for(
            found for _name, path, one in parts for found in asked_mistakes(path, one, level)
        )

    def warnings(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid cluster."""
        return cluster_warnings(resource, old) if isinstance(resource.get("spec"), Mapping) else []

    def deletion_warnings(self, resource: Resource) -> list[str]:
        """Return what a user should know who deletes a cluster."""
        has_spec = isinstance(resource.get("spec"), Mapping)
        return cluster_deletion_warnings(resource) if has_spec else []
