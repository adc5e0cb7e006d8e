# SPDX-License-Identifier: Apache-2.0
"""How a resource is taken away: what is deleted, in which order, and what that waits for.

A cluster goes in the order in which its parts need each other: what serves clients first, the
log service last (core.md §13 no. 11). Each step ends when its Pods are gone, or at a deadline.

Proxies go together with the compute nodes, unless these drain: then they stay until that is over.
Sessions that are waited for came through a proxy and end with it, while new ones find no compute
node anyway that takes them. They do not stay until the compute nodes are gone: for these the
proxies' own connections, over which they write their logs, are clients that never leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from ..api import names
from ..api.errors import RenderingError
from ..api.types import Manifest, Resource
from ..cluster.rendering import credential_secret, render_matrixonecluster
from ..compute import pods as cn_pods
from ..logservice.bootstrap import decided
from ..logservice.claims import marks
from .plans import PAUSE_ANNOTATIONS, Kind
from .references import WORKLOAD_KINDS

_PARTS: list[Kind] = [
    {"api_version": "v1", "kind": "Service"},
    {"api_version": "v1", "kind": "ConfigMap"},
    {"api_version": "policy/v1", "kind": "PodDisruptionBudget"},
    {"api_version": "networking.k8s.io/v1", "kind": "NetworkPolicy"},
]
_CLAIMS: list[Kind] = [{"api_version": "v1", "kind": "PersistentVolumeClaim"}]
_STAGES = (
    ("what serves clients", (names.CN_SET, names.PROXY_SET, names.WEB_UI)),
    ("the transaction nodes", (names.DN_SET,)),
    ("the log service", (names.LOG_SET,)),
)


class Chosen(TypedDict):
    """Objects by kind, label and owner, as ``apply`` takes them for prune and wait_gone.

    Keys:
        kinds: where to look.
        namespace: of the objects.
        labels: that they have.
        excluding: label values that they must not have, by label.
        owner_uid: uid of their owner; empty for any.
    """

    kinds: list[Kind]
    namespace: str
    labels: Mapping[str, str]
    excluding: Mapping[str, list[str]]
    owner_uid: str


class Drain(TypedDict):
    """One look at compute nodes that go with a cluster, before anything of it does.

    Keys:
        resource: the CNSet.
        siblings: all sets of the cluster.
        wait: whether to look again and again until it has drained.
    """

    resource: Resource
    siblings: list[Manifest]
    wait: bool


class Removal(TypedDict):
    """One step of taking something away.

    Keys:
        title: what goes, for people.
        patches: what to change before, of objects that may be gone already.
        release: objects that outlive this step and whoever owns them, if any.
        objects: identities of objects to delete.
        prune: objects to delete by label and owner, if any.
        propagation: how what depends on them goes.
        gone: objects that must be gone before the next step, if any.
        awaits_deleted: whether what this step deletes must be gone, too.
        patience: seconds that may pass before the time that this step is given begins to count.
    """

    title: str
    patches: list[Manifest]
    release: Chosen | None
    objects: list[dict[str, Any]]
    prune: Chosen | None
    propagation: str
    gone: Chosen | None
    awaits_deleted: bool
    patience: int


def removal_of_set(resource: Resource, claims: Iterable[Mapping[str, Any]] = ()) -> list[Removal]:
    """Return the step that takes a set away: its workload and what belonged to it.

    Args:
        resource: the set.
        claims: the live claims of a LogSet; those that stay are told what they hold.
    """
    kind, metadata = resource["kind"], resource["metadata"]
    if _leaves_orphans(resource):
        return []
    owner, namespace = metadata["name"], metadata["namespace"]
    labels = names.selector_labels(kind, owner, namespace)
    step = _step(f"{kind} {owner}", kind, namespace, labels, claims_go=_claims_go(resource))
    if kind == names.LOG_SET:
        _follow_retention(step, resource["metadata"], resource.get("spec") or {})
        step["patches"] = [*step["patches"], *_last_marks(resource, claims)]
    return [step]


def _last_marks(resource: Resource, claims: Iterable[Mapping[str, Any]]) -> list[Manifest]:
    """Record on claims that stay what was decided last; nothing of it is left elsewhere."""
    annotations = resource["metadata"].get("annotations") or {}
    if _claims_go(resource) or names.ANNOTATION_BOOTSTRAP not in annotations:
        return []
    try:
        return marks(resource, claims, decided(resource, resource, None))
    except RenderingError:  # an annotation that nobody can read; what was marked before stays
        return []


def _claims_go(resource: Resource) -> bool:
    """Tell whether the claims of a set go with it: all but those of a log service that stay."""
    return resource["kind"] != names.LOG_SET or retention_deletes(resource.get("spec") or {})


def _follow_retention(step: Removal, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> None:
    """Let the policy count that the spec has now, whatever was said while the log service ran."""
    namespace = metadata["namespace"]
    labels = names.selector_labels(names.LOG_SET, metadata["name"], namespace)
    workload: Kind = {"api_version": "apps/v1", "kind": WORKLOAD_KINDS[names.LOG_SET]}
    if not retention_deletes(spec):
        step["release"] = _chosen([workload, *_CLAIMS], namespace, labels)
        return
    place = {"name": names.shared_claim_name(metadata["name"]), "namespace": namespace}
    unmarked = {**place, "annotations": {names.ANNOTATION_KEEP: None}}
    shared = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": unmarked}
    step["patches"] = [shared]


def removal_of_cluster(resource: Resource) -> list[Removal]:
    """Return the steps that take a cluster away, the log service last.

    A cluster that is a resource deletes its child resources, whose own finalizers do the rest;
    one that was brought up by a playbook has no such children and deletes their objects.
    """
    metadata = resource["metadata"]
    if _leaves_orphans(resource):
        return []
    service = (resource.get("spec") or {}).get("logService") or {}
    patience = _longest_drain(resource)
    if metadata.get("uid"):
        steps = [_children_step(resource, title, kinds) for title, kinds in _STAGES]
        if patience is not None:
            steps.insert(0, _draining_step(resource, patience))
        steps[0]["patches"] = _retention_of_parts(resource, service)
        return steps
    kinds = [kind for _title, listed in _STAGES for kind in listed]
    if patience is not None:  # the drains are over when these steps begin
        kinds.sort(key=lambda kind: kind != names.PROXY_SET)
    steps = [
        _step(
            f"{kind}s of {metadata['name']}",
            kind,
            metadata["namespace"],
            {names.LABEL_CLUSTER: metadata["name"], names.LABEL_COMPONENT: kind},
            claims_go=kind != names.LOG_SET or retention_deletes(service),
        )
        for kind in kinds
    ]
    # What was given up has the time of its hook once more, where Pods have one.
    steps[kinds.index(names.CN_SET)]["patience"] = patience or 0
    _follow_retention(steps[-1], metadata, service)
    return [*steps, *_credential(resource)]


def drains_of_cluster(resource: Resource) -> list[Drain]:
    """Return how the compute nodes of a cluster drain that a playbook takes away.

    All of them begin before one is waited for, so that no session moves to one that goes next, and
    the longest time counts, not the sum. Child resources do that by themselves.
    """
    if resource["metadata"].get("uid") or _leaves_orphans(resource):
        return []
    parts = _sets_of(resource)
    leaving = [one for one in parts if _drains_at_its_end(one) or _sheds_at_its_end(one)]
    draining = [one for one in leaving if _drains_at_its_end(one)]
    begun = [one for one in leaving if one not in draining or len(leaving) > 1]
    return [
        *(Drain(resource=one, siblings=parts, wait=False) for one in begun),
        *(Drain(resource=one, siblings=parts, wait=True) for one in draining),
    ]


def _longest_drain(resource: Resource) -> int | None:
    """Return how many seconds compute nodes may drain at their end; None if none does."""
    try:
        parts = filter(_drains_at_its_end, _sets_of(resource))
        policies = [cn_pods.policy_of(emptied(one)) for one in parts]
    except RenderingError:
        return None
    return max((policy.patience for policy in policies), default=None)


def _sets_of(resource: Resource) -> list[Manifest]:
    """Return the sets of a cluster; what cannot be rendered has never been made."""
    try:
        return render_matrixonecluster(resource)
    except RenderingError:
        return []


def _drains_at_its_end(part: Resource) -> bool:
    drains = part["spec"].get("terminationPolicy") == "Drain"
    return bool(drains and part["kind"] == names.CN_SET)


def _sheds_at_its_end(part: Resource) -> bool:
    """Tell whether Pods of a set stay until their clients are gone, who then must be moved."""
    scaling = part["spec"].get("scalingConfig") or {}
    return bool(scaling.get("storeDrainEnabled") and part["kind"] == names.CN_SET)


def _retention_of_parts(resource: Resource, service: Mapping[str, Any]) -> list[Manifest]:
    """Tell the log service, and what opens its data, of a policy that may be newer than they are.

    A Secret that the user gave is left alone.
    """
    metadata, goes = resource["metadata"], retention_deletes(service)
    place = {"name": metadata["name"], "namespace": metadata["namespace"]}
    told: Manifest = {
        "apiVersion": names.API_VERSION,
        "kind": names.LOG_SET,
        "metadata": place,
        "spec": {"pvcRetentionPolicy": "Delete" if goes else "Retain"},
    }
    if goes:
        return [told]
    mark = {"annotations": {names.ANNOTATION_KEEP: "true"}, "ownerReferences": []}
    return [told, *({**one, "metadata": {**one["metadata"], **mark}} for one in _secrets(resource))]


def _secrets(resource: Resource) -> list[Manifest]:
    """Name the Secrets with a root credential that were made for a cluster; not a user's own."""
    metadata = resource["metadata"]
    given = (resource.get("spec") or {}).get("credentialSecretRef")
    made = [] if given else [credential_secret(resource)]
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": metadata["namespace"]},
        }
        for name in (*made, names.accepted_name(metadata["name"]))
    ]


def emptied(resource: Resource) -> Resource:
    """Return a set that goes as if no Pods were wanted of it; a pause does not keep it from going.

    ``terminationPolicy: Drain`` counts by itself: ``storeDrainEnabled`` is about scaling in.

    Args:
        resource: a CNSet.
    """
    metadata = {key: value for key, value in resource["metadata"].items() if key != "annotations"}
    kept = {
        key: value
        for key, value in (resource["metadata"].get("annotations") or {}).items()
        if key not in PAUSE_ANNOTATIONS
    }
    spec = {**(resource.get("spec") or {}), "replicas": 0}
    if spec.get("terminationPolicy") == "Drain":
        spec["scalingConfig"] = {**(spec.get("scalingConfig") or {}), "storeDrainEnabled": True}
    return {**resource, "metadata": {**metadata, "annotations": kept}, "spec": spec}


def _leaves_orphans(resource: Resource) -> bool:
    """Tell whether whoever deletes a resource wants to keep all that it owns."""
    return "orphan" in (resource["metadata"].get("finalizers") or [])


def removal_of_leftovers(resource: Resource, children: list[Mapping[str, Any]]) -> list[Removal]:
    """Return the steps that take away sets which a cluster no longer asks for.

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
        steps.append(_step(title, kind, metadata["namespace"], labels, excluding=excluding))
    return steps


def _children_step(resource: Resource, title: str, kinds: tuple[str, ...]) -> Removal:
    metadata = resource["metadata"]
    listed: list[Kind] = [{"api_version": names.API_VERSION, "kind": kind} for kind in kinds]
    chosen = _chosen(listed, metadata["namespace"], {}, uid=metadata["uid"])
    return {
        "title": title,
        "patches": [],
        "release": None,
        "objects": [],
        "prune": chosen,
        "propagation": "Background",
        "gone": chosen,
        "awaits_deleted": True,
        "patience": 0,
    }


def _draining_step(resource: Resource, patience: int) -> Removal:
    """Delete the sets of compute nodes; wait until their drains are over, not until they go."""
    step = _children_step(resource, "the drains of the compute nodes", (names.CN_SET,))
    undrained = _chosen(
        [{"api_version": names.API_VERSION, "kind": names.CN_SET}],
        resource["metadata"]["namespace"],
        {},
        {names.LABEL_DRAINED: ["true"]},
        uid=resource["metadata"]["uid"],
    )
    return {**step, "gone": undrained, "awaits_deleted": False, "patience": patience}


def _step(
    title: str,
    kind: str,
    namespace: str,
    labels: Mapping[str, str],
    *,
    claims_go: bool = True,
    excluding: Mapping[str, list[str]] | None = None,
) -> Removal:
    """Delete the objects of sets of a kind; their Pods, and the claims that go, must be gone."""
    workload: Kind = {"api_version": "apps/v1", "kind": WORKLOAD_KINDS[kind]}
    claims = _CLAIMS if claims_go else []
    pods: Kind = {"api_version": "v1", "kind": "Pod"}
    return {
        "title": title,
        "patches": [],
        "release": None,
        "objects": [],
        "prune": _chosen([workload, *_PARTS, *claims], namespace, labels, excluding),
        "propagation": "Foreground",
        "gone": _chosen([pods, *claims], namespace, labels, excluding),
        "awaits_deleted": True,
        "patience": 0,
    }


def _chosen(
    kinds: list[Kind],
    namespace: str,
    labels: Mapping[str, str],
    excluding: Mapping[str, list[str]] | None = None,
    uid: str = "",
) -> Chosen:
    return {
        "kinds": kinds,
        "namespace": namespace,
        "labels": labels,
        "excluding": excluding or {},
        "owner_uid": uid,
    }


def _credential(resource: Resource) -> list[Removal]:
    """Return the step for the credentials that were made for a cluster, if they go with it.

    A Secret that the user gave stays; so does ours while the data that it opens is retained.
    """
    if not retention_deletes((resource.get("spec") or {}).get("logService") or {}):
        return []
    return [
        {
            "title": "the root credential",
            "patches": [],
            "release": None,
            "objects": _secrets(resource),
            "prune": None,
            "propagation": "Background",
            "gone": None,
            "awaits_deleted": True,
            "patience": 0,
        }
    ]


def retention_deletes(log_set_spec: Mapping[str, Any]) -> bool:
    """Tell whether the log stores' claims are deleted with the set (core.md §2.3)."""
    s3 = (log_set_spec.get("sharedStorage") or {}).get("s3") or {}
    policy = log_set_spec.get("pvcRetentionPolicy") or s3.get("s3RetentionPolicy") or "Delete"
    return bool(policy == "Delete")
