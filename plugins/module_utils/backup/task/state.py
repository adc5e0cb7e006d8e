# SPDX-License-Identifier: Apache-2.0
"""How a task stands, from its Job, the Job's Pods and the result that the program has written.

The result counts more than the Job: it is written before the program ends, and it is precise. What
an earlier Job of the same name has written does not count, unless it succeeded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ...api.jobs import end_of
from ...api.timestamps import unix_time
from ...reporting import pods as pod_states
from ...reporting.pod_problems import ANY_POD, PodProblems
from ...reporting.reasons import BackupReason
from ..errors import InvalidTask
from . import tasks
from .observed import TaskObserved
from .tasks import Result

Json = Mapping[str, Any]

_LATE_RESULT_SECONDS: Final = 10.0
"""How long a Job may have ended before its result is given up: caches of Jobs and of ConfigMaps do
not move together."""
_LATE_POD_SECONDS: Final = 20.0
"""How long a Job may have no Pod before that is called a problem."""
_OF_IMAGES: Final = ("ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName")
_QUIET: Final = ("ContainerCreating", "PodInitializing", "Pending", "")


class State(StrEnum):
    """How far a task is."""

    ABSENT = "Absent"
    STARTING = "Starting"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class TaskState:
    """How a task stands.

    Attributes:
        state: how far it is.
        reason: what is wrong: a `BackupReason` or a `tasks.Reason`; empty if nothing is.
        message: what is wrong or under way, for people.
        result: what the program reported last; None if nothing, or nothing of this Job.
    """

    state: State
    reason: str = ""
    message: str = ""
    result: Result | None = None


def task_state_of(observed: TaskObserved, now: str) -> TaskState:
    """Return how a task stands.

    Args:
        observed: its objects.
        now: the present, RFC 3339.
    """
    job, result = observed.job, result_of(observed.result)
    if result is not None and result.phase is tasks.Phase.SUCCEEDED:
        return TaskState(State.SUCCEEDED, result=result)
    if job is None:
        if result is not None and _is_final(result):
            return _failed(result)
        return TaskState(State.ABSENT)
    if result is not None and _is_stale(result, job):
        result = None
    ended = end_of(job)
    if ended is not None:
        return _of_ended(ended, result, observed.pods, now, observed.problems)
    if result is not None and result.phase is tasks.Phase.FAILED:
        return _failed(result) if not result.retryable else _retrying(result)
    return _of_pods(job, observed.pods, result, now, observed.problems)


def has_ended(job: Json) -> bool:
    """Return whether a Job starts no Pod any more."""
    return end_of(job) is not None


def result_of(result_map: Json | None) -> Result | None:
    """Return what a program has reported; None if nothing that can be read."""
    text = ((result_map or {}).get("data") or {}).get(tasks.RESULT_KEY)
    if not text:
        return None
    try:
        return tasks.result_from_json(text)
    except InvalidTask:
        return None


def _is_stale(result: Result, job: Json) -> bool:
    try:
        began = unix_time(result.started_at)
    except ValueError:
        return True
    return began < unix_time(job["metadata"].get("creationTimestamp"))


def _is_final(result: Result) -> bool:
    return result.phase is tasks.Phase.FAILED and not result.retryable


def _failed(result: Result) -> TaskState:
    reason = result.reason or BackupReason.NO_RESULT
    message = result.message or f"the step {result.step or 'at the start'} failed: {reason.value}"
    return TaskState(State.FAILED, reason.value, message, result)


def _retrying(result: Result) -> TaskState:
    reason = result.reason or BackupReason.RETRYING
    message = f"{result.message or 'the attempt failed'}; it is tried again"
    return TaskState(State.RUNNING, reason.value, message, result)


def _of_ended(
    ended: Json, result: Result | None, pods: Sequence[Json], now: str, problems: PodProblems
) -> TaskState:
    if ended["type"] == "Failed" and ended.get("reason") == "DeadlineExceeded":
        waited = _problem(pods, problems)[1] or problems.not_created.get(ANY_POD, "")
        message = f"not done at the deadline{f'; {waited}' if waited else ''}"
        return TaskState(State.FAILED, tasks.Reason.DEADLINE_EXCEEDED.value, message, result)
    if result is not None and result.phase is tasks.Phase.FAILED:
        return _failed(result)
    if unix_time(now) - unix_time(ended.get("lastTransitionTime")) < _LATE_RESULT_SECONDS:
        return TaskState(State.RUNNING, message="waiting for the result of the Job", result=result)
    said = str(ended.get("message") or "")
    step = f" in the step {result.step}" if result is not None and result.step else ""
    message = f"the Job ended{step} without a result{f': {said}' if said else ''}"
    return TaskState(State.FAILED, BackupReason.NO_RESULT.value, message, result)


def _of_pods(
    job: Json, pods: Sequence[Json], result: Result | None, now: str, problems: PodProblems
) -> TaskState:
    current = [pod for pod in pods if _phase(pod) in ("Pending", "Running")]
    if result is not None and any(_phase(pod) == "Running" for pod in current):
        return TaskState(State.RUNNING, message=_under_way(result), result=result)
    reason, message = _problem(current, problems)
    if not current and (job.get("spec") or {}).get("suspend") is not True:
        message = "waiting for the Pod of the Job"
        if refused := problems.not_created.get(ANY_POD):
            reason = BackupReason.POD_NOT_STARTING.value
            message = f"Job {job['metadata']['name']} has no Pod: {refused}"
        elif unix_time(now) - _last_change(job, pods) > _LATE_POD_SECONDS:
            reason = BackupReason.POD_NOT_STARTING.value
            name = job["metadata"]["name"]
            message = f"Job {name} has no Pod; `kubectl describe job {name}` shows why"
    state = State.RUNNING if any(_phase(pod) == "Running" for pod in current) else State.STARTING
    return TaskState(state, reason, message or "the program is starting", result)


def _last_change(job: Json, pods: Sequence[Json]) -> float:
    """Return when the Job last started, was created or lost a Pod."""
    status = job.get("status") or {}
    times = [job["metadata"].get("creationTimestamp"), status.get("startTime")]
    times += [pod["metadata"].get("deletionTimestamp") for pod in pods]
    times += [
        ((one.get("state") or {}).get("terminated") or {}).get("finishedAt")
        for pod in pods
        for one in (pod.get("status") or {}).get("containerStatuses") or []
    ]
    failures = len([pod for pod in pods if _phase(pod) == "Failed"])
    # The Job controller waits 10 s after the first failure, and twice as long after each more.
    return max(unix_time(one) for one in times) + (10 * 2**failures if failures else 0)


def _phase(pod: Json) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")


def _problem(pods: Sequence[Json], problems: PodProblems) -> tuple[str, str]:
    """Return reason and message of what keeps a Pod from starting; empty ones if nothing does."""
    for pod in pods:
        if _phase(pod) != "Pending":
            continue
        why = pod_states.why(pod)
        name = pod["metadata"]["name"]
        lack = problems.not_started.get(name, "")
        message = f"Pod {name}: {'; '.join(part for part in (why, lack) if part)}"
        if why.startswith("Unschedulable"):
            return BackupReason.POD_UNSCHEDULABLE.value, message
        if why.startswith(_OF_IMAGES):
            return BackupReason.IMAGE_NOT_AVAILABLE.value, message
        if why not in _QUIET or lack:
            return BackupReason.POD_NOT_STARTING.value, message
        return "", message if why else ""
    return "", ""


def _under_way(result: Result) -> str:
    return f"the step {result.step} is in progress" if result.step else "the program is starting"
