# SPDX-License-Identifier: Apache-2.0
"""Claims that somebody deletes although log stores run on them.

Kubernetes keeps such a claim as long as a Pod mounts it (pvc-protection), and nothing takes the
deletion back. The next restart of that Pod, a stop or a hibernation is the end of its data. So the
volume is kept before that, the status tells of it, and the log service is not stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..api import names
from ..api.errors import InvalidSpec
from ..api.types import Resource
from ..workload.removal import claims_named
from .left_stores import left_stores
from .pods import recorded

Json = Mapping[str, Any]


def deleted_claims(resource: Resource, workload: Json | None, claims: Iterable[Json]) -> list[Json]:
    """Return the claims of a LogSet that are being deleted, and not by the operator.

    Args:
        resource: the LogSet as it is in the cluster.
        workload: its StatefulSet, if there is one.
        claims: the live claims with its labels.
    """
    metadata, spec = resource["metadata"], resource.get("spec") or {}
    if metadata.get("deletionTimestamp"):
        return []
    repair = recorded(resource)
    ours = set(repair.claims.values()) if repair else set()
    ours.update(*(store.claims.values() for store in left_stores(resource)))
    named = re.compile(claims_named(names.LOG_SET, metadata["name"], spec, workload))
    size = max(_replicas(resource), _replicas(workload))
    return [
        claim
        for claim in claims
        if claim["metadata"].get("deletionTimestamp")
        and claim["metadata"].get("uid") not in ours
        and named.fullmatch(claim["metadata"]["name"])
        and _is_in_use(claim["metadata"]["name"], size)
    ]


def _replicas(found: Json | None) -> int:
    return int(((found or {}).get("spec") or {}).get("replicas") or 0)


def _is_in_use(name: str, size: int) -> bool:
    """Return whether a claim is no data of a store that left, whose Pod may still be ending."""
    ordinal = name.rpartition("-")[2]
    return not ordinal.isdecimal() or int(ordinal) < size


def told(claims: Iterable[Json]) -> str:
    """Return what the status says of such claims; empty if there are none."""
    listed = ", ".join(
        f"{claim['metadata']['name']} (PersistentVolume {_volume(claim)})" for claim in claims
    )
    if not listed:
        return ""
    return (
        f"somebody has deleted PersistentVolumeClaims that are in use: {listed}; each is gone when "
        "no Pod mounts it any more"
    )


def require_kept(resource: Resource, workload: Json | None, claims: Iterable[Json]) -> None:
    """Refuse to stop a log service whose volumes would end with its Pods.

    Raises:
        InvalidSpec: there are such claims.
    """
    if _replicas(resource) or not _replicas(workload):
        return
    if found := told(deleted_claims(resource, workload, claims)):
        raise InvalidSpec("spec.replicas", f"cannot be 0: {found}")


def _volume(claim: Json) -> str:
    return str((claim.get("spec") or {}).get("volumeName") or "unknown")
