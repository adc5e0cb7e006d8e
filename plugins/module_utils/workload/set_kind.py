# SPDX-License-Identifier: Apache-2.0
"""What is asked of a set of Pods, answered with what is particular to its component."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from ..admission.pod_security import Level, asked_mistakes, pod_mistakes
from ..admission.sets import version_warnings
from ..admission.shapes import Mistake, look_for
from ..admission.storage import shared_storage_mistakes
from ..api.timestamps import timestamp_now
from ..api.types import Resource
from ..reporting.report import Report
from .certificate_metrics import certificate_metrics
from .component import Component, Reference, SetStart
from .kind import Judge, Kind, PassEnd, PassStart, Planner, Reporter
from .planning import plan_set
from .plans import Observed, Plan, named
from .policies import with_operator
from .reading import read_observed
from .references import find_references, set_references
from .removal import Removal, claims_named, leaves_orphans, orphaning_of_set, removal_of_set
from .reports import report_on_set
from .volumes import Growth, growth


def kind_of_set(component: Component) -> Kind[Plan]:
    """Return the kind of the sets of a component."""
    judge = Judge(
        mistakes=partial(_mistakes, component),
        unsafe=_unsafe,
        warnings_of_change=partial(_warnings, component),
        deletion_warnings=partial(_deletion_warnings, component),
    )
    return Kind(
        plan_type=Plan,
        planner=Planner(
            references=partial(_references, component),
            plan=partial(_plan, component, judge),
            removal=partial(_removal, component),
        ),
        reporter=Reporter(report=partial(_report, component), metrics=certificate_metrics),
        judge=judge,
    )


def growth_of_set(component: Component, resource: Resource, observed: Observed) -> Growth:
    """Return what is to be done about the volumes of a set."""
    seen = read_observed(observed)
    return growth(resource, component.data_volume, seen.workload, seen.claims)


def _references(component: Component, start: PassStart) -> dict[str, Reference]:
    return set_references(component, start.resource, start.play.siblings)


def _plan(component: Component, judge: Judge, start: PassStart) -> Plan:
    resource, play = start.resource, start.play
    played = find_references(resource, play.siblings) if play.siblings else None
    observed = read_observed(start.observed, component.stores)
    # A workload may be missing for a moment, while it is created anew around its Pods.
    in_use = bool(observed.workload or observed.pods or observed.claims)
    mistakes = judge.invalid(resource, play.level, in_use=in_use)
    plan = plan_set(component, SetStart(resource, observed, play.script, played), mistakes)
    return _admitting_operator(resource, play.operator, _within(play.level, plan))


def _report(component: Component, end: PassEnd[Plan]) -> Report:
    return report_on_set(component, end, timestamp_now())


def _removal(component: Component, start: PassStart) -> list[Removal]:
    resource = start.resource
    if leaves_orphans(resource):
        return orphaning_of_set(resource)
    observed = read_observed(start.observed)
    if component.renderer.removal:
        return component.renderer.removal(resource, observed)
    if not component.data_volume:
        return [removal_of_set(resource)]
    name, spec = resource["metadata"]["name"], resource.get("spec") or {}
    return [removal_of_set(resource, claims_named(component.kind, name, spec, observed.workload))]


def _mistakes(component: Component, resource: Resource) -> list[Mistake]:
    spec, judge = resource.get("spec"), component.judge
    if not isinstance(spec, Mapping):
        return []
    deps = resource.get("deps")
    external = deps.get("externalLogSet") if isinstance(deps, Mapping) else None
    storage = external.get("sharedStorage") if isinstance(external, Mapping) else None
    path, overlay = "deps.externalLogSet.sharedStorage", spec.get("overlay") or {}
    return look_for(
        itertools.chain(
            judge.mistakes("spec", spec),
            judge.data_mistakes(resource) if judge.data_mistakes else (),
            shared_storage_mistakes(path, storage, overlay),
        )
    )


def _unsafe(resource: Resource, level: Level) -> list[Mistake]:
    spec, deps = resource.get("spec"), resource.get("deps")
    external = deps.get("externalLogSet") if isinstance(deps, Mapping) else None
    asked = (("spec", spec), ("deps.externalLogSet", external))
    return look_for(
        mistake
        for path, one in asked
        if isinstance(one, Mapping)
        for mistake in asked_mistakes(path, one, level)
    )


def _warnings(component: Component, resource: Resource, old: Resource | None) -> Iterator[str]:
    spec, before = resource.get("spec"), (old or {}).get("spec") or {}
    if not isinstance(spec, Mapping):
        return
    judge = component.judge
    if judge.names_version:
        yield from version_warnings(spec)
    for of_spec in judge.warnings:
        yield from of_spec("spec", spec)
    if not _is_part(resource):
        for of_change in judge.warnings_of_change:
            yield from of_change("spec", spec, before)


def _deletion_warnings(component: Component, resource: Resource) -> Iterator[str]:
    spec = resource.get("spec")
    if isinstance(spec, Mapping) and not _is_part(resource):
        for of_deletion in component.judge.deletion_warnings:
            yield from of_deletion("spec", spec)


def _admitting_operator(resource: Resource, namespace: str, plan: Plan) -> Plan:
    """Admit the operator to a resource that it reconciles: one that is in the cluster.

    What a playbook plays is none, wherever that playbook runs.
    """
    if not resource["metadata"].get("uid"):
        return plan
    return replace(plan, objects=with_operator(plan.objects, namespace))


def _within(level: Level, plan: Plan) -> Plan:
    """Refuse a plan whose Pods are beyond a level, whatever led to them.

    What a set refers to has a say in its Pods, too: the LogSet's shared storage.
    """
    found = [
        str(mistake)
        for manifest in plan.objects
        if named(manifest) == plan.workload
        for mistake in pod_mistakes(plan.workload, manifest["spec"]["template"], level)
    ]
    return replace(plan, invalid="; ".join(found), objects=(), records=()) if found else plan


def _is_part(resource: Resource) -> bool:
    """Return whether a set belongs to a cluster, of which its user has been warned."""
    owners = resource["metadata"].get("ownerReferences") or []
    return any(owner.get("controller") for owner in owners)
