# SPDX-License-Identifier: Apache-2.0
"""What one pass over a RestoreJob is going to do."""

from __future__ import annotations

from dataclasses import replace

from ...api.errors import RenderingError
from ...api.fields import Fields
from ...api.types import Resource
from ...reporting.conditions import RESTORE_ENDED
from ...reporting.reasons import BackupReason
from ...workload.plans import is_paused
from ..claimed_paths import taken
from ..sources import has_ended
from ..task import jobs, tasks
from ..task.facts import facts_of
from ..task.lifecycle import (
    afterwards,
    as_suspended,
    begun_at,
    under_way,
    unless_late,
    until_expiry,
)
from ..task.plan import COMPLETED, JobPlan, PassContext, failed
from ..task.starting import started
from ..task.state import State, TaskState, task_state_of
from ..users import is_losing_its_data
from .observed import RestoreObserved
from .task import (
    SUFFIX,
    missing_secret,
    overlapping,
    owning_cluster,
    source_name,
    source_place,
    task_of,
)

_LATER = "60s"


def plan_restore_job(
    resource: Resource, observed: RestoreObserved, context: PassContext, mistakes: str = ""
) -> JobPlan:
    """Decide what a pass does.

    Args:
        resource: the RestoreJob.
        observed: what its references led to.
        context: time, image and level.
        mistakes: what is wrong with the spec beyond its schema; empty if nothing is.
    """
    if is_paused(resource):
        return JobPlan(paused=True)
    if has_ended(resource):
        return _afterwards(resource, observed, context)
    if mistakes:
        return JobPlan(invalid=mistakes)
    task_state = task_state_of(observed.task, context.now)
    plan = _of_task_state(resource, observed, task_state, context)
    plan = replace(plan, facts={**plan.facts, "from": source_name(resource)})
    return until_expiry(plan, resource)


def _of_task_state(
    resource: Resource, observed: RestoreObserved, task_state: TaskState, context: PassContext
) -> JobPlan:
    job, facts = observed.task.job, facts_of(task_state)
    begun = begun_at(resource, job)
    if task_state.state is State.SUCCEEDED:
        settled = BackupReason.SETTLED.value
        return JobPlan(phase=COMPLETED, progress=settled, begun=begun, facts=facts)
    if task_state.state is State.FAILED:
        return failed(task_state.reason, task_state.message, begun, facts)
    if task_state.state is State.ABSENT or job is None:
        return _not_started(resource, observed, context)
    return under_way(resource, job, task_state, context)


def _afterwards(resource: Resource, observed: RestoreObserved, context: PassContext) -> JobPlan:
    """Keep what was reported until the time to live is over, and the cluster has it on record."""
    plan, cluster = afterwards(resource, context), observed.cluster
    if not plan.expired or not owning_cluster(resource) or cluster is None:
        return plan
    record = (cluster.get("status") or {}).get("restore") or {}
    if record.get("phase") in RESTORE_ENDED:
        return plan
    return replace(plan, expired=(), requeue=_LATER)


def _not_started(resource: Resource, observed: RestoreObserved, context: PassContext) -> JobPlan:
    spec = Fields("", resource).table("spec")
    waiting = JobPlan(begun=begun_at(resource), requeue="10s")
    if spec.flag("suspend"):
        return as_suspended(waiting)
    begun = waiting.begun or context.now
    return unless_late(replace(_start(resource, observed, context), begun=begun), spec, context)


def _start(resource: Resource, observed: RestoreObserved, context: PassContext) -> JobPlan:
    """Create the task, or say what that waits for or why it cannot be done."""
    waiting, backup = JobPlan(requeue="10s"), observed.backup
    source = source_place(resource, backup)
    if source is None:
        message = f"waiting for Backup {source_name(resource)}, which does not exist"
        return replace(waiting, message=message)
    if backup is not None and is_losing_its_data(backup):
        message = f"waiting: Backup {source_name(resource)} is being deleted with its data"
        return replace(waiting, message=message)
    missing = missing_secret(resource, backup, observed.existing)
    if missing:
        problem = {"reason": BackupReason.SECRET_MISSING.value, "message": missing}
        return replace(waiting, message=f"waiting: {missing}", problem=problem)
    try:
        return _create(resource, observed, source, context)
    except RenderingError as error:
        return JobPlan(invalid=str(error))


def _create(
    resource: Resource, observed: RestoreObserved, source: Fields, context: PassContext
) -> JobPlan:
    spec = Fields("", resource).table("spec")
    task = task_of(resource, observed.backup, source)
    if why := overlapping(task):
        return failed(tasks.Reason.TARGET_IS_SOURCE.value, why)
    claims, cluster = observed.claims, owning_cluster(resource)
    if task.target and (why := taken(resource, task.target, claims, cluster)):
        return JobPlan(requeue="10s", message=f"waiting: {why}")
    work = jobs.Work(
        resource=resource,
        namespace=resource["metadata"]["namespace"],
        suffix=SUFFIX,
        task=task,
        target=spec.table("target"),
        source=source,
    )
    objects = jobs.task_objects(work, jobs.Settings.of(spec, context.image))
    return started(objects, context.level)
