# SPDX-License-Identifier: Apache-2.0
"""What one pass over a MatrixoneCluster is going to do (seeds.md A3 to A8, A13.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from ..api import quantities as quantity
from ..api.errors import QuantityError, RenderingError
from ..api.types import Manifest, Resource
from ..reporting.reasons import EarlyReason
from ..workload.plans import Kind, Observed, Plan, Prune, is_paused
from .rendering import (
    ANNOTATION_HASH,
    CLAIMS,
    LABEL_OWNER,
    LAUNCH,
    ORDERED,
    EarlyContext,
    render_early,
)

FIRST_OPERATOR: Final = ("manager", "main", "matrixone-operator")
"""Names under which the first operator wrote fields; those fields are taken over from it."""

NO_REFUSAL: Final[Mapping[str, str]] = {"reason": "", "message": ""}
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
_HOPELESS: Final = frozenset({"CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff"})
_RESTARTS: Final = 1
_LEAST_AGE: Final = 15.0  # seconds that a Pod gets before it counts as broken


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
        gate: which roll-out tidying up waits for; empty if it does not wait.
        gate_revision: the revision that is being rolled out, if the gate is shut.
    """

    refusal: Mapping[str, str] = field(default_factory=lambda: dict(NO_REFUSAL))
    runtime: str = ""
    recreate: Sequence[str] = ()
    remove: Sequence[Mapping[str, Any]] = ()
    adopt: Sequence[str] = ()
    gate: str = ""
    gate_revision: str = ""


def plan_early(resource: Resource, observed: Observed, now: datetime) -> EarlyPlan:
    """Decide what a pass does.

    Args:
        resource: the MatrixoneCluster.
        observed: what its references led to, and as ``growth`` the result of growing the claims.
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
        refusal = _refused(EarlyReason.INVALID_SPEC, str(error))
        return replace(plan, invalid=str(error), refusal=refusal)
    if _too_many(context):
        return replace(plan, refusal=_refused(EarlyReason.UNSUPPORTED_REPLICAS, _TOO_MANY))
    live = observed.get("workload")
    objects = [_with_live_sizes(one, live, context, observed) for one in objects]
    resized = live is not None and _sizes(live) != _sizes(objects[-1])
    plan = replace(
        plan,
        refusal=_storage_refusal(context, observed),
        objects=objects,
        adopt=FIRST_OPERATOR,
        recreate=[plan.workload] if resized else [],
    )
    plan = _let_roll(plan, context, observed, now)
    if plan.gate:
        return plan
    return replace(plan, prune=_leftovers(context, resource["metadata"].get("uid") or ""))


def growth(resource: Resource, observed: Observed) -> list[Manifest]:
    """Return the claims that are smaller than wanted, as patches that make them grow."""
    try:
        context = EarlyContext.of(resource)
        if is_paused(resource) or _too_many(context):
            return []
        wanted = _wanted_sizes(context)
    except RenderingError:
        return []
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {key: claim["metadata"][key] for key in ("name", "namespace")},
            "spec": {"resources": {"requests": {"storage": context.spec.raw(CLAIMS[name])}}},
        }
        for name, claim in own_claims(context.owner, observed.get("claims") or [])
        if _requested(claim) < wanted[name]
    ]


def own_claims(
    owner: str, claims: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the claims that a StatefulSet made, each with the name of its template.

    A label is not enough to belong: users may put it on claims of their own.
    """
    pattern = re.compile(rf"({'|'.join(CLAIMS)})-{re.escape(owner)}-\d+")
    for claim in claims:
        match = pattern.fullmatch(claim["metadata"]["name"])
        labels = claim["metadata"].get("labels") or {}
        if match is not None and labels.get(LABEL_OWNER) == owner:
            yield match[1], claim


def crashing(pod: Mapping[str, Any]) -> bool:
    """Tell whether a Pod that is not ready keeps failing; one without containers yet does not."""
    status = pod.get("status") or {}
    conditions = {one.get("type"): one.get("status") for one in status.get("conditions") or []}
    if conditions.get("ContainersReady") != "False" and status.get("phase") == "Running":
        return False
    containers = [
        *(status.get("initContainerStatuses") or []),
        *(status.get("containerStatuses") or []),
    ]
    return any(_keeps_failing(container) for container in containers)


_TOO_MANY: Final = (
    "spec.replicas: must be 0 or 1, for every Pod would be a database of its own behind the same "
    "Service; use MatrixOneCluster of core.matrixorigin.io for more than one Pod"
)


def _refused(reason: EarlyReason, message: str) -> Mapping[str, str]:
    return {"reason": reason.value, "message": message}


def _too_many(context: EarlyContext) -> bool:
    return context.runtime == LAUNCH and context.replicas > 1


def _wanted_sizes(context: EarlyContext) -> dict[str, int]:
    """Return the wanted bytes of each claim template."""
    return {name: quantity.to_bytes(context.spec.raw(field)) for name, field in CLAIMS.items()}


def _requested(claim: Mapping[str, Any]) -> int:
    """Return the bytes that a claim, or its template, asks for; 0 when they cannot be read."""
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    try:
        return quantity.to_bytes(requests.get("storage"))
    except QuantityError:
        return 0


def _sizes(workload: Mapping[str, Any]) -> dict[str, int]:
    """Return the bytes of each claim template of a StatefulSet."""
    templates = (workload.get("spec") or {}).get("volumeClaimTemplates") or []
    return {one["metadata"]["name"]: _requested(one) for one in templates}


def _storage_refusal(context: EarlyContext, observed: Observed) -> Mapping[str, str]:
    """Say why the claims are not of the wanted size: shrinking, or growth that was refused."""
    wanted = _wanted_sizes(context)
    for name, claim in own_claims(context.owner, observed.get("claims") or []):
        if _requested(claim) > wanted[name]:
            field = CLAIMS[name]
            message = (
                f"spec.{field}: {context.spec.raw(field)} is less than what the claim "
                f"{claim['metadata']['name']} has, and claims cannot shrink; raise it again"
            )
            return _refused(EarlyReason.VOLUME_SHRINK_REFUSED, message)
    failure = str((observed.get("growth") or {}).get("msg") or "")
    if failure:
        return _refused(EarlyReason.VOLUME_NOT_EXPANDABLE, failure)
    return NO_REFUSAL


def _with_live_sizes(
    manifest: Manifest, live: Mapping[str, Any] | None, context: EarlyContext, observed: Observed
) -> Manifest:
    """Keep the sizes in the claim templates as they are where the claims could not follow."""
    if manifest["kind"] != "StatefulSet" or live is None:
        return manifest
    kept = _unreachable(context, observed)
    known = {one["metadata"]["name"]: one for one in live["spec"].get("volumeClaimTemplates") or []}
    templates = [
        {**one, "spec": {**one["spec"], "resources": known[name]["spec"]["resources"]}}
        if (name := one["metadata"]["name"]) in kept and name in known
        else one
        for one in manifest["spec"]["volumeClaimTemplates"]
    ]
    return {**manifest, "spec": {**manifest["spec"], "volumeClaimTemplates": templates}}


def _unreachable(context: EarlyContext, observed: Observed) -> set[str]:
    """Return the claim templates whose claims cannot have the wanted size."""
    wanted = _wanted_sizes(context)
    failed = bool((observed.get("growth") or {}).get("msg"))
    return {
        name
        for name, claim in own_claims(context.owner, observed.get("claims") or [])
        if _requested(claim) > wanted[name] or (failed and _requested(claim) < wanted[name])
    }


def _let_roll(
    plan: EarlyPlan, context: EarlyContext, observed: Observed, now: datetime
) -> EarlyPlan:
    """Decide what a roll-out under way permits: help for broken Pods, and tidying up."""
    live = observed.get("workload")
    if not context.spec.flag("rollingDeploy"):
        return plan
    updated = live is None or _hash_of(live) != _hash_of(plan.objects[-1])
    return replace(
        plan,
        gate="the StatefulSet has only just been changed" if updated else _shut(live or {}),
        gate_revision=str(((live or {}).get("status") or {}).get("updateRevision") or ""),
        remove=[] if updated else _doomed(context, observed, live or {}, now),
    )


def _hash_of(manifest: Mapping[str, Any]) -> str:
    return str((manifest["metadata"].get("annotations") or {}).get(ANNOTATION_HASH) or "")


def _shut(live: Mapping[str, Any]) -> str:
    """Say what a roll-out lacks; empty when it is complete (seeds.md A5)."""
    status = live.get("status") or {}
    if (status.get("observedGeneration") or 0) < (live["metadata"].get("generation") or 0):
        return "the StatefulSet's controller has not seen the change yet"
    current, update = status.get("currentRevision"), status.get("updateRevision")
    if current != update:
        return f"roll-out from revision {current} to {update}"
    has, ready = int(status.get("currentReplicas") or 0), int(status.get("readyReplicas") or 0)
    return "" if has == ready else f"{ready} of {has} Pods of revision {update} are ready"


def _doomed(
    context: EarlyContext, observed: Observed, live: Mapping[str, Any], now: datetime
) -> list[dict[str, Any]]:
    """Return the one Pod of an old revision that keeps crashing and so stops a roll-out (A6).

    The StatefulSet's controller would wait for it for ever. With Parallel it does not wait.
    """
    spec = context.spec
    if not spec.flag("forceDeleteStsPodOnError") or spec.text("podManagementPolicy") != ORDERED:
        return []
    revision = (live.get("status") or {}).get("updateRevision")
    broken = [
        pod
        for pod in observed.get("pods") or []
        if not pod["metadata"].get("deletionTimestamp")
        and (pod["metadata"].get("labels") or {}).get("controller-revision-hash") != revision
        and _age(pod, now) >= _LEAST_AGE
        and crashing(pod)
    ]
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {key: pod["metadata"][key] for key in ("name", "namespace", "uid")},
        }
        for pod in sorted(broken, key=lambda pod: str(pod["metadata"]["name"]))[:1]
    ]


def _keeps_failing(container: Mapping[str, Any]) -> bool:
    waiting = (container.get("state") or {}).get("waiting") or {}
    if waiting.get("reason") in _HOPELESS:
        return True
    return not container.get("ready") and int(container.get("restartCount") or 0) > _RESTARTS


def _age(pod: Mapping[str, Any], now: datetime) -> float:
    """Return the seconds since a Pod was created."""
    created = str(pod["metadata"]["creationTimestamp"]).replace("Z", "+00:00")
    return (now - datetime.fromisoformat(created)).total_seconds()


def _leftovers(context: EarlyContext, uid: str) -> Prune:
    """Select objects of ours that are not wanted any longer.

    Only what the resource owns; where it is not in the cluster and owns nothing, only ConfigMaps.
    """
    return Prune(
        kinds=_OWNED if uid else _CONFIG_MAPS,
        namespace=context.namespace,
        labels=context.labels,
        owner_uid=uid,
        unless_used_by=_USERS,
    )
