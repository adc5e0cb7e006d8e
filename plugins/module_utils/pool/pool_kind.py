# SPDX-License-Identifier: Apache-2.0
"""What is asked of a CNPool."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, Final

from ..admission.pod_security import Level, asked_mistakes
from ..admission.shapes import Mistake, look_for
from ..admission.storage import shared_storage_mistakes
from ..api.types import Manifest, References, Resource
from ..compute.admission import mistakes_of_cnset
from ..reporting.report import Applied, Report, is_ready_and_synced, unobserved
from ..workload.component import Reference
from ..workload.kind import ALONE, OwningKind, Play, Scripts
from ..workload.plans import Observed, Plan, is_paused
from ..workload.references import by_name
from .generation_sets import generation_set
from .pool_metrics import metrics_of, no_metrics_of
from .pool_status import invalid_status, paused_status, pool_status

_AGAIN_SECONDS: Final = 60
"""HAKeeper forgets labels and work state of a node that was silent for half a minute."""

_TEMPLATE: Final = "spec.template"
_EXTERNAL: Final = "spec.deps.externalLogSet"


class PoolKind(OwningKind[Plan]):
    """Compute nodes that claims take. Passes drain its Pods before it goes."""

    plan_type = Plan

    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label."""
        del play
        return {"self": by_name(resource["apiVersion"], resource["kind"], resource["metadata"])}

    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> Plan:
        """Return the CNSet of the present template; what its Pods do is decided by passes."""
        del observed
        if is_paused(resource):
            return Plan(paused=True)
        invalid = self.invalid(resource, play.level)
        if invalid:
            return Plan(invalid=invalid)
        found = generation_set(resource)
        return Plan(objects=[found], workload=found["metadata"]["name"])

    def report(
        self, resource: Resource, plan: Plan, observed: Observed, applied: Applied, failure: str
    ) -> Report:
        """Report what a pass came to; ``results`` of what was observed are those of the pass."""
        del applied
        found = dict(observed.get("results") or {})
        if failure and not found:
            return unobserved(resource, failure)
        if plan.invalid:
            status = invalid_status(resource, plan.invalid)
            return Report(status, [], False, plan.invalid, "")
        if plan.paused:
            return Report(paused_status(resource), [], False, "paused", "")
        if not found:
            return Report(dict(resource.get("status") or {}), [], False, "", "")
        if failure:
            found["errors"] = [failure, *(found.get("errors") or [])]
        status = pool_status(resource, found)
        seconds = min(found.get("requeue") or _AGAIN_SECONDS, _AGAIN_SECONDS)
        requeue = f"{max(1, math.ceil(seconds))}s"
        events = list(found.get("events") or [])
        ready, message = is_ready_and_synced(status), str(status["message"])
        return Report(status, events, ready, message, requeue)

    def render(
        self, resource: Resource, scripts: Scripts, references: References
    ) -> list[Manifest]:
        """Return the CNSet of the present template."""
        del scripts, references
        return [generation_set(resource)]

    def metrics(self, resource: Resource, status: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the metrics of a CNPool, by how its pass ended."""
        return no_metrics_of(resource) if status is None else metrics_of(resource, status)

    def mistakes(self, resource: Resource) -> list[Mistake]:
        """Return what is wrong with a CNPool beyond its schema."""
        template, external = _asked(resource)
        overlay = (template or {}).get("overlay") or {}
        storage = (external or {}).get("sharedStorage")
        return look_for(
            itertools.chain(
                mistakes_of_cnset(_TEMPLATE, template) if template is not None else (),
                shared_storage_mistakes(f"{_EXTERNAL}.sharedStorage", storage, overlay),
            )
        )

    def unsafe(self, resource: Resource, level: Level) -> list[Mistake]:
        """Return what its Pods ask for beyond a level of Pod security."""
        return look_for(
            mistake
            for path, asked in zip((_TEMPLATE, _EXTERNAL), _asked(resource), strict=True)
            if asked is not None
            for mistake in asked_mistakes(path, asked, level)
        )

    def warnings(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid CNPool."""
        del old
        template = (resource.get("spec") or {}).get("template") or {}
        ignored = [
            field
            for field in ("cnLabels", "serviceAnnotations", "nodePort", "podsToDelete")
            if template.get(field)
        ]
        return [f"spec.template.{field}: has no effect in a CNPool" for field in ignored]


def _asked(resource: Resource) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """Return the template of a pool and the log service that its deps describe, if it has them."""
    spec = resource.get("spec") or {}
    template, deps = spec.get("template"), spec.get("deps")
    external = deps.get("externalLogSet") if isinstance(deps, Mapping) else None
    return (
        template if isinstance(template, Mapping) else None,
        external if isinstance(external, Mapping) else None,
    )
