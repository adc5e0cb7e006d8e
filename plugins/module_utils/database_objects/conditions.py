# SPDX-License-Identifier: Apache-2.0
"""Conditions of what lies in a database, and how often a database that refuses is asked again."""

from __future__ import annotations

from typing import Final

from ..api.cron import duration
from ..api.pacing import pause_after
from ..api.timestamps import unix_time
from ..api.types import Resource
from ..reporting.conditions import condition, find, holds_now
from ..reporting.kstatus import Condition
from ..reporting.reasons import ConditionType, ObjectReason
from .planning import ObjectPlan

_PAUSED: Final = "an annotation pauses this resource"
_LONGEST_SECONDS: Final = 600.0
_PERIOD_SECONDS: Final = 540.0
"""After which the database is asked again; a little less than ``reconcilePeriod``."""
_UNKNOWN: Final = frozenset({ObjectReason.SQL_NOT_ANSWERED, ObjectReason.STATEMENT_REFUSED})
"""Reasons that do not tell whether it can be used."""
_AWAY: Final = frozenset({ObjectReason.DEPENDENCY_NOT_READY, ObjectReason.SQL_NOT_ANSWERED})


def before(resource: Resource) -> list[Condition]:
    """Return the conditions Ready and Synced that a resource has; empty ones if it has none."""
    return [dict(find(resource, kind)) for kind in (ConditionType.READY, ConditionType.SYNCED)]


def unasked(resource: Resource, plan: ObjectPlan, generation: int) -> list[Condition]:
    """Return Ready and Synced where the database was not asked.

    Args:
        resource: with its status so far.
        plan: why it was not.
        generation: of the resource.
    """
    had = before(resource)
    if plan.paused and all(had):
        return had
    fallback = ObjectReason.DEPENDENCY_NOT_READY
    reason = ObjectReason(plan.reason) if plan.reason else fallback
    said = plan.invalid or plan.waiting_for or _PAUSED
    return _kept_synced(both(False, reason, said, generation), had[1], reason, generation)


def failed(
    resource: Resource, reason: ObjectReason, message: str, generation: int
) -> list[Condition]:
    """Return Ready and Synced where the database refused, or did not answer."""
    found = both(None if reason in _UNKNOWN else False, reason, message, generation)
    return _kept_synced(found, before(resource)[1], reason, generation)


def both(
    ready: bool | None, reason: ObjectReason, message: str, generation: int
) -> list[Condition]:
    """Return Ready as given, and that it is not Synced, for one reason."""
    return [
        condition(ConditionType.READY, ready, reason, message, generation),
        condition(ConditionType.SYNCED, False, reason, message, generation),
    ]


def _kept_synced(
    found: list[Condition], had: Condition, reason: ObjectReason, generation: int
) -> list[Condition]:
    """Leave Synced as it was where the database only cannot be asked: nothing was undone."""
    was_synced = had.get("status") == "True" and had.get("observedGeneration") == generation
    return [found[0], had] if reason in _AWAY and was_synced else found


def is_fresh(resource: Resource, now: str) -> bool:
    """Return whether all was as desired a short time ago, and the spec has not changed since.

    Args:
        resource: with its status so far.
        now: the present, RFC 3339.
    """
    if not all(holds_now(resource, kind) for kind in (ConditionType.READY, ConditionType.SYNCED)):
        return False
    age = unix_time(now) - unix_time((resource.get("status") or {}).get("lastChecked"))
    return 0 <= age < _PERIOD_SECONDS


def next_try(resource: Resource, now: str, first: float) -> str:
    """Return when the database is asked again: what it refuses for long, more and more rarely.

    Args:
        resource: with its status so far.
        now: the present, RFC 3339.
        first: seconds until the first other try.
    """
    return duration(pause_after(_failing(resource, now), first, _LONGEST_SECONDS))


def _failing(resource: Resource, now: str) -> float:
    """Return for how many seconds this generation has not been as it is asked for."""
    generation = resource["metadata"].get("generation")
    since = [
        unix_time(one.get("lastTransitionTime"))
        for one in before(resource)
        if one and one.get("status") != "True" and one.get("observedGeneration") == generation
    ]
    return unix_time(now) - min(since) if since else 0.0
