# SPDX-License-Identifier: Apache-2.0
"""How a cluster is removed: what is deleted, in which order, and what that waits for.

The order follows what its parts need of each other: what serves clients first, the log service
last. Each step ends when its Pods are gone, or at a deadline.

Proxies are deleted together with the compute nodes, unless these drain: then they stay until that
is over. Sessions that are waited for came through a proxy and end with it, while new ones find no
compute node anyway that takes them. They do not stay until the compute nodes are gone: for these
the proxies' own connections, over which they write their logs, are clients that never leave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..api import names
from ..api.errors import RenderingError
from ..api.types import Manifest, Resource
from ..compute.pods import policy_of
from ..compute.removal import drains_at_its_end, scaled_to_zero, sheds_at_its_end
from ..logservice.removal import bucket_deletes, follow_retention, retention_deletes
from ..reporting.conditions import RESTORE_ENDED
from ..workload.plans import Kind
from ..workload.removal import (
    Chosen,
    Removal,
    claim_kind,
    claims_named,
    leaves_orphans,
    removal_of_sets,
)
from .rendering import credential_secret, render_matrixonecluster
from .restoring import is_asked

_STAGES = (
    ("what serves clients", (names.CN_SET, names.PROXY_SET, names.WEB_UI)),
    ("the transaction nodes", (names.DN_SET,)),
    ("the log service", (names.LOG_SET,)),
)


@dataclass(frozen=True, slots=True)
class Drain:
    """One step of the drain of compute nodes, before anything of their cluster is deleted.

    Attributes:
        resource: the CNSet.
        siblings: all sets of the cluster.
        wait: whether to check until it has drained.
    """

    resource: Resource
    siblings: Sequence[Manifest]
    wait: bool


def removal_of_cluster(resource: Resource) -> list[Removal]:
    """Return the steps that delete a cluster, the log service last.

    A cluster that is a resource deletes its child resources, whose own finalizers do the rest;
    one that was brought up by a playbook has no such children and deletes their objects.
    """
    if leaves_orphans(resource):
        return _orphaning(resource)
    patience = _longest_drain(resource)
    if not resource["metadata"].get("uid"):
        return _removal_of_objects(resource, patience)
    steps = [
        *_restore_steps(resource),
        *(_children_step(resource, title, kinds) for title, kinds in _STAGES),
    ]
    if patience is not None:
        steps.insert(0, _draining_step(resource, patience))
    patches = [*_retention_of_parts(resource), *steps[0].patches]
    return [replace(steps[0], patches=patches), *steps[1:]]


def _orphaning(resource: Resource) -> list[Removal]:
    """Return the step that frees what a cluster owns, for whoever deletes the cluster alone.

    The garbage collector does so, too, but not with what a pass that was under way has taken as the
    cluster's own again since then.
    """
    if not resource["metadata"].get("uid"):
        return []
    kinds = [names.RESTORE_JOB, *(kind for _title, listed in _STAGES for kind in listed)]
    secrets = [
        {**one, "metadata": {**one["metadata"], "ownerReferences": []}}
        for one in _secrets(resource)
    ]
    parts = _children(resource, kinds)
    return [Removal(title="the owner of the components", patches=secrets, free=parts)]


def _restore_steps(resource: Resource) -> list[Removal]:
    """Return the step that ends a restore; the claim that it fills has no owner before its end.

    A restore that has ended goes first, too: as long as its Pod is there, Kubernetes keeps a claim
    that it filled (pvc-protection), and so what waits for that claim.
    """
    record = (resource.get("status") or {}).get("restore") or {}
    if not is_asked(resource):
        return []
    metadata, service = resource["metadata"], _log_service(resource)
    steps = [_children_step(resource, "the restore", [names.RESTORE_JOB])]
    if retention_deletes(service) and record.get("phase") not in RESTORE_ENDED:
        name, namespace = metadata["name"], metadata["namespace"]
        claim = claim_kind(re.escape(names.shared_claim_name(name)))
        # Not one that was there before, with the data of an earlier cluster.
        chosen = Chosen(
            kinds=[claim], namespace=namespace, labels={names.LABEL_RESTORING: metadata["uid"]}
        )
        empty = Removal(title="the claim of the shared storage", prune=chosen)
        steps.append(follow_retention(empty, metadata, service, ""))
    return steps


def _removal_of_objects(resource: Resource, patience: int | None) -> list[Removal]:
    """Return the steps that delete the objects of a cluster that a playbook brought up."""
    metadata, service = resource["metadata"], _log_service(resource)
    goes = retention_deletes(service)
    kinds = [kind for _title, listed in _STAGES for kind in listed]
    if patience is not None:  # the drains are over when these steps begin
        kinds.sort(key=lambda kind: kind != names.PROXY_SET)
    steps, claims = [], _claims(resource)
    for kind in kinds:
        step = removal_of_sets(
            f"{kind}s of {metadata['name']}",
            kind,
            metadata["namespace"],
            {names.LABEL_CLUSTER: metadata["name"], names.LABEL_COMPONENT: kind},
            claims="" if kind == names.LOG_SET and not goes else claims.get(kind, ""),
        )
        if kind == names.CN_SET:
            # Pods whose drain was given up have the time of their hook once more.
            step = replace(step, patience=patience or 0)
        steps.append(step)
    last = follow_retention(steps[-1], metadata, service, claims[names.LOG_SET])
    volumes = [_removal_of_volumes(metadata, claims[names.LOG_SET])] if goes else []
    return [*steps[:-1], last, *volumes, *_credential(resource)]


def _removal_of_volumes(metadata: Mapping[str, Any], claims: str) -> Removal:
    """Return the step that deletes the claims of log stores: those of no cluster by their labels.

    A StatefulSet gives its claims the labels that it selects by, and no others.
    """
    name, namespace = metadata["name"], metadata["namespace"]
    labels = names.selector_labels(names.LOG_SET, name, namespace)
    chosen = Chosen(kinds=[claim_kind(claims)], namespace=namespace, labels=labels)
    return Removal(title=f"volumes of {name}", prune=chosen, gone=chosen)


def _claims(resource: Resource) -> dict[str, str]:
    """Return the names of the claims of the sets that have some, by kind."""
    name, spec = resource["metadata"]["name"], resource.get("spec") or {}
    parts = {names.LOG_SET: _log_service(resource), names.DN_SET: spec.get("tn") or spec.get("dn")}
    return {kind: claims_named(kind, name, part or {}) for kind, part in parts.items()}


def drains_of_cluster(resource: Resource) -> list[Drain]:
    """Return how the compute nodes of a cluster drain that a playbook removes.

    All of them begin before one is waited for, so that no session moves to one that ends next, and
    the longest time counts, not the sum. Child resources do that by themselves.
    """
    if resource["metadata"].get("uid") or leaves_orphans(resource):
        return []
    parts = _sets_of(resource)
    compute = [one for one in parts if one["kind"] == names.CN_SET]
    leaving = [one for one in compute if drains_at_its_end(one) or sheds_at_its_end(one)]
    draining = [one for one in leaving if drains_at_its_end(one)]
    begun = [one for one in leaving if one not in draining or len(leaving) > 1]
    return [
        *(Drain(resource=one, siblings=parts, wait=False) for one in begun),
        *(Drain(resource=one, siblings=parts, wait=True) for one in draining),
    ]


def _longest_drain(resource: Resource) -> int | None:
    """Return how many seconds compute nodes may drain at their end; None if none does."""
    compute = [one for one in _sets_of(resource) if one["kind"] == names.CN_SET]
    try:
        policies = [policy_of(scaled_to_zero(one)) for one in compute if drains_at_its_end(one)]
    except RenderingError:
        return None
    return max((policy.patience for policy in policies), default=None)


def _sets_of(resource: Resource) -> list[Manifest]:
    """Return the sets of a cluster; what cannot be rendered has never been created."""
    try:
        return render_matrixonecluster(resource)
    except RenderingError:
        return []


def _log_service(resource: Resource) -> Mapping[str, Any]:
    return (resource.get("spec") or {}).get("logService") or {}


def _retention_of_parts(resource: Resource) -> list[Manifest]:
    """Pass the present policy on to the log service, and to what opens its data.

    A Secret that the user gave is left alone.
    """
    metadata, deleted = resource["metadata"], retention_deletes(_log_service(resource))
    place = {"name": metadata["name"], "namespace": metadata["namespace"]}
    log_set: Manifest = {
        "apiVersion": names.API_VERSION,
        "kind": names.LOG_SET,
        "metadata": place,
        "spec": {"pvcRetentionPolicy": "Delete" if deleted else "Retain", **_of_bucket(resource)},
    }
    if deleted:
        return [log_set]
    mark = {"annotations": {names.ANNOTATION_KEEP: "true"}, "ownerReferences": []}
    secrets = [{**one, "metadata": {**one["metadata"], **mark}} for one in _secrets(resource)]
    return [log_set, *secrets]


def _of_bucket(resource: Resource) -> dict[str, Any]:
    """Return the present policy of a bucket as fields of the log service; none without a bucket."""
    spec = _log_service(resource)
    if not (spec.get("sharedStorage") or {}).get("s3"):
        return {}
    policy = "Delete" if bucket_deletes(spec) else "Retain"
    return {"sharedStorage": {"s3": {"s3RetentionPolicy": policy}}}


def _secrets(resource: Resource) -> list[Manifest]:
    """Name the Secrets with a root credential that belong to a cluster; not a user's own."""
    metadata = resource["metadata"]
    given = (resource.get("spec") or {}).get("credentialSecretRef")
    ours = [] if given else [credential_secret(resource)]
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": metadata["namespace"]},
        }
        for name in (*ours, names.accepted_name(metadata["name"]))
    ]


def removal_of_leftovers(
    resource: Resource, children: Sequence[Mapping[str, Any]]
) -> list[Removal]:
    """Return the steps that delete sets which a cluster no longer asks for.

    Only for a cluster that a playbook brings up; child resources are pruned as objects.

    Args:
        resource: the MatrixOneCluster.
        children: the rendered children that it asks for.
    """
    metadata = resource["metadata"]
    steps = []
    for kind in _STAGES[0][1]:
        kept = [one["metadata"]["name"] for one in children if one["kind"] == kind]
        labels = {names.LABEL_CLUSTER: metadata["name"], names.LABEL_COMPONENT: kind}
        excluding = {names.LABEL_INSTANCE: kept} if kept else {}
        title = f"{kind}s no longer asked for"
        steps.append(
            removal_of_sets(title, kind, metadata["namespace"], labels, excluding=excluding)
        )
    return steps


def _children_step(resource: Resource, title: str, kinds: Sequence[str]) -> Removal:
    chosen = _children(resource, kinds)
    return Removal(title=title, prune=chosen, gone=chosen)


def _draining_step(resource: Resource, patience: int) -> Removal:
    """Delete the sets of compute nodes; wait for their drains, not for their end."""
    return Removal(
        title="the drains of the compute nodes",
        prune=_children(resource, [names.CN_SET]),
        gone=_children(resource, [names.CN_SET], {names.LABEL_DRAINED: ["true"]}),
        awaits_deleted=False,
        patience=patience,
    )


def _children(
    resource: Resource, kinds: Sequence[str], excluding: Mapping[str, Sequence[str]] | None = None
) -> Chosen:
    listed: list[Kind] = [{"api_version": names.API_VERSION, "kind": kind} for kind in kinds]
    metadata = resource["metadata"]
    return Chosen(
        kinds=listed,
        namespace=metadata["namespace"],
        excluding=excluding or {},
        owner_uid=metadata["uid"],
    )


def _credential(resource: Resource) -> list[Removal]:
    """Return the step for the credentials of a cluster, if they are deleted with it.

    A Secret that the user gave stays; so does ours while the data that it opens is retained.
    """
    if not retention_deletes(_log_service(resource)):
        return []
    return [Removal(title="the root credential", objects=_secrets(resource))]
