# SPDX-License-Identifier: Apache-2.0
"""Read every table of a database, and put the questions of its users to it.

A database that was restored starts even if objects are missing; it fails when they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from ...module_utils.backup import checks
from ...module_utils.backup.checks import Check
from ...module_utils.backup.tasks import Amount, Reason, Step
from ...module_utils.clients import sql
from ...module_utils.clients.sql import Entrance
from .errors import TaskFailed
from .progress import Progress, for_each

Table = tuple[str, str]
"""Schema and name."""


@dataclass(slots=True)
class Found:
    """What was read.

    Attributes:
        tables: that could be read.
        rows: of these tables.
        bytes: of their values, as they are serialized.
        unreadable: number of tables that could not be read.
        problems: what could not be read, or differs from what is expected.
    """

    tables: int = 0
    rows: int = 0
    bytes: int = 0
    unreadable: int = 0
    problems: list[str] = field(default_factory=list)


def read_back(
    entrance: Entrance, wanted: Sequence[Check], workers: int, progress: Progress
) -> Found:
    """Read all tables, then run the checks; go on after a problem.

    Args:
        entrance: where the database answers; the tables are those that this user sees.
        wanted: checks.
        workers: sessions at a time.
        progress: of the task.

    Raises:
        TaskFailed: LoginFailed, Unreachable, or the task must end.
    """
    found, lock = Found(), Lock()
    tables = _tables(entrance, progress)

    def read(table: Table) -> None:
        progress.check()
        name = ".".join(table)
        try:
            rows, size = _read(entrance, table, progress.seconds_left)
        except sql.SqlError as error:
            with lock:
                found.unreadable += 1
                found.problems.append(f"table {name} cannot be read: {error}")
            return
        with lock:
            found.tables += 1
            found.rows += rows
            found.bytes += size

    progress.begin(Step.VERIFY, Amount(len(tables), 0))
    for_each(tables, read, workers, progress)
    found.problems.sort()
    for check in wanted:
        progress.check()
        found.problems.extend(_put(entrance, check, progress.seconds_left))
    return found


def _tables(entrance: Entrance, progress: Progress) -> list[Table]:
    try:
        rows = sql.ask(entrance, checks.TABLES, progress.seconds_left)
    except sql.LoginRefused as error:
        raise TaskFailed(Reason.LOGIN_FAILED, str(error)) from error
    except sql.SqlError as error:
        raise TaskFailed(Reason.UNREACHABLE, str(error)) from error
    return [(str(schema), str(name)) for schema, name in rows]


def _read(entrance: Entrance, table: Table, seconds: float) -> tuple[int, int]:
    """Return rows and bytes of a table.

    Raises:
        SqlError: it cannot be read.
    """
    columns = [str(row[0]) for row in sql.ask(entrance, checks.columns_of(*table), seconds)]
    if not columns:
        raise sql.SqlError("it has no columns")
    [(rows, size)] = sql.ask(entrance, checks.reading(*table, columns), seconds)
    return int(rows), int(size or 0)


def _put(entrance: Entrance, check: Check, seconds: float) -> list[str]:
    """Run a check and return what is wrong with the answer."""
    try:
        differs = check.differs(sql.ask(entrance, check.statement, seconds))
    except sql.SqlError as error:
        return [f"check {check.name}: {error}"]
    return [f"check {check.name}: {differs}"] if differs else []
