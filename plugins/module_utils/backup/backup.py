# SPDX-License-Identifier: Apache-2.0
"""What one pass over a Backup is going to do: nothing, until it is deleted with its data.

The deletion of data has an end: they are kept when they could not be deleted in time, or when an
annotation asks for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from ..api.errors import RenderingError
from ..api.fields import Fields
from ..api.timestamps import unix_time
from ..api.types import Resource
from ..reporting.reasons import BackupReason
from ..workload.plans import Observed, Plan, is_paused
from . import jobs, locations
from .job_plan import Surroundings
from .standing import Standing, State, standing
from .starting import beyond
from .tasks import Task, Verb

SUFFIX: Final = "delete"
AVAILABLE, BROKEN, DELETING = "Available", "Broken", "Deleting"
"""Phases."""
ANNOTATION_RELEASE: Final = "matrixorigin.io/release"
"""``true`` on a Backup that is deleted: its data are kept, whatever its deletionPolicy."""
GIVE_UP_SECONDS: Final = 24 * 3600
_AGAIN_SECONDS: Final = 600
"""How long after a failure the data are tried to be deleted again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupPlan(Plan):
    """A plan for a Backup.

    Attributes:
        phase: Available, Broken or Deleting.
        problem: ``reason`` and ``message`` of what is wrong; empty if nothing is.
        message: what it waits for or does.
        done: whether nothing more is to be done before it is gone.
        kept: why its data stay, where its deletionPolicy says otherwise.
        stop: objects to delete before the next attempt.
    """

    phase: str = AVAILABLE
    problem: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    done: bool = False
    kept: str = ""
    stop: Sequence[Mapping[str, Any]] = ()


PlanT = TypeVar("PlanT", bound=BackupPlan)
"""A plan that deletes data: of a Backup, or of what else has a Job for that."""


def plan_backup(resource: Resource, observed: Observed, around: Surroundings) -> BackupPlan:
    """Decide what a pass does.

    Args:
        resource: the Backup.
        observed: what its references led to.
        around: time, image and level.
    """
    if resource["metadata"].get("deletionTimestamp"):
        return _deletion(resource, observed, around)
    if is_paused(resource):
        return BackupPlan(paused=True)
    phase = (resource.get("status") or {}).get("phase")
    return BackupPlan(phase=BROKEN if phase == BROKEN else AVAILABLE, done=True)


def _deletion(resource: Resource, observed: Observed, around: Surroundings) -> BackupPlan:
    plan = BackupPlan(phase=DELETING)
    metadata = resource["metadata"]
    if resource.get("deletionPolicy") != "Delete":
        return replace(plan, done=True)
    if (metadata.get("annotations") or {}).get(ANNOTATION_RELEASE) == "true":
        return replace(plan, done=True, kept=f"the annotation {ANNOTATION_RELEASE} keeps the data")
    pods = observed.get("pods") or []
    stands = standing(observed.get("job"), pods, observed.get("result"), around.now)
    if stands.state is State.SUCCEEDED:
        return replace(plan, done=True)
    plan = _deleting(plan, resource, observed, stands, around)
    if unix_time(around.now) - unix_time(metadata["deletionTimestamp"]) > GIVE_UP_SECONDS:
        hours = GIVE_UP_SECONDS // 3600
        return replace(plan, done=True, kept=f"not deleted within {hours} h: {plan.message}")
    return plan


def _deleting(
    plan: BackupPlan, resource: Resource, observed: Observed, stands: Standing, around: Surroundings
) -> BackupPlan:
    identity = (resource.get("meta") or {}).get("id")
    users = [
        one["metadata"]["name"]
        for one in observed.get("backups") or []
        if ((one.get("meta") or {}).get("base") or {}).get("id") == identity
        and not one["metadata"].get("deletionTimestamp")
    ]
    if users:
        return wrong(plan, BackupReason.IN_USE.value, f"Backup {users[0]} is based on it")
    if stands.state is State.FAILED:
        return again(wrong(plan, stands.reason, stands.message), observed, around)
    if stands.state is not State.ABSENT:
        plan = replace(plan, message=stands.message)
        return wrong(plan, stands.reason, stands.message) if stands.reason else plan
    for label, name in secrets_of(resource).items():
        if observed.get(label) is None:
            message = f"Secret {secret_namespace(resource)}/{name} does not exist"
            return wrong(plan, BackupReason.SECRET_MISSING.value, message)
    try:
        return _start(plan, resource, around)
    except RenderingError as error:
        return wrong(plan, BackupReason.INVALID_SPEC.value, str(error))


def wrong(plan: PlanT, reason: str, message: str) -> PlanT:
    """Return a plan with a problem."""
    return replace(plan, problem={"reason": reason, "message": message}, message=message)


def again(plan: PlanT, observed: Observed, around: Surroundings) -> PlanT:
    """Remove a failed attempt when it is time for the next one."""
    found = [("batch/v1", "Job", "job"), ("v1", "ConfigMap", "result")]
    left = [(*kind, observed[kind[2]]) for kind in found if observed.get(kind[2])]
    created = max((one[3]["metadata"].get("creationTimestamp") or "" for one in left), default="")
    if unix_time(around.now) - unix_time(created) < _AGAIN_SECONDS:
        return plan
    keys = ("name", "namespace")
    return replace(
        plan,
        stop=[
            {
                "apiVersion": version,
                "kind": kind,
                "metadata": {key: one["metadata"][key] for key in keys},
            }
            for version, kind, _label, one in left
        ],
    )


def secret_namespace(resource: Resource) -> str:
    """Return the namespace in which the data are deleted; empty where that is not known."""
    return Fields("", resource).table("meta").text("secretNamespace")


def secrets_of(resource: Resource) -> dict[str, str]:
    """Return the Secrets that the location names, by the label of their reference."""
    s3 = Fields("", resource).table("meta").table("location").table("s3")
    named = {
        "targetSecret": s3.table("secretRef").text("name"),
        "targetCertificates": s3.table("certificateRef").text("name"),
    }
    return {label: name for label, name in named.items() if name}


def _start(plan: BackupPlan, resource: Resource, around: Surroundings) -> BackupPlan:
    meta = Fields("", resource).table("meta")
    namespace = meta.required_text("secretNamespace", "must be set to delete the data")
    place = meta.table("location")
    task = Task(
        verb=Verb.DELETE,
        id=str(resource["metadata"].get("uid") or meta.required_text("id")),
        target=locations.from_fields(place, locations.TARGET),
        expected_id=meta.required_text("id"),
    )
    given = Fields("spec", {"serviceAccountName": meta.text("serviceAccountName") or None})
    work = jobs.Work(resource=resource, namespace=namespace, suffix=SUFFIX, task=task, target=place)
    objects = jobs.task_objects(work, jobs.Settings.of(given, around.image))
    refused = "; ".join(map(str, beyond(objects, around.level)))
    if refused:
        return wrong(plan, BackupReason.INVALID_SPEC.value, refused)
    return replace(
        plan,
        objects=objects,
        create_only=jobs.created_once(objects),
        message="deleting the data",
    )
