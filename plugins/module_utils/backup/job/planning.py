# SPDX-License-Identifier: Apache-2.0
"""What one pass over a BackupJob is going to do.

Nothing is remembered but the status and the objects: the task's ConfigMap is written once and says
what was decided, the result's ConfigMap what came of it, the Backup that it was recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...api import names
from ...api.fields import Fields
from ...api.types import Manifest, Resource
from ...reporting.reasons import BackupReason
from ...workload.plans import is_paused, named
from .. import sources
from ..kind import status_of_proven
from ..task import tasks
from ..task.facts import facts_of
from ..task.lifecycle import (
    afterwards,
    as_suspended,
    base_of_task,
    begun_at,
    under_way,
    unless_late,
    until_expiry,
)
from ..task.plan import COMPLETED, PENDING, JobPlan, PassContext, failed
from ..task.state import State, TaskState, task_state_of
from ..verification.orders import ordered_name, verification_of
from . import leftovers
from .observed import JobObserved
from .record import backup_record
from .starting import backup_id, start


def plan_backup_job(
    resource: Resource, observed: JobObserved, context: PassContext, mistakes: str = ""
) -> JobPlan:
    """Decide what a pass does.

    Args:
        resource: the BackupJob.
        observed: what its references led to.
        context: time, image and level.
        mistakes: what is wrong with the spec beyond its schema; empty if nothing is.
    """
    if resource["metadata"].get("deletionTimestamp"):
        return _of_deleted(resource, observed, context)
    if is_paused(resource):
        return JobPlan(paused=True)
    if sources.has_ended(resource):
        return afterwards(resource, context)
    if mistakes:
        return JobPlan(invalid=mistakes)
    return until_expiry(_of_task(resource, observed, context), resource)


def _of_deleted(resource: Resource, observed: JobObserved, context: PassContext) -> JobPlan:
    """Record a backup that nobody has recorded yet, or say what is left of one; its Job has ended.

    Whoever deletes a BackupJob whose backup is complete keeps the backup, whether or not a pass had
    seen that it is.
    """
    before = resource.get("status") or {}
    unchanged = JobPlan(phase=before.get("phase") or PENDING, message=before.get("message") or "")
    if sources.has_ended(resource):
        return unchanged
    task_state = task_state_of(observed.task, context.now)
    if task_state.state is State.SUCCEEDED:
        plan = _succeeded(resource, observed, task_state)
        # Without the BackupJob, the Backup would be looked for in its store first.
        return replace(plan, verified=status_of_proven(plan.record[0])) if plan.record else plan
    left = leftovers.message_at_deletion(resource, observed.task.result)
    if not left:
        return unchanged
    message = f"it was deleted before the backup was complete; {left}"
    return failed(tasks.Reason.INTERRUPTED.value, message, begun_at(resource, observed.task.job))


def _of_task(resource: Resource, observed: JobObserved, context: PassContext) -> JobPlan:
    task_state = task_state_of(observed.task, context.now)
    if task_state.state is State.SUCCEEDED:
        return _succeeded(resource, observed, task_state)
    if task_state.state is State.FAILED:
        parts = (task_state.message, leftovers.message_of(resource, task_state.result))
        message = "; ".join(part for part in parts if part)
        return failed(
            task_state.reason, message, begun_at(resource, observed.task.job), facts_of(task_state)
        )
    job = observed.task.job
    if task_state.state is State.ABSENT or job is None:
        return _not_started(resource, observed, context)
    return under_way(resource, job, task_state, context, _base(observed))


def _succeeded(resource: Resource, observed: JobObserved, task_state: TaskState) -> JobPlan:
    manifest = task_state.result.manifest if task_state.result else None
    if manifest is None or manifest.id != backup_id(resource):
        message = "the program reported success without the record of this backup"
        return failed(BackupReason.NO_RESULT.value, message, begun_at(resource, observed.task.job))
    base = _base(observed)
    record = [backup_record(resource, manifest, base.get("name", ""))]
    verify = (resource.get("spec") or {}).get("verify")
    if verify is not None:
        record.append(_verification(resource, record[0], verify))
    return JobPlan(
        phase=COMPLETED,
        progress=BackupReason.SETTLED.value,
        message=task_state.result.message if task_state.result else "",
        begun=begun_at(resource, observed.task.job),
        facts=facts_of(task_state, base),
        record=record,
        record_once=[named(one) for one in record],
    )


def _base(observed: JobObserved) -> dict[str, str]:
    return base_of_task(observed.task.order, observed.backups or ())


def _verification(resource: Resource, record: Manifest, verify: Mapping[str, Any]) -> Manifest:
    """Return the RestoreJob that proves the backup; it outlives the BackupJob."""
    metadata, backup = resource["metadata"], record["metadata"]["name"]
    labels = {
        names.LABEL_NAMESPACE: metadata["namespace"],
        "app.kubernetes.io/part-of": names.PART_OF,
        "app.kubernetes.io/managed-by": names.MANAGED_BY,
    }
    name, spec = ordered_name(backup), resource["spec"]
    order = verification_of(name, metadata["namespace"], backup, verify, spec, labels)
    order["metadata"]["annotations"] = {names.ANNOTATION_KEEP: "true"}
    return order


def _not_started(resource: Resource, observed: JobObserved, context: PassContext) -> JobPlan:
    spec = Fields("spec", resource.get("spec") or {})
    waiting = JobPlan(begun=begun_at(resource), requeue="10s")
    if spec.flag("suspend"):
        return as_suspended(waiting)
    first = sources.ahead(resource, observed.jobs, observed.cn_sets)
    if first and not sources.is_running(resource):
        message = f"BackupJob {first} of the same database has not ended"
        if spec.text("concurrencyPolicy") == "Forbid":
            reason = BackupReason.ANOTHER_IS_RUNNING.value
            return failed(reason, f"{message}, and concurrencyPolicy is Forbid")
        turn = replace(waiting, message=f"waiting: {message}")
        return unless_late(turn, spec, context) if turn.begun else turn
    begun = waiting.begun or context.now
    return unless_late(replace(start(resource, observed, context), begun=begun), spec, context)
