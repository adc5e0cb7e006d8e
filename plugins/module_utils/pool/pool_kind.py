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
from ..api.types import Resource
from ..compute.admission import mistakes_of_cnset
from ..reporting.report import Report, is_ready_and_synced, unobserved
from ..workload.component import Reference
from ..workload.kind import Judge, Kind, PassEnd, PassStart, Planner, Reporter
from ..workload.plans import Plan, is_paused
from ..workload.references import by_name
from .generation_sets import generation_set
from .pool_metrics import metrics_of, no_metrics_of
from .pool_status import invalid_status, paused_status, pool_status

_AGAIN_SECONDS: Final = 60
"""HAKeeper forgets labels and work state of a node that was silent for half a minute."""

_TEMPLATE: Final = "spec.template"
_EXTERNAL: Final = "spec.deps.externalLogSet"


def _references(start: PassStart) -> dict[str, Reference]:
    resource = start.resource
    return {"self": by_name(resource["apiVersion"], resource["kind"], resource["metadata"])}


def _plan(start: PassStart) -> Plan:
    """Return the CNSet of the present template; what its Pods do is decided by passes."""
    if is_paused(start.resource):
        return Plan(paused=True)
    invalid = _JUDGE.invalid(start.resource, start.play.level)
    if invalid:
        return Plan(invalid=invalid)
    found = generation_set(start.resource)
    return Plan(objects=[found], workload=found["metadata"]["name"])


def _report(end: PassEnd[Plan]) -> Report:
    """Report what a pass came to; ``results`` of what was observed are those of the pass."""
    resource, plan, failure = end.resource, end.plan, end.failure
    found = dict(end.observed.get("results") or {})
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


def _metrics(resource: Resource, status: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return no_metrics_of(resource) if status is None else metrics_of(resource, status)


def _mistakes(resource: Resource) -> list[Mistake]:
    template, external = _asked(resource)
    overlay = (template or {}).get("overlay") or {}
    storage = (external or {}).get("sharedStorage")
    return look_for(
        itertools.chain(
            mistakes_of_cnset(_TEMPLATE, template) if template is not None else (),
            shared_storage_mistakes(f"{_EXTERNAL}.sharedStorage", storage, overlay),
        )
    )


def _unsafe(resource: Resource, level: Level) -> list[Mistake]:
    return look_for(
        mistake
        for path, asked in zip((_TEMPLATE, _EXTERNAL), _asked(resource), strict=True)
        if asked is not None
        for mistake in asked_mistakes(path, asked, level)
    )


def _warnings(resource: Resource) -> list[str]:
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


_JUDGE: Final = Judge(mistakes=_mistakes, unsafe=_unsafe, warnings=_warnings)
CN_POOL: Final = Kind(
    plan_type=Plan,
    planner=Planner(references=_references, plan=_plan),
    reporter=Reporter(report=_report, metrics=_metrics),
    judge=_JUDGE,
)
"""Compute nodes that claims take. Passes drain its Pods before it is deleted."""
