# SPDX-License-Identifier: Apache-2.0
"""What to change before all databases are deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..api import names
from ..api.types import Manifest, Resource


def independent(resources: Iterable[Resource]) -> list[Resource]:
    """Return the resources that are deleted with no other one, as the children of a cluster are.

    To delete a cluster is enough: it takes its parts away in their order.

    Args:
        resources: of any of our kinds.
    """
    return [resource for resource in resources if not _owned(resource)]


def keeping_volumes(resources: Iterable[Resource]) -> list[Manifest]:
    """Return patches after which the volumes of log services outlive them.

    Args:
        resources: MatrixOneClusters and LogSets; a cluster's LogSet is the cluster's to change.
    """
    return [_patch(resource) for resource in independent(resources)]


def _owned(resource: Resource) -> bool:
    owners = resource["metadata"].get("ownerReferences") or []
    return any(owner["kind"] == names.CLUSTER for owner in owners)


def _patch(resource: Resource) -> Manifest:
    metadata: Mapping[str, Any] = resource["metadata"]
    is_cluster = resource["kind"] == names.CLUSTER
    spec = resource.get("spec") or {}
    spec = (spec.get("logService") or {}) if is_cluster else spec
    kept: dict[str, Any] = {"pvcRetentionPolicy": "Retain"}
    if (spec.get("sharedStorage") or {}).get("s3"):
        kept["sharedStorage"] = {"s3": {"s3RetentionPolicy": "Retain"}}
    return {
        "apiVersion": resource["apiVersion"],
        "kind": resource["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "spec": {"logService": kept} if is_cluster else kept,
    }
