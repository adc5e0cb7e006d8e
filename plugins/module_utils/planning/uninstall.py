# SPDX-License-Identifier: Apache-2.0
"""What to change before all databases are deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..rendering import names
from ..rendering.types import Manifest, Resource


def keeping_volumes(resources: Iterable[Resource]) -> list[Manifest]:
    """Return patches after which the volumes of log services outlive them.

    Args:
        resources: MatrixOneClusters and LogSets; a cluster's LogSet is the cluster's to change.
    """
    return [_patch(resource) for resource in resources if not _owned(resource)]


def _owned(resource: Resource) -> bool:
    return any(owner.get("controller") for owner in resource["metadata"].get("ownerReferences", []))


def _patch(resource: Resource) -> Manifest:
    metadata: Mapping[str, Any] = resource["metadata"]
    kept: dict[str, Any] = {"pvcRetentionPolicy": "Retain"}
    return {
        "apiVersion": resource["apiVersion"],
        "kind": resource["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "spec": {"logService": kept} if resource["kind"] == names.CLUSTER else kept,
    }
