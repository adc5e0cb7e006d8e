# SPDX-License-Identifier: Apache-2.0
"""Reads at the API server what a cluster consists of."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..api import names
from ..clients.kubernetes.editing import Editor
from ..clients.kubernetes.errors import NotFound
from ..clients.kubernetes.selecting import Selection
from ..clients.kubernetes.session import Session
from ..workload import kruise
from .facts import ORDER, STATEFUL, Cluster
from .reading import LEASE, SetObjects, Surroundings, read_cluster

Json = Mapping[str, Any]

_KRUISE: Final = {
    kind: (f"{kruise.GROUP}/v1beta1", "StatefulSet")
    if kind in STATEFUL
    else (f"{kruise.GROUP}/v1alpha1", "CloneSet")
    for kind in ORDER
}
"""What runs the Pods of a kind under the Go operator."""
_ADMISSION: Final = "admissionregistration.k8s.io/v1"


def observe(session: Session, namespace: str, name: str) -> Cluster:
    """Return the facts of a cluster.

    Raises:
        KubeError: something could not be read: then nothing is known.
    """
    resource = Editor(session).get(_identity(names.API_VERSION, names.CLUSTER, namespace, name))
    sets: Sequence[SetObjects] = ()
    if resource is not None:
        sets = list(_sets(session, resource))
    return read_cluster((namespace, name), resource, sets, _around(session, namespace))


def _sets(session: Session, cluster: Json) -> Iterator[SetObjects]:
    namespace, uid = cluster["metadata"]["namespace"], cluster["metadata"]["uid"]
    claims = {
        claim["metadata"]["name"]: claim
        for claim in Selection("v1", "PersistentVolumeClaim", namespace, {}).list(session)
    }
    storage = ((cluster.get("spec") or {}).get("logService") or {}).get("sharedStorage") or {}
    common = {
        "claims": claims,
        "volumes": _by_name(session, "v1", "PersistentVolume"),
        "drivers": _by_name(session, "storage.k8s.io/v1", "CSIDriver"),
        "in_folder": bool(storage.get("fileSystem")),
    }
    for kind in ORDER:
        found = Selection(names.API_VERSION, kind, namespace, {}, owner_uid=uid).list(session)
        for resource in found:
            yield _objects(session, resource, common)


def _by_name(session: Session, api_version: str, kind: str) -> dict[str, Json]:
    found = Selection(api_version, kind, None, {}).list(session)
    return {str(one["metadata"]["name"]): one for one in found}


def _objects(session: Session, resource: Json, common: Mapping[str, Any]) -> SetObjects:
    kind, metadata = resource["kind"], resource["metadata"]
    namespace, base = metadata["namespace"], names.base_name(kind, metadata["name"])
    labels = names.selector_labels(kind, metadata["name"], namespace)
    api_version, foreign = _KRUISE[kind]
    return SetObjects(
        resource=resource,
        foreign=_get(session, _identity(api_version, foreign, namespace, base)),
        own=_get(session, _identity("apps/v1", names.WORKLOADS[kind], namespace, base)),
        pods=Selection("v1", "Pod", namespace, labels).list(session),
        policy=_get(session, _identity("networking.k8s.io/v1", "NetworkPolicy", namespace, base)),
        **common,
    )


def _get(session: Session, identity: Json) -> Json | None:
    """Return an object; None if there is none, also where the cluster has no such kind."""
    try:
        found = Editor(session).get(identity)
    except NotFound:
        return None
    return None if found is None else {**identity, **found}


def _around(session: Session, namespace: str) -> Surroundings:
    return Surroundings(
        deployments=Selection("apps/v1", "Deployment", None, {}).list(session),
        leases=[
            lease
            for lease in Selection("coordination.k8s.io/v1", "Lease", None, {}).list(session)
            if lease["metadata"]["name"] == LEASE
        ],
        webhooks=[
            found
            for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
            for found in Selection(_ADMISSION, kind, None, {}).list(session)
        ],
        pools=Selection(names.API_VERSION, names.CN_POOL, namespace, {}).list(session),
        pool_pods=Selection("v1", "Pod", namespace, {}, having=[names.LABEL_POOL]).list(session),
        buckets=Selection(names.API_VERSION, names.BUCKET_CLAIM, None, {}).list(session),
        now=time.time(),
    )


def _identity(api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
