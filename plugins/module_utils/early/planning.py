# SPDX-License-Identifier: Apache-2.0
"""What one pass over a MatrixoneCluster is going to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from ..api.errors import RenderingError
from ..api.types import Resource
from ..reporting.reasons import EarlyReason
from ..workload.plans import Kind, Plan, Prune, is_paused
from .observed import EarlyObserved
from .pods import doomed
from .refusals import NO_REFUSAL, TOO_MANY, refused, too_many
from .rendering import (
    ANNOTATION_HASH,
    EarlyContext,
    render_early,
)
from .storage import sizes, storage_refusal, with_live_sizes

FIRST_OPERATOR: Final = ("manager", "main", "matrixone-operator")
"""Names under which the first operator wrote fields; those fields are taken over from it."""

_CONFIG_MAPS: Final[list[Kind]] = [{"api_version": "v1", "kind": "ConfigMap"}]
_OWNED: Final[list[Kind]] = [
    {"api_version": "apps/v1", "kind": "StatefulSet"},
    {"api_version": "v1", "kind": "Service"},
    {"api_version": "networking.k8s.io/v1", "kind": "NetworkPolicy"},
    *_CONFIG_MAPS,
]
_USERS: Final[list[Kind]] = [
    {"api_version": "v1", "kind": "Pod"},
    {"api_version": "apps/v1", "kind": "ControllerRevision"},
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyPlan(Plan):
    """A plan for a MatrixoneCluster.

    Attributes:
        refusal: reason and message of what is not served; both empty if all is.
        runtime: how the database is started; empty if that is not known.
        recreate: ``Kind/name`` of objects to replace without their Pods, for a field of theirs
            that cannot be changed has changed.
        remove: identities of Pods to delete, for they hold up a roll-out.
        adopt: managers whose fields are taken over.
        gate: which roll-out cleanup waits for; empty if it does not wait.
        gate_revision: the revision that is being rolled out, if the gate is shut.
    """

    refusal: Mapping[str, str] = field(default_factory=lambda: dict(NO_REFUSAL))
    runtime: str = ""
    recreate: Sequence[str] = ()
    remove: Sequence[Mapping[str, Any]] = ()
    adopt: Sequence[str] = ()
    gate: str = ""
    gate_revision: str = ""


def plan_early(resource: Resource, observed: EarlyObserved, now: datetime) -> EarlyPlan:
    """Decide what a pass does.

    Args:
        resource: the MatrixoneCluster.
        observed: what its references led to, and what the step that grows claims did.
        now: the present.
    """
    plan = EarlyPlan(workload=f"StatefulSet/{resource['metadata']['name']}")
    if is_paused(resource):
        return replace(plan, paused=True)
    try:
        context = EarlyContext.of(resource)
        plan = replace(plan, runtime=context.runtime)
        objects = render_early(resource)
    except RenderingError as error:
        refusal = refused(EarlyReason.INVALID_SPEC, str(error))
        return replace(plan, invalid=str(error), refusal=refusal)
    if too_many(context):
        return replace(plan, refusal=refused(EarlyReason.UNSUPPORTED_REPLICAS, TOO_MANY))
    live = observed.workload
    objects = [with_live_sizes(manifest, live, context, observed) for manifest in objects]
    resized = live is not None and sizes(live) != sizes(objects[-1])
    plan = replace(
        plan,
        refusal=storage_refusal(context, observed),
        objects=objects,
        adopt=FIRST_OPERATOR,
        recreate=[plan.workload] if resized else [],
    )
    plan = _let_roll(plan, context, observed, now)
    if plan.gate:
        return plan
    return replace(plan, prune=_leftovers(context, resource["metadata"].get("uid") or ""))


def _let_roll(
    plan: EarlyPlan, context: EarlyContext, observed: EarlyObserved, now: datetime
) -> EarlyPlan:
    """Decide what a roll-out under way permits: help for broken Pods, and tidying up."""
    live = observed.workload
    if not context.spec.flag("rollingDeploy"):
        return plan
    updated = live is None or _hash_of(live) != _hash_of(plan.objects[-1])
    return replace(
        plan,
        gate="the StatefulSet has just been changed" if updated else _shut(live or {}),
        gate_revision=str(((live or {}).get("status") or {}).get("updateRevision") or ""),
        remove=[] if updated else doomed(context, observed, live or {}, now),
    )


def _hash_of(manifest: Mapping[str, Any]) -> str:
    return str((manifest["metadata"].get("annotations") or {}).get(ANNOTATION_HASH) or "")


def _shut(live: Mapping[str, Any]) -> str:
    """Return what a roll-out lacks; empty when it is complete."""
    status = live.get("status") or {}
    if (status.get("observedGeneration") or 0) < (live["metadata"].get("generation") or 0):
        return "the StatefulSet's controller has not seen the change yet"
    current, update = status.get("currentRevision"), status.get("updateRevision")
    if current != update:
        return f"roll-out from revision {current} to {update}"
    has, ready = int(status.get("currentReplicas") or 0), int(status.get("readyReplicas") or 0)
    return "" if has == ready else f"{ready} of {has} Pods of revision {update} are ready"


def _leftovers(context: EarlyContext, uid: str) -> Prune:
    """Select objects of ours that are no longer needed.

    Only what the resource owns; where it is not in the cluster and owns nothing, only ConfigMaps.
    """
    return Prune(
        kinds=_OWNED if uid else _CONFIG_MAPS,
        namespace=context.namespace,
        labels=context.labels,
        owner_uid=uid,
        unowned=not uid,
        unless_used_by=_USERS,
    )
