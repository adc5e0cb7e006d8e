# SPDX-License-Identifier: Apache-2.0
"""What one pass over a RestoreJob that proves a backup is going to do.

A throw-away cluster is restored from the backup as any other cluster is, a Job reads it, and the
cluster and its data are deleted again, whatever came of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...api.errors import RenderingError
from ...api.fields import Fields
from ...api.timestamps import unix_time
from ...api.types import Manifest, Resource
from ...reporting.conditions import find, holds
from ...reporting.reasons import BackupReason, ConditionType
from ...workload.plans import is_paused, named
from ..restore.task import missing_secret, source_name
from ..sources import has_begun, has_ended
from ..task.facts import facts_of
from ..task.lifecycle import afterwards, as_suspended, lateness, until_expiry
from ..task.plan import RUNNING, JobPlan, PassContext
from ..task.state import State, TaskState, task_state_of
from ..task.tasks import Reason
from . import cluster as verification_cluster
from . import verdicts
from .end import concluded, remove
from .jobs import purge_objects, read_objects
from .observed import VerificationObserved

_SOON, _LATER = "5s", "15s"


def plan_verification(
    resource: Resource, observed: VerificationObserved, context: PassContext, mistakes: str = ""
) -> JobPlan:
    """Decide what a pass does.

    Args:
        resource: the RestoreJob.
        observed: what its references led to.
        context: time, image and level.
        mistakes: what is wrong with the spec beyond its schema; empty if nothing is.
    """
    is_deleted = bool(resource["metadata"].get("deletionTimestamp"))
    record = (resource.get("status") or {}).get("verification") or {}
    if has_ended(resource):
        return afterwards(resource, context)
    if is_paused(resource) and not is_deleted:
        return JobPlan(paused=True)
    if is_deleted or record.get("result"):
        plan = remove(resource, observed, context)
    elif mistakes:
        return JobPlan(invalid=mistakes)
    else:
        plan = _pursue(resource, observed, context)
    known = plan.facts.get("verification") or record
    plan = replace(
        plan,
        facts={"from": source_name(resource), **plan.facts},
        verified=_shown(resource, observed.backup, known),
    )
    return until_expiry(plan, resource)


def _shown(
    resource: Resource, backup: Resource | None, record: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the status of the Backup with a record; empty to leave it as it is.

    A Backup that is younger than the verification is another one of its name, or was applied again:
    what was restored may be something else. A RestoreJob that cannot be carried out says nothing
    about the Backup, which it may have no business with: it may be in another namespace.
    """
    if record.get("reason") == Reason.INVALID_TASK.value:
        return {}
    begun = (resource.get("status") or {}).get("startTime")
    created = ((backup or {}).get("metadata") or {}).get("creationTimestamp")
    if begun and created and unix_time(created) > unix_time(begun):
        return {}
    return verdicts.backup_status(backup, record)


def _pursue(resource: Resource, observed: VerificationObserved, context: PassContext) -> JobPlan:
    """Go on until there is a result, or until the deadline is over."""
    spec = Fields("", resource).table("spec")
    begun = str((resource.get("status") or {}).get("startTime") or "")
    if not begun:
        if not resource["metadata"].get("uid"):
            return JobPlan(invalid="spec.verify: can be used only where the operator runs")
        if spec.flag("suspend"):
            return as_suspended(JobPlan())
        if first := ahead(resource, observed):
            message = f"waiting: RestoreJob {first} verifies a backup of the same database"
            return JobPlan(message=message, requeue=_LATER)
    begun = begun or context.now
    try:
        plan = replace(_advance(resource, observed, context, begun), begun=begun)
    except RenderingError as error:
        return concluded(resource, context, begun, Reason.INVALID_TASK.value, str(error))
    limits = Fields("spec", {**spec.data, "suspend": False})
    late = lateness(limits, begun, context)
    if late and "verification" not in plan.facts:
        why = f"{late}; {plan.message}" if plan.message else late
        return concluded(resource, context, begun, Reason.DEADLINE_EXCEEDED.value, why)
    return plan


def ahead(resource: Resource, observed: VerificationObserved) -> str:
    """Return the name of the verification of the same database whose turn comes first; or empty.

    One that has begun goes on, even while it is being deleted; of the others, the oldest is first.
    """
    origins = {
        backup["metadata"]["name"]: (backup.get("meta") or {}).get("sourceRef")
        for backup in observed.backups
    }
    database = origins.get(source_name(resource))
    rivals = [
        job
        for job in observed.restore_jobs
        if job["metadata"].get("uid") != resource["metadata"].get("uid")
        and (job.get("spec") or {}).get("verify") is not None
        and origins.get(source_name(job)) == database
        and not has_ended(job)
        and (has_begun(job) or not _is_held(job))
    ]
    first = min(rivals, key=_order, default=None)
    if first is None or _order(resource) < _order(first):
        return ""
    return str(first["metadata"]["name"])


def _is_held(job: Resource) -> bool:
    """Return whether a RestoreJob that has not begun is not going to."""
    return bool(
        (job.get("spec") or {}).get("suspend")
        or job["metadata"].get("deletionTimestamp")
        or is_paused(job)
    )


def _order(job: Resource) -> tuple[bool, str, str]:
    metadata = job["metadata"]
    created = str(metadata.get("creationTimestamp") or "9")
    return not has_begun(job), created, str(metadata.get("uid") or "")


def _advance(
    resource: Resource, observed: VerificationObserved, context: PassContext, begun: str
) -> JobPlan:
    """Do the next step.

    Raises:
        RenderingError: it cannot be done.
    """
    live, known = observed.cluster, (resource.get("status") or {}).get("cluster") or {}
    if live is None and known.get("uid"):
        message = f"MatrixOneCluster {known['name']} was deleted by somebody else"
        return concluded(resource, context, begun, Reason.INTERRUPTED.value, message)
    if live is None:
        return _begin(resource, observed, context, begun)
    plan = _follow(resource, live, observed, context, begun)
    cluster = {"name": live["metadata"]["name"], "uid": live["metadata"]["uid"]}
    purge = purge_objects(resource, live, context)
    return replace(
        plan,
        facts={**plan.facts, "cluster": cluster},
        objects=[*purge.objects, *plan.objects],
        create_only=[*purge.create_only, *plan.create_only],
    )


def _begin(
    resource: Resource, observed: VerificationObserved, context: PassContext, begun: str
) -> JobPlan:
    """Create the throw-away cluster, or say what that waits for.

    Raises:
        RenderingError: it cannot be created.
    """
    backup, source = observed.backup, observed.source
    waiting = JobPlan(requeue=_LATER)
    if backup is None:
        message = f"waiting for Backup {source_name(resource)}, which does not exist"
        return replace(waiting, message=message)
    if source is None:
        origin = (backup.get("meta") or {}).get("sourceRef")
        message = (
            f"the backup is of {origin}; a MatrixOneCluster of that name must be in namespace "
            f"{resource['metadata']['namespace']}, to take version and credential from"
        )
        return concluded(resource, context, begun, Reason.INVALID_TASK.value, message)
    if missing := missing_secret(resource, backup, observed.existing):
        problem = {"reason": BackupReason.SECRET_MISSING.value, "message": missing}
        return replace(waiting, message=f"waiting: {missing}", problem=problem)
    cluster = verification_cluster.cluster_of(resource, backup, source)
    if refused := _refused(resource, cluster, context):
        return JobPlan(invalid=refused)
    return JobPlan(
        phase=RUNNING,
        progress=BackupReason.STARTING.value,
        message=f"MatrixOneCluster {cluster['metadata']['name']} is being created",
        facts={"step": "Restore"},
        objects=[cluster],
        create_only=[named(cluster)],
        requeue=_SOON,
    )


def _refused(resource: Resource, cluster: Manifest, context: PassContext) -> str:
    """Say why the data of a cluster that does not exist yet could not be deleted; or empty.

    Raises:
        InvalidSpec: a field that shapes the Pod cannot be used.
    """
    later = {**cluster, "metadata": {**cluster["metadata"], "uid": "unknown"}}
    return purge_objects(resource, later, context).invalid


def _follow(
    resource: Resource,
    live: Resource,
    observed: VerificationObserved,
    context: PassContext,
    begun: str,
) -> JobPlan:
    """Follow the throw-away cluster, then the Job that reads it.

    Raises:
        RenderingError: the Job cannot be created.
    """
    name, status = live["metadata"]["name"], live.get("status") or {}
    going_on = JobPlan(phase=RUNNING, progress=BackupReason.RUNNING.value, requeue=_LATER)
    if live["metadata"].get("deletionTimestamp"):
        message = f"MatrixOneCluster {name} was deleted by somebody else"
        return concluded(resource, context, begun, Reason.INTERRUPTED.value, message)
    task_state = task_state_of(observed.reading, context.now)
    if task_state.state is not State.ABSENT:
        return _of_reading(resource, context, begun, task_state, going_on)
    restored = status.get("restore") or {}
    if restored.get("phase") == "Failed":
        why = find(observed.copy, ConditionType.DEGRADED).get("reason")
        reason = str(why or BackupReason.RESTORE_FAILED.value)
        message = f"the restore failed: {restored.get('message') or reason}"
        return concluded(resource, context, begun, reason, message)
    if not (holds(live, ConditionType.READY) and status.get("host")):
        step = "Start" if restored.get("phase") == "Completed" else "Restore"
        why = status.get("message") or restored.get("message") or "it is being created"
        return replace(
            going_on, message=f"waiting for MatrixOneCluster {name}: {why}", facts={"step": step}
        )
    reading = read_objects(resource, live, context, begun)
    return replace(
        going_on,
        message="the Job that reads is being created",
        facts={"step": "Read"},
        objects=reading.objects,
        create_only=reading.create_only,
        invalid=reading.invalid,
        requeue=_SOON,
    )


def _of_reading(
    resource: Resource, context: PassContext, begun: str, task_state: TaskState, plan: JobPlan
) -> JobPlan:
    """Follow the Job that reads."""
    if task_state.state is State.SUCCEEDED:
        return concluded(resource, context, begun, task_state=task_state)
    if task_state.state is State.FAILED:
        return concluded(
            resource, context, begun, task_state.reason, task_state.message, task_state
        )
    shown: dict[str, Any] = {**facts_of(task_state), "step": "Read"}
    problem = (
        {"reason": task_state.reason, "message": task_state.message} if task_state.reason else {}
    )
    return replace(plan, message=task_state.message, problem=problem, facts=shown)
