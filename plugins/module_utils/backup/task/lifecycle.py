# SPDX-License-Identifier: Apache-2.0
"""What a pass over a BackupJob or RestoreJob decides alike: its Job's way, deadline and expiry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from ...api import durations
from ...api.fields import Fields
from ...api.timestamps import timestamp, unix_time
from ...api.types import Manifest, Resource
from ...reporting.reasons import BackupReason
from ..errors import InvalidTask
from . import jobs, tasks
from .facts import facts_of
from .observed import TaskObserved
from .plan import COMPLETED, FAILED, PENDING, RUNNING, JobPlan, PassContext, failed
from .starting import deadline
from .state import State, TaskState

TTL: Final = "1h"
_PATIENCE: Final = 30
"""Seconds after the deadline in which Kubernetes ends the Job itself."""


def until_expiry(plan: JobPlan, resource: Resource) -> JobPlan:
    """Let a pass that ends a resource ask for the one in which its time to live is over."""
    if plan.phase not in {COMPLETED, FAILED} or plan.requeue:
        return plan
    return replace(plan, requeue=_within_an_hour(_time_to_live(resource)))


def _time_to_live(resource: Resource) -> int:
    spec = Fields("spec", {"ttl": TTL, **(resource.get("spec") or {})})
    return durations.seconds(spec, "ttl")


def _within_an_hour(seconds: float) -> str:
    return f"{max(1, min(int(seconds) + 1, 3600))}s"


def afterwards(resource: Resource, context: PassContext) -> JobPlan:
    """Keep what was reported, until the time to live is over."""
    status = resource.get("status") or {}
    # One of which it is not known when it ended, for example as it was applied again, stays.
    ended = status.get("completionTime") or context.now
    over = unix_time(ended) + max(_time_to_live(resource), 0 if status.get("completionTime") else 1)
    left = over - unix_time(context.now)
    plan = JobPlan(phase=status.get("phase") or FAILED)
    if left > 0:
        return replace(plan, requeue=_within_an_hour(left))
    return replace(plan, expired=[identity(resource)])


def identity(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return by what an object is deleted: this one, not a later one of its name."""
    kept = {key: one["metadata"][key] for key in ("name", "namespace", "uid")}
    return {"apiVersion": one["apiVersion"], "kind": one["kind"], "metadata": kept}


def left_of(observed: TaskObserved) -> list[Manifest]:
    """Return by what the objects of a task are deleted, as far as there are any."""
    made = ((JOB, observed.job), (_CONFIG_MAP, observed.order), (_CONFIG_MAP, observed.result))
    return [identity({**kind, **live}) for kind, live in made if live]


def begun_at(resource: Resource, job: Manifest | None = None) -> str:
    """Return when the resource had its turn; a Job that was suspended begins anew."""
    started = ((job or {}).get("status") or {}).get("startTime")
    return str(started or (resource.get("status") or {}).get("startTime") or "")


def under_way(
    resource: Resource,
    job: Manifest,
    task_state: TaskState,
    context: PassContext,
    base: Mapping[str, str] | None = None,
) -> JobPlan:
    """Follow a Job that has not ended, or end it when the deadline is over.

    Args:
        resource: whose Job it is.
        job: the Job.
        task_state: how it stands.
        context: time, image and level.
        base: name and id of what the backup continues; empty or None for nothing.
    """
    spec = Fields("spec", resource.get("spec") or {})
    begun = begun_at(resource, job) or context.now
    late = "" if _stands_still(job) else lateness(spec, begun, context, _PATIENCE)
    if late:
        ended = failed(tasks.Reason.DEADLINE_EXCEEDED.value, late, begun, facts_of(task_state))
        return replace(ended, stop=[identity({**JOB, **job})])
    suspended = spec.flag("suspend")
    settings = {
        "suspend": suspended,
        "activeDeadlineSeconds": deadline(spec),
        "backoffLimit": jobs.Settings.of(spec, context.image or "any").backoff_limit,
    }
    place = {key: job["metadata"][key] for key in ("name", "namespace")}
    plan = JobPlan(
        phase=RUNNING,
        progress=_PROGRESS[task_state.state],
        problem={"reason": task_state.reason, "message": task_state.message}
        if task_state.reason
        else {},
        message=task_state.message,
        begun=begun,
        facts=facts_of(task_state, base),
        patches=[{**JOB, "metadata": place, "spec": settings}],
        requeue="5s" if task_state.state is State.STARTING else "15s",
    )
    return as_suspended(plan) if suspended else plan


def _stands_still(job: Mapping[str, Any]) -> bool:
    """Return whether a Job is suspended, or has not been resumed yet by the Job controller.

    Until the controller does, ``startTime`` is when the Job started before it was suspended.
    """
    conditions = (job.get("status") or {}).get("conditions") or []
    is_held = any(
        condition.get("type") == "Suspended" and condition.get("status") == "True"
        for condition in conditions
    )
    return is_held or bool((job.get("spec") or {}).get("suspend"))


JOB: Final = {"apiVersion": "batch/v1", "kind": "Job"}
_CONFIG_MAP: Final = {"apiVersion": "v1", "kind": "ConfigMap"}
"""What objects that were observed do not say of themselves."""
_PROGRESS: Final = {
    State.STARTING: BackupReason.STARTING.value,
    State.RUNNING: BackupReason.RUNNING.value,
}


def as_suspended(plan: JobPlan) -> JobPlan:
    """Return a plan that leaves a Job suspended."""
    return replace(
        plan,
        phase=PENDING,
        progress=BackupReason.SUSPENDED.value,
        problem={},
        message="suspended: spec.suspend is true",
        requeue="",
    )


def lateness(spec: Fields, begun: str, context: PassContext, patience: int = 0) -> str:
    """Say that the deadline is over; empty while it is not.

    Args:
        spec: of the BackupJob or RestoreJob.
        begun: when it had its turn, RFC 3339.
        context: time, image and level.
        patience: seconds that it has beyond its deadline.
    """
    seconds = deadline(spec)
    if spec.flag("suspend") or unix_time(context.now) < unix_time(begun) + seconds + patience:
        return ""
    return f"not done {seconds} s after the start at {timestamp(unix_time(begun))}"


def unless_late(plan: JobPlan, spec: Fields, context: PassContext) -> JobPlan:
    """Return the plan of a resource that has no Job yet, or its failure after the deadline."""
    late = lateness(spec, plan.begun, context)
    if not late or plan.phase == FAILED:
        return plan
    why = f"{late}; {plan.message}" if plan.message else late
    return failed(tasks.Reason.DEADLINE_EXCEEDED.value, why, plan.begun)


def base_of_task(order: Manifest | None, backups: Iterable[Resource]) -> dict[str, str]:
    """Return name and id of the base as the task has it, whatever the Backups are by now.

    Args:
        order: the ConfigMap with the task; None if there is none.
        backups: among which to find its name.
    """
    text = ((order or {}).get("data") or {}).get(tasks.TASK_KEY)
    if not text:
        return {}
    try:
        task = tasks.task_from_json(text)
    except InvalidTask:
        return {}
    if task.base is None:
        return {}
    for backup in backups:
        if (backup.get("meta") or {}).get("id") == task.base.id:
            return {"name": str(backup["metadata"]["name"]), "id": task.base.id}
    return {"id": task.base.id}
