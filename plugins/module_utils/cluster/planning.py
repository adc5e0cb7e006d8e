# SPDX-License-Identifier: Apache-2.0
"""What one pass over a MatrixOneCluster is going to do: its children, its credential."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..api import names
from ..api.errors import RenderingError
from ..api.fields import as_table
from ..api.types import Manifest, Resource
from ..logservice.removal import retention_deletes
from ..upgrade.record import UNFINISHED
from ..workload.plans import Observed, Plan, Prune, is_paused, named
from . import connection, fencing, hibernation, maintenance, restoring, upgrading
from .credentials import is_ours, login_secret
from .data_version import with_data_version
from .entrances import answers, entrance
from .rendering import credential_secret, render_matrixonecluster
from .root_credential import has_changed

ROOT_USER = "dump"
_OPTIONAL = (names.CN_SET, names.PROXY_SET, names.WEB_UI)
"""Kinds of children that a change of the spec may remove."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan(Plan):
    """A plan for a MatrixOneCluster.

    Attributes:
        credential: name of the Secret to create; empty if one was given.
        entrance: Service behind which SQL is answered; empty while none is.
        dashboard: Deployment of the dashboard; empty without one.
        rotation: the Secret with the root credential has changed since the database had it.
        metrics: Service through which the metric user is created; empty for none.
        restore: ``status.restore`` as it is to be; empty without one.
        restoring: whether components wait for the restore.
        upgrade: ``status.upgrade`` as it is to be; empty without one.
        unanswered: why the database gave no answer when it was asked for its catalog.
        stuck: whether the upgrade of the catalog does not move.
        hibernation: whether it sleeps, and until when; see `hibernation.Hibernation.as_variable`.
        maintenance: whether a change waits for a window; see `_windows`.
        connection: the Secrets for applications; see `connection.Connection.as_variable`.
        fence: what is to be done about the fence; see `fencing.Fence.as_variable`.
    """

    credential: str = ""
    entrance: str = ""
    dashboard: str = ""
    rotation: bool = False
    metrics: str = ""
    restore: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    restoring: bool = False
    upgrade: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    unanswered: str = ""
    stuck: bool = False
    hibernation: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    maintenance: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    connection: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    fence: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def plan_cluster(resource: Resource, observed: Observed, mistakes: str = "") -> ClusterPlan:
    """Decide what a pass does: the children, in the order of their creation, and what is left.

    Args:
        resource: the MatrixOneCluster.
        observed: what its references led to.
        mistakes: what is wrong with the spec beyond its schema; empty if nothing is.
    """
    fence = fencing.decide(resource, observed)
    plan = _plan_children(resource, observed, mistakes)
    return replace(plan, fence=fence.as_variable(), patches=[*fence.marks, *plan.patches])


def _plan_children(resource: Resource, observed: Observed, mistakes: str) -> ClusterPlan:
    if is_paused(resource):
        return ClusterPlan(paused=True)
    metadata = resource["metadata"]
    if mistakes:
        return ClusterPlan(invalid=mistakes)
    try:
        children = render_matrixonecluster(resource)
        restore = restoring.decide(resource, observed, children)
        present = with_data_version(resource, observed)
        windows = maintenance.decide(resource, observed)
        upgrade = upgrading.decide(present, observed, children, windows)
        sleep = hibernation.decide(resource, observed, upgrade.record)
    except RenderingError as error:
        return ClusterPlan(invalid=str(error))
    leftovers = Prune(
        kinds=[{"api_version": names.API_VERSION, "kind": kind} for kind in _OPTIONAL],
        namespace=metadata["namespace"],
        owner_uid=metadata.get("uid") or "",
    )
    connects = connection.decide(resource, observed, children)
    live = {named(one): one for one in upgrading.live_components(observed)}
    changed = _waiting(resource, children, live, windows, upgrade)
    patches = hibernation.resized(children, live, sleep.stops)
    children = hibernation.put_to_sleep(resource, children, sleep.stops)
    objects = [*restore.objects, *(() if restore.pending else children)]
    plan = ClusterPlan(
        objects=objects,
        create_only=restore.create_only,
        prune=leftovers if metadata.get("uid") else None,
        restore=restore.record,
        restoring=restore.pending,
        upgrade=upgrade.record,
        unanswered=upgrade.problem,
        stuck=upgrade.stuck,
        hibernation=sleep.as_variable(),
        maintenance=_windows(windows, children, changed),
        connection=connects.as_variable(),
        patches=[] if restore.pending else patches,
    )
    plan = _plan_logins(plan, resource, observed)
    if upgrade.applied is not None:
        return _hold_back(plan, observed, upgrade.applied, upgrade.rehearsal)
    if changed:
        new = [one for one in children if named(one) not in live]
        return _hold_back(plan, observed, [*restore.objects, *new], None)
    return plan


def _waiting(
    resource: Resource,
    children: Sequence[Manifest],
    live: Mapping[str, Resource],
    windows: maintenance.Maintenance,
    upgrade: upgrading.Upgrade,
) -> list[str]:
    """Return which components would be changed, but wait for a window; what has begun goes on."""
    if not windows.is_closed or upgrade.record.get("phase") in UNFINISHED:
        return []
    return maintenance.waiting(resource, children, live)


def _windows(
    windows: maintenance.Maintenance, children: Sequence[Manifest], changed: Sequence[str]
) -> dict[str, Any]:
    """Return what was decided about windows as it travels with the plan."""
    found = {
        "at": windows.at,
        "hasWindows": windows.has_windows,
        "opens": windows.opens,
        "closes": windows.closes,
        "digest": maintenance.digest(children) if windows.has_windows else "",
        "message": maintenance.message_of(changed, windows.opens) if changed else "",
    }
    return {name: value for name, value in found.items() if value}


def _hold_back(
    plan: ClusterPlan,
    observed: Observed,
    applied: Sequence[Manifest],
    rehearsal: Manifest | None,
) -> ClusterPlan:
    """Leave the components of a cluster as they are, but for some, and for their sizes."""
    chosen = {named(one) for one in applied}
    others = [one for one in plan.objects if named(one) not in chosen]
    created = [rehearsal] if rehearsal else []
    return replace(
        plan,
        objects=[*applied, *created],
        create_only=[*map(named, created)],
        patches=[*plan.patches, *upgrading.scaled(others, observed)],
        prune=None,
        held=["spec.version"],
    )


def _plan_logins(plan: ClusterPlan, resource: Resource, observed: Observed) -> ClusterPlan:
    """Decide about the Secrets of a cluster, and about what the database has to learn of them."""
    live, record = observed.get("credential"), observed.get("accepted")
    secret = credential_secret(resource)
    patches, ours, waiting = _keeping(resource, observed, record), makes_credential(resource), ""
    if ours:
        patches += _keeping(resource, observed, live)
    elif live is None:
        waiting = f"waiting for Secret {secret}, which spec.credentialSecretRef names"
    service = entrance(plan.objects) if answers(resource, observed) else ""
    dashboards = [
        names.base_name(names.WEB_UI, one["metadata"]["name"])
        for one in plan.objects
        if one["kind"] == names.WEB_UI
    ]
    return replace(
        plan,
        waiting_for=waiting,
        patches=[*plan.patches, *patches],
        credential=secret if ours else "",
        entrance=service,
        dashboard=dashboards[-1] if dashboards else "",
        rotation=not waiting and has_changed(live, record),
        metrics=service if (resource.get("spec") or {}).get("metricReaderEnabled") else "",
    )


def _has_had_stores(observed: Observed) -> bool:
    """Return whether the log service of a cluster has, or had, log stores of its own."""
    return bool(as_table((observed.get("logSet") or {}).get("status")).get("lastReplicas"))


def makes_credential(resource: Resource) -> bool:
    """Return whether the operator creates the root credential: no Secret was given."""
    given = (resource.get("spec") or {}).get("credentialSecretRef") or {}
    return not given.get("name")


def credential(resource: Resource, password: str) -> Manifest:
    """Return the Secret with the root credential of a cluster.

    Args:
        resource: the MatrixOneCluster.
        password: created at random by the caller.
    """
    pairs = {"username": ROOT_USER, "password": password}
    annotations = {names.ANNOTATION_KEEP: "true"} if retains_data(resource) else {}
    return login_secret(resource, credential_secret(resource), pairs, annotations)


def retains_data(resource: Resource) -> bool:
    """Return whether the data of a cluster, and so its credential, are kept when it is deleted."""
    log_service = (resource.get("spec") or {}).get("logService") or {}
    return not retention_deletes(log_service)


def _keeping(resource: Resource, observed: Observed, live: Manifest | None) -> list[Manifest]:
    """Return the patch by which a credential is deleted with its cluster, or stays.

    A Secret that was not created by the operator is left alone. So is one that an earlier cluster
    left, as long as this one has no log stores: deleted before, it takes nothing along that opens
    data which it never used.
    """
    uid = resource["metadata"].get("uid")
    if live is None or not is_ours(live) or not uid:
        return []
    metadata, stays = live["metadata"], retains_data(resource)
    if bool(metadata.get("ownerReferences")) != stays or not (stays or _has_had_stores(observed)):
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
    desired = {**place, "annotations": mark, "ownerReferences": [] if stays else [owner]}
    return [{"apiVersion": "v1", "kind": "Secret", "metadata": desired}]
