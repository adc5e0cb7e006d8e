# SPDX-License-Identifier: Apache-2.0
"""What is reported of a Database: the status, Events, and when to check again."""

from __future__ import annotations

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
from .results import DatabaseResults
from .spec import DatabaseSpec

Json = dict[str, Any]

RESULTS: Final = "results"
"""Where the result of the action is among what was observed."""
_SOON_SECONDS: Final = 15.0
_LATER_SECONDS: Final = 60.0
_SAID_ONCE: Final = frozenset({ObjectReason.DATABASE_EXISTS, ObjectReason.DATABASE_LOST})
"""Reasons that a person has to do something about."""


def report_on_database(end: PassEnd[ObjectPlan], now: str) -> Report:
    """Report what a pass came to.

    Args:
        end: what it came to.
        now: the present, RFC 3339.
    """
    resource = end.resource
    results = DatabaseResults.read(end.observed.get(RESULTS) or {})
    known = report_without_news(end, unchanged=results is not None and results.unchanged)
    return known or report_on_object(
        end,
        _facts(resource, results),
        _conditions(resource, end.plan, results),
        _events(resource, results),
        _requeue(resource, results, now),
    )


def _facts(resource: Resource, results: DatabaseResults | None) -> Json:
    before = resource.get("status") or {}
    return {
        "database": _name(resource),
        "id": (results and results.number) or before.get("id"),
        "lastChecked": (results and results.checked) or before.get("lastChecked"),
    }


def _name(resource: Resource) -> str | None:
    try:
        return DatabaseSpec.of(resource).database
    except InvalidSpec:
        return None


def _conditions(
    resource: Resource, plan: ObjectPlan, results: DatabaseResults | None
) -> list[Condition]:
    generation = int(resource["metadata"].get("generation") or 0)
    if resource["metadata"].get("deletionTimestamp"):
        said = (results.message if results else "") or plan.waiting_for or "the database is dropped"
        return both(False, ObjectReason.DELETING, said, generation)
    if plan.reason or results is None:
        return unasked(resource, plan, generation)
    if results.reason:
        return failed(resource, ObjectReason(results.reason), results.message, generation)
    return [
        condition(ConditionType.READY, True, ObjectReason.AVAILABLE, "", generation),
        condition(ConditionType.SYNCED, True, ObjectReason.APPLIED, "", generation),
    ]


def _requeue(resource: Resource, results: DatabaseResults | None, now: str) -> str:
    if results is None or not results.reason:
        return ""
    first = _LATER_SECONDS if results.reason in _SAID_ONCE else _SOON_SECONDS
    return next_try(resource, now, first)


def _events(resource: Resource, results: DatabaseResults | None) -> list[Occurrence]:
    if results is None:
        return []
    name = _name(resource)
    if results.created:
        return [occurrence("DatabaseCreated", f"created database {name}", action="Create")]
    before = (resource.get("status") or {}).get("id")
    if results.number and before and results.number != before:
        note = f"database {name} is another one (number {results.number}) than before ({before})"
        return [occurrence("DatabaseReplaced", note, action="Update")]
    if results.dropped:
        note = f"dropped database {name}, as deletionPolicy asks for"
        return [occurrence("DatabaseDropped", note, action="Delete")]
    if results.spared:
        note = f"database {name} is another one than that of this resource and was not dropped"
        return [occurrence("DatabaseKept", note, action="Delete")]
    return []
