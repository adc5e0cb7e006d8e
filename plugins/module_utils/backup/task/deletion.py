# SPDX-License-Identifier: Apache-2.0
"""The deletion of data by a Job, for a Backup and for what else owns data in an object store.

It has an end: data are kept when they could not be deleted in time, or when an annotation asks for
that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from ...api.timestamps import unix_time
from ...api.types import Manifest, Resource
from ...reporting.reasons import BackupReason
from ...workload.plans import Plan
from . import jobs
from .observed import TaskObserved
from .plan import PassContext
from .starting import beyond
from .state import State, TaskState, has_ended, result_of
from .tasks import Step

ANNOTATION_RELEASE: Final = "matrixorigin.io/release"
"""``true`` on a resource that is deleted: its data are kept, whatever its policy."""
_GIVE_UP_SECONDS: Final = 24 * 3600
_AGAIN_SECONDS: Final = 600
"""How long after a failure the data are tried to be deleted again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionPlan(Plan):
    """A plan for a resource that may be deleted with its data.

    Attributes:
        phase: as in the status.
        problem: ``reason`` and ``message`` of what is wrong; empty if nothing is.
        message: what it waits for or does.
        done: whether nothing more is to be done before it is gone.
        kept: why its data stay, where its policy says otherwise.
        stop: objects to delete before the next attempt.
    """

    phase: str
    problem: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    done: bool = False
    kept: str = ""
    stop: Sequence[Mapping[str, Any]] = ()


PlanT = TypeVar("PlanT", bound=DeletionPlan)


def released(resource: Resource) -> str:
    """Return why the data stay when an annotation keeps them; empty if none does."""
    annotations = resource["metadata"].get("annotations") or {}
    kept = annotations.get(ANNOTATION_RELEASE) == "true"
    return f"the annotation {ANNOTATION_RELEASE} keeps the data" if kept else ""


def in_time(plan: PlanT, resource: Resource, observed: TaskObserved, context: PassContext) -> PlanT:
    """Give up, and keep the data, when the deletion takes too long.

    Not before it was tried: the operator may have been away, or the data in use. A Job that gets on
    has a deadline of its own.
    """
    since = unix_time(context.now) - unix_time(resource["metadata"]["deletionTimestamp"])
    was_tried = observed.job is None and result_of(observed.result) is not None
    is_tried = was_tried or plan.problem.get("reason") not in (None, BackupReason.WAITING.value)
    if plan.done or since <= _GIVE_UP_SECONDS or not is_tried:
        return plan
    hours = _GIVE_UP_SECONDS // 3600
    return replace(plan, done=True, kept=f"not deleted within {hours} h: {plan.message}")


def halted(plan: PlanT, observed: TaskObserved) -> PlanT:
    """Return a plan that keeps the data, once nothing deletes them any more; it ends the Job first.

    Args:
        plan: that may be done and keep the data.
        observed: the objects of the task.
    """
    job = observed.job
    is_active = job is not None and not has_ended(job)
    pods = running(observed)
    if not (plan.done and plan.kept and (is_active or pods)):
        return replace(plan, kept=f"{plan.kept}{_deleted(observed)}") if plan.kept else plan
    stop = [_identity("batch/v1", "Job", job)] if job is not None and is_active else []
    waiting = replace(plan, done=False, kept="", objects=(), stop=stop)
    what = f"Pod {pods[0]} to end" if pods else f"Job {stop[0]['metadata']['name']} to end"
    return wrong(waiting, BackupReason.WAITING.value, f"{plan.kept}; waiting for {what}")


def _deleted(observed: TaskObserved) -> str:
    """Return what a Job that did not end had deleted, for messages; empty if nothing."""
    result = result_of(observed.result)
    if result is None or result.step is not Step.DELETE or not result.done.files:
        return ""
    return f", but for {result.done.files} objects that were deleted before"


def running(observed: TaskObserved) -> list[str]:
    """Return the names of Pods that may still delete data."""
    return [
        str(pod["metadata"]["name"])
        for pod in observed.pods
        if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
    ]


def ongoing(
    plan: PlanT, task_state: TaskState, observed: TaskObserved, context: PassContext
) -> PlanT | None:
    """Return the plan while there is a Job that has not deleted the data; None if there is none."""
    if task_state.state is State.ABSENT:
        pods = running(observed)
        message = f"waiting for Pod {pods[0]} of an earlier Job to end" if pods else ""
        return wrong(plan, BackupReason.WAITING.value, message) if pods else None
    if task_state.state is State.FAILED:
        return _again(wrong(plan, task_state.reason, task_state.message), observed, context)
    plan = replace(plan, message=task_state.message)
    return wrong(plan, task_state.reason, task_state.message) if task_state.reason else plan


def missing_secret(
    plan: PlanT, secrets: Mapping[str, str], namespace: str, existing: Collection[str]
) -> PlanT | None:
    """Return the plan while a Secret does not exist; None if all do.

    Args:
        plan: the plan so far.
        secrets: names by the label of their reference.
        namespace: of the Secrets.
        existing: the labels of those that exist.
    """
    for label, name in secrets.items():
        if label not in existing:
            message = f"Secret {namespace}/{name} does not exist"
            return wrong(plan, BackupReason.SECRET_MISSING.value, message)
    return None


def started(plan: PlanT, objects: Sequence[Manifest], context: PassContext) -> PlanT:
    """Return the plan that creates the Job, unless its Pods are refused in this namespace."""
    refused = "; ".join(map(str, beyond(objects, context.level)))
    if refused:
        return wrong(plan, BackupReason.INVALID_SPEC.value, refused)
    once = jobs.created_once(objects)
    return replace(plan, objects=objects, create_only=once, message="deleting the data")


def wrong(plan: PlanT, reason: str, message: str) -> PlanT:
    """Return a plan with a problem."""
    return replace(plan, problem={"reason": reason, "message": message}, message=message)


def _again(plan: PlanT, observed: TaskObserved, context: PassContext) -> PlanT:
    """Remove a failed attempt when it is time for the next one."""
    made = [("batch/v1", "Job", observed.job), ("v1", "ConfigMap", observed.result)]
    left = [(version, kind, live) for version, kind, live in made if live]
    times = (live["metadata"].get("creationTimestamp") or "" for _version, _kind, live in left)
    if unix_time(context.now) - unix_time(max(times, default="")) < _AGAIN_SECONDS:
        return plan
    return replace(plan, stop=[_identity(version, kind, live) for version, kind, live in left])


def _identity(version: str, kind: str, found: Mapping[str, Any]) -> dict[str, Any]:
    place = {key: found["metadata"][key] for key in ("name", "namespace")}
    return {"apiVersion": version, "kind": kind, "metadata": place}
