# SPDX-License-Identifier: Apache-2.0
"""How a MatrixoneCluster is removed, with or without its data."""

from __future__ import annotations

from ..api.types import Resource
from ..workload.plans import Kind
from ..workload.removal import Chosen, Removal
from .observed import EarlyObserved
from .rendering import APP, LABEL_APP, LABEL_OWNER
from .storage import own_claims

_OURS: list[Kind] = [
    {"api_version": "apps/v1", "kind": "StatefulSet"},
    {"api_version": "v1", "kind": "Service"},
    {"api_version": "v1", "kind": "ConfigMap"},
    {"api_version": "networking.k8s.io/v1", "kind": "NetworkPolicy"},
]
_PODS: list[Kind] = [{"api_version": "v1", "kind": "Pod"}]


def removal_of_early(resource: Resource, observed: EarlyObserved) -> list[Removal]:
    """Return the steps that delete a MatrixoneCluster.

    Claims are deleted last, when no Pod uses them, and only those that its StatefulSet created.
    What counts is the flag as it is now, not as it was when the finalizer was set.

    Args:
        resource: the MatrixoneCluster.
        observed: what its references led to.
    """
    metadata = resource["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    labels = {LABEL_APP: APP, LABEL_OWNER: name}

    owner = metadata.get("uid") or ""
    ours = Chosen(
        kinds=_OURS, namespace=namespace, labels=labels, owner_uid=owner, unowned=not owner
    )
    database = Removal(
        title=f"the database {name}",
        prune=ours,
        propagation="Foreground",
        gone=Chosen(kinds=_PODS, namespace=namespace, labels=labels),
    )
    if (resource.get("spec") or {}).get("disablePVCDeletionFinalizer"):
        return [database]
    claims = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {key: claim["metadata"][key] for key in ("name", "namespace", "uid")},
        }
        for _template, claim in own_claims(name, observed.claims)
    ]
    return [database, Removal(title=f"the data of {name}", objects=claims)]
