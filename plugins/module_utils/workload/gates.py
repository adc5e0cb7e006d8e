# SPDX-License-Identifier: Apache-2.0
"""Gates: what a set's Pods wait for before they are created or changed (core.md §10.1).

A gate holds back creation and template changes. It never holds back scaling, nor a pass that
leaves the template alone: a log store that is down must not stop anyone from adding CNs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..api import names
from ..api.comparing import differing_paths
from ..api.types import Manifest, References, Resource
from ..logservice.status import has_quorum, has_served
from ..reporting.conditions import find, holds, holds_now
from ..reporting.pods import is_beginning
from ..reporting.reasons import ConditionType, Reason
from ..reporting.sets import UPDATE_PAUSED, Rollout, held_at, is_held
from .plans import Observed
from .references import DEPENDENCIES, staged


def blocker(resource: Resource, observed: Observed, references: References | None = None) -> str:
    """Say which dependency is not ready and synced at its generation; empty if all are.

    Dependencies of a resource that is not in the cluster (a playbook's) are brought up before it
    by the playbook itself, but for what is held back at a partition.

    Args:
        resource: the set.
        observed: what ``references`` of this resource led to.
        references: the dependencies of a playbook's resource, as it plays them.
    """
    if not resource["metadata"].get("uid"):
        return _held_dependency(observed, references or {})
    deps = resource.get("deps") or {}
    for key, kind in DEPENDENCIES.items():
        target = (deps.get(key) or {}).get("metadata") or {}
        if not target.get("name"):
            continue
        said = _state(observed.get(key), kind)
        if said:
            return f"waiting for {kind} {target['name']}: {said}"
    return ""


def _held_dependency(observed: Observed, references: References) -> str:
    """Say which dependency goes no further on purpose, by its workload; empty if none does."""
    for label, dependency in staged(references):
        replicas = dependency["spec"].get("replicas")
        held = held_at(dependency, Rollout.of(observed.get(label), replicas))
        if held:
            return f"waiting for {dependency['kind']} {dependency['metadata']['name']}: {held}"
    return ""


def held_on_purpose(resource: Resource, observed: Observed) -> str:
    """Say what holds back changes of compute nodes that exist; empty if nothing does.

    The first compute node makes the system tables. When it goes in the middle of that, MatrixOne
    1.3 does not find a way on: each later one waits for what nobody makes any more.
    """
    if resource["kind"] != names.CN_SET or observed.get("workload") is None:
        return ""
    if (resource.get("spec") or {}).get("pauseUpdate"):
        return UPDATE_PAUSED
    if has_served(resource):
        return ""
    begun = [pod for pod in observed.get("pods") or [] if is_beginning(pod, observed.get("now"))]
    if not begun:
        return ""
    return f"waiting for {begun[0]['metadata']['name']} to finish the bootstrap of the database"


def _state(dependency: Mapping[str, Any] | None, kind: str) -> str:
    """Say what a dependency lacks; empty if nothing.

    A log service that has lost a store serves as long as its shards have their quorum: to repair
    it may take its time, and a change may be what is needed meanwhile.
    """
    if dependency is None:
        return "it does not exist"
    serves = kind == names.LOG_SET and has_quorum(dependency)
    if not (serves or holds(dependency, ConditionType.READY)):
        return "not ready"
    if _does_all_it_can(dependency):
        return ""
    if not holds(dependency, ConditionType.SYNCED):
        said = find(dependency, ConditionType.SYNCED)
        return str(said["message"]) if is_held(dependency) else "not synced"
    if not holds_now(dependency, ConditionType.SYNCED):
        return "its latest change has not been applied yet"
    return ""


def _does_all_it_can(dependency: Mapping[str, Any]) -> bool:
    """Tell whether all is applied but volumes that cannot be as asked: nobody waits for those."""
    said = find(dependency, ConditionType.SYNCED)
    generation = dependency["metadata"].get("generation") or 0
    refused = said.get("reason") == Reason.VOLUME_REFUSED.value
    return refused and bool((said.get("observedGeneration") or 0) >= generation)


def held_back(workload: Mapping[str, Any] | None, wanted: Manifest) -> list[str]:
    """Return the fields of a live workload's template that the wanted one would change.

    Args:
        workload: the live workload; None if there is none.
        wanted: the rendered workload.
    """
    if workload is None:
        return ["spec.template"]
    live = {"template": workload["spec"].get("template")}
    return [
        f"spec.{path}" for path in differing_paths(live, {"template": wanted["spec"]["template"]})
    ]


def only_scaled(wanted: Manifest) -> Manifest | None:
    """Return the part of a workload that scales it; None if its size belongs to others."""
    replicas = wanted["spec"].get("replicas")
    if replicas is None:
        return None
    metadata = {key: wanted["metadata"][key] for key in ("name", "namespace")}
    return {
        "apiVersion": wanted["apiVersion"],
        "kind": wanted["kind"],
        "metadata": metadata,
        "spec": {"replicas": replicas},
    }
