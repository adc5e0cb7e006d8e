# SPDX-License-Identifier: Apache-2.0
"""The BucketClaim of a LogSet: created before its Pods, released when they are gone.

It is marked to be kept, so that it has no owner and outlives the LogSet. Its status says
whether the path is granted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..api import names
from ..api.errors import RenderingError
from ..api.fields import Fields
from ..api.pods import is_ready
from ..api.seen import as_seen
from ..api.types import Manifest, Resource
from ..location.locations import endpoint
from ..reporting.conditions import find
from ..reporting.reasons import BackupReason, ConditionType
from ..workload.component import Reference
from ..workload.observed import SetObserved
from ..workload.references import by_name
from ..workload.removal import Removal
from .removal import bucket_deletes

Json = dict[str, Any]

IN_USE: Final = "InUse"
"""State of a claim whose path is granted."""
_GRANTING, _TAKEN = "2s", "10s"
_HARMLESS_REASONS: Final = (None, BackupReason.WAITING.value)
"""Reasons of a claim that is about to be granted."""
_OF_POD: Final = (
    "tolerations",
    "imagePullSecrets",
    "priorityClassName",
    "serviceAccountName",
)
"""What of an overlay decides where a Pod may run and how it logs in to the store."""


def references(resource: Resource) -> dict[str, Reference]:
    """Return the reference to the claim as ``bucket``; none where there is to be no claim."""
    if not _claims(resource):
        return {}
    return {"bucket": by_name(names.API_VERSION, names.BUCKET_CLAIM, _place(resource))}


def records(resource: Resource, observed: SetObserved) -> list[Manifest]:
    """Return the claim if it has to be created, or changed from what it was when it was read.

    It says whether the data are deleted with the LogSet, and another operator may know better.
    """
    if not _claims(resource):
        return []
    live = observed.bucket
    claim = claim_of(resource, live, observed.pods)
    if live is None:
        return [claim]
    stands = _has(live, claim) and not live["metadata"].get("ownerReferences")
    if live["metadata"].get("deletionTimestamp") or stands:
        return []
    return [{**claim, "metadata": {**claim["metadata"], **as_seen(live)}}]


def lack(resource: Resource, observed: SetObserved) -> str:
    """Return what the Pods wait for before they may write to the path; empty if for nothing."""
    if not _claims(resource):
        return ""
    live = observed.bucket
    name = _place(resource)["name"]
    status = (live or {}).get("status") or {}
    if live is not None and status.get("state") == IN_USE:
        is_moved = _is_elsewhere(resource, live)
        why = status.get("message") or "its path on the new server is not granted yet"
        return f"waiting for BucketClaim {name}: {why}" if is_moved else ""
    why = status.get("message") or "the path is not granted yet"
    return f"waiting for BucketClaim {name}: {why}"


def requeue(resource: Resource, observed: SetObserved, otherwise: str) -> str:
    """Return when to check again: no event tells that a path is granted."""
    if not lack(resource, observed):
        return otherwise
    # While it is being marked, that takes seconds; what is wrong lasts.
    found = find(observed.bucket, ConditionType.DEGRADED)
    synced = find(observed.bucket, ConditionType.SYNCED)
    is_wrong = found.get("status") == "True" or synced.get("reason") not in _HARMLESS_REASONS
    return _TAKEN if is_wrong else _GRANTING


def _is_elsewhere(resource: Resource, live: Mapping[str, Any]) -> bool:
    """Return whether a path was granted on another server than the spec has now."""
    wanted, known = resource["spec"]["sharedStorage"]["s3"], (live.get("spec") or {}).get("s3")
    if isinstance(known, Mapping) and any(
        wanted.get(name) != known.get(name) for name in ("endpoint", "region")
    ):
        return True
    granted = (live.get("status") or {}).get("granted")
    if not isinstance(granted, Mapping):
        return False
    try:
        return bool(granted.get("endpoint") != endpoint(Fields("spec.s3", wanted)))
    except RenderingError:
        return False


def release(resource: Resource, observed: SetObserved) -> list[Removal]:
    """Return the step that gives the path back, with the data or without them."""
    live = observed.bucket
    if live is None:
        return []
    deletes = bucket_deletes(resource.get("spec") or {})
    identity = {
        "apiVersion": names.API_VERSION,
        "kind": names.BUCKET_CLAIM,
        "metadata": _place(resource),
    }
    spec = {
        "s3": {"s3RetentionPolicy": "Delete" if deletes else "Retain"},
        "logSetRef": {"name": resource["metadata"]["name"], "released": True},
    }
    return [
        Removal(
            title=f"BucketClaim {live['metadata']['name']}",
            patches=[{**identity, "spec": spec}],
            objects=[identity] if deletes else [],
            awaits_deleted=False,
        )
    ]


def claim_of(resource: Resource, live: Mapping[str, Any] | None, pods: Any = ()) -> Manifest:
    """Return the claim of a LogSet.

    Args:
        resource: the LogSet.
        live: the claim as it is; None if there is none.
        pods: of the LogSet.
    """
    spec, metadata = resource["spec"], resource["metadata"]
    s3 = spec["sharedStorage"]["s3"]
    annotations = ((live or {}).get("metadata") or {}).get("annotations") or {}
    ran = names.ANNOTATION_WAS_RUNNING in annotations or any(map(is_ready, pods))
    policy = "Delete" if bucket_deletes(spec) else "Retain"
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.BUCKET_CLAIM,
        "metadata": {
            **_place(resource),
            "labels": {
                "app.kubernetes.io/name": names.PART_OF,
                "app.kubernetes.io/instance": metadata["name"],
                "app.kubernetes.io/component": "bucket",
                "app.kubernetes.io/part-of": names.PART_OF,
                "app.kubernetes.io/managed-by": names.MANAGED_BY,
            },
            "annotations": {
                names.ANNOTATION_KEEP: "true",
                **({names.ANNOTATION_WAS_RUNNING: "true"} if ran else {}),
            },
        },
        "spec": {
            "s3": {"type": "aws", **s3, "s3RetentionPolicy": policy},
            **({"clusterDomain": spec["clusterDomain"]} if spec.get("clusterDomain") else {}),
            "logSetRef": {"name": metadata["name"], "uid": metadata["uid"]},
            "logSetSpec": _template(spec),
        },
    }


def _template(spec: Mapping[str, Any]) -> Json:
    """Return what the Job that deletes the data takes over from the Pods."""
    over = spec.get("overlay") or {}
    env = [
        variable
        for variable in over.get("env") or []
        if str(variable.get("name")).startswith("AWS_")
    ]
    pod: Json = {name: over[name] for name in _OF_POD if over.get(name)}
    if spec.get("nodeSelector"):
        pod["nodeSelector"] = spec["nodeSelector"]
    if env:
        pod["containers"] = [{"name": names.CONTAINER_MAIN, "env": env}]
    return {"spec": pod}


def _claims(resource: Resource) -> bool:
    """Return whether a LogSet has a claim: one in the cluster, with a bucket, not opted out."""
    metadata, spec = resource["metadata"], resource.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    return bool(
        metadata.get("uid")
        and (spec.get("sharedStorage") or {}).get("s3")
        and annotations.get(names.ANNOTATION_UNCLAIMED) != "true"
    )


def _place(resource: Resource) -> dict[str, str]:
    metadata = resource["metadata"]
    return {"name": f"bucket-{metadata['uid']}", "namespace": metadata["namespace"]}


def _has(live: Any, desired: Any) -> bool:
    """Return whether an object has everything that is desired of it."""
    if isinstance(desired, Mapping):
        return isinstance(live, Mapping) and all(
            name in live and _has(live[name], value) for name, value in desired.items()
        )
    return bool(live == desired)
