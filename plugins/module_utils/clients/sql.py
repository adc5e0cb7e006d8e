# SPDX-License-Identifier: Apache-2.0
"""SQL to a running MatrixOne, with a deadline for everything together. Passwords stay in here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

try:
    import pymysql
except ImportError:  # reported when a statement is to be run
    pymysql = None

_LONGEST = 10.0  # seconds that one answer may take
_PAUSE = 2.0  # seconds between two attempts

Statement = tuple[str, tuple[Any, ...]]
"""SQL with ``%s`` for each value; values are quoted by the driver."""


class SqlError(Exception):
    """The database could not be reached, or refused; the message has no SQL in it."""


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
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)


def run(
    entrance: Entrance,
    statements: Sequence[Statement],
    seconds: float,
    *,
    patient: bool = True,
) -> None:
    """Run statements in one session; an attempt that fails is repeated from the beginning.

    Args:
        entrance: where the database answers.
        statements: to run in order; each may be run again.
        seconds: for all attempts together.
        patient: repeat an attempt that ended at the login, too.

    Raises:
        LoginRefused: the last attempt ended at the login.
        SqlError: none of the attempts succeeded.
    """
    if pymysql is None:
        raise SqlError("the Python package PyMySQL is needed")
    deadline = time.monotonic() + seconds
    while True:
        try:
            _attempt(entrance, statements, deadline)
        except (pymysql.MySQLError, OSError) as error:
            refused = _is_refused_login(error)
            if (refused and not patient) or time.monotonic() + _PAUSE > deadline:
                kind = LoginRefused if refused else SqlError
                raise kind(_said(entrance, error)) from None
            time.sleep(_PAUSE)
        else:
            return


def accepts(entrance: Entrance, seconds: float) -> bool:
    """Tell whether a user can log in with a password.

    Args:
        entrance: where the database answers.
        seconds: for all attempts together; a password that is refused is tried once.

    Raises:
        SqlError: the database could not be reached, or says something else.
    """
    try:
        run(entrance, (), seconds, patient=False)
    except LoginRefused:
        return False
    return True


def _attempt(entrance: Entrance, statements: Sequence[Statement], deadline: float) -> None:
    seconds = max(1.0, min(_LONGEST, deadline - time.monotonic()))
    session = pymysql.connect(
        host=entrance.host,
        port=entrance.port,
        user=entrance.user,
        password=entrance.password.encode(),
        connect_timeout=seconds,
        read_timeout=seconds,
        write_timeout=seconds,
        autocommit=True,
    )
    try:
        with session.cursor() as cursor:
            for text, values in statements:
                cursor.execute(text, values)
    finally:
        session.close()


def _said(entrance: Entrance, error: Exception) -> str:
    """Say what went wrong; a database may quote the statement, which may hold a password."""
    code = _code(error)
    number = f" (error {code})" if code else ""
    kind = "refused" if code and code not in _OF_THE_CLIENT else "cannot be reached"
    return f"SQL at {entrance.host}:{entrance.port} {kind}{number}"


def _code(error: Exception) -> int | None:
    return error.args[0] if error.args and isinstance(error.args[0], int) else None


def _is_refused_login(error: Exception) -> bool:
    """Tell a wrong password or user from a database that has other troubles."""
    unknown = _code(error) == _INTERNAL and "there is no user" in str(error.args[-1])
    return unknown or _code(error) == _DENIED


_DENIED: Final = 1045
_INTERNAL: Final = 20101
_OF_THE_CLIENT: Final = frozenset({0, 2002, 2003, 2006, 2013, 2014})
"""Error codes of the driver itself: no connection, or one that was lost."""
