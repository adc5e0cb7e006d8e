# SPDX-License-Identifier: Apache-2.0
"""The report of a pass over a user or a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..reporting.conditions import paused, phase, summary
from ..reporting.events import Occurrence
from ..reporting.kstatus import Condition
from ..reporting.report import Report, is_ready_and_synced, unobserved
from ..workload.kind import PassEnd
from .planning import ObjectPlan


def report_without_news(end: PassEnd[ObjectPlan], *, unchanged: bool) -> Report | None:
    """Return the report of a pass that failed, or found all as it was; None for any other.

    Args:
        end: what the pass came to.
        unchanged: the database was not asked, because all was as desired a short time ago.
    """
    if end.failure:
        return unobserved(end.resource, end.failure)
    if unchanged:
        return Report(dict(end.resource.get("status") or {}), [], True, "", "")
    return None


def report_on_object(
    end: PassEnd[ObjectPlan],
    facts: Mapping[str, Any],
    conditions: Sequence[Condition],
    events: Sequence[Occurrence],
    requeue: str,
) -> Report:
    """Report what a pass came to.

    Args:
        end: what it came to.
        facts: what the status says of the kind; None and empty lists are left out.
        conditions: Ready and Synced.
        events: to emit.
        requeue: when the database is asked again.
    """
    resource, plan = end.resource, end.plan
    generation = int(resource["metadata"].get("generation") or 0)
    all_conditions = [*conditions, *paused(resource, plan.paused, generation)]
    message = summary(all_conditions)
    status = {
        **{key: value for key, value in facts.items() if value not in (None, [])},
        "conditions": all_conditions,
        "observedGeneration": generation,
        "phase": phase(all_conditions).value,
        "message": message,
    }
    return Report(status, events, is_ready_and_synced(status), message, plan.requeue or requeue)
