# SPDX-License-Identifier: Apache-2.0
"""Read every table of a database, and put the questions of its users to it.

A database that was restored starts even if objects are missing; it fails when they are read. Only
that it refuses to read a table, again and again, while it answers otherwise, says something about
its data. A connection that is lost, a store that does not answer, a process that ran out of memory
and everything else that is not known to be about the data leaves the question open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from ...api import versions
from ...clients import sql
from ...clients.sql import Entrance, Statement
from ...upgrade.catalog import LAST_FAILURE, STATEMENTS, Catalog
from ..task.tasks import Amount, Reason, Step
from ..verification import checks
from ..verification.checks import Check
from ..verification.refusals import Meaning, meaning_of
from .catalog import await_upgrade
from .errors import TaskFailed
from .progress import Progress, for_each

Table = tuple[str, str]
"""Schema and name."""
Rows = list[tuple[Any, ...]]
Ask = Callable[[Entrance, Statement, float], Rows]
"""Runs a statement, within some seconds: `sql.ask`."""
ATTEMPTS: Final = 3
"""How many times a table is read, or a check put, that ends with an error."""
_PAUSE_SECONDS: Final = 5.0
"""Before the second attempt; twice as long before the third."""
_LIVENESS_ATTEMPTS: Final = 100
"""How many times a database that was lost is asked for any answer: five minutes at least."""
_LIVENESS_SECONDS: Final = 10.0
_LIVENESS_PAUSE: Final = 3.0
_LOG_SECONDS: Final = 30.0
"""How long the log may take to tell why a catalog stands still."""


@dataclass(slots=True)
class Found:
    """What was read.

    Attributes:
        tables: that could be read.
        rows: of these tables.
        bytes: of their values, as they are serialized.
        unreadable: number of tables that the database refused to read, though it answers.
        not_upgraded: whether its catalog was not upgraded to the end.
        differing: number of checks that it did not answer as expected.
        unanswered: number of tables and checks that it was not possible to put to it.
        open_because: why the first of them was not.
        problems: all of these, for people.
    """

    tables: int = 0
    rows: int = 0
    bytes: int = 0
    unreadable: int = 0
    not_upgraded: bool = False
    differing: int = 0
    unanswered: int = 0
    open_because: Reason = Reason.UNREACHABLE
    problems: list[str] = field(default_factory=list)

    def leave_open(self, error: Unanswered, problem: str) -> None:
        """Count what could not be put to the database."""
        if not self.unanswered:
            self.open_because = error.reason
        self.unanswered += 1
        self.problems.append(problem)


class Refused(Exception):
    """A database that answers has refused to read its data, in every attempt."""


class Unanswered(Exception):
    """It is not known what the database has, and why.

    Attributes:
        reason: Unreachable or StatementFailed.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def read_back(
    entrance: Entrance,
    wanted: Sequence[Check],
    workers: int,
    progress: Progress,
    ask: Ask = sql.ask,
    upgraded_to: str = "",
) -> Found:
    """Read all tables, then run the checks; go on after a problem.

    Args:
        entrance: where the database answers; the tables are those that this user sees.
        wanted: checks.
        workers: sessions at a time.
        progress: of the task.
        ask: runs a statement.
        upgraded_to: version to which the catalog has to be upgraded before; empty for none.

    Raises:
        TaskFailed: LoginFailed, Unreachable, or the task must end.
    """
    found, lock, questions = Found(), Lock(), _Questions(entrance, progress, ask)
    if upgraded_to:
        _await_catalog(questions, upgraded_to, progress, found)
    tables = questions.tables()

    def read(table: Table) -> None:
        name = ".".join(table)
        try:
            rows, size = questions.put(lambda: questions.read(table))
        except Refused as error:
            with lock:
                found.unreadable += 1
                found.problems.append(f"table {name} cannot be read: {error}")
            return
        except Unanswered as error:
            with lock:
                found.leave_open(error, f"table {name} was not read: {error}")
            return
        with lock:
            found.tables += 1
            found.rows += rows
            found.bytes += size

    progress.begin(Step.VERIFY, Amount(len(tables), 0))
    for_each(tables, read, workers, progress)
    found.problems.sort()
    for check in wanted:
        _check(questions, check, found)
    return found


def _await_catalog(
    questions: _Questions, upgraded_to: str, progress: Progress, found: Found
) -> None:
    """Wait for the upgrade of the catalog and note where it stands still."""
    try:
        still = await_upgrade(
            versions.parse(upgraded_to), lambda: questions.put(questions.catalog), progress.sleep
        )
        left = questions.explained(still).summary if still else ""
    except Refused as error:
        left = f"the database does not show it: {error}"
    except Unanswered as error:
        found.leave_open(error, f"the catalog was not read: {error}")
        return
    if left:
        found.not_upgraded = True
        found.problems.append(f"its upgrade to {upgraded_to} does not end: {left}")


def _check(questions: _Questions, check: Check, found: Found) -> None:
    """Run a check and note what is wrong with the answer."""
    try:
        differs = check.differs(questions.put(lambda: questions.answer(check.statement)))
    except Refused as error:
        differs = str(error)
    except Unanswered as error:
        if error.reason is Reason.STATEMENT_FAILED:  # the statement is the user's own
            differs = str(error)
        else:
            found.leave_open(error, f"check {check.name} was not run: {error}")
            return
    if differs:
        found.differing += 1
        found.problems.append(f"check {check.name}: {differs}")


class _Questions:
    """Puts statements to a database, and finds out what it means that one fails."""

    def __init__(self, entrance: Entrance, progress: Progress, ask: Ask) -> None:
        self._entrance = entrance
        self._progress = progress
        self._ask = ask

    def answer(self, statement: Statement) -> Rows:
        """Return the answer to one statement, which may take all the time that is left.

        Raises:
            SqlError: there is none.
        """
        return self._ask(self._entrance, statement, self._progress.seconds_left)

    def catalog(self) -> Catalog:
        """Return how far the catalog is.

        Raises:
            SqlError: it cannot be read.
            Unanswered: it is none.
        """
        rows = [self.answer((text, ())) for text in STATEMENTS]
        try:
            return Catalog.of(*rows)
        except ValueError as error:
            raise Unanswered(Reason.STATEMENT_FAILED, str(error)) from error

    def explained(self, still: Catalog) -> Catalog:
        """Return a catalog that stands still with what failed last, if the log tells."""
        seconds = min(_LOG_SECONDS, self._progress.seconds_left)
        try:
            return still.with_failure(self._ask(self._entrance, LAST_FAILURE, seconds))
        except sql.SqlError:
            return still

    def tables(self) -> list[Table]:
        """Return all tables.

        Raises:
            TaskFailed: LoginFailed or Unreachable.
        """
        try:
            rows = self.answer(checks.TABLES)
        except sql.LoginRefused as error:
            raise TaskFailed(Reason.LOGIN_FAILED, str(error)) from error
        except sql.SqlError as error:
            raise TaskFailed(Reason.UNREACHABLE, str(error)) from error
        return [(str(schema), str(name)) for schema, name in rows]

    def read(self, table: Table) -> tuple[int, int]:
        """Return rows and bytes of a table.

        Raises:
            SqlError: it cannot be read.
            Unanswered: nothing is known of its columns.
        """
        columns = [str(row[0]) for row in self.answer(checks.columns_of(*table))]
        if not columns:
            raise Unanswered(Reason.STATEMENT_FAILED, "the database names no columns of it")
        [(rows, size)] = self.answer(checks.reading(*table, columns))
        return int(rows), int(size or 0)

    def put(self, question: Callable[[], Any]) -> Any:
        """Return the answer to a question, after a few attempts.

        Raises:
            Refused: the database refuses it for its data, and answers otherwise.
            Unanswered: nothing is known.
            TaskFailed: LoginFailed; Unreachable, as the database does not come back; or the task
                must end.
        """
        failures: list[Refused | Unanswered] = []
        for attempt in range(ATTEMPTS):
            if attempt:
                self._progress.sleep(_PAUSE_SECONDS * attempt)
            self._progress.check()
            try:
                return question()
            except sql.LoginRefused as error:
                raise TaskFailed(Reason.LOGIN_FAILED, str(error)) from error
            except sql.SqlError as error:
                self._progress.check()  # the statement's own time was over
                is_alive = self._await_answer(error)
                failures.append(_meant(error, is_alive))
        # One attempt of which nothing is known leaves the question open.
        raise next(
            (failure for failure in failures if isinstance(failure, Unanswered)), failures[-1]
        )

    def _await_answer(self, error: sql.SqlError) -> bool:
        """Wait until the database answers anything, and return whether it did so at once.

        Raises:
            TaskFailed: it does not, or the task must end.
        """
        for attempt in range(_LIVENESS_ATTEMPTS):
            if attempt:
                self._progress.sleep(_LIVENESS_PAUSE)
            try:
                self._ask(self._entrance, sql.LIVENESS, _LIVENESS_SECONDS)
            except sql.SqlError:
                continue
            return attempt == 0
        message = f"{error}; the database does not come back"
        raise TaskFailed(Reason.UNREACHABLE, message) from error


def _meant(error: sql.SqlError, is_alive: bool) -> Refused | Unanswered:
    """Return what an error means.

    Args:
        error: of a statement.
        is_alive: whether the database answered another one right afterwards.
    """
    said = error.said()
    if not (error.refused and is_alive):
        return Unanswered(Reason.UNREACHABLE, said)
    meaning = meaning_of(error.code, error.words)
    if meaning is Meaning.DATA:
        return Refused(said)
    is_statement = meaning is Meaning.STATEMENT
    return Unanswered(Reason.STATEMENT_FAILED if is_statement else Reason.UNREACHABLE, said)
