# SPDX-License-Identifier: Apache-2.0
"""What is reported of a DatabaseUser: the status, Events, and when to check again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..api.errors import InvalidSpec
from ..api.types import Resource
from ..database_objects.conditions import both, failed, next_try, unasked
from ..database_objects.planning import ObjectPlan
from ..database_objects.reporting import report_on_object, report_without_news
from ..reporting.conditions import condition
from ..reporting.events import Occurrence, occurrence
from ..reporting.kstatus import Condition
from ..reporting.reasons import ConditionType, ObjectReason
from ..reporting.report import Report
from ..workload.kind import PassEnd
from .results import UserResults
from .spec import UserSpec

Json = dict[str, Any]

RESULTS: Final = "results"
"""Where the result of the action is among what was observed."""
_KEPT: Final = ("secretRef", "secretVersion", "granted", "lastChecked", "binding")
_SOON_SECONDS: Final = 15.0
_MISSING_SECONDS: Final = 5.0
_LATER_SECONDS: Final = 60.0
_SAID_ONCE: Final = frozenset({ObjectReason.USER_EXISTS, ObjectReason.SECRET_MISSING})
"""Reasons that a person has to do something about."""


def report_on_user(end: PassEnd[ObjectPlan], now: str) -> Report:
    """Report what a pass came to.

    Args:
        end: what it came to.
        now: the present, RFC 3339.
    """
    resource = end.resource
    results = UserResults.read(end.observed.get(RESULTS) or {})
    known = report_without_news(end, unchanged=results is not None and results.unchanged)
    return known or report_on_object(
        end,
        {**_names(resource), **_facts(resource.get("status") or {}, results)},
        _conditions(resource, end.plan, results),
        _events(results),
        _requeue(resource, results, now),
    )


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
    resource: Resource, plan: ObjectPlan, results: UserResults | None
) -> list[Condition]:
    generation = int(resource["metadata"].get("generation") or 0)
    if resource["metadata"].get("deletionTimestamp"):
        said = (results.message if results else "") or plan.waiting_for or "the user is dropped"
        return both(False, ObjectReason.DELETING, said, generation)
    if plan.reason or results is None:
        return unasked(resource, plan, generation)
    if results.checked:
        return _answered(results, generation)
    reason = ObjectReason(results.reason)
    return failed(resource, reason, results.message, generation)


def _answered(results: UserResults, generation: int) -> list[Condition]:
    reason = ObjectReason(results.reason or ObjectReason.APPLIED)
    is_synced = reason is ObjectReason.APPLIED
    return [
        condition(ConditionType.READY, True, ObjectReason.LOGIN_ACCEPTED, "", generation),
        condition(ConditionType.SYNCED, is_synced, reason, results.message, generation),
    ]


def _requeue(resource: Resource, results: UserResults | None, now: str) -> str:
    if results is None or not results.reason:
        return ""
    if results.reason == ObjectReason.DATABASE_MISSING:
        return next_try(resource, now, _MISSING_SECONDS)
    return next_try(
        resource, now, _LATER_SECONDS if results.reason in _SAID_ONCE else _SOON_SECONDS
    )


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
