# SPDX-License-Identifier: Apache-2.0
"""What one pass is going to do about a user or a database: ask for it there, or wait.

Of resources of one kind that stand for the same in one cluster, the oldest counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ..api.errors import InvalidSpec, RenderingError
from ..api.types import Resource
from ..cluster.entrances import entrance
from ..cluster.rendering import render_matrixonecluster
from ..reporting.conditions import find, holds
from ..reporting.reasons import ConditionType, ObjectReason
from ..workload.plans import Plan, is_paused
from .observed import ObjectObserved

_LATER: Final = "30s"


class ObjectSpec(Protocol):
    """What a spec tells of what its resource stands for."""

    @property
    def cluster(self) -> str:
        """Name of the MatrixOneCluster."""

    @property
    def deletes(self) -> bool:
        """Whether it is dropped with the resource."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What resources of a kind stand for.

    Attributes:
        kind: of the resources.
        noun: what they stand for, in messages.
        read: returns the spec of one; raises InvalidSpec.
        name_of: returns what it stands for, by its name in the database; raises InvalidSpec.
        known: the field of the status that is set once it has been found or created there.
    """

    kind: str
    noun: str
    read: Callable[[Resource], ObjectSpec]
    name_of: Callable[[Resource], str]
    known: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPlan(Plan):
    """A plan for such a resource.

    Attributes:
        reason: a `ObjectReason`, why the database is not asked; empty if it is.
        entrance: Service behind which SQL is answered; empty if nothing is asked.
        requeue: when to check again; empty for not before something changes.
        done: of one that is deleted, whether it may go without the database being asked.
    """

    reason: str = ""
    entrance: str = ""
    requeue: str = ""
    done: bool = False


def plan_object(subject: Subject, resource: Resource, observed: ObjectObserved) -> ObjectPlan:
    """Decide what a pass does.

    Args:
        subject: what the resource stands for.
        resource: the resource.
        observed: what its references led to.
    """
    if resource["metadata"].get("deletionTimestamp"):
        return _deletion(subject, resource, observed)
    if is_paused(resource):
        return ObjectPlan(paused=True)
    try:
        spec = subject.read(resource)
    except InvalidSpec as error:
        return ObjectPlan(invalid=str(error), reason=ObjectReason.INVALID_SPEC.value)
    older = _older(subject, resource, spec, observed.others)
    if older:
        name = subject.name_of(resource)
        taken = (
            f"{subject.kind} {older} is older, and of the same {subject.noun} {name}: choose "
            "another spec.name, or delete one of them"
        )
        reason = ObjectReason.NAME_TAKEN.value
        return ObjectPlan(reason=reason, waiting_for=taken, requeue=_LATER)
    return _asking(spec, observed)


def _asking(spec: ObjectSpec, observed: ObjectObserved) -> ObjectPlan:
    """Return the plan that asks the database, or says why it cannot be asked yet."""
    cluster = observed.cluster
    title = f"MatrixOneCluster {spec.cluster}"
    if cluster is None:
        return _waiting(f"{title} does not exist")
    if cluster["metadata"].get("deletionTimestamp"):
        return _waiting(f"{title} is being deleted")
    if not holds(cluster, ConditionType.READY):
        found = find(cluster, ConditionType.READY)
        why = found.get("message") or found.get("reason") or "it has no status yet"
        return _waiting(f"{title} is not ready: {why}")
    try:
        service = entrance(render_matrixonecluster(cluster))
    except RenderingError as error:
        return _waiting(f"{title}: {error}")
    return ObjectPlan(entrance=service)


def _waiting(why: str) -> ObjectPlan:
    return ObjectPlan(reason=ObjectReason.DEPENDENCY_NOT_READY.value, waiting_for=why)


def _deletion(subject: Subject, resource: Resource, observed: ObjectObserved) -> ObjectPlan:
    """Decide what becomes of what a resource that is deleted stands for.

    It is dropped only if that is asked for, and no other resource stands for the same. A cluster
    that is gone, or goes, takes its users and databases along.
    """
    try:
        spec = subject.read(resource)
    except InvalidSpec:
        return ObjectPlan(done=True)
    cluster = observed.cluster
    is_gone = cluster is None or bool(cluster["metadata"].get("deletionTimestamp"))
    if not spec.deletes or is_gone or _rivals(subject, resource, spec, observed.others):
        return ObjectPlan(done=True)
    return _asking(spec, observed)


def _older(
    subject: Subject, resource: Resource, spec: ObjectSpec, others: Sequence[Resource]
) -> str:
    """Return the name of the oldest other resource that stands for the same, if it is older."""
    rivals = _rivals(subject, resource, spec, others)
    first = min(rivals, key=lambda rival: _age(subject, rival), default=None)
    if first is None or _age(subject, resource) < _age(subject, first):
        return ""
    return str(first["metadata"]["name"])


def _rivals(
    subject: Subject, resource: Resource, spec: ObjectSpec, others: Sequence[Resource]
) -> list[Resource]:
    """Return the other resources that stand for the same and are not being deleted."""
    return [
        other
        for other in others
        if other["metadata"].get("uid") != resource["metadata"].get("uid")
        and not other["metadata"].get("deletionTimestamp")
        and _names(subject, other) == (spec.cluster, subject.name_of(resource))
    ]


def _names(subject: Subject, resource: Resource) -> tuple[str, str]:
    try:
        return str(resource["spec"]["clusterRef"]["name"]), subject.name_of(resource)
    except (InvalidSpec, KeyError, TypeError):
        return "", ""


def _age(subject: Subject, resource: Resource) -> tuple[str, bool, str]:
    """Return what resources are ordered by; of one second, one that has its own comes first."""
    metadata, status = resource["metadata"], resource.get("status") or {}
    created = str(metadata.get("creationTimestamp") or "")
    return created, not status.get(subject.known), str(metadata.get("uid") or "")
