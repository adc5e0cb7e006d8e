# SPDX-License-Identifier: Apache-2.0
"""What it says about a backup that a table of the restored database cannot be read."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program import proving
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.catalog import (
    SETTLED,
    STILL,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.errors import (
    TaskFailed,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.progress import (
    Progress,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.reading_back import (
    ATTEMPTS,
    Found,
    read_back,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import Reason
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.verification import (
    checks,
    verdicts,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.verification.checks import (
    Check,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.verification.refusals import (
    Meaning,
    meaning_of,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients import sql
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.sql import (
    Entrance,
    LoginRefused,
    SqlError,
    Statement,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.upgrade.catalog import (
    LAST_FAILURE,
    STATEMENTS,
)

ENTRANCE = Entrance("db", 6001, "dump", "secret")
TABLES = [("d", "a"), ("d", "b"), ("d", "c")]
GOOD = (3, 30)


class Hurried(Progress):
    """Waits for nothing."""

    def __init__(self) -> None:
        super().__init__(lambda *_: None, time.monotonic() + 60)

    def sleep(self, seconds: float) -> None:
        del seconds
        self.check()


def refused(words: str, code: int = 1105) -> SqlError:
    error = SqlError(f"SQL at db:6001 refused (error {code})")
    error.refused, error.connected, error.code, error.words = True, True, code, words
    return error


def lost() -> SqlError:
    error = SqlError("SQL at db:6001 cannot be reached (error 2013)")
    error.connected = True
    return error


@dataclass
class Database:
    """A database that answers as a script says.

    Attributes:
        bad: what the attempts at reading the table b lead to, one after the other; then the last.
        silent: how many times it does not answer anything after such an error.
        check: what a user's statement leads to.
        catalog: what a statement about the catalog leads to.
    """

    bad: list[Exception | tuple[int, int]]
    silent: int = 0
    check: Callable[[], list[tuple[Any, ...]]] = lambda: [(3,)]
    catalog: Callable[[str], list[tuple[Any, ...]]] = lambda _text: [("2.0.5", 0, 2)]
    reads: int = 0
    left: int = field(default=0)

    def ask(self, entrance: Entrance, statement: Statement, seconds: float) -> Any:
        del entrance, seconds
        text, values = statement
        if statement == checks.TABLES:
            return TABLES
        if text in STATEMENTS or statement == LAST_FAILURE:
            return self.catalog(text)
        if statement == sql.LIVENESS:
            if self.left:
                self.left -= 1
                raise lost()
            return [(1,)]
        if "columns" in text:
            return [("id",), (values[1],)]
        if "`d`.`b`" in text:
            answer = self.bad[min(self.reads, len(self.bad) - 1)]
            self.reads += 1
            if isinstance(answer, Exception):
                self.left = self.silent
                raise answer
            return [answer]
        return [GOOD] if "`d`." in text else self.check()


def read(database: Database, *wanted: Check) -> Found:
    return read_back(ENTRANCE, wanted, 1, Hurried(), database.ask)


def result_of(found: Found) -> str:
    """Return the result of the verification that has read this."""
    if not found.problems:
        return verdicts.PASSED
    reason = proving._reason_of(found).value
    return str(verdicts.verdict("job", "", "2026-01-01T00:00:00Z", reason)["result"])


MISSING = refused("file 0192a3e4_00000 is not found")
SURROUNDINGS = [
    refused("error: out of memory", 20103),
    refused("internal error: convert go error to mo error context deadline exceeded", 20101),
    refused("internal error: dial tcp: lookup minio.storage on 10.96.0.10:53: no such host"),
    refused("operation error S3: GetObject, https response error StatusCode: 403, AccessDenied"),
    refused("operation error S3: GetObject, https response error StatusCode: 503, SlowDown"),
    refused("operation error S3: GetObject, get credentials: failed to refresh cached credentials"),
    refused("read tcp 10.0.0.1:1->10.0.0.2:9000: connection reset by peer"),
    refused("read /shared/0192a3e4: input/output error"),
    refused("rpc timeout", 20500),
    refused("no available backend", 20504),
    refused("txn need retry", 20628),
]
OF_DATA = [
    MISSING,
    refused("file s3 size does not match", 20409),
    refused("internal error: checksum not match"),
    refused("unexpected end of file 0192a3e4"),
    refused("tae read error", 20608),
    refused("operation error S3: GetObject, https response error StatusCode: 404, NoSuchKey"),
    refused("internal error: panic runtime error: index out of range [3] with length 2"),
]


@pytest.mark.parametrize("error", OF_DATA, ids=lambda error: error.words[:30])
def test_what_a_database_that_answers_refuses_again_and_again_is_damaged(error):
    database = Database([error])
    found = read(database)
    assert (found.tables, found.unreadable, database.reads) == (2, 1, ATTEMPTS)
    assert found.problems[0].startswith("table d.b cannot be read: SQL at db:6001 refused")
    assert result_of(found) == verdicts.FAILED
    assert meaning_of(error.code, error.words) is Meaning.DATA


@pytest.mark.parametrize("error", [lost(), *SURROUNDINGS], ids=lambda error: error.words[:30])
def test_what_else_may_be_wrong_says_nothing_of_the_backup(error):
    found = read(Database([error]))
    assert (found.tables, found.unreadable, found.unanswered) == (2, 0, 1)
    assert proving._reason_of(found) is Reason.UNREACHABLE
    assert result_of(found) == verdicts.INCOMPLETE


@pytest.mark.parametrize("silent", [1, 50])
def test_a_refusal_before_the_database_is_lost_says_nothing(silent):
    found = read(Database([MISSING], silent=silent))
    assert (found.unreadable, found.unanswered) == (0, 1)


@pytest.mark.parametrize("first", [[lost()], [MISSING], [MISSING, SURROUNDINGS[0]], [lost()] * 2])
def test_what_passes_in_a_later_attempt_is_read(first):
    found = read(Database([*first, GOOD], silent=20))
    assert (found.tables, found.rows, found.problems) == (3, 9, [])
    assert result_of(found) == verdicts.PASSED


def test_one_lost_attempt_leaves_the_question_open():
    found = read(Database([MISSING, lost(), MISSING]))
    assert (found.unreadable, found.unanswered) == (0, 1)


def test_a_database_that_does_not_come_back_is_no_damage():
    with pytest.raises(TaskFailed) as failure:
        read(Database([lost()], silent=10_000))
    assert (failure.value.reason, failure.value.retryable) == (Reason.UNREACHABLE, True)


def test_a_login_that_is_refused_in_the_middle_is_no_damage():
    with pytest.raises(TaskFailed) as failure:
        read(Database([LoginRefused("wrong password")]))
    assert failure.value.reason is Reason.LOGIN_FAILED


@pytest.mark.parametrize("words", ["serial_full of geometry is not supported", "SQL parser error"])
def test_a_statement_that_is_not_understood_is_no_damage(words):
    found = read(Database([refused(words)]))
    assert proving._reason_of(found) is Reason.STATEMENT_FAILED
    assert result_of(found) == verdicts.INCOMPLETE


def raising_of(error: Exception) -> Callable[[str], Any]:
    return lambda _text: raising(error)()


def raising(error: Exception) -> Callable[[], Any]:
    def check() -> Any:
        raise error

    return check


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (lambda: [(4,)], Reason.CHECK_FAILED),
        (raising(MISSING), Reason.CHECK_FAILED),
        (raising(refused("SQL parser error")), Reason.CHECK_FAILED),
        (raising(lost()), Reason.UNREACHABLE),
        (raising(SURROUNDINGS[3]), Reason.UNREACHABLE),
    ],
)
def test_a_check_differs_only_if_the_database_says_so(check, reason):
    wanted = Check.of({"name": "orders", "sql": "select count(*)", "rows": [[3]]})
    found = read(Database([GOOD], check=check), wanted)
    assert (found.tables, proving._reason_of(found)) == (3, reason)


def test_damage_counts_more_than_what_is_open():
    found = read(Database([MISSING], check=raising(lost())), Check.of({"sql": "select 2"}))
    assert (found.unreadable, found.unanswered) == (1, 1)
    assert proving._reason_of(found) is Reason.TABLE_UNREADABLE


class Upgrade:
    """A catalog that is upgraded while it is asked for.

    Args:
        steps: how many are to be done.
        each: so many questions each of them takes; 0 if they never end.
        version: of the catalog in the end.
    """

    def __init__(self, steps: int, each: int, version: str = "2.1.0") -> None:
        self._steps, self._each, self._version = steps, each, version
        self.asked = 0

    def answer(self, text: str) -> list[tuple[Any, ...]]:
        self.asked += text == STATEMENTS[0]
        done = (self.asked - 1) // self._each if self._each else 0
        left = max(0, self._steps - done)
        if text == STATEMENTS[0]:
            return [("2.0.5", 0, 2), (self._version, 0, 0 if left else 2)]
        if text == STATEMENTS[1]:
            return [("2.0.5", "2.1.0", 1, 0)] * left
        return [(left,)]


@pytest.mark.parametrize(
    ("upgrade", "asked"),
    [
        (Upgrade(0, 1), 1),
        (Upgrade(3, 20), 61),
        (Upgrade(3, STILL), 3 * STILL + 1),
        # The catalog has a version of its own: another one is final when nothing moves.
        (Upgrade(0, 1, "2.0.9"), SETTLED + 1),
        (Upgrade(1, 4, "2.0.9"), 4 + SETTLED + 1),
    ],
)
def test_tables_are_read_when_the_catalog_is_upgraded(upgrade: Upgrade, asked: int) -> None:
    database = Database([GOOD], catalog=upgrade.answer)
    found = read_back(ENTRANCE, (), 1, Hurried(), database.ask, "2.1.0")
    assert (found.tables, found.problems, upgrade.asked) == (3, [], asked)


@pytest.mark.parametrize(
    ("answer", "result", "problem"),
    [
        (
            Upgrade(2, 0).answer,
            verdicts.FAILED,
            (
                "its upgrade to 2.1.0 does not end: the catalog is not complete: mo_version has 2.1.0 in "
                "state 0 (created); 2 steps to do, next 2.0.5 to 2.1.0, 1 tenants left"
            ),
        ),
        (
            raising_of(MISSING),
            verdicts.FAILED,
            "its upgrade to 2.1.0 does not end: the database does not show it: ",
        ),
        (raising_of(refused("SQL parser error")), verdicts.INCOMPLETE, "the catalog was not read"),
        (lambda _text: [], verdicts.INCOMPLETE, "the catalog was not read: mo_catalog.mo_version"),
    ],
)
def test_a_rehearsal_fails_if_the_catalog_stands_still(
    answer: Callable[[str], Any], result: str, problem: str
) -> None:
    database = Database([GOOD], catalog=answer)
    found = read_back(ENTRANCE, (), 1, Hurried(), database.ask, "2.1.0")
    assert (found.tables, result_of(found)) == (3, result)
    assert problem in found.problems[0]


@pytest.mark.parametrize(
    ("logged", "told"),
    [
        ([('{"error":"no such table t"}',)], "; MatrixOne logged: no such table t"),
        ([], ""),
        (refused("no such table system.log_info"), ""),
        (lost(), ""),
    ],
    ids=["logged", "nothing logged", "no log", "no answer"],
)
def test_a_rehearsal_tells_what_matrixone_logged(logged: Any, told: str) -> None:
    """Its database is deleted afterwards, and the log with it."""
    stands_still = Upgrade(2, 0)

    def answer(text: str) -> Any:
        if text != LAST_FAILURE[0]:
            return stands_still.answer(text)
        if isinstance(logged, Exception):
            raise logged
        return logged

    database = Database([GOOD], catalog=answer)
    found = read_back(ENTRANCE, (), 1, Hurried(), database.ask, "2.1.0")
    assert found.problems[0].endswith(f"next 2.0.5 to 2.1.0, 1 tenants left{told}")
    assert result_of(found) == verdicts.FAILED
