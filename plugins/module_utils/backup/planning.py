# SPDX-License-Identifier: Apache-2.0
"""What one pass over a Backup is going to do: nothing, until it is deleted with its data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ..api.errors import RenderingError
from ..api.fields import Fields
from ..api.types import Resource
from ..location import locations
from ..reporting.reasons import BackupReason
from ..workload.plans import is_paused
from . import users
from .links import AVAILABLE, BROKEN
from .observed import BackupObserved
from .task import jobs
from .task.deletion import (
    DeletionPlan,
    halted,
    in_time,
    missing_secret,
    ongoing,
    released,
    started,
    wrong,
)
from .task.plan import PassContext
from .task.starting import owner_of
from .task.state import State, TaskState, task_state_of
from .task.tasks import Reason, Task, Verb

SUFFIX: Final = "delete"
_NEEDED: Final = frozenset({BackupReason.IN_USE.value, Reason.CHAIN_BROKEN.value})
"""Reasons that say that something needs the data; no time limit ends that."""
DELETING: Final = "Deleting"
"""The phase of a Backup whose data are being deleted."""
PENDING: Final = "Pending"
"""The phase of a Backup of which nothing is known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupPlan(DeletionPlan):
    """A plan for a Backup, whose phase is Available, Broken, Pending or Deleting.

    Attributes:
        verified_at: when its files were looked at in this pass, RFC 3339; empty if they were not.
        requeue: when to look again; empty for not at all.
    """

    phase: str = AVAILABLE
    verified_at: str = ""
    requeue: str = ""


def plan_backup(resource: Resource, observed: BackupObserved, context: PassContext) -> BackupPlan:
    """Decide what a pass does.

    Args:
        resource: the Backup.
        observed: what its references led to.
        context: time, image and level.
    """
    if resource["metadata"].get("deletionTimestamp"):
        return _deletion(resource, observed, context)
    if is_paused(resource):
        shown = str((resource.get("status") or {}).get("phase") or PENDING)
        return BackupPlan(paused=True, phase=shown)
    phase = (resource.get("status") or {}).get("phase")
    return BackupPlan(phase=BROKEN if phase == BROKEN else AVAILABLE, done=True)


def _deletion(resource: Resource, observed: BackupObserved, context: PassContext) -> BackupPlan:
    plan = BackupPlan(phase=DELETING)
    if resource.get("deletionPolicy") != "Delete":
        return replace(plan, done=True)
    if kept := released(resource):
        return halted(replace(plan, done=True, kept=kept), observed.task)
    task_state = task_state_of(observed.task, context.now)
    if task_state.state is State.SUCCEEDED:
        return replace(plan, done=True, kept=task_state.result.message if task_state.result else "")
    if task_state.state is State.ABSENT and (user := _user(resource, observed)):
        # Whatever time it takes: the data, and the object by which they are found, are needed.
        return wrong(plan, BackupReason.IN_USE.value, user)
    plan = _deleting(plan, resource, observed, task_state, context)
    if plan.problem.get("reason") not in _NEEDED:
        plan = in_time(plan, resource, observed.task, context)
    return halted(plan, observed.task)


def _deleting(
    plan: BackupPlan,
    resource: Resource,
    observed: BackupObserved,
    task_state: TaskState,
    context: PassContext,
) -> BackupPlan:
    if (under_way := ongoing(plan, task_state, observed.task, context)) is not None:
        return under_way
    namespace = secret_namespace(resource)
    if (
        waiting := missing_secret(plan, secrets_of(resource), namespace, observed.existing)
    ) is not None:
        return waiting
    try:
        return _start(plan, resource, context)
    except RenderingError as error:
        return wrong(plan, BackupReason.INVALID_SPEC.value, str(error))


def _user(resource: Resource, observed: BackupObserved) -> str:
    """Return what needs the data; empty if nothing does."""
    if observed.everything is None:
        return "the operator may not list what could be using it"
    return next(users.users_of(resource, observed.everything), "")


def secret_namespace(resource: Resource) -> str:
    """Return the namespace in which the data are deleted; empty where that is not known."""
    return Fields("", resource).table("meta").text("secretNamespace")


def secrets_of(resource: Resource) -> dict[str, str]:
    """Return the Secrets that the location names, by the label of their reference."""
    place = Fields("", resource).table("meta").table("location")
    return jobs.secrets_of(place, "target")


def _start(plan: BackupPlan, resource: Resource, context: PassContext) -> BackupPlan:
    meta = Fields("", resource).table("meta")
    namespace = meta.required_text("secretNamespace", "must be set to delete the data")
    place = meta.table("location")
    files = place.table("fileSystem")
    if files.data and not files.table("volume").data:
        # A Job without the volume would find nothing, and call that deleted.
        raise files.refuse(
            "volume",
            f"must be set, with mountPath, to delete {files.text('path')}: the job that made the "
            "backup did not say which volume it is in",
        )
    task = Task(
        verb=Verb.DELETE,
        id=str(resource["metadata"].get("uid") or meta.required_text("id")),
        target=locations.from_fields(place, locations.TARGET, in_use=True),
        owner=owner_of(resource),
        expected_id=meta.required_text("id"),
    )
    given = Fields("spec", {"serviceAccountName": meta.text("serviceAccountName") or None})
    work = jobs.Work(resource=resource, namespace=namespace, suffix=SUFFIX, task=task, target=place)
    settings = jobs.Settings.of(given, context.image)
    return started(plan, jobs.task_objects(work, settings), context)
