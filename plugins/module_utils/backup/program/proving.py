# SPDX-License-Identifier: Apache-2.0
"""Read a database that was restored from a backup, and say what that proves about the backup."""

from __future__ import annotations

from ..task.tasks import RETRYABLE, Phase, Reading, Reason, Result, Task
from ..verification.checks import in_short
from .progress import Progress
from .reading_back import Found, read_back
from .statements import entrance_of
from .stores import Mounts


def prove(task: Task, mounts: Mounts, progress: Progress) -> Result:
    """Read every table and run the checks of a task, once the catalog is upgraded if it has to be.

    Returns:
        The end of the task, with what could be read in any case: failed if the database refuses to
        read a table (TableUnreadable), if its catalog stands still (CatalogNotUpgraded), if
        something could not be put to it (Unreachable, StatementFailed), or if a check does not
        answer as expected (CheckFailed). What it refuses was tried several times and is not tried
        again.

    Raises:
        TaskFailed: nothing was read: LoginFailed, Unreachable, or the task must end.
    """
    place, upgraded_to = entrance_of(task, mounts), task.upgraded_to
    found = read_back(place, task.checks, task.parallelism, progress, upgraded_to=upgraded_to)
    reading = Reading(found.tables, found.rows, found.bytes)
    if not found.problems:
        return Result(Phase.SUCCEEDED, reading=reading)
    reason = _reason_of(found)
    return Result(
        Phase.FAILED,
        reason=reason,
        message=in_short(found.problems),
        retryable=reason in RETRYABLE,
        reading=reading,
    )


def _reason_of(found: Found) -> Reason:
    if found.unreadable:
        return Reason.TABLE_UNREADABLE
    if found.not_upgraded:
        return Reason.CATALOG_NOT_UPGRADED
    return found.open_because if found.unanswered else Reason.CHECK_FAILED
