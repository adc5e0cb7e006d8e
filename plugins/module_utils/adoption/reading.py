# SPDX-License-Identifier: Apache-2.0
"""Reads the facts of an adoption from objects of the API server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..api import names
from ..api.pods import is_ready
from ..api.timestamps import unix_time
from ..reporting.conditions import find, holds_now
from ..reporting.reasons import ConditionType
from ..workload import kruise
from ..workload.plans import PAUSE_ANNOTATIONS, is_paused
from .facts import Bucket, Claim, Cluster, Owner, Pod, Set, Workload

Json = Mapping[str, Any]

PAUSED_BY_US: Final = "given-back"
"""Value of the annotation ``matrixorigin.io/paused`` of what was given back."""
POD_FINALIZERS: Final = ("matrixorigin.io/cn-draining", "matrixorigin.io/confirm-deletion")
"""Finalizers of Pods that only the Go operator takes off."""
_NOT_REGROUPED: Final = ("hostPath", "nfs", "glusterfs", "cephfs", "flexVolume")
"""Sources of PersistentVolumes whose files keep their group, whatever ``fsGroup`` says."""
LEASE: Final = "0c8ab548.matrixorigin.io"
"""Name of the Go operator's lease, in whichever namespace it runs."""
OPERATOR_NAME: Final = "matrixone-operator"
_ADMISSION_PATHS: Final = (
    "/mutate-core-matrixorigin-io-v1alpha1-",
    "/validate-core-matrixorigin-io-v1alpha1-",
)


@dataclass(frozen=True, slots=True)
class SetObjects:
    """The objects of one set, as the API server has them.

    Attributes:
        resource: the LogSet, DNSet, CNSet or ProxySet.
        foreign: the workload of OpenKruise of its name; None without one.
        own: the workload of ``apps/v1`` of its name; None without one.
        pods: the Pods with its labels.
        policy: the NetworkPolicy of its name; None without one.
        claims: all PersistentVolumeClaims of the namespace, by name.
        volumes: the PersistentVolumes, by name.
        drivers: the CSIDrivers, by name.
        in_folder: whether the LogSet of the cluster has its shared storage in a folder.
    """

    resource: Json
    foreign: Json | None
    own: Json | None
    pods: Sequence[Json] = ()
    policy: Json | None = None
    claims: Mapping[str, Json] = field(default_factory=dict)
    volumes: Mapping[str, Json] = field(default_factory=dict)
    drivers: Mapping[str, Json] = field(default_factory=dict)
    in_folder: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else matters, as the API server has it.

    Attributes:
        deployments: all Deployments that may be those of a Go operator.
        leases: the leases of its name.
        webhooks: configurations of admission webhooks.
        pools: CNPools of the namespace.
        pool_pods: the Pods of the namespace that have the label of a pool.
        buckets: BucketClaims of all namespaces.
        now: the present, Unix time.
    """

    deployments: Sequence[Json] = ()
    leases: Sequence[Json] = ()
    webhooks: Sequence[Json] = ()
    pools: Sequence[Json] = ()
    pool_pods: Sequence[Json] = ()
    buckets: Sequence[Json] = ()
    now: float = 0.0


def read_cluster(
    place: tuple[str, str],
    resource: Json | None,
    sets: Iterable[SetObjects],
    around: Surroundings,
) -> Cluster:
    """Return the facts of a cluster.

    Args:
        place: its namespace and name.
        resource: the MatrixOneCluster; None if there is none.
        sets: its sets.
        around: what else matters.
    """
    found = [read_set(one) for one in sets]
    metadata = (resource or {}).get("metadata") or {}
    return Cluster(
        *place,
        exists=resource is not None,
        is_deleted=bool(metadata.get("deletionTimestamp")),
        paused=resource is not None and is_paused(dict(resource)),
        paused_by_us=_paused_by_us(metadata),
        sets=tuple(found),
        operators=(*_deployments(around), *_leases(around)),
        webhooks=tuple(_webhooks(around)),
        pools=tuple(_pools(around)),
        buckets=tuple(_buckets(place[0], found, around)),
    )


def read_set(objects: SetObjects) -> Set:
    """Return the facts of a set."""
    resource = objects.resource
    metadata, spec = resource["metadata"], resource.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    pods = [read_pod(pod) for pod in objects.pods if not _is_of_pool(pod)]
    own_claims = {name for pod in pods for name in pod.claims if name.endswith(f"-{pod.name}")}
    synced = find(resource, ConditionType.SYNCED)
    return Set(
        kind=resource["kind"],
        name=metadata["name"],
        uid=metadata["uid"],
        replicas=spec.get("replicas"),
        image=str(spec.get("image") or ""),
        as_root=((spec.get("overlay") or {}).get("securityContext") or {}).get("runAsUser") == 0,
        in_folder=objects.in_folder,
        foreign=read_workload(objects.foreign),
        own=read_workload(objects.own),
        pods=tuple(sorted(pods, key=lambda pod: pod.name)),
        claims=tuple(
            read_claim(claim, _is_regrouped(claim, objects))
            for name, claim in sorted(objects.claims.items())
            if name in own_claims
        ),
        policy=_own_policy(metadata["uid"], objects.policy),
        held=str(synced.get("message") or "").startswith(kruise.HELD),
        serves=_serves(resource, pods),
        paused=is_paused(dict(resource)),
        paused_by_us=_paused_by_us(metadata),
        is_deleted=bool(metadata.get("deletionTimestamp")),
        adoption=str(annotations.get(kruise.ANNOTATION_ADOPTION) or ""),
        replaced=_has_replaced(annotations.get(names.ANNOTATION_INCARNATIONS)),
    )


def _own_policy(uid: str, policy: Json | None) -> str:
    """Return the uid of a NetworkPolicy that a set owns; empty for one of somebody else."""
    metadata = (policy or {}).get("metadata") or {}
    owners = metadata.get("ownerReferences") or []
    return str(metadata["uid"]) if any(owner.get("uid") == uid for owner in owners) else ""


def _serves(resource: Json, pods: Iterable[Pod]) -> bool:
    """Return whether our operator says that a set serves, with Pods of our workload."""
    staying = [pod for pod in pods if not pod.left_behind]
    ours = all(pod.owner is not None and not pod.owner.kruise for pod in staying)
    reported = (ConditionType.READY, ConditionType.SYNCED)
    return ours and all(holds_now(resource, condition) for condition in reported)


def _has_replaced(incarnations: object) -> bool:
    return str(incarnations or "{}").strip() not in {"{}", ""}


def _paused_by_us(metadata: Json) -> bool:
    annotations = metadata.get("annotations") or {}
    return [annotations.get(name) for name in PAUSE_ANNOTATIONS] == [PAUSED_BY_US, None]


def _is_of_pool(pod: Json) -> bool:
    return names.LABEL_POOL in (pod["metadata"].get("labels") or {})


def read_pod(pod: Json) -> Pod:
    """Return the facts of a Pod."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    owners = [read_owner(owner) for owner in metadata.get("ownerReferences") or []]
    containers = spec.get("containers") or []
    main: Json = next((one for one in containers if one.get("name") == names.CONTAINER_MAIN), {})
    claims = [
        str(volume["persistentVolumeClaim"]["claimName"])
        for volume in spec.get("volumes") or []
        if volume.get("persistentVolumeClaim")
    ]
    return Pod(
        name=metadata["name"],
        uid=metadata["uid"],
        ready=is_ready(pod),
        owner=next((owner for owner in owners if owner.controller), None),
        image=str(main.get("image") or ""),
        finalizers=tuple(
            name for name in metadata.get("finalizers") or [] if name in POD_FINALIZERS
        ),
        claims=tuple(claims),
        left_behind=kruise.is_left_behind(pod),
        as_root=_may_be_root(spec, main),
    )


def _may_be_root(spec: Json, main: Json) -> bool:
    """Return whether a container may run as root: neither it nor its Pod says anything else."""
    merged = {**(spec.get("securityContext") or {}), **(main.get("securityContext") or {})}
    return not (merged.get("runAsUser") or merged.get("runAsNonRoot"))


def read_owner(owner: Json) -> Owner:
    """Return an entry of ``metadata.ownerReferences``."""
    return Owner(
        kind=str(owner.get("kind")),
        name=str(owner.get("name")),
        uid=str(owner.get("uid")),
        kruise=kruise.is_kruise(owner.get("apiVersion")),
        controller=bool(owner.get("controller")),
    )


def read_claim(claim: Json, regrouped: bool) -> Claim:
    """Return the facts of a PersistentVolumeClaim.

    Args:
        claim: the claim.
        regrouped: whether Kubernetes gives the files of its volume to the group of a new Pod.
    """
    metadata = claim["metadata"]
    bound = (claim.get("status") or {}).get("phase") == "Bound"
    return Claim(
        name=metadata["name"],
        uid=metadata["uid"],
        bound=bound and not metadata.get("deletionTimestamp"),
        owners=tuple(read_owner(owner) for owner in metadata.get("ownerReferences") or []),
        regrouped=regrouped,
    )


def _is_regrouped(claim: Json, objects: SetObjects) -> bool:
    """Return whether Kubernetes changes the group of files of a volume; in doubt it does not."""
    volume = objects.volumes.get(str((claim.get("spec") or {}).get("volumeName")))
    spec = (volume or {}).get("spec") or {}
    if driver := (spec.get("csi") or {}).get("driver"):
        known = (objects.drivers.get(str(driver)) or {}).get("spec") or {}
        return known.get("fsGroupPolicy") != "None"
    return bool(spec) and not any(kind in spec for kind in _NOT_REGROUPED)


def read_workload(found: Json | None) -> Workload | None:
    """Return the facts of a workload, ours or one of OpenKruise; None for None."""
    if found is None:
        return None
    metadata, spec, status = found["metadata"], found.get("spec") or {}, found.get("status") or {}
    policy = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    replicas = 1 if spec.get("replicas") is None else int(spec["replicas"])
    owners = [read_owner(owner) for owner in metadata.get("ownerReferences") or []]
    return Workload(
        api_version=found["apiVersion"],
        kind=found["kind"],
        name=metadata["name"],
        uid=metadata["uid"],
        replicas=replicas,
        owner_uid=next((owner.uid for owner in owners if owner.controller), ""),
        reserved=tuple(sorted(int(one) for one in spec.get("reserveOrdinals") or [])),
        keeps_claims="Delete" not in policy.values(),
        settled=_is_settled(metadata, status, replicas),
        is_deleted=bool(metadata.get("deletionTimestamp")),
    )


def _is_settled(metadata: Json, status: Json, replicas: int) -> bool:
    seen = int(status.get("observedGeneration") or 0) >= int(metadata.get("generation") or 0)
    numbers = (int(status.get(name) or 0) for name in ("replicas", "updatedReplicas"))
    return seen and all(number == replicas for number in numbers)


def _deployments(around: Surroundings) -> Iterable[str]:
    for found in around.deployments:
        metadata, spec = found["metadata"], found.get("spec") or {}
        pod = (spec.get("template") or {}).get("spec") or {}
        runs = any(one.get("command") == ["/manager"] for one in pod.get("containers") or [])
        wanted = spec.get("replicas")
        present = (found.get("status") or {}).get("replicas")
        named = OPERATOR_NAME in metadata["name"]
        if runs and named and (wanted is None or wanted > 0 or present):
            yield f"Deployment {metadata['namespace']}/{metadata['name']}"


def _leases(around: Surroundings) -> Iterable[str]:
    for found in around.leases:
        metadata, spec = found["metadata"], found.get("spec") or {}
        renewed = unix_time(spec.get("renewTime"))
        lasts = float(spec.get("leaseDurationSeconds") or 0)
        if spec.get("holderIdentity") and renewed + lasts > around.now:
            yield f"Lease {metadata['namespace']}/{metadata['name']}"


def _webhooks(around: Surroundings) -> Iterable[str]:
    for found in around.webhooks:
        services = (
            (one.get("clientConfig") or {}).get("service") or {}
            for one in found.get("webhooks") or []
        )
        paths = [str(service.get("path") or "") for service in services]
        if any(path.startswith(_ADMISSION_PATHS) for path in paths):
            yield f"{found['kind']} {found['metadata']['name']}"


def _pools(around: Surroundings) -> Iterable[str]:
    """Yield the pools that have Pods of OpenKruise."""
    busy = {
        (pod["metadata"].get("labels") or {}).get(names.LABEL_POOL)
        for pod in around.pool_pods
        if kruise.kruise_owner(pod) is not None
    }
    for pool in around.pools:
        if pool["metadata"]["name"] in busy:
            yield pool["metadata"]["name"]


def _buckets(namespace: str, sets: Iterable[Set], around: Surroundings) -> Iterable[Bucket]:
    """Yield the claims that the LogSets of the cluster hold, as the Go operator records that."""
    holders = {f"{namespace}/{one.name}": one.uid for one in sets if one.kind == names.LOG_SET}
    for claim in around.buckets:
        holder = str((claim.get("status") or {}).get("bindTo") or "")
        if holder in holders:
            yield Bucket(claim["metadata"]["name"], f"bucket-{holders[holder]}")
