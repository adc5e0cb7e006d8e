# SPDX-License-Identifier: Apache-2.0
"""SQL to a running MatrixOne, with a deadline for everything together. Passwords stay in here."""

from __future__ import annotations

import ssl
import struct
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from .matrixone.texts import shown

try:
    import pymysql

    from .sql_session import CANNOT_LOAD_PLUGIN, NO_TLS, Session
except ImportError:  # reported when a statement is to be run
    pymysql = None

_PAUSE = 2.0  # seconds between two attempts
_SHORTEST = 1.0  # seconds that are worth an attempt

Statement = tuple[str, tuple[Any, ...]]
"""SQL with ``%s`` for each value; values are quoted by the driver."""
Rows = list[tuple[Any, ...]]
T = TypeVar("T")
LIVENESS: Final[Statement] = ("select 1", ())
"""What is asked where any answer tells enough."""


class SqlError(Exception):
    """The database could not be reached, or refused; the message has no SQL in it.

    Attributes:
        refused: whether the database itself has rejected the statement.
        connected: whether `ask` knows of a server that accepted the connection.
        code: number of the error; zero if there is none.
        words: what it said about the statement. It may quote it, so show it only if the statement
            holds no secret.
        answered: how many statements of `ask_all` were answered before.
    """

    refused: bool = False
    connected: bool = False
    code: int = 0
    words: str = ""
    answered: int = 0

    def said(self) -> str:
        """Return the message and what the database said: for statements that hold no secret."""
        return f"{self}: {self.words}" if self.words else str(self)


class LoginRefused(SqlError):
    """There is no such user, or the password is not its own."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where and as whom to connect.

    Attributes:
        host: name or address.
        port: of the SQL protocol.
        user: name of the user.
        password: never shown.
        trusted: certificates in PEM, one of which the server has to have, or to be certified by;
            empty for a session without TLS.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    trusted: str = field(default="", repr=False)


def run(
    entrance: Entrance,
    statements: Sequence[Statement],
    seconds: float,
    *,
    patient: bool = True,
    is_final: Callable[[str], object] | None = None,
) -> None:
    """Run statements in one session; an attempt that fails is repeated from the beginning.

    Args:
        entrance: where the database answers.
        statements: to run in order; each may be run again.
        seconds: for all attempts together.
        patient: repeat an attempt that ended at the login, too.
        is_final: tells by the words of the database that the next attempt would end the same.

    Raises:
        LoginRefused: the last attempt ended at the login.
        SqlError: none of the attempts succeeded, or the server wanted the password in another form
            than a challenge's answer, which it does not get.
    """
    if pymysql is None:
        raise SqlError("the Python package PyMySQL is needed")
    deadline = time.monotonic() + seconds
    while True:
        try:
            deque(_answers(entrance, statements, deadline), maxlen=0)
        except (pymysql.MySQLError, OSError, *_MALFORMED) as error:
            failure = _failure(entrance, error)
            in_vain = is_final is not None and is_final(failure.words)
            at_once = isinstance(failure, LoginRefused) and not patient
            if at_once or in_vain or failure.code == CANNOT_LOAD_PLUGIN or _is_over(deadline):
                raise failure from None
            time.sleep(_PAUSE)
        else:
            return


def _is_over(deadline: float) -> bool:
    return time.monotonic() + _PAUSE + _SHORTEST > deadline


def accepts(
    entrance: Entrance, seconds: float, is_final: Callable[[str], object] | None = None
) -> bool:
    """Tell whether a user can log in with a password.

    Args:
        entrance: where the database answers.
        seconds: for all attempts together; a password that is refused is tried once.
        is_final: as for `run`.

    Raises:
        SqlError: the database could not be reached, or says something else.
    """
    try:
        run(entrance, (), seconds, patient=False, is_final=is_final)
    except LoginRefused:
        return False
    return True


def ask(
    entrance: Entrance,
    statement: Statement,
    seconds: float,
    *,
    first: Sequence[Statement] = (),
) -> list[tuple[Any, ...]]:
    """Run one statement once, which may work for all the time before it answers.

    Args:
        entrance: where the database answers.
        statement: to run; it is not repeated.
        seconds: for all of it.
        first: statements that are run before it in the same session, such as settings.

    Returns:
        The rows of its result.

    Raises:
        LoginRefused: the login was refused.
        SqlError: the database could not be reached, or refused the statement.
    """
    return ask_all(entrance, (*first, statement), seconds)[-1]


def ask_all(
    entrance: Entrance, statements: Sequence[Statement], seconds: float
) -> list[list[tuple[Any, ...]]]:
    """Run statements in one session, each once.

    Args:
        entrance: where the database answers.
        statements: to run in order.
        seconds: for all of them together; each may take all of it.

    Returns:
        The rows of each.

    Raises:
        LoginRefused: the login was refused.
        SqlError: the database could not be reached, or refused a statement.
    """
    if pymysql is None:
        raise SqlError("the Python package PyMySQL is needed")
    rows: list[list[tuple[Any, ...]]] = []
    try:
        rows.extend(_answers(entrance, statements, time.monotonic() + seconds, seconds))
    except (pymysql.MySQLError, OSError, *_MALFORMED) as error:
        failure = _failure(entrance, error)
        failure.answered = len(rows)
        raise failure from None
    return rows


def converse(entrance: Entrance, conversation: Generator[Statement, Rows, T], seconds: float) -> T:
    """Run statements in one session, of which each may depend on the answers so far, once.

    Args:
        entrance: where the database answers.
        conversation: yields statements, and gets the rows of each.
        seconds: for all of them together; each may take all of it.

    Returns:
        What the conversation returns.

    Raises:
        LoginRefused: the login was refused.
        SqlError: the database could not be reached, or refused a statement.
    """
    if pymysql is None:
        raise SqlError("the Python package PyMySQL is needed")
    heard: list[Rows] = []
    ended: list[T] = []

    def statements() -> Iterator[Statement]:
        try:
            statement = next(conversation)
            while True:
                yield statement
                statement = conversation.send(heard.pop())
        except StopIteration as end:
            ended.append(end.value)

    try:
        for rows in _answers(entrance, statements(), time.monotonic() + seconds, seconds):
            heard.append(rows)  # noqa: PERF402 - each is taken before the next one comes
    except (pymysql.MySQLError, OSError, *_MALFORMED) as error:
        raise _failure(entrance, error) from None
    return ended[0]


def _failure(entrance: Entrance, error: Exception) -> SqlError:
    kind = LoginRefused if _is_refused_login(error) else SqlError
    failure = kind(_said(entrance, error))
    failure.refused = _is_of_the_database(_code(error))
    failure.code = _code(error) or 0
    failure.connected = _code(error) != _CANNOT_CONNECT
    failure.words = shown(str(error.args[-1])) if failure.refused else ""
    return failure


def _answers(
    entrance: Entrance,
    statements: Iterable[Statement],
    deadline: float,
    longest_answer: float | None = None,
) -> Iterator[list[tuple[Any, ...]]]:
    """Run statements in one session and yield the rows of each."""
    session = Session(
        deadline=max(deadline, time.monotonic() + _SHORTEST),
        longest_answer=longest_answer,
        trusted=entrance.trusted,
        host=entrance.host,
        port=entrance.port,
        user=entrance.user,
        password=entrance.password.encode(),
        autocommit=True,
    )
    try:
        with session.cursor() as cursor:
            for text, values in statements:
                cursor.execute(text, values)
                yield _rows_of(cursor, text)
    finally:
        session.close()


def _rows_of(cursor: Any, text: str) -> list[tuple[Any, ...]]:
    """Return the rows of a result, each as wide as the result says.

    A server may accept a question instead of answering it: that is not a result without rows. The
    driver returns a row that ends too early as a shorter one.

    Raises:
        ValueError: it is no answer to the statement.
    """
    width = len(cursor.description or ())
    words = text.lstrip(" (\n").split(None, 1)
    if not width and words and words[0].lower() in _QUESTIONS:
        raise ValueError("a question has no result")
    rows = list(cursor.fetchall())
    if any(len(row) != width for row in rows):
        raise ValueError("a row has not as many values as there are columns")
    return rows


def _said(entrance: Entrance, error: Exception) -> str:
    """Say what went wrong; a database may quote the statement, which may hold a password."""
    where = f"SQL at {entrance.host}:{entrance.port}"
    if isinstance(error, _MALFORMED):
        return f"{where} does not speak the database's protocol"
    code = _code(error)
    cause = getattr(error, "original_exception", error)
    if isinstance(cause, ssl.SSLError):
        problem = getattr(cause, "verify_message", "") or cause.reason or "no handshake"
        return f"{where} is not trusted, or speaks no TLS: {shown(problem)}"
    if code == NO_TLS:
        return f"{where} offers no TLS (error {code})"
    if code == CANNOT_LOAD_PLUGIN:
        return f"{where} wants the password itself, and does not get it (error {code})"
    number = f" (error {code})" if code else ""
    kind = "refused" if _is_of_the_database(code) else "cannot be reached"
    return f"{where} {kind}{number}"


def _code(error: Exception) -> int | None:
    return error.args[0] if error.args and isinstance(error.args[0], int) else None


def _is_of_the_database(code: int | None) -> bool:
    return bool(code) and code not in _OF_THE_CLIENT


def _is_refused_login(error: Exception) -> bool:
    """Tell a wrong password or user from a database that has other troubles."""
    unknown = _code(error) == _INTERNAL and "there is no user" in str(error.args[-1])
    return unknown or _code(error) == _DENIED


_MALFORMED: Final = (
    struct.error, ValueError, LookupError, AssertionError, RuntimeError, AttributeError, TypeError,
    ArithmeticError, NameError,
)  # fmt: skip
"""What the driver raises when a packet is none."""
_QUESTIONS: Final = frozenset({"select", "show", "with"})
"""First words of statements that always have a result."""
_DENIED: Final = 1045
_INTERNAL: Final = 20101
_CANNOT_CONNECT: Final = 2003
_OF_THE_CLIENT: Final = frozenset({0, 2002, 2003, 2006, 2013, 2014, 2026})
"""Error codes of the driver itself: no connection, or one that was lost."""
