# SPDX-License-Identifier: Apache-2.0
"""Status of a BackupJob or RestoreJob from its plan and from what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...api.types import Resource
from ...reporting.conditions import Condition, paused
from ...reporting.reasons import ENDED, BackupReason, ConditionType
from ...reporting.report import Report
from .plan import COMPLETED, FAILED, PENDING, RUNNING, JobPlan

_LONGEST_MESSAGE: Final = 4096
_ENDED: Final = {
    PENDING: ("False", BackupReason.JOB_PENDING),
    RUNNING: ("False", BackupReason.JOB_RUNNING),
    COMPLETED: ("True", BackupReason.JOB_COMPLETE),
    FAILED: ("True", BackupReason.JOB_FAILED),
}
_READY: Final = {
    PENDING: ("False", BackupReason.PENDING),
    RUNNING: ("False", BackupReason.RUNNING),
    COMPLETED: ("True", BackupReason.COMPLETE),
    FAILED: ("False", BackupReason.FAILED),
}
_KEPT: Final = (
    "startTime",
    "step",
    "progress",
    "size",
    "id",
    "base",
    "atTime",
    "backup",
    "from",
    "cluster",
    "verification",
)
_RETRY: Final = "30s"


def report_on_job(
    resource: Resource, plan: JobPlan, failure: str, now: str, facts: Mapping[str, Any]
) -> Report:
    """Report what a pass over a BackupJob or RestoreJob came to.

    Args:
        resource: with its status so far.
        plan: what was decided.
        failure: why the pass failed; empty if it did not.
        now: the present, RFC 3339.
        facts: fields of the status besides those of the plan, such as ``backup``.
    """
    before = resource.get("status") or {}
    if before.get("phase") in (COMPLETED, FAILED) and not plan.paused:
        known = _of_generation(before, _generation(resource))
        return Report(known, [], before["phase"] == COMPLETED, str(before["message"]), plan.requeue)
    phase = _phase(plan, before, failure)
    message = failure or plan.invalid or plan.message
    kept = {name: before[name] for name in _KEPT if name in before}
    status = {
        **kept,
        **plan.facts,
        **facts,
        "phase": phase,
        "message": message[:_LONGEST_MESSAGE],
        "observedGeneration": _generation(resource),
        "conditions": conditions(resource, plan, phase, failure),
    }
    if plan.begun:
        status["startTime"] = plan.begun
    if phase in (COMPLETED, FAILED):
        status["completionTime"] = now
    return Report(status, [], phase == COMPLETED, message, _RETRY if failure else plan.requeue)


def _of_generation(status: Mapping[str, Any], generation: int) -> dict[str, Any]:
    """Return the status of what has ended for the present generation, which changes nothing."""
    renewed = [
        {**condition, "observedGeneration": generation} for condition in status["conditions"]
    ]
    return {**status, "observedGeneration": generation, "conditions": renewed}


def _generation(resource: Resource) -> int:
    return int(resource["metadata"].get("generation") or 0)


def _phase(plan: JobPlan, before: Mapping[str, Any], failure: str) -> str:
    """Return the phase; a pass that failed or decided nothing leaves it as it was."""
    if failure or plan.invalid or plan.paused:
        return str(before.get("phase") or PENDING)
    return plan.phase


def conditions(resource: Resource, plan: JobPlan, phase: str, failure: str) -> list[Condition]:
    """Return the conditions, complete but for their times."""
    found = resource.get("status") or {}
    if plan.paused and found.get("conditions"):
        kept = [
            condition
            for condition in found["conditions"]
            if condition["type"] != ConditionType.PAUSED.value
        ]
        return [*kept, *paused(resource, True, _generation(resource))]

    def say(kind: str, status: str, reason: str, message: str = "") -> Condition:
        return {
            "type": kind,
            "status": status,
            "observedGeneration": _generation(resource),
            "reason": reason,
            "message": message[:_LONGEST_MESSAGE],
        }

    ended, ready = _ENDED[phase], _READY[phase]
    message = failure or plan.invalid or plan.message
    progress, problem = _progress(plan, phase, failure), plan.problem
    return [
        say(ConditionType.READY.value, ready[0], ready[1].value, message),
        say(ConditionType.SYNCED.value, *_synced(plan, failure)),
        say(ENDED, ended[0], ended[1].value, message),
        say(ConditionType.PROGRESSING.value, *progress),
        say(ConditionType.DEGRADED.value, "True", problem["reason"], problem["message"])
        if problem
        else say(ConditionType.DEGRADED.value, "False", BackupReason.AS_EXPECTED.value),
        *paused(resource, plan.paused, _generation(resource)),
    ]


def _synced(plan: JobPlan, failure: str) -> tuple[str, str, str]:
    if plan.invalid:
        return "False", BackupReason.INVALID_SPEC.value, plan.invalid
    if failure:
        return "False", BackupReason.APPLY_FAILED.value, failure
    if plan.progress == BackupReason.WAITING.value:
        return "False", BackupReason.DEPENDENCY_NOT_READY.value, plan.message
    return "True", BackupReason.APPLIED.value, ""


def _progress(plan: JobPlan, phase: str, failure: str) -> tuple[str, str, str]:
    if phase in (COMPLETED, FAILED):
        return "False", BackupReason.SETTLED.value, ""
    if plan.progress == BackupReason.SUSPENDED.value:
        return "False", plan.progress, plan.message
    return "True", plan.progress, failure or plan.invalid or plan.message
