# SPDX-License-Identifier: Apache-2.0
"""What one pass over a LogSet, DNSet, CNSet, ProxySet or WebUI is going to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..admission import mistakes_of
from ..api import names
from ..api.errors import RenderingError
from ..api.types import Manifest, References, Resource
from ..compute.rendering import render_cnset
from ..logservice import bootstrap
from ..logservice.claims import marks
from ..logservice.rendering import render_logset
from ..proxy.rendering import render_proxyset
from ..reporting.sets import partition_of
from ..transaction.rendering import render_dnset
from ..webui.rendering import render_webui
from .gates import blocker, held_back, held_on_purpose, only_scaled
from .plans import Kind, Observed, Plan, Prune, empty_plan, is_paused, named
from .references import REFERENCE_KEYS, WORKLOAD_KINDS
from .volumes import growth, keep_claim, keep_templates

_PRUNED: list[Kind] = [
    {"api_version": "v1", "kind": "ConfigMap"},
    {"api_version": "v1", "kind": "Service"},
    {"api_version": "policy/v1", "kind": "PodDisruptionBudget"},
    {"api_version": "networking.k8s.io/v1", "kind": "NetworkPolicy"},
]
_USERS: list[Kind] = [
    {"api_version": "v1", "kind": "Pod"},
    {"api_version": "apps/v1", "kind": "ReplicaSet"},
    {"api_version": "apps/v1", "kind": "ControllerRevision"},
]


def plan_set(
    resource: Resource,
    observed: Observed,
    start_script: str,
    references: References | None = None,
) -> Plan:
    """Decide what a pass does.

    Args:
        resource: the set.
        observed: what ``references`` of this resource led to.
        start_script: text of the component's start script.
        references: resources that its ``deps`` name, where they are not in the cluster but
            played by the same playbook; observed ones otherwise.
    """
    plan = empty_plan()
    plan["workload"] = workload_name(resource)
    plan["partition"] = partition_of(resource)
    if is_paused(resource):
        plan["paused"] = True
        return plan
    if mistakes := mistakes_of(resource):
        plan["invalid"] = "; ".join(map(str, mistakes))
        return plan
    waiting = blocker(resource, observed, references)
    if waiting and references is None and _lacks_dependency(resource, observed):
        plan["waitingFor"], plan["held"] = waiting, ["spec.template"]
        return plan
    try:
        plan["objects"] = _rendered(plan, resource, observed, start_script, references)
    except RenderingError as error:
        plan["invalid"] = str(error)
        return plan
    _keep_replicas(plan, _round(observed))
    _keep_volumes(plan, resource, observed)
    if plan["invalid"]:
        return plan
    plan["createOnly"] = [
        named(manifest) for manifest in plan["objects"] if _made_once(resource, manifest)
    ]
    _hold_back(plan, waiting or held_on_purpose(resource, observed), observed)
    if not plan["held"]:
        plan["prune"] = leftovers(resource)
    return plan


def workload_name(resource: Resource) -> str:
    """Return ``Kind/name`` of a set's workload."""
    kind = resource["kind"]
    return f"{WORKLOAD_KINDS[kind]}/{names.base_name(kind, resource['metadata']['name'])}"


def leftovers(resource: Resource) -> Prune:
    """Select the objects of a set that are not wanted any longer."""
    metadata = resource["metadata"]
    return {
        "kinds": _PRUNED,
        "namespace": metadata["namespace"],
        "labels": names.selector_labels(resource["kind"], metadata["name"], metadata["namespace"]),
        "owner_uid": metadata.get("uid") or "",
        "unless_used_by": _USERS,
    }


def _rendered(
    plan: Plan,
    resource: Resource,
    observed: Observed,
    start_script: str,
    given: References | None,
) -> list[Manifest]:
    kind = resource["kind"]
    if kind == names.LOG_SET:
        live = observed.get("self")
        claims = observed.get("claims") or []
        decisions = bootstrap.decided(resource, live, observed.get("bootstrap"), claims)
        if live is not None and live["metadata"].get("uid"):
            plan["scale"] = marks(live, claims, decisions)
        bootstrap.require_size(resource, observed.get("workload"), decisions)
        decisions["incarnations"] = (
            _round(observed).get("incarnations") or decisions["incarnations"]
        )
        stored = bootstrap.record(resource, live, decisions)
        plan["records"] = [stored] if stored else []
        return render_logset(resource, start_script=start_script, observed=decisions)
    references = given or _observed_references(observed)
    if kind == names.WEB_UI:
        return render_webui(resource, references=references)
    if kind == names.DN_SET:
        kept = _kept_shards(observed)
        return render_dnset(resource, start_script=start_script, references=references, shards=kept)
    render = {
        names.CN_SET: render_cnset,
        names.PROXY_SET: render_proxyset,
    }[kind]
    return render(resource, start_script=start_script, references=references)


def _kept_shards(observed: Observed) -> str:
    """Return what the transaction node serves: as HAKeeper said just now, or else before."""
    told = _round(observed).get("tnShards")
    if told:
        return str(told)
    kept = observed.get("shards")
    return str(((kept or {}).get("data") or {}).get(names.SHARDS_FILE) or "")


def _lacks_dependency(resource: Resource, observed: Observed) -> bool:
    """Tell whether a resource that ``deps`` names does not exist: nothing can be rendered then."""
    named_ones = [key for key in REFERENCE_KEYS if (resource.get("deps") or {}).get(key)]
    return any(observed.get(key) is None for key in named_ones)


def _observed_references(observed: Observed) -> References:
    found = {name: observed.get(key) for key, name in REFERENCE_KEYS.items()}
    return References(logSet=found["logSet"], dnSet=found["dnSet"], cnSet=found["cnSet"])


def _made_once(resource: Resource, manifest: Manifest) -> bool:
    """Tell whether an object is never changed: who founded the log service stays on record."""
    bootstrap_name = f"{names.base_name(names.LOG_SET, resource['metadata']['name'])}-bootstrap"
    is_bootstrap = manifest["metadata"]["name"] == bootstrap_name
    return bool(is_bootstrap and manifest["kind"] == "ConfigMap")


def _round(observed: Observed) -> Mapping[str, Any]:
    """Return how the round over the stores of a set ended; empty when none was made."""
    found = observed.get("round")
    return found if isinstance(found, Mapping) else {}


def _keep_replicas(plan: Plan, round_: Mapping[str, Any]) -> None:
    """Leave the workload at its size until those that go may: drained, or not needed any more."""
    if round_.get("replicas") is None:
        return
    for number, manifest in enumerate(plan["objects"]):
        if named(manifest) == plan["workload"]:
            kept = {**manifest["spec"], "replicas": round_["replicas"]}
            plan["objects"][number] = {**manifest, "spec": kept}


def _keep_volumes(plan: Plan, resource: Resource, observed: Observed) -> None:
    """Leave the claim templates as they are, unless the StatefulSet was just made with new ones."""
    live, done = observed.get("workload"), observed.get("volumes") or {}
    _keep_claims(plan, observed.get("claims") or [])
    found = growth(resource, live, observed.get("claims") or [])
    if found["broken"]:
        plan["invalid"], plan["objects"] = found["broken"], []
        return
    plan["refused"] = found["refused"] or str(done.get("refused") or "")
    if live is None or done.get("remade") or not (plan["refused"] or found["templates"]):
        return
    for number, manifest in enumerate(plan["objects"]):
        if named(manifest) == plan["workload"]:
            plan["objects"][number] = keep_templates(manifest, live)


def _keep_claims(plan: Plan, claims: list[Manifest]) -> None:
    """Leave claims of the same name as they are, but for their size and whose they are."""
    live = {claim["metadata"]["name"]: claim for claim in claims}
    for number, manifest in enumerate(plan["objects"]):
        name = manifest["metadata"]["name"]
        if manifest["kind"] == "PersistentVolumeClaim" and name in live:
            plan["objects"][number] = keep_claim(manifest, live[name])


def _hold_back(plan: Plan, waiting: str, observed: Mapping[str, object]) -> None:
    """Take the workload, and what only it needs, out of the plan while a dependency is not up."""
    if not waiting:
        return
    workload = next(one for one in plan["objects"] if named(one) == plan["workload"])
    live = observed.get("workload")
    plan["held"] = held_back(live if isinstance(live, Mapping) else None, workload)
    if not plan["held"]:
        return
    plan["waitingFor"] = waiting
    scaled = only_scaled(workload)
    plan["objects"] = [
        one for one in plan["objects"] if one is not workload and one["kind"] != "ConfigMap"
    ]
    plan["scale"] = [scaled] if live is not None and scaled is not None else []
