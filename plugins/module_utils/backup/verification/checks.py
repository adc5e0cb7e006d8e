# SPDX-License-Identifier: Apache-2.0
"""The statements that read a database, and the answers that users expect of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Optional

Row = tuple[Optional[str], ...]
Statement = tuple[str, tuple[Any, ...]]
"""As `clients.sql` has it."""

_TABLES: Final = """
SELECT table_schema, table_name FROM information_schema.tables
WHERE table_type = 'BASE TABLE' ORDER BY table_schema, table_name
""".strip()
TABLES: Final[Statement] = (_TABLES, ())
_SHOWN: Final = 3
"""Rows that a message quotes."""
_NAMED: Final = 5
"""Problems that a message names."""


@dataclass(frozen=True, slots=True)
class Check:
    """A statement of a user, and what it must answer.

    Attributes:
        name: for people.
        sql: the statement.
        rows: that it must return, in order; None if it only must not fail.
    """

    name: str
    sql: str
    rows: tuple[Row, ...] | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Check:
        """Read one that a user has written, with ``name``, ``sql`` and ``rows``."""
        rows = given.get("rows")
        wanted = None if rows is None else as_rows(rows)
        return cls(str(given.get("name") or given["sql"]), str(given["sql"]), wanted)

    @property
    def document(self) -> dict[str, Any]:
        """The same as `of` reads it."""
        rows = {} if self.rows is None else {"rows": [list(row) for row in self.rows]}
        return {"name": self.name, "sql": self.sql, **rows}

    @property
    def statement(self) -> Statement:
        """The statement as the driver takes it, which has no values."""
        return self.sql.replace("%", "%%"), ()

    def differs(self, rows: Iterable[Sequence[Any]]) -> str:
        """Say how an answer differs from the expected one; empty if it does not."""
        found = as_rows(rows)
        if self.rows is None or found == self.rows:
            return ""
        return f"{_quoted(found)} instead of {_quoted(self.rows)}"


def in_short(problems: Sequence[str]) -> str:
    """Return the first problems as one sentence, with the number of the others."""
    more = f"; and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
    return f"{'; '.join(problems[:_NAMED])}{more}"


def as_rows(rows: Iterable[Sequence[Any]]) -> tuple[Row, ...]:
    """Return rows as texts, by which numbers and times of different types are compared."""
    return tuple(tuple(map(_text, row)) for row in rows)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    # MatrixOne writes them so.
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(rows: tuple[Row, ...]) -> str:
    if not rows:
        return "no rows"
    shown = ", ".join(f"({', '.join('NULL' if one is None else one for one in row)})"
                      for row in rows[:_SHOWN])  # fmt: skip
    return f"{shown} and {len(rows) - _SHOWN} more rows" if len(rows) > _SHOWN else shown


def columns_of(schema: str, table: str) -> Statement:
    """Return the statement that asks for the columns of a table."""
    text = (
        "SELECT column_name FROM information_schema.columns "
        "WHERE table_schema = %s AND table_name = %s"
    )
    return text, (schema, table)


def reading(schema: str, table: str, columns: Sequence[str]) -> Statement:
    """Return the statement that reads every value of a table: number of rows, bytes of values.

    A count alone is answered from what is known about the files, without opening them.
    ``serial_full`` takes values of every type.
    """
    values = ", ".join(map(_name, columns))
    table = f"{_name(schema)}.{_name(table)}"
    return f"SELECT count(*), sum(length(serial_full({values}))) FROM {table}", ()  # noqa: S608


def _name(text: str) -> str:
    return "`" + text.replace("`", "``").replace("%", "%%") + "`"
