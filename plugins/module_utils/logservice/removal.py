# SPDX-License-Identifier: Apache-2.0
"""How a log service is removed, with or without its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..api import names
from ..api.errors import RenderingError
from ..api.types import Manifest, Resource
from ..workload.component import Reference
from ..workload.observed import SetObserved
from ..workload.references import by_name
from ..workload.removal import (
    Chosen,
    Removal,
    claim_kind,
    claims_named,
    removal_of_set,
    workload_of,
)
from .bootstrap import decided
from .claims import data_claims, marks, storage_marks

OWNER = "cluster"
"""Label of the cluster of a LogSet that is deleted, among what was observed."""


def owner_references(resource: Resource) -> dict[str, Reference]:
    """Return what to observe of the cluster that a LogSet which is deleted is a part of."""
    owner = _cluster_of(resource)
    if owner is None or not resource["metadata"].get("deletionTimestamp"):
        return {}
    place = {**resource["metadata"], "name": owner["name"]}
    return {OWNER: {**by_name(owner["apiVersion"], owner["kind"], place), "latest": True}}


def as_part(resource: Resource, cluster: Resource | None) -> Resource:
    """Return a LogSet that keeps its data as long as the cluster exists that it is a part of.

    The policy says what becomes of the data at the end of the cluster. Whoever deletes the LogSet
    alone gets it again, from the same cluster: with its data, and not empty.

    Args:
        resource: the LogSet, which is deleted.
        cluster: that of `owner_references`, as the API server has it; None if there is none.
    """
    owner = _cluster_of(resource)
    if owner is None or cluster is None or cluster["metadata"].get("uid") != owner["uid"]:
        return resource
    if cluster["metadata"].get("deletionTimestamp"):
        return resource
    return _keeping(resource)


def as_found(resource: Resource, observed: SetObserved) -> Resource:
    """Return a LogSet that keeps the data which it found, if it never had log stores itself.

    Whoever creates a cluster of the same name with a mistake in it, and deletes it again, is to
    find the volumes of the earlier one as they were: what it never used are not its data.

    Args:
        resource: the LogSet, which is deleted.
        observed: its workload and its live claims.
    """
    if _has_had_stores(resource, observed):
        return resource
    created = str(resource["metadata"].get("creationTimestamp") or "")
    found = [claim["metadata"] for _ordinal, claim in data_claims(resource, observed.claims)]
    # Both are RFC 3339 in UTC and whole seconds, as the API server writes them.
    earlier = [one for one in found if str(one.get("creationTimestamp") or "") < created]
    return _keeping(resource) if earlier else resource


def _has_had_stores(resource: Resource, observed: SetObserved) -> bool:
    status = (observed.live or resource).get("status") or {}
    return observed.workload is not None or bool(status.get("lastReplicas"))


def _keeping(resource: Resource) -> Resource:
    spec = {**(resource.get("spec") or {}), "pvcRetentionPolicy": "Retain"}
    storage = spec.get("sharedStorage") or {}
    if s3 := storage.get("s3"):
        spec["sharedStorage"] = {**storage, "s3": {**s3, "s3RetentionPolicy": "Retain"}}
    return {**resource, "spec": spec}


def _cluster_of(resource: Resource) -> Mapping[str, Any] | None:
    """Return the reference to the MatrixOneCluster that a LogSet is a part of; None without one."""
    owners = resource["metadata"].get("ownerReferences") or []
    return next((one for one in owners if one["kind"] == names.CLUSTER), None)


def removal_of_log_set(resource: Resource, observed: SetObserved) -> Removal:
    """Return the step that deletes a LogSet.

    Args:
        resource: the LogSet.
        observed: its workload and its live claims; those that stay get a record of what they hold.
    """
    spec, metadata = resource.get("spec") or {}, resource["metadata"]
    named = claims_named(names.LOG_SET, metadata["name"], spec, observed.workload)
    step = removal_of_set(resource, claims=named if retention_deletes(spec) else "")
    step = follow_retention(step, metadata, spec, named)
    marked = _last_marks(resource, observed)
    return replace(step, patches=[*step.patches, *marked])


def follow_retention(
    step: Removal, metadata: Mapping[str, Any], spec: Mapping[str, Any], claims: str
) -> Removal:
    """Let the policy count that the spec has now, whatever it was while the log service ran.

    Args:
        step: that deletes the log service.
        metadata: of the LogSet.
        spec: of the LogSet.
        claims: the names of its claims, see `claims_named`.
    """
    name, namespace = metadata["name"], metadata["namespace"]
    if not retention_deletes(spec):
        labels = names.selector_labels(names.LOG_SET, name, namespace)
        kinds = [workload_of(names.LOG_SET), claim_kind(claims)]
        return replace(step, release=Chosen(kinds=kinds, namespace=namespace, labels=labels))
    place = {"name": names.shared_claim_name(name), "namespace": namespace}
    unmarked = {**place, "annotations": {names.ANNOTATION_KEEP: None}}
    shared = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": unmarked}
    return replace(step, patches=[shared])


def retention_deletes(spec: Mapping[str, Any]) -> bool:
    """Return whether the log stores' claims are deleted with the set."""
    s3 = (spec.get("sharedStorage") or {}).get("s3") or {}
    policy = spec.get("pvcRetentionPolicy") or s3.get("s3RetentionPolicy") or "Delete"
    return bool(policy == "Delete")


def bucket_deletes(spec: Mapping[str, Any]) -> bool:
    """Return whether the objects in the bucket are deleted with the set."""
    s3 = (spec.get("sharedStorage") or {}).get("s3") or {}
    policy = s3.get("s3RetentionPolicy") or spec.get("pvcRetentionPolicy") or "Delete"
    return bool(s3) and policy == "Delete"


def _last_marks(resource: Resource, observed: SetObserved) -> list[Manifest]:
    """Record on claims that stay what was decided last; nothing of it is left elsewhere.

    One that never had log stores knows nothing of them. A playbook may be given another storage
    than the one that it deletes, so that a record which is there counts more.
    """
    annotations, claims = resource["metadata"].get("annotations") or {}, observed.claims
    stay = not retention_deletes(resource.get("spec") or {})
    if not stay or not _has_had_stores(resource, observed):
        return []
    try:
        if names.ANNOTATION_BOOTSTRAP not in annotations:
            return storage_marks(resource, claims)
        return marks(resource, claims, decided(resource, resource, None))
    except RenderingError:  # an annotation, or the path, that cannot be read; earlier records stay
        return []
