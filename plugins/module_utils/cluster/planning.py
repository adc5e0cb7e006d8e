# SPDX-License-Identifier: Apache-2.0
"""What one pass over a MatrixOneCluster is going to do: its children, its credential."""

from __future__ import annotations

from ..admission import mistakes_of
from ..api import names
from ..api.errors import RenderingError
from ..api.types import Manifest, Resource
from ..workload.plans import Observed, Plan, empty_plan, is_paused
from ..workload.removal import retention_deletes
from .credentials import is_ours, login_secret
from .entrances import answers, entrance
from .rendering import credential_secret, render_matrixonecluster
from .root_credential import has_changed

ROOT_USER = "dump"
_RUN_BY_OPERATOR = (
    "metadata.name: a MatrixOneCluster of this name is in the cluster and belongs to its operator; "
    "change that resource instead of playing this one"
)


def plan_cluster(resource: Resource, observed: Observed) -> Plan:
    """Decide what a pass does: the children, in the order of their creation, and what is left.

    Args:
        resource: the MatrixOneCluster.
        observed: what ``references`` of this resource led to.
    """
    plan = empty_plan()
    if is_paused(resource):
        plan["paused"] = True
        return plan
    if observed.get("self") is not None and not resource["metadata"].get("uid"):
        plan["invalid"] = _RUN_BY_OPERATOR
        return plan
    if mistakes := mistakes_of(resource):
        plan["invalid"] = "; ".join(map(str, mistakes))
        return plan
    try:
        plan["objects"] = render_matrixonecluster(resource)
    except RenderingError as error:
        plan["invalid"] = str(error)
        return plan
    _plan_logins(plan, resource, observed)
    metadata = resource["metadata"]
    if metadata.get("uid"):
        plan["prune"] = {
            "kinds": [
                {"api_version": names.API_VERSION, "kind": kind}
                for kind in (names.CN_SET, names.PROXY_SET, names.WEB_UI)
            ],
            "namespace": metadata["namespace"],
            "labels": {},
            "owner_uid": metadata["uid"],
            "unless_used_by": [],
        }
    return plan


def _plan_logins(plan: Plan, resource: Resource, observed: Observed) -> None:
    """Decide about the Secrets of a cluster, and about what the database has to be told of them."""
    live, record = observed.get("credential"), observed.get("accepted")
    plan["scale"] = _keeping(resource, record)
    if makes_credential(resource):
        plan["credential"] = credential_secret(resource)
        plan["scale"] += _keeping(resource, live)
    elif live is None:
        secret = credential_secret(resource)
        plan["waitingFor"] = f"waiting for Secret {secret}, which spec.credentialSecretRef names"
    plan["rotation"] = not plan["waitingFor"] and has_changed(live, record)
    for one in child(plan, names.WEB_UI):
        plan["dashboard"] = names.base_name(names.WEB_UI, one["metadata"]["name"])
    if answers(resource, observed):
        plan["entrance"] = entrance(plan["objects"])
    if (resource.get("spec") or {}).get("metricReaderEnabled"):
        plan["metrics"] = plan["entrance"]


def makes_credential(resource: Resource) -> bool:
    """Tell whether the root credential is ours to make: no Secret was given."""
    given = (resource.get("spec") or {}).get("credentialSecretRef") or {}
    return not given.get("name")


def credential(resource: Resource, password: str) -> Manifest:
    """Return the Secret with the root credential of a cluster.

    Args:
        resource: the MatrixOneCluster.
        password: made at random by the caller.
    """
    pairs = {"username": ROOT_USER, "password": password}
    annotations = {names.ANNOTATION_KEEP: "true"} if outlives(resource) else {}
    return login_secret(resource, credential_secret(resource), pairs, annotations)


def outlives(resource: Resource) -> bool:
    """Tell whether the data of a cluster are kept when it goes, and so what opens them."""
    log_service = (resource.get("spec") or {}).get("logService") or {}
    return not retention_deletes(log_service)


def _keeping(resource: Resource, live: Manifest | None) -> list[Manifest]:
    """Return the patch by which a credential of ours goes with its cluster, or stays, as it should.

    A Secret that somebody else made is left alone.
    """
    uid = resource["metadata"].get("uid")
    if live is None or not is_ours(live) or not uid:
        return []
    metadata, stays = live["metadata"], outlives(resource)
    if bool(metadata.get("ownerReferences")) != stays:
        return []
    owner = {
        "apiVersion": resource["apiVersion"],
        "kind": resource["kind"],
        "name": resource["metadata"]["name"],
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    place = {key: metadata[key] for key in ("name", "namespace")}
    mark = {names.ANNOTATION_KEEP: "true" if stays else None}
    wanted = {**place, "annotations": mark, "ownerReferences": [] if stays else [owner]}
    return [{"apiVersion": "v1", "kind": "Secret", "metadata": wanted}]


def child(plan: Plan, kind: str) -> list[Manifest]:
    """Return the children of a kind, in order."""
    return [manifest for manifest in plan["objects"] if manifest["kind"] == kind]
