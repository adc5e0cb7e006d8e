# SPDX-License-Identifier: Apache-2.0
"""What a pass has to look at before it decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..api import names
from ..api.types import Manifest, References, Resource
from ..cluster.everything import find_references
from ..cluster.rendering import credential_secret
from ..early.rendering import APP, LABEL_APP, LABEL_OWNER
from ..reporting.sets import partition_of

Reference = dict[str, Any]
"""Argument of ``observe``: api_version, kind, namespace, and either name or labels."""

WORKLOAD_KINDS = {
    names.LOG_SET: "StatefulSet",
    names.DN_SET: "StatefulSet",
    names.CN_SET: "Deployment",
    names.PROXY_SET: "Deployment",
    names.WEB_UI: "Deployment",
    names.EARLY: "StatefulSet",
}
DEPENDENCIES = {"logSet": names.LOG_SET, "dnSet": names.DN_SET, "cnset": names.CN_SET}
"""Keys of ``deps`` and the kinds they name; ``cnset`` is spelled as the API has it."""
REFERENCE_KEYS = {"logSet": "logSet", "dnSet": "dnSet", "cnset": "cnSet"}
"""Keys of ``deps`` and how rendering calls them."""


def references(resource: Resource, siblings: list[Manifest] | None = None) -> dict[str, Reference]:
    """Return what to observe for a resource, by label.

    For a set: ``self``, ``workload``, ``pods``, ``claims`` (LogSet, DNSet), ``bootstrap`` (LogSet),
    ``shards`` (DNSet) and one label per entry of its ``deps``. For a MatrixOneCluster: ``self``,
    its children by kind, ``credential``, ``accepted``. For a MatrixoneCluster: ``self``,
    ``workload``, ``pods``, ``claims``, ``services``, ``statefulSets``. Where a dependency is one of
    the siblings and has a partition, also its workload, which tells whether it is held there.

    Args:
        resource: the resource.
        siblings: resources that the same playbook plays, which are not in the cluster.
    """
    found = {"self": by_name(resource["apiVersion"], resource["kind"], resource["metadata"])}
    if resource["kind"] == names.CLUSTER:
        return {**found, **_of_cluster(resource)}
    if resource["kind"] == names.EARLY:
        return {**found, **_of_early(resource["metadata"])}
    return {**found, **_of_set(resource), **_of_partitions(resource, siblings or [])}


def _of_partitions(resource: Resource, siblings: list[Manifest]) -> dict[str, Reference]:
    found = {}
    for label, sibling in staged(find_references(resource, siblings)):
        kind, metadata = sibling["kind"], sibling["metadata"]
        name = names.base_name(kind, metadata["name"])
        found[label] = by_name("apps/v1", WORKLOAD_KINDS[kind], {**metadata, "name": name})
    return found


def staged(dependencies: References) -> Iterator[tuple[str, Resource]]:
    """Yield the dependencies that may be held at a partition, with the label of their workload."""
    for label, found in (
        ("logSetWorkload", dependencies.get("logSet")),
        ("dnSetWorkload", dependencies.get("dnSet")),
    ):
        if found is not None and partition_of(found):
            yield label, found


def by_name(api_version: str, kind: str, metadata: Any) -> Reference:
    """Refer to one object."""
    return {
        "api_version": api_version,
        "kind": kind,
        "name": metadata["name"],
        "namespace": metadata["namespace"],
    }


def _of_set(resource: Resource) -> dict[str, Reference]:
    kind, metadata = resource["kind"], resource["metadata"]
    owner, namespace = metadata["name"], metadata["namespace"]
    base = names.base_name(kind, owner)
    found = {
        "workload": by_name("apps/v1", WORKLOAD_KINDS[kind], {**metadata, "name": base}),
        "pods": {
            "api_version": "v1",
            "kind": "Pod",
            "namespace": namespace,
            "labels": names.selector_labels(kind, owner, namespace),
        },
    }
    if kind == names.LOG_SET:
        name = f"{base}-bootstrap"
        found["bootstrap"] = by_name("v1", "ConfigMap", {**metadata, "name": name})
        found["bootstrap"]["data"] = True
    if kind in (names.LOG_SET, names.DN_SET):
        found["claims"] = {**found["pods"], "kind": "PersistentVolumeClaim"}
    if kind == names.DN_SET:
        found["shards"] = by_name("v1", "ConfigMap", {**metadata, "name": names.shards_name(base)})
        found["shards"]["data"] = True
    for key, dependency in DEPENDENCIES.items():
        target = ((resource.get("deps") or {}).get(key) or {}).get("metadata") or {}
        if target.get("name"):
            place = {"namespace": target.get("namespace") or namespace, "name": target["name"]}
            found[key] = by_name(names.API_VERSION, dependency, place)
    return found


def _of_early(metadata: Any) -> dict[str, Reference]:
    labels = {LABEL_APP: APP, LABEL_OWNER: metadata["name"]}
    listed = {
        "pods": ("v1", "Pod"),
        "claims": ("v1", "PersistentVolumeClaim"),
        "services": ("v1", "Service"),
        "statefulSets": ("apps/v1", "StatefulSet"),
    }
    found: dict[str, Reference] = {
        label: {
            "api_version": api_version,
            "kind": kind,
            "namespace": metadata["namespace"],
            "labels": labels,
        }
        for label, (api_version, kind) in listed.items()
    }
    return {"workload": by_name("apps/v1", "StatefulSet", metadata), **found}


def _of_cluster(resource: Resource) -> dict[str, Reference]:
    metadata = resource["metadata"]
    cluster, namespace = metadata["name"], metadata["namespace"]
    single = {
        "logSet": names.LOG_SET,
        "dnSet": names.DN_SET,
        "proxySet": names.PROXY_SET,
        "webUI": names.WEB_UI,
    }
    found = {label: by_name(names.API_VERSION, kind, metadata) for label, kind in single.items()}
    found["cnSets"] = {
        "api_version": names.API_VERSION,
        "kind": names.CN_SET,
        "namespace": namespace,
        "labels": {names.LABEL_CLUSTER: cluster},
    }
    secret = {**metadata, "name": credential_secret(resource)}
    found["credential"] = by_name("v1", "Secret", secret)
    accepted = {**metadata, "name": names.accepted_name(cluster)}
    found["accepted"] = by_name("v1", "Secret", accepted)
    return found
