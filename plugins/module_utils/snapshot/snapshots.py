# SPDX-License-Identifier: Apache-2.0
"""Snapshots: a moment whose versions of rows MatrixOne keeps until the snapshot is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..api.versions import Version
from .moments import of_nanoseconds
from .scopes import ACCOUNT, CLUSTER, DATABASE, TABLE, Scope, quoted

Statement = tuple[str, tuple[Any, ...]]
"""As `clients.sql` has it."""
VERSION: Final[Statement] = ("select version()", ())
"""What is asked before a restore, whose statement depends on the answer."""
_NAMES_WITH_DOTS: Final = 4
"""First major version whose statement is ``RESTORE TABLE a.d.t {SNAPSHOT = 's'}``."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot as the database has it.

    Attributes:
        name: of the snapshot.
        scope: what it covers, an account or all of them.
        nanoseconds: the moment, since 1970.
    """

    name: str
    scope: Scope
    nanoseconds: int

    @property
    def document(self) -> dict[str, str]:
        """What tasks return of it."""
        return {
            "name": self.name,
            "level": self.scope.level,
            "account": self.scope.account,
            "taken_at": of_nanoseconds(self.nanoseconds),
        }


def listing(name: str) -> Statement:
    """Return the statement that finds a snapshot; `found` reads its rows."""
    text = "SELECT sname, ts, level, account_name FROM mo_catalog.mo_snapshots WHERE sname = %s"
    return text, (name,)


def found(rows: Sequence[Sequence[Any]]) -> Snapshot | None:
    """Return the snapshot that was found, if there is one."""
    if not rows:
        return None
    name, moment, level, account = rows[0]
    scope = Scope() if str(level) == CLUSTER else Scope(str(account))
    return Snapshot(str(name), scope, int(moment))


def creating(name: str, scope: Scope) -> Statement:
    """Return the statement that takes a snapshot of an account or of all."""
    of = f"ACCOUNT {quoted(scope.account)}" if scope.account else CLUSTER.upper()
    return f"CREATE SNAPSHOT {quoted(name)} FOR {of}", ()


def dropping(name: str) -> Statement:
    """Return the statement that drops a snapshot."""
    return f"DROP SNAPSHOT {quoted(name)}", ()


def restoring(name: str, scope: Scope, version: Version | None) -> Statement:
    """Return the statement that replaces what is there by what the snapshot has of it.

    Args:
        name: of the snapshot.
        scope: what is replaced.
        version: of the database; None if it reports none.
    """
    if version is not None and version.major >= _NAMES_WITH_DOTS:
        text, values = at(name)
        return f"RESTORE {_with_dots(scope)} {text}", values
    return f"RESTORE {_in_words(scope)} FROM SNAPSHOT {quoted(name)}", ()


def at(name: str) -> Statement:
    """Return what makes a statement read a table at a snapshot."""
    return "{SNAPSHOT = %s}", (name,)


def _in_words(scope: Scope) -> str:
    if scope.level == CLUSTER:
        return CLUSTER.upper()
    words = [ACCOUNT.upper(), quoted(scope.account)]
    for word, name in ((DATABASE, scope.database), (TABLE, scope.table)):
        words += [word.upper(), quoted(name)] if name else []
    return " ".join(words)


def _with_dots(scope: Scope) -> str:
    if scope.level == CLUSTER:
        return CLUSTER.upper()
    parts = (scope.account, scope.database, scope.table)
    return f"{scope.level.upper()} {'.'.join(quoted(part) for part in parts if part)}"
