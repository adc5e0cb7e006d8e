# SPDX-License-Identifier: Apache-2.0
"""Read a database that was restored from a backup, and say what that proves about the backup."""

from __future__ import annotations

from ...module_utils.backup.checks import in_short
from ...module_utils.backup.tasks import RETRYABLE, Phase, Reading, Reason, Result, Task
from .progress import Progress
from .reading_back import read_back
from .statements import entrance_of
from .stores import Mounts


def prove(task: Task, mounts: Mounts, progress: Progress) -> Result:
    """Read every table and run the checks of a task.

    Returns:
        The end of the task: failed if a table cannot be read (TableUnreadable) or a check does not
        answer as expected (CheckFailed), with what could be read in any case.

    Raises:
        TaskFailed: nothing was read: LoginFailed, Unreachable, or the task must end.
    """
    found = read_back(entrance_of(task, mounts), task.checks, task.parallelism, progress)
    reading = Reading(found.tables, found.rows, found.bytes)
    if not found.problems:
        return Result(Phase.SUCCEEDED, reading=reading)
    reason = Reason.TABLE_UNREADABLE if found.unreadable else Reason.CHECK_FAILED
    return Result(
        Phase.FAILED,
        reason=reason,
        message=in_short(found.problems),
        retryable=reason in RETRYABLE,
        reading=reading,
    )
