# SPDX-License-Identifier: Apache-2.0
"""The manifest of a pool's Pods: the template of the Deployment that their generation renders.

The Deployment itself has no replicas. A pool creates and deletes its Pods by name, so that nothing
else chooses which one goes: a ReplicaSet's choice could take one that has just been claimed.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ..api import names
from ..clients.kubernetes.editing import Editor
from ..clients.kubernetes.session import Session
from . import keys
from .facts import Phase

Json = dict[str, Any]


def pod_manifest(session: Session, pool: Mapping[str, Any], generation: str) -> Json | None:
    """Return what the Pods of a generation are created from; None as long as it is not rendered."""
    metadata = pool["metadata"]
    place = {
        "name": names.base_name(names.CN_SET, generation),
        "namespace": metadata["namespace"],
    }
    found = Editor(session).get({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": place})
    if found is None or found["metadata"].get("deletionTimestamp"):
        return None
    return from_template(pool, generation, found["spec"]["template"])


def from_template(pool: Mapping[str, Any], generation: str, template: Mapping[str, Any]) -> Json:
    """Return a Pod of a pool.

    Args:
        pool: the CNPool, which controls it, so that no ReplicaSet adopts it.
        generation: name of the CNSet.
        template: Pod template of its Deployment.
    """
    metadata, made = pool["metadata"], copy.deepcopy(dict(template))
    labels = {
        **(made["metadata"].get("labels") or {}),
        **((pool.get("spec") or {}).get("podLabels") or {}),
        names.LABEL_INSTANCE: generation,
        keys.LABEL_POOL: metadata["name"],
        keys.LABEL_PHASE: Phase.UNKNOWN.value,
    }
    owner = {
        "apiVersion": pool["apiVersion"],
        "kind": pool["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{generation}-",
            "namespace": metadata["namespace"],
            "labels": labels,
            "annotations": made["metadata"].get("annotations") or {},
            "ownerReferences": [owner],
        },
        "spec": made["spec"],
    }
