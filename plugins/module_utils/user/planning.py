# SPDX-License-Identifier: Apache-2.0
"""What one pass over a DatabaseUser is going to do: ask the database, or wait.

Of users of one name in one cluster, the oldest resource counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..api.errors import InvalidSpec, RenderingError
from ..api.types import Resource
from ..cluster.entrances import entrance
from ..cluster.rendering import render_matrixonecluster
from ..reporting.conditions import find, holds
from ..reporting.reasons import ConditionType, UserReason
from ..workload.plans import Plan, is_paused
from .observed import UserObserved
from .spec import UserSpec, user_of

_LATER: Final = "30s"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPlan(Plan):
    """A plan for a DatabaseUser.

    Attributes:
        reason: a `UserReason`, why the database is not asked; empty if it is.
        entrance: Service behind which SQL is answered; empty if nothing is asked.
        requeue: when to check again; empty for not before something changes.
        done: of one that is deleted, whether it may go without the database being asked.
    """

    reason: str = ""
    entrance: str = ""
    requeue: str = ""
    done: bool = False


def plan_user(resource: Resource, observed: UserObserved) -> UserPlan:
    """Decide what a pass does.

    Args:
        resource: the DatabaseUser.
        observed: what its references led to.
    """
    if resource["metadata"].get("deletionTimestamp"):
        return _deletion(resource, observed)
    if is_paused(resource):
        return UserPlan(paused=True)
    try:
        spec = UserSpec.of(resource)
    except InvalidSpec as error:
        return UserPlan(invalid=str(error), reason=UserReason.INVALID_SPEC.value)
    older = _older(resource, spec, observed.others)
    if older:
        taken = (
            f"DatabaseUser {older} is older, and of the same user {spec.user}: choose another "
            "spec.name, or delete one of them"
        )
        return UserPlan(reason=UserReason.NAME_TAKEN.value, waiting_for=taken, requeue=_LATER)
    return _asking(spec, observed)


def _asking(spec: UserSpec, observed: UserObserved) -> UserPlan:
    """Return the plan that asks the database, or says why it cannot be asked yet."""
    cluster = observed.cluster
    waiting = UserReason.DEPENDENCY_NOT_READY.value
    if cluster is None:
        return UserPlan(
            reason=waiting, waiting_for=f"MatrixOneCluster {spec.cluster} does not exist"
        )
    if cluster["metadata"].get("deletionTimestamp"):
        gone = f"MatrixOneCluster {spec.cluster} is being deleted"
        return UserPlan(reason=waiting, waiting_for=gone)
    if not holds(cluster, ConditionType.READY):
        found = find(cluster, ConditionType.READY)
        why = found.get("message") or found.get("reason") or "it has no status yet"
        return UserPlan(
            reason=waiting, waiting_for=f"MatrixOneCluster {spec.cluster} is not ready: {why}"
        )
    try:
        service = entrance(render_matrixonecluster(cluster))
    except RenderingError as error:
        return UserPlan(reason=waiting, waiting_for=f"MatrixOneCluster {spec.cluster}: {error}")
    return UserPlan(entrance=service)


def _deletion(resource: Resource, observed: UserObserved) -> UserPlan:
    """Decide about the user of a resource that is deleted.

    It is dropped only if that is asked for, and no other resource is of the same user. A cluster
    that is gone, or goes, takes its users along.
    """
    try:
        spec = UserSpec.of(resource)
    except InvalidSpec:
        return UserPlan(done=True)
    cluster = observed.cluster
    is_gone = cluster is None or bool(cluster["metadata"].get("deletionTimestamp"))
    if not spec.deletes or is_gone or _rivals(resource, spec, observed.others):
        return UserPlan(done=True)
    return _asking(spec, observed)


def _older(resource: Resource, spec: UserSpec, others: Sequence[Resource]) -> str:
    """Return the name of the oldest other resource of the same user, if it is older."""
    rivals = _rivals(resource, spec, others)
    first = min(rivals, key=_age, default=None)
    if first is None or _age(resource) < _age(first):
        return ""
    return str(first["metadata"]["name"])


def _rivals(resource: Resource, spec: UserSpec, others: Sequence[Resource]) -> list[Resource]:
    """Return the other resources of the same user that are not being deleted."""
    return [
        other
        for other in others
        if other["metadata"].get("uid") != resource["metadata"].get("uid")
        and not other["metadata"].get("deletionTimestamp")
        and _names(other) == (spec.cluster, spec.user)
    ]


def _names(resource: Resource) -> tuple[str, str]:
    try:
        return str(resource["spec"]["clusterRef"]["name"]), user_of(resource)
    except (InvalidSpec, KeyError, TypeError):
        return "", ""


def _age(resource: Resource) -> tuple[str, bool, str]:
    """Return what resources are ordered by; of one second, one that has its user comes first."""
    metadata, status = resource["metadata"], resource.get("status") or {}
    created = str(metadata.get("creationTimestamp") or "")
    return created, not status.get("lastChecked"), str(metadata.get("uid") or "")
