# SPDX-License-Identifier: Apache-2.0
"""Recovery ranges (MatrixOne's PITR): every version of rows is kept for some time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from ..api.errors import InvalidSpec
from .moments import as_nanoseconds, as_text, of_text, shown
from .scopes import CLUSTER, DATABASE, TABLE, Scope, quoted

Statement = tuple[str, tuple[Any, ...]]
"""As `clients.sql` has it."""

UNITS: Final = {"hours": "h", "days": "d", "months": "mo", "years": "y"}
_LONGEST: Final = 100
_DAYS: Final = {"h": 1 / 24, "d": 1, "mo": 28, "y": 365}
"""Of a unit, at least: what is inside this is inside the range by any calendar."""

LISTING: Final[Statement] = ("SHOW PITR", ())
IN_UTC: Final[Statement] = ("SET time_zone = '+00:00'", ())
"""To be run before `LISTING` in its session, which shows times in the zone of the session: that of
the account or of the node, if nobody has said which."""
ZONE: Final[Statement] = ("SELECT @@system_time_zone", ())
"""The zone in which the database reads the moment of a restore."""


@dataclass(frozen=True, slots=True)
class Length:
    """How long versions are kept."""

    count: int
    unit: str

    @classmethod
    def of(cls, count: int, unit: str) -> Length:
        """Read one as a user gives it, with one of `UNITS`.

        Raises:
            InvalidSpec: the database does not accept it.
        """
        if not 0 < count <= _LONGEST:
            raise InvalidSpec("keep", f"must be from 1 to {_LONGEST}")
        return cls(count, UNITS[unit])

    @property
    def duration(self) -> timedelta:
        """The time, for months and years the shortest ones."""
        return timedelta(days=self.count * _DAYS[self.unit])


@dataclass(frozen=True, slots=True)
class Range:
    """A recovery range as the database has it.

    Attributes:
        name: of the range.
        scope: what it covers.
        length: how long versions are kept.
        since: when it was created or changed. Older versions may be gone.
    """

    name: str
    scope: Scope
    length: Length
    since: datetime

    @property
    def document(self) -> dict[str, Any]:
        """What tasks return of it."""
        units = {unit: name for name, unit in UNITS.items()}
        return {
            "name": self.name,
            "level": self.scope.level,
            "account": self.scope.account,
            "database": self.scope.database,
            "table": self.scope.table,
            "keep": self.length.count,
            "unit": units.get(self.length.unit, self.length.unit),
            "since": shown(self.since),
        }


def found(rows: Sequence[Sequence[Any]], name: str) -> Range | None:
    """Return the range of a name, if the rows of `LISTING`, with times in UTC, have it."""
    for row in rows:
        called, _created, modified, level, *scope, count, unit = (str(one) for one in row)
        if called == name:
            covered = Scope() if level == CLUSTER else Scope(*(_named(one) for one in scope))
            return Range(name, covered, Length(int(count), unit), of_text(modified))
    return None


def _named(shown_name: str) -> str:
    return "" if shown_name == "*" else shown_name


def creating(name: str, scope: Scope, length: Length, login: str) -> Statement:
    """Return the statement that creates a range.

    Args:
        name: of the range.
        scope: what it covers.
        length: how long versions are kept.
        login: account of the user; databases and tables are those of this one.
    """
    return f"CREATE PITR {quoted(name)}{_covered(scope, login)} RANGE {length.count} %s", (
        length.unit,
    )


def _covered(scope: Scope, login: str) -> str:
    if scope.level == CLUSTER:
        return f" FOR {CLUSTER.upper()}"
    if scope.database:
        table = f" TABLE {quoted(scope.table)}" if scope.table else ""
        return f" FOR DATABASE {quoted(scope.database)}{table}"
    mine = scope.account.lower() == login.lower()
    return "" if mine else f" FOR ACCOUNT {quoted(scope.account)}"


def changing(name: str, length: Length) -> Statement:
    """Return the statement that changes how long versions are kept."""
    return f"ALTER PITR {quoted(name)} RANGE {length.count} %s", (length.unit,)


def dropping(name: str) -> Statement:
    """Return the statement that drops a range."""
    return f"DROP PITR {quoted(name)}", ()


def restoring(name: str, scope: Scope, moment: datetime, login: str) -> Statement:
    """Return the statement that replaces what is there by what was there at a moment.

    Args:
        name: of the range.
        scope: what is replaced.
        moment: in UTC.
        login: account of the user.
    """
    words = {
        CLUSTER: f"{CLUSTER.upper()} ",
        DATABASE: f"DATABASE {quoted(scope.database)} ",
        TABLE: f"DATABASE {quoted(scope.database)} TABLE {quoted(scope.table)} ",
    }.get(scope.level)
    if words is None:
        mine = scope.account.lower() == login.lower()
        words = "" if mine else f"ACCOUNT {quoted(scope.account)} "
    return f"RESTORE {words}FROM PITR {quoted(name)} %s", (as_text(moment),)


def at(moment: datetime) -> Statement:
    """Return what makes a statement read a table at a moment."""
    return "{MO_TS = %s}", (as_nanoseconds(moment),)


def problem(covering: Range, scope: Scope, moment: datetime, now: datetime) -> str:
    """Say why something cannot be restored to a moment; empty if it can.

    The database checks the length of the range, but accepts moments before the range existed.
    """
    if not covering.scope.holds(scope):
        return f"pitr {covering.name} covers {covering.scope}, not {scope}"
    if moment > now:
        return f"{shown(moment)} is in the future"
    if moment < covering.since:
        since = shown(covering.since)
        return f"pitr {covering.name} keeps versions since {since}, not since {shown(moment)}"
    if moment < now - covering.length.duration:
        return f"{shown(moment)} is longer ago than pitr {covering.name} keeps versions"
    return ""
