# SPDX-License-Identifier: Apache-2.0
"""Gates: what a set's Pods wait for before they are created or changed.

A gate holds back creation and template changes. It never holds back scaling, nor a pass that
leaves the template alone: a log store that is down must not stop anyone from adding CNs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..api import names
from ..api.comparing import by_value, differing_paths
from ..api.errors import InvalidSpec
from ..api.managed_fields import applied_by, removed_paths
from ..api.types import Manifest, References, Resource
from ..reporting.conditions import find, holds, holds_now
from ..reporting.reasons import ConditionType, Reason
from ..reporting.rollout import Rollout, held_at, is_held
from .observed import SetObserved
from .references import LOG_WORKLOAD, staged
from .sets import DEPENDENCIES, dependency_of, namespace_of, referenced


def blocker(resource: Resource, observed: SetObserved, references: References | None = None) -> str:
    """Return which dependency is not ready and synced at its generation; empty if all are.

    Dependencies of a resource that is not in the cluster (a playbook's) are brought up before it
    by the playbook itself, but for what is held back at a partition.

    Args:
        resource: the set.
        observed: what ``references`` of this resource led to.
        references: the dependencies of a playbook's resource, as it plays them.
    """
    if not resource["metadata"].get("uid"):
        return _held_dependency(observed, references or {})
    own, deps = namespace_of(resource), resource.get("deps") or {}
    for key, kind in DEPENDENCIES.items():
        target = (deps.get(key) or {}).get("metadata") or {}
        if not target.get("name"):
            continue
        namespace, name = target.get("namespace") or own, target["name"]
        dependency = referenced(observed.references, key)
        if dependency is None and namespace != own:
            field = f"deps.{key}.metadata.namespace"
            return f"waiting for {kind} {namespace}/{name} ({field}): it {_refusal(own)}"
        lack = _lack(dependency) or _since_gone(observed, kind)
        if lack:
            return f"waiting for {kind} {name}: {lack}"
    return ""


def check_references(resource: Resource, references: References) -> None:
    """Refuse a reference to a set of another namespace that does not allow it.

    A set that is missing is refused alike: whoever may not refer to it does not learn whether it
    exists.

    Args:
        resource: the set.
        references: what its ``deps`` led to.

    Raises:
        InvalidSpec: There is such a reference.
    """
    own = namespace_of(resource)
    for key, kind in DEPENDENCIES.items():
        namespace, name = dependency_of(resource, key) or (own, "")
        if namespace != own and referenced(references, key) is None:
            field = f"deps.{key}.metadata.namespace"
            raise InvalidSpec(field, f"{kind} {namespace}/{name} {_refusal(own)}")


def _refusal(own: str) -> str:
    return (
        f"does not exist, or does not allow references from namespace {own}; "
        f"add {own} to its spec.allowedNamespaces"
    )


def _held_dependency(observed: SetObserved, references: References) -> str:
    """Return which dependency is held, by its workload; empty if none does."""
    for label, dependency in staged(references):
        replicas = dependency["spec"].get("replicas")
        kind, workload = dependency["kind"], observed.dependency_workloads.get(label)
        held = held_at(dependency, Rollout.of(workload, replicas), names.NOUNS[kind])
        if held:
            return f"waiting for {kind} {dependency['metadata']['name']}: {held}"
    return ""


def _lack(dependency: Mapping[str, Any] | None) -> str:
    """Return what a dependency lacks; empty if nothing.

    A log service that has lost a store serves as long as its shards have their quorum: its repair
    may take a while, and a change may be what is needed meanwhile.
    """
    if dependency is None:
        return "it does not exist"
    if not (_has_quorum(dependency) or holds(dependency, ConditionType.READY)):
        return "not ready"
    if _does_all_it_can(dependency):
        return ""
    if not holds(dependency, ConditionType.SYNCED):
        synced = find(dependency, ConditionType.SYNCED)
        return str(synced["message"]) if is_held(dependency) else "not synced"
    if not holds_now(dependency, ConditionType.SYNCED):
        return "its latest change has not been applied yet"
    return ""


def _since_gone(observed: SetObserved, kind: str) -> str:
    """Return what a log service has lost since its status was written; empty if nothing.

    That is later by the time between two passes, or by hours where no operator ran.
    """
    if kind != names.LOG_SET or LOG_WORKLOAD not in observed.dependency_workloads:
        return ""
    live = observed.dependency_workloads[LOG_WORKLOAD] or {}
    size = int((live.get("spec") or {}).get("replicas") or 0)
    ready = int((live.get("status") or {}).get("readyReplicas") or 0)
    if live and (size == 0 or 2 * ready > size):
        return ""
    return f"{ready} of its {size} log stores are ready"


def _has_quorum(dependency: Mapping[str, Any]) -> bool:
    """Return whether shards are reported, and each has most of its replicas.

    A LogSet that is not ready reports shards only as HAKeeper had them in its latest pass.
    """
    shards = (dependency.get("status") or {}).get("shards") or []
    return bool(shards) and all(2 * shard["available"] > shard["replicas"] for shard in shards)


def _does_all_it_can(dependency: Mapping[str, Any]) -> bool:
    """Return whether all is applied except volumes that were refused, which nothing waits for."""
    synced = find(dependency, ConditionType.SYNCED)
    generation = dependency["metadata"].get("generation") or 0
    refused = synced.get("reason") == Reason.VOLUME_REFUSED.value
    return refused and bool((synced.get("observedGeneration") or 0) >= generation)


def held_back(workload: Mapping[str, Any] | None, desired: Manifest) -> list[str]:
    """Return the fields of a live workload's template that the desired one would change.

    These are also fields that were applied before and that the desired template no longer has.

    Args:
        workload: the live workload with what this operator has applied of it in its
            ``managedFields``; None if there is none.
        desired: the rendered workload.
    """
    if workload is None:
        return ["spec.template"]
    has = {"template": by_value(workload["spec"].get("template"))}
    wants = {"template": by_value(desired["spec"]["template"])}
    changed = list(differing_paths(has, wants, "spec"))
    for entry in applied_by(workload, names.FIELD_MANAGER):
        applied = (entry.get("fieldsV1") or {}).get("f:spec") or {}
        of_pods = {key: value for key, value in applied.items() if key == "f:template"}
        changed += removed_paths(of_pods, has, wants, "spec") if of_pods else ()
    return list(dict.fromkeys(changed))


def only_scaled(desired: Manifest) -> Manifest | None:
    """Return the part of a workload that scales it; None if its size belongs to others."""
    replicas = desired["spec"].get("replicas")
    if replicas is None:
        return None
    metadata = {key: desired["metadata"][key] for key in ("name", "namespace")}
    return {
        "apiVersion": desired["apiVersion"],
        "kind": desired["kind"],
        "metadata": metadata,
        "spec": {"replicas": replicas},
    }
