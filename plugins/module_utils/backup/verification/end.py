# SPDX-License-Identifier: Apache-2.0
"""The end of a verification: its result is recorded first, then everything it created is deleted.

Its end is bounded: what could not be deleted in time is named, and the RestoreJob ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ...api import names
from ...api.errors import RenderingError
from ...api.fields import Fields
from ...api.timestamps import unix_time
from ...api.types import Manifest, Resource
from ...reporting.reasons import BackupReason
from ..task.facts import facts_of
from ..task.lifecycle import JOB, identity
from ..task.plan import COMPLETED, RUNNING, JobPlan, PassContext, failed
from ..task.state import State, TaskState, task_state_of
from ..task.tasks import Reason
from . import verdicts
from .jobs import PURGE_SECONDS, Created, purge_objects
from .observed import VerificationObserved

_REMOVAL_SECONDS: Final = PURGE_SECONDS + 1800
"""For the deletion of a throw-away cluster and its data."""
_DELETED_SECONDS: Final = 900
"""The same, when the RestoreJob is deleted in the middle."""

_AWAY_SECONDS: Final = 24 * 3600
"""How long a step that cannot even begin is tried."""


def concluded(
    resource: Resource, context: PassContext, begun: str, reason: str = "", message: str = "",
    task_state: TaskState | None = None,
) -> JobPlan:  # fmt: skip
    """Return the plan that records a result; the next pass begins to delete.

    Args:
        resource: the RestoreJob.
        context: time, image and level.
        begun: when the verification began.
        reason: what is wrong; empty if nothing is.
        message: the same for people.
        task_state: the Job that has read; None if none has.
    """
    reading = task_state.result.reading if task_state and task_state.result else None
    name = resource["metadata"]["name"]
    version = _version_of(resource)
    record = verdicts.verdict(name, begun, context.now, reason, message, reading, version)
    shown = facts_of(task_state) if task_state else {}
    return JobPlan(
        phase=RUNNING,
        progress=BackupReason.RECORDING.value,
        message=message,
        begun=begun,
        facts={**shown, "step": "Remove", "verification": record},
        requeue="1s",
    )


def _version_of(resource: Resource) -> str:
    """Return the version that a RestoreJob rehearses an upgrade to; empty for none."""
    return Fields("", resource).table("spec").table("verify").text("version")


def remove(resource: Resource, observed: VerificationObserved, context: PassContext) -> JobPlan:
    """Delete the throw-away cluster and its data, and end."""
    status, metadata = resource.get("status") or {}, resource["metadata"]
    begun = str(status.get("startTime") or "")
    deleted_at = metadata.get("deletionTimestamp")
    record = status.get("verification") or verdicts.verdict(
        metadata["name"],
        begun,
        context.now,
        Reason.INTERRUPTED.value,
        "the RestoreJob was deleted",
        version=_version_of(resource),
    )
    asked = unix_time(deleted_at or record["completionTime"])
    since = max(asked, min(_tried_since(observed, context), asked + _AWAY_SECONDS))
    patience = _DELETED_SECONDS if deleted_at else _REMOVAL_SECONDS
    plan = _removing(resource, observed, context, record)
    if plan.phase == RUNNING and unix_time(context.now) - since > patience:
        plan = _ended(record, f"not deleted within {patience} s: {plan.message}")
    facts = {**plan.facts, "verification": record} if begun else plan.facts
    return replace(plan, begun=begun, facts=facts)


def _tried_since(observed: VerificationObserved, context: PassContext) -> float:
    """Return since when the present step of the end is tried; now if it has not begun.

    The operator may have been away, and the cluster goes before its data.
    """
    live, purge = observed.cluster, observed.purging.job
    if live is not None:
        return unix_time(live["metadata"].get("deletionTimestamp") or context.now)
    if purge is None:
        return 0.0
    if (purge.get("spec") or {}).get("suspend"):
        return unix_time(context.now)
    return unix_time((purge.get("status") or {}).get("startTime") or context.now)


def _removing(
    resource: Resource,
    observed: VerificationObserved,
    context: PassContext,
    record: Mapping[str, Any],
) -> JobPlan:
    waiting = JobPlan(
        phase=RUNNING,
        progress=BackupReason.DELETING.value,
        facts={"step": "Remove"},
        requeue="5s",
    )
    live, purge, reader = observed.cluster, observed.purging.job, observed.reading.job
    stop = [identity({**JOB, **reader})] if reader else []
    if live is not None:
        name = live["metadata"]["name"]
        cluster = identity({"apiVersion": names.API_VERSION, "kind": names.CLUSTER, **live})
        waiting = replace(waiting, message=f"waiting until MatrixOneCluster {name} is deleted")
        late = None if purge else _purge_of(resource, live, context)
        if late and late.objects:
            return replace(waiting, objects=late.objects, create_only=late.create_only)
        return replace(waiting, stop=[*stop, cluster])
    if purge is None:
        return replace(_ended(record), stop=stop)
    return replace(_purging(purge, observed, context, record, waiting), stop=stop)


def _purging(
    purge: Manifest,
    observed: VerificationObserved,
    context: PassContext,
    record: Mapping[str, Any],
    waiting: JobPlan,
) -> JobPlan:
    """Follow the Job that deletes the data, which begins when the cluster is gone."""
    if (purge.get("spec") or {}).get("suspend"):
        place = {key: purge["metadata"][key] for key in ("name", "namespace")}
        patch = {**JOB, "metadata": place, "spec": {"suspend": False}}
        return replace(waiting, patches=[patch], message="its data are being deleted")
    task_state = task_state_of(observed.purging, context.now)
    if task_state.state is State.SUCCEEDED:
        return _ended(record)
    if task_state.state is State.FAILED:
        return _ended(record, f"Job {purge['metadata']['name']}: {task_state.message}")
    return replace(waiting, message=f"its data are being deleted: {task_state.message}")


def _purge_of(resource: Resource, live: Resource, context: PassContext) -> Created | None:
    """Return what is going to delete the data of a cluster that nobody has deleted yet."""
    if live["metadata"].get("deletionTimestamp"):
        return None
    try:
        return purge_objects(resource, live, context)
    except RenderingError:  # a later spec of the RestoreJob; the cluster goes in any case
        return None


def _ended(record: Mapping[str, Any], left: str = "") -> JobPlan:
    """Return the plan that ends a RestoreJob, with what was left behind if anything was."""
    remains = f"the throw-away database was not deleted: {left}" if left else ""
    if record["result"] != verdicts.PASSED:
        message = "; ".join(filter(None, (str(record.get("message") or ""), remains)))
        return failed(str(record.get("reason")), message, facts={"step": "Remove"})
    problem = {"reason": BackupReason.NOT_REMOVED.value, "message": remains} if remains else {}
    return JobPlan(
        phase=COMPLETED,
        progress=BackupReason.SETTLED.value,
        problem=problem,
        message=remains,
        facts={"step": "Remove"},
    )
