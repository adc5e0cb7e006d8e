# SPDX-License-Identifier: Apache-2.0
"""What becomes of a Backup of which nothing is known: it is looked for in its store.

A BackupJob has proven what it records. A Backup that is applied again, by a person, from a
repository or by a tool, comes without a status, and one whose meta changed has that of another
backup. A Job then reads its record and its lists, and compares the sizes of all files, without
reading them. Until it has, the Backup is neither good nor bad.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ..api import names
from ..api.errors import RenderingError
from ..api.fields import Fields
from ..api.timestamps import unix_time
from ..api.types import Resource
from ..location import locations
from ..reporting.reasons import BackupReason
from ..workload.component import Reference
from ..workload.references import by_name
from .job.record import backup_name
from .links import AVAILABLE, BROKEN, is_about, looked_at
from .observed import BackupObserved
from .planning import PENDING, BackupPlan, secret_namespace
from .sources import scope_of_record
from .task import jobs
from .task.deletion import missing_secret, ongoing, started, wrong
from .task.lifecycle import left_of
from .task.objects import secret_references, task_references
from .task.plan import PassContext
from .task.state import State, TaskState, task_state_of
from .task.tasks import Task, Verb
from .verification import verdicts

_SOON, _LATER = "15s", "60s"
_RECORDED_SECONDS: Final = 600.0
"""How long after the end of its BackupJob a Backup can have been created by it."""
_DEADLINE_SECONDS: Final = 3600


def is_known(resource: Resource) -> bool:
    """Return whether the status of a Backup says how the Backup is that the object names now."""
    phase = (resource.get("status") or {}).get("phase")
    return phase in (AVAILABLE, BROKEN) and is_about(resource)


def recheck_references(resource: Resource) -> dict[str, Reference]:
    """Return what to observe of a Backup of which nothing is known, by label."""
    namespace = secret_namespace(resource)
    if not namespace:
        return {}
    job = resource["metadata"]["name"].removesuffix(backup_name("", _id_of(resource)))
    place = {"namespace": namespace, "name": job}
    base = jobs.base_name(resource["metadata"]["name"], _suffix(resource))
    return {
        "madeBy": by_name(names.API_VERSION, names.BACKUP_JOB, place),
        **secret_references(namespace, _secrets_of(resource)),
        **task_references(resource, namespace, base),
    }


def plan_recheck(resource: Resource, observed: BackupObserved, context: PassContext) -> BackupPlan:
    """Decide what a pass does about a Backup of which nothing is known.

    Args:
        resource: the Backup.
        observed: what `recheck_references` led to.
        context: time, image and level.
    """
    if _is_just_made(resource, observed.made_by):
        return BackupPlan(phase=AVAILABLE, done=True)
    plan = BackupPlan(phase=PENDING, requeue=_LATER)
    if not secret_namespace(resource):
        message = "meta.secretNamespace must be set to look for its files"
        return wrong(plan, BackupReason.INVALID_SPEC.value, message)
    task_state = task_state_of(observed.task, context.now)
    return _concluded(resource, observed, task_state, context) or _pursue(
        plan, resource, observed, task_state, context
    )


def _concluded(
    resource: Resource, observed: BackupObserved, task_state: TaskState, context: PassContext
) -> BackupPlan | None:
    """Return the plan that records what the Job has found; None while it has found nothing."""
    over = left_of(observed.task)
    manifest = task_state.result.manifest if task_state.result else None
    if task_state.state is State.SUCCEEDED and manifest and manifest.id == _id_of(resource):
        return BackupPlan(phase=AVAILABLE, done=True, verified_at=context.now, stop=over)
    if task_state.state is State.FAILED and verdicts.is_of_data(task_state.reason):
        broken = BackupPlan(phase=BROKEN, done=True, stop=over)
        return wrong(broken, task_state.reason, task_state.message)
    return None


def _pursue(
    plan: BackupPlan,
    resource: Resource,
    observed: BackupObserved,
    task_state: TaskState,
    context: PassContext,
) -> BackupPlan:
    """Create the Job, follow it, or try again later."""
    if (under_way := ongoing(plan, task_state, observed.task, context)) is not None:
        return under_way if under_way.problem else replace(under_way, requeue=_SOON)
    namespace = secret_namespace(resource)
    if (
        waiting := missing_secret(plan, _secrets_of(resource), namespace, observed.existing)
    ) is not None:
        return waiting
    try:
        return _start(replace(plan, requeue=_SOON), resource, context)
    except RenderingError as error:
        return wrong(plan, BackupReason.INVALID_SPEC.value, str(error))


def _is_just_made(resource: Resource, job: Mapping[str, Any] | None) -> bool:
    """Return whether the BackupJob that has proven a Backup has just created it."""
    metadata = resource["metadata"]
    if job is None or job["metadata"].get("uid") != _id_of(resource):
        return False
    if metadata["name"] != backup_name(job["metadata"]["name"], _id_of(resource)):
        return False
    ended = (job.get("status") or {}).get("completionTime")
    created = metadata.get("creationTimestamp")
    return not ended or unix_time(created) <= unix_time(ended) + _RECORDED_SECONDS


def _start(plan: BackupPlan, resource: Resource, context: PassContext) -> BackupPlan:
    """Return the plan that creates the Job.

    Raises:
        RenderingError: it cannot be created.
    """
    meta = Fields("", resource).table("meta")
    place = meta.table("location")
    task = Task(
        verb=Verb.VERIFY,
        id=str(resource["metadata"].get("uid") or _id_of(resource)),
        source=locations.from_fields(place, locations.SOURCE, scope_of_record(meta), in_use=True),
        expected_id=meta.required_text("id"),
        checksums=False,
        deadline_seconds=_DEADLINE_SECONDS,
    )
    work = jobs.Work(
        resource=resource,
        namespace=secret_namespace(resource),
        suffix=_suffix(resource),
        task=task,
        source=place,
    )
    given = Fields("spec", {"serviceAccountName": meta.text("serviceAccountName") or None})
    settings = jobs.Settings.of(given, context.image)
    settings = replace(settings, deadline_seconds=_DEADLINE_SECONDS)
    plan = started(plan, jobs.task_objects(work, settings), context)
    return plan if plan.problem else replace(plan, message="its files are being looked for")


def _suffix(resource: Resource) -> str:
    """Return the suffix of the Job's name: what is elsewhere is looked for by another Job."""
    return f"check-{looked_at(resource)}"


def _secrets_of(resource: Resource) -> dict[str, str]:
    return jobs.secrets_of(Fields("", resource).table("meta").table("location"), "source")


def _id_of(resource: Resource) -> str:
    return Fields("", resource).table("meta").text("id")
