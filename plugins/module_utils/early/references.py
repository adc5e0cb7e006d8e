# SPDX-License-Identifier: Apache-2.0
"""What a pass over a MatrixoneCluster has to observe before it decides."""

from __future__ import annotations

from ..api.types import Resource
from ..workload.component import Reference
from ..workload.references import POD_PROBLEMS, by_name, pod_problems
from .rendering import APP, LABEL_APP, LABEL_OWNER

_LISTED = {
    "pods": ("v1", "Pod"),
    "claims": ("v1", "PersistentVolumeClaim"),
    "services": ("v1", "Service"),
    "statefulSets": ("apps/v1", "StatefulSet"),
}


def early_references(resource: Resource) -> dict[str, Reference]:
    """Return what to observe: ``self``, ``workload``, what keeps Pods from starting, and the rest.

    The rest is what carries the owner's labels.
    """
    metadata = resource["metadata"]
    found = {
        "self": by_name(resource["apiVersion"], resource["kind"], metadata),
        "workload": {
            **by_name("apps/v1", "StatefulSet", metadata),
            "labels": {LABEL_APP: APP, LABEL_OWNER: metadata["name"]},
            "owner_uid": metadata.get("uid") or "",
            "applied": True,
        },
        POD_PROBLEMS: pod_problems(),
    }
    for label, (api_version, kind) in _LISTED.items():
        found[label] = {
            "api_version": api_version,
            "kind": kind,
            "namespace": metadata["namespace"],
            "labels": {LABEL_APP: APP, LABEL_OWNER: metadata["name"]},
        }
    return found
