# SPDX-License-Identifier: Apache-2.0
"""Questions before a database or table is restored, because MatrixOne does not ask them.

- A table to which foreign keys of others refer is left as it is, without an error.
- A table whose foreign key refers to one that is not there is dropped, and not created again.

Seen in 8.0.30-MatrixOne-v1.3.0 (``recreateTable`` in ``pkg/frontend/snapshot.go``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .scopes import Scope

Statement = tuple[str, tuple[Any, ...]]
"""As `clients.sql` has it."""

_KEYS = "FROM mo_catalog.mo_foreign_keys"


def counting(scope: Scope, at: Statement = ("", ())) -> Statement:
    """Return the statement that counts the database or table of a scope, one or none.

    Args:
        scope: a database or a table.
        at: the moment as `snapshots.at` and `ranges.at` give it; the present without one.
    """
    hint, values = at
    if scope.table:
        text = f"SELECT COUNT(*) FROM mo_catalog.mo_tables {hint}"  # noqa: S608
        return f"{text} WHERE reldatabase = %s AND relname = %s", (
            *values, scope.database, scope.table,
        )  # fmt: skip
    text = f"SELECT COUNT(*) FROM mo_catalog.mo_database {hint}"  # noqa: S608
    return f"{text} WHERE datname = %s", (*values, scope.database)


def referring(scope: Scope) -> Statement:
    """Return the statement that finds the tables whose foreign keys refer to a table."""
    text = f"SELECT DISTINCT db_name, table_name {_KEYS}"
    return f"{text} WHERE refer_db_name = %s AND refer_table_name = %s", (
        scope.database, scope.table,
    )  # fmt: skip


def referred(scope: Scope, at: Statement) -> Statement:
    """Return the statement that finds the tables that foreign keys of a scope referred to."""
    hint, values = at
    text = f"SELECT DISTINCT refer_db_name, refer_table_name {_KEYS} {hint} WHERE db_name = %s"
    if scope.table:
        return f"{text} AND table_name = %s", (*values, scope.database, scope.table)
    return text, (*values, scope.database)


def outside(rows: Sequence[Sequence[Any]], scope: Scope) -> list[Scope]:
    """Return the tables that rows name and that are not restored with a scope."""
    found = [Scope(scope.account, str(database), str(table)) for database, table in rows]
    return [one for one in found if not scope.holds(one)]
