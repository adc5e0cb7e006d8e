# SPDX-License-Identifier: Apache-2.0
"""What a pass over a set has to observe before it decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..api import names
from ..api.belonging import allows
from ..api.types import Manifest, References, Resource
from ..reporting.rollout import partition_of
from . import tls
from .component import Component, Reference
from .sets import DEPENDENCIES, dependency_of, namespace_of

LOG_WORKLOAD = "logSetWorkload"
"""Label of the workload of the log service that a set depends on."""

TN_WORKLOAD = "dnSetWorkload"
"""Label of the workload of the transaction nodes that a set depends on."""

POD_PROBLEMS = "podProblems"
"""Label of what keeps Pods from existing or from starting."""


def set_references(
    component: Component, resource: Resource, siblings: Sequence[Manifest] = ()
) -> dict[str, Reference]:
    """Return what to observe for a set, by label.

    These are ``self``, ``workload``, ``pods``, ``podProblems``, what the component adds, the Secret
    with the certificate, and one label per entry of its ``deps``; in the cluster also the workload
    of a log service, which shows what has become of it since its status was written. Where a
    dependency is one of the siblings and has a partition, also its workload, which tells whether
    it is held there.

    Args:
        component: of the set's kind.
        resource: the set.
        siblings: resources that the same playbook plays, which are not in the cluster.
    """
    kind, metadata = resource["kind"], resource["metadata"]
    own = component.renderer.references
    place = {**metadata, "name": names.base_name(kind, metadata["name"])}
    dependencies = _of_dependencies(resource)
    return {
        "self": by_name(resource["apiVersion"], kind, metadata),
        "workload": {**_own(resource, names.WORKLOADS[kind], place), "applied": True},
        "pods": {**of_set(resource, "v1", "Pod"), "without": names.LABEL_POOL},
        POD_PROBLEMS: pod_problems(),
        **(own(resource) if own else {}),
        **tls.references(resource),
        **dependencies,
        **({} if siblings else _of_log_service(dependencies.get("logSet"))),
        **_of_partitions(resource, siblings),
    }


def pod_problems(workload: str = "workload") -> Reference:
    """Refer to what Kubernetes says about the Pods under other labels, where they do not start.

    Args:
        workload: label of what creates them.
    """
    return {"explains": {"workload": workload, "pods": "pods"}}


def by_name(api_version: str, kind: str, metadata: Any) -> Reference:
    """Refer to one object."""
    return {
        "api_version": api_version,
        "kind": kind,
        "name": metadata["name"],
        "namespace": metadata["namespace"],
    }


def _own(resource: Resource, kind: str, place: Any) -> Reference:
    """Refer to one object of a set; what is somebody else's does not count, whatever its name."""
    labels = of_set(resource, "apps/v1", kind)["labels"]
    owner = resource["metadata"].get("uid") or ""
    return {**by_name("apps/v1", kind, place), "labels": labels, "owner_uid": owner}


def of_set(resource: Resource, api_version: str, kind: str) -> Reference:
    """Refer to the objects of a kind that carry the labels of a set."""
    name, namespace = resource["metadata"]["name"], resource["metadata"]["namespace"]
    return {
        "api_version": api_version,
        "kind": kind,
        "namespace": namespace,
        "labels": names.selector_labels(resource["kind"], name, namespace),
    }


def config_map(resource: Resource, name: str) -> Reference:
    """Refer to a ConfigMap of a set, with its data."""
    place = {**resource["metadata"], "name": name}
    return {**by_name("v1", "ConfigMap", place), "data": True}


def _of_dependencies(resource: Resource) -> dict[str, Reference]:
    """Refer to what ``deps`` name; what does not allow that is as good as missing.

    Nothing else reads a set of another namespace, so nobody gets anything of it: not what it is
    rendered from, not how it is, not even whether it exists.
    """
    found = {}
    for key, kind in DEPENDENCIES.items():
        target = ((resource.get("deps") or {}).get(key) or {}).get("metadata") or {}
        if target.get("name"):
            own = resource["metadata"]["namespace"]
            place = {"namespace": target.get("namespace") or own, "name": target["name"]}
            found[key] = {**by_name(names.API_VERSION, kind, place), "allowed_to": own}
    return found


def _of_log_service(log_set: Reference | None) -> dict[str, Reference]:
    if log_set is None:
        return {}
    place = {**log_set, "name": names.base_name(names.LOG_SET, log_set["name"])}
    return {LOG_WORKLOAD: by_name("apps/v1", names.WORKLOADS[names.LOG_SET], place)}


def _of_partitions(resource: Resource, siblings: Sequence[Manifest]) -> dict[str, Reference]:
    found = {}
    for label, sibling in staged(find_references(resource, siblings)):
        kind, metadata = sibling["kind"], sibling["metadata"]
        place = {**metadata, "name": names.base_name(kind, metadata["name"])}
        found[label] = by_name("apps/v1", names.WORKLOADS[kind], place)
    return found


def staged(dependencies: References) -> Iterator[tuple[str, Resource]]:
    """Yield the dependencies that may be held at a partition, with the label of their workload."""
    for label, found in (
        (LOG_WORKLOAD, dependencies.get("logSet")),
        (TN_WORKLOAD, dependencies.get("dnSet")),
    ):
        if found is not None and partition_of(found):
            yield label, found


def find_references(resource: Resource, candidates: Sequence[Manifest]) -> References:
    """Find what a set's ``deps`` name among given resources, as far as these allow it."""
    own = namespace_of(resource)

    def find(key: str) -> Resource | None:
        desired = dependency_of(resource, key)
        found = (
            candidate for candidate in candidates if _is(candidate, DEPENDENCIES[key], desired)
        )
        return next((one for one in found if allows(one, own)), None)

    return {"logSet": find("logSet"), "dnSet": find("dnSet"), "cnSet": find("cnset")}


def _is(candidate: Manifest, kind: str, place: tuple[str, str] | None) -> bool:
    metadata = candidate.get("metadata")
    if candidate.get("kind") != kind or not isinstance(metadata, Mapping):
        return False
    return (metadata.get("namespace") or "default", metadata.get("name")) == place
