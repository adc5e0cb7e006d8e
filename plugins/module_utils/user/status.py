# SPDX-License-Identifier: Apache-2.0
"""What is reported of a DatabaseUser: the status, Events, and when to check again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..api.cron import duration
from ..api.errors import InvalidSpec
from ..api.pacing import pause_after
from ..api.timestamps import unix_time
from ..api.types import Resource
from ..reporting.conditions import condition, find, paused, phase, summary
from ..reporting.events import Occurrence, occurrence
from ..reporting.kstatus import Condition
from ..reporting.reasons import ConditionType, UserReason
from ..reporting.report import Report, is_ready_and_synced, unobserved
from ..workload.kind import PassEnd
from .planning import UserPlan
from .results import UserResults
from .spec import UserSpec

Json = dict[str, Any]

RESULTS: Final = "results"
"""Where the result of the action is among what was observed."""
_KEPT: Final = ("secretRef", "secretVersion", "granted", "lastChecked", "binding")
_PAUSED: Final = "an annotation pauses this resource"
_SOON_SECONDS: Final = 15.0
_MISSING_SECONDS: Final = 30.0
_LATER_SECONDS: Final = 60.0
_LONGEST_SECONDS: Final = 600.0
_SAID_ONCE: Final = frozenset({UserReason.USER_EXISTS, UserReason.SECRET_MISSING})
"""Reasons that a person has to do something about."""
_UNKNOWN: Final = frozenset({UserReason.SQL_NOT_ANSWERED, UserReason.STATEMENT_REFUSED})
"""Reasons that do not tell whether the user can log in."""


def report_on_user(end: PassEnd[UserPlan], now: str) -> Report:
    """Report what a pass came to.

    Args:
        end: what it came to.
        now: the present, RFC 3339.
    """
    resource, plan = end.resource, end.plan
    if end.failure:
        return unobserved(resource, end.failure)
    results = UserResults.read(end.observed.get(RESULTS) or {})
    before = dict(resource.get("status") or {})
    if results is not None and results.unchanged:
        return Report(before, [], True, "", "")
    status = _status(resource, plan, results, before)
    message = str(status["message"])
    requeue = plan.requeue or _requeue(results, _failing(resource, now))
    ready = is_ready_and_synced(status)
    return Report(status, _events(results), ready, message, requeue)


def _status(
    resource: Resource, plan: UserPlan, results: UserResults | None, before: Mapping[str, Any]
) -> Json:
    generation = int(resource["metadata"].get("generation") or 0)
    conditions = [
        *_conditions(resource, plan, results, generation),
        *paused(resource, plan.paused, generation),
    ]
    status = {
        **_names(resource),
        **_facts(before, results),
        "conditions": conditions,
        "observedGeneration": generation,
        "phase": phase(conditions).value,
        "message": summary(conditions),
    }
    return {key: value for key, value in status.items() if value not in (None, [])}


def _names(resource: Resource) -> Json:
    try:
        spec = UserSpec.of(resource)
    except InvalidSpec:
        return {}
    return {"user": spec.user, "role": spec.role}


def _facts(before: Mapping[str, Any], results: UserResults | None) -> Json:
    """Return what is known of the database: as before, where it was not asked or did not answer."""
    kept = {key: before.get(key) for key in _KEPT}
    if results is None:
        return kept
    kept["secretRef"] = {"name": results.secret}
    if not results.checked:
        return kept
    return {
        **kept,
        "secretVersion": results.version,
        "granted": list(results.granted),
        "lastChecked": results.checked,
        "binding": {"name": results.binding} if results.binding else None,
    }


def _conditions(
    resource: Resource, plan: UserPlan, results: UserResults | None, generation: int
) -> list[Condition]:
    before = [dict(find(resource, kind)) for kind in (ConditionType.READY, ConditionType.SYNCED)]
    if plan.paused and all(before):
        return before
    if resource["metadata"].get("deletionTimestamp"):
        said = (results.message if results else "") or plan.waiting_for or "the user is dropped"
        return _both(False, UserReason.DELETING, said, generation)
    if plan.reason or results is None:
        reason = UserReason(plan.reason) if plan.reason else UserReason.DEPENDENCY_NOT_READY
        said = plan.invalid or plan.waiting_for or _PAUSED
        found = _both(False, reason, said, generation)
        return _kept_synced(found, before[1], reason, generation)
    if results.checked:
        return _answered(results, generation)
    reason = UserReason(results.reason)
    found = _both(None if reason in _UNKNOWN else False, reason, results.message, generation)
    return _kept_synced(found, before[1], reason, generation)


def _answered(results: UserResults, generation: int) -> list[Condition]:
    reason = UserReason(results.reason or UserReason.APPLIED)
    is_synced = reason is UserReason.APPLIED
    return [
        condition(ConditionType.READY, True, UserReason.LOGIN_ACCEPTED, "", generation),
        condition(ConditionType.SYNCED, is_synced, reason, results.message, generation),
    ]


def _both(ready: bool | None, reason: UserReason, message: str, generation: int) -> list[Condition]:
    return [
        condition(ConditionType.READY, ready, reason, message, generation),
        condition(ConditionType.SYNCED, False, reason, message, generation),
    ]


def _kept_synced(
    found: list[Condition], before: Condition, reason: UserReason, generation: int
) -> list[Condition]:
    """Leave Synced as it was where the database only cannot be asked: nothing was undone."""
    is_away = reason in (UserReason.DEPENDENCY_NOT_READY, UserReason.SQL_NOT_ANSWERED)
    was_synced = before.get("status") == "True" and before.get("observedGeneration") == generation
    return [found[0], before] if is_away and was_synced else found


def _failing(resource: Resource, now: str) -> float:
    """Return for how many seconds this generation of a user has not been as it is asked for."""
    generation = resource["metadata"].get("generation")
    known = [find(resource, kind) for kind in (ConditionType.READY, ConditionType.SYNCED)]
    since = [
        unix_time(one.get("lastTransitionTime"))
        for one in known
        if one.get("status") != "True" and one.get("observedGeneration") == generation
    ]
    return unix_time(now) - min(since) if since else 0.0


def _requeue(results: UserResults | None, failing: float) -> str:
    """Return when the database is asked again: what it refuses for long, more and more rarely."""
    if results is None or not results.reason:
        return ""
    if results.reason == UserReason.DATABASE_MISSING:
        first = _MISSING_SECONDS
    else:
        first = _LATER_SECONDS if results.reason in _SAID_ONCE else _SOON_SECONDS
    return duration(pause_after(failing, first, _LONGEST_SECONDS))


def _events(results: UserResults | None) -> list[Occurrence]:
    if results is None:
        return []
    if results.created:
        note = f"created the user, with {results.changes} statements"
        return [occurrence("UserCreated", note, action="Create")]
    if results.changes and results.checked:
        note = f"ran {results.changes} statements: user or privileges were not as desired"
        return [occurrence("UserChanged", note, action="Update")]
    return []
