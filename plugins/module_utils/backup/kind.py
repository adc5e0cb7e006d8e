# SPDX-License-Identifier: Apache-2.0
"""What is asked of a Backup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..api.types import Resource
from ..reporting.conditions import Condition, paused
from ..reporting.events import Occurrence, occurrence
from ..reporting.reasons import BackupReason, ConditionType
from ..reporting.report import Report
from ..workload.component import Reference
from ..workload.kind import Kind, PassEnd, PassStart, Planner, Reporter
from ..workload.plans import is_paused
from . import users
from .links import AVAILABLE, BROKEN, looked_at
from .observed import BackupObserved
from .planning import (
    DELETING,
    PENDING,
    SUFFIX,
    BackupPlan,
    plan_backup,
    secret_namespace,
    secrets_of,
)
from .rechecking import is_known, plan_recheck, recheck_references
from .task import jobs
from .task.objects import secret_references, task_references
from .task.plan import PassContext
from .verification import verdicts


def _references(start: PassStart) -> dict[str, Reference]:
    """Return what to observe, by label; nothing of one that is known and not deleted."""
    resource = start.resource
    metadata, namespace = resource["metadata"], secret_namespace(resource)
    if not metadata.get("deletionTimestamp"):
        return recheck_references(resource) if is_rechecked(resource) else {}
    if resource.get("deletionPolicy") != "Delete":
        return {}
    others = users.references()
    if not namespace:
        return others
    secrets = secret_references(namespace, secrets_of(resource))
    base = jobs.base_name(metadata["name"], SUFFIX)
    return {**others, **secrets, **task_references(resource, namespace, base)}


def _plan(start: PassStart) -> BackupPlan:
    decide = plan_recheck if is_rechecked(start.resource) else plan_backup
    return decide(start.resource, BackupObserved.read(start.observed), PassContext.of(start))


def _report(end: PassEnd[BackupPlan]) -> Report:
    resource, plan, failure = end.resource, end.plan, end.failure
    events: list[Occurrence] = []
    if plan.kept:
        events = [occurrence("DataKept", plan.kept, action="Delete", warning=True)]
    message = failure or plan.message
    before, identity = resource.get("status") or {}, (resource.get("meta") or {}).get("id")
    if before.get("id") not in (None, identity):
        before = {}  # of another backup
    status = {
        **before,
        "id": identity,
        "phase": plan.phase,
        "message": message,
        "observedGeneration": _generation(resource),
        "conditions": _conditions(resource, plan, failure),
    }
    if not plan.paused:  # a pass that leaves it alone has found out nothing
        status["lookedAt"] = looked_at(resource)
    verified = (resource.get("meta") or {}).get("completeTime")
    if plan.verified_at:
        status["lastVerified"] = plan.verified_at
    elif verified and plan.phase == AVAILABLE:
        status.setdefault("lastVerified", verified)
    return Report(status, events, plan.phase == AVAILABLE, message, plan.requeue)


def status_of_proven(resource: Resource) -> Mapping[str, Any]:
    """Return the status of a Backup that its BackupJob has proven."""
    plan = BackupPlan(phase=AVAILABLE, done=True)
    return _report(PassEnd(resource, plan)).status


def is_rechecked(resource: Resource) -> bool:
    """Return whether a pass has to find out how a Backup is."""
    is_deleted = bool(resource["metadata"].get("deletionTimestamp"))
    return not (is_deleted or is_paused(resource) or is_known(resource))


def _generation(resource: Resource) -> int:
    return int(resource["metadata"].get("generation") or 0)


def _conditions(resource: Resource, plan: BackupPlan, failure: str) -> list[Condition]:
    before: Mapping[str, Any] = resource.get("status") or {}
    if plan.paused and before.get("conditions"):
        kept = [
            condition
            for condition in before["conditions"]
            if condition["type"] != ConditionType.PAUSED.value
        ]
        return [*kept, *paused(resource, True, _generation(resource))]

    def say(kind: ConditionType, status: bool, reason: BackupReason | str, message: str) -> Any:
        return {
            "type": kind.value,
            "status": str(status),
            "observedGeneration": _generation(resource),
            "reason": str(reason),
            "message": message,
        }

    message = failure or plan.message
    reasons = {
        AVAILABLE: BackupReason.AVAILABLE,
        BROKEN: BackupReason.BROKEN,
        PENDING: BackupReason.PENDING,
        DELETING: BackupReason.DELETING,
    }
    is_deleting, pending = plan.phase == DELETING, plan.phase == PENDING
    synced = BackupReason.APPLY_FAILED if failure else BackupReason.APPLIED
    problem = plan.problem
    return [
        say(ConditionType.READY, plan.phase == AVAILABLE, reasons[plan.phase], message),
        say(
            ConditionType.SYNCED,
            not (is_deleting or failure),
            reasons[DELETING] if is_deleting else synced,
            message if is_deleting or failure else "",
        ),
        say(
            ConditionType.PROGRESSING,
            is_deleting or pending,
            _progress(plan),
            message if is_deleting or pending else "",
        ),
        say(ConditionType.DEGRADED, True, problem["reason"], problem["message"])
        if problem
        else say(ConditionType.DEGRADED, False, BackupReason.AS_EXPECTED, ""),
        *_kept(resource),
        *paused(resource, plan.paused, _generation(resource)),
    ]


def _progress(plan: BackupPlan) -> BackupReason:
    return {DELETING: BackupReason.DELETING_DATA, PENDING: BackupReason.RUNNING}.get(
        plan.phase, BackupReason.SETTLED
    )


def _kept(resource: Resource) -> list[Condition]:
    """Return what a verification came to, unless it was of another backup."""
    of = (resource.get("status") or {}).get("id")
    is_same = of in (None, (resource.get("meta") or {}).get("id"))
    return verdicts.kept_conditions(resource) if is_same else []


BACKUP: Final = Kind(
    plan_type=BackupPlan,
    planner=Planner(references=_references, plan=_plan),
    reporter=Reporter(report=_report, metrics=verdicts.metrics_of),
)
"""The record of a backup; the schema says all about one."""
