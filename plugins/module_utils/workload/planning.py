# SPDX-License-Identifier: Apache-2.0
"""What one pass over a set is going to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..api import names
from ..api.errors import RenderingError
from ..api.timestamps import timestamp_now
from ..api.types import Manifest, Resource
from ..reporting.rollout import partition_of
from . import kruise, tls
from .component import Component, SetRenderer, SetStart
from .gates import blocker, check_references, held_back, only_scaled
from .observed import SetObserved
from .plans import Kind, Plan, Prune, is_paused, named
from .sets import DEPENDENCIES, referenced
from .volumes import growth, keep_claim, keep_templates

_PRUNED: tuple[Kind, ...] = (
    {"api_version": "v1", "kind": "ConfigMap"},
    {"api_version": "v1", "kind": "Service"},
    {"api_version": "policy/v1", "kind": "PodDisruptionBudget"},
    {"api_version": "networking.k8s.io/v1", "kind": "NetworkPolicy"},
)
_USERS: tuple[Kind, ...] = (
    {"api_version": "v1", "kind": "Pod"},
    {"api_version": "apps/v1", "kind": "ReplicaSet"},
    {"api_version": "apps/v1", "kind": "ControllerRevision"},
)


def plan_set(component: Component, start: SetStart, mistakes: str = "") -> Plan:
    """Decide what a pass does.

    Args:
        component: of the set's kind.
        start: what the pass is decided by.
        mistakes: what is wrong with the spec beyond its schema; empty if nothing is.
    """
    resource, observed = start.resource, start.observed
    plan = Plan(workload=workload_name(resource), partition=partition_of(resource))
    if is_paused(resource):
        return replace(plan, paused=True)
    foreign = kruise.hold(observed.pods, observed.claims)
    if foreign or mistakes:
        held = ["spec.template"] if foreign else []
        return replace(plan, waiting_for=foreign, held=held, invalid="" if foreign else mistakes)
    waiting = blocker(resource, observed, start.played)
    if waiting and start.played is None and _lacks_dependency(resource, observed):
        return replace(plan, waiting_for=waiting, held=["spec.template"])
    try:
        check_references(resource, start.dependencies)
        rendered = _rendered(component.renderer, start)
    except RenderingError as error:
        return replace(plan, invalid=str(error))
    objects = tls.with_certificate(rendered.objects, plan.workload, observed.certificate)
    plan = replace(
        rendered,
        workload=plan.workload,
        partition=plan.partition,
        objects=_keep_replicas(objects, plan.workload, observed),
    )
    plan = _keep_volumes(plan, component.data_volume, resource, observed)
    if plan.invalid:
        return plan
    waiting = waiting or _hold(component.renderer, resource, observed)
    plan = _hold_back(plan, waiting, observed)
    plan = replace(plan, generations=_generations(plan, observed))
    return plan if plan.held else replace(plan, prune=leftovers(resource))


def _rendered(renderer: SetRenderer, start: SetStart) -> Plan:
    if renderer.render_observed:
        return renderer.render_observed(start)
    return Plan(objects=renderer.render(start))


def _hold(renderer: SetRenderer, resource: Resource, observed: SetObserved) -> str:
    """Return what changes of Pods wait for besides dependencies; empty if nothing."""
    held = renderer.hold(resource, observed) if renderer.hold else ""
    return held or tls.hold(resource, observed.certificate, observed.workload, timestamp_now())


def workload_name(resource: Resource) -> str:
    """Return ``Kind/name`` of a set's workload."""
    kind = resource["kind"]
    return f"{names.WORKLOADS[kind]}/{names.base_name(kind, resource['metadata']['name'])}"


def leftovers(resource: Resource) -> Prune:
    """Select the objects of a set that it does not need any longer."""
    metadata = resource["metadata"]
    return Prune(
        kinds=_PRUNED,
        namespace=metadata["namespace"],
        labels=names.selector_labels(resource["kind"], metadata["name"], metadata["namespace"]),
        owner_uid=metadata.get("uid") or "",
        unowned=not metadata.get("uid"),
        unless_used_by=_USERS,
    )


def _lacks_dependency(resource: Resource, observed: SetObserved) -> bool:
    """Return whether a resource that ``deps`` names does not exist: then nothing is rendered."""
    given = [key for key in DEPENDENCIES if (resource.get("deps") or {}).get(key)]
    return any(referenced(observed.references, key) is None for key in given)


def _keep_replicas(
    objects: Sequence[Manifest], workload: str, observed: SetObserved
) -> Sequence[Manifest]:
    """Leave the workload at its size until Pods may leave: drained, or not needed any more."""
    replicas = observed.stores.replicas
    if replicas is None:
        return objects
    if observed.workload is not None and observed.volumes.remade:
        # It is another object by now: whether that may lose Pods, the next pass decides.
        replicas = max(replicas, _size(observed.workload))
    return [
        {**manifest, "spec": {**manifest["spec"], "replicas": replicas}}
        if named(manifest) == workload
        else manifest
        for manifest in objects
    ]


def _generations(plan: Plan, observed: SetObserved) -> dict[str, int]:
    """Return the generation of the workload, if Pods of it are to leave."""
    live = observed.workload
    if live is None or observed.volumes.remade:
        return {}
    written = [one for one in (*plan.objects, *plan.patches) if named(one) == plan.workload]
    sizes = [int(one["spec"]["replicas"]) for one in written if "replicas" in one["spec"]]
    generation = live["metadata"].get("generation")
    shrinks = any(size < _size(live) for size in sizes)
    return {plan.workload: int(generation)} if shrinks and generation else {}


def _size(workload: Mapping[str, Any]) -> int:
    return int(workload["spec"].get("replicas") or 0)


def _keep_volumes(plan: Plan, field: str, resource: Resource, observed: SetObserved) -> Plan:
    """Leave the claim templates as they are, unless the StatefulSet was recreated with new ones."""
    live, claims = observed.workload, observed.claims
    found = growth(resource, field, live, claims)
    if found.broken:
        return replace(plan, invalid=found.broken, objects=(), create_only=())
    refused = found.refused or observed.volumes.refused
    objects = _keep_claims(plan.objects, claims)
    stays = refused or found.templates or found.as_claimed
    if live is not None and not observed.volumes.remade and stays:
        objects = [
            keep_templates(manifest, live) if named(manifest) == plan.workload else manifest
            for manifest in objects
        ]
    return replace(plan, refused=refused, objects=objects)


def _keep_claims(objects: Sequence[Manifest], claims: Sequence[Manifest]) -> list[Manifest]:
    """Leave claims of the same name as they are, but for their size and whose they are."""
    live = {claim["metadata"]["name"]: claim for claim in claims}
    return [
        keep_claim(manifest, live[manifest["metadata"]["name"]])
        if manifest["kind"] == "PersistentVolumeClaim" and manifest["metadata"]["name"] in live
        else manifest
        for manifest in objects
    ]


def _hold_back(plan: Plan, waiting: str, observed: SetObserved) -> Plan:
    """Take the workload, and what only it needs, out of the plan while a dependency is not up."""
    if not waiting:
        return plan
    workload = next(manifest for manifest in plan.objects if named(manifest) == plan.workload)
    live = observed.workload
    held = held_back(live, workload)
    if not held:
        return plan
    scaled = only_scaled(workload) if live is not None else None
    return replace(
        plan,
        held=held,
        waiting_for=waiting,
        objects=[
            manifest
            for manifest in plan.objects
            if manifest is not workload and manifest["kind"] != "ConfigMap"
        ],
        patches=[] if scaled is None else [scaled],
    )
