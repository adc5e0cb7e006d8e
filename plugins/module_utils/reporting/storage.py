# SPDX-License-Identifier: Apache-2.0
"""Whether the object store answers the operator, which says that it serves the database as well.

The operator may never be able to reach it, for example where only the database's network can. So
its silence counts only after an answer, which the condition records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .conditions import Condition, condition, find
from .reasons import ConditionType, Reason

_ANSWERS: Final = "the object store answers"
SILENT: Final = (
    "the object store does not answer the operator: small transactions are committed to the log "
    "service, but large inserts and checkpoints fail or wait"
)


def storage_conditions(
    resource: Mapping[str, Any], answered: bool | None, generation: int
) -> list[Condition]:
    """Return the condition StorageReachable; none while the object store never answered.

    Args:
        resource: a set with its conditions so far.
        answered: whether the object store answered now; None where it was not asked.
        generation: of the set.
    """
    before = find(resource, ConditionType.STORAGE_REACHABLE).get("status")
    if answered is None and before is not None:
        answered = before == "True"
    if answered:
        reason, message = Reason.STORAGE_ANSWERS, _ANSWERS
    elif answered is False and before is not None:
        reason, message = Reason.STORAGE_UNREACHABLE, SILENT
    else:
        return []
    kind = ConditionType.STORAGE_REACHABLE
    return [condition(kind, answered, reason, message, generation)]


def is_storage_silent(resource: Mapping[str, Any], answered: bool | None) -> bool:
    """Return whether the object store of a set answered once, and does not any more."""
    return any(one["status"] == "False" for one in storage_conditions(resource, answered, 0))


def is_storage_as_reported(resource: Mapping[str, Any], answered: bool | None) -> bool:
    """Return whether a status would say of the object store what the present one does."""
    before = find(resource, ConditionType.STORAGE_REACHABLE).get("status")
    after = storage_conditions(resource, answered, 0)
    return before == (after[0]["status"] if after else None)
