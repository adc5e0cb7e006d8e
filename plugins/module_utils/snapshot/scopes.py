# SPDX-License-Identifier: Apache-2.0
"""What a snapshot, a recovery range or a restore covers, with names that are safe in SQL.

MatrixOne pastes these names into statements of its own, with little or no quoting. So only names
are accepted that mean the same with and without quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..api import names
from ..api.errors import InvalidSpec

CLUSTER: Final = "cluster"
ACCOUNT: Final = "account"
DATABASE: Final = "database"
TABLE: Final = "table"
LEVELS: Final = (CLUSTER, ACCOUNT, DATABASE, TABLE)
"""From the widest to the narrowest."""
SYSTEM_ACCOUNT: Final = "sys"

_OBJECT: Final = re.compile(r"[\w$]{1,64}")
_RECORD: Final = re.compile(r"[a-z_][a-z0-9_]{0,63}")


def record_name(name: str) -> str:
    """Return the name of a snapshot or recovery range, unchanged.

    The database stores it in lower case, so others would not be found again.

    Raises:
        InvalidSpec: it cannot be used.
    """
    if not _RECORD.fullmatch(name):
        raise InvalidSpec(
            "name", "must be lower-case letters, digits and _, at most 64, and begin with no digit"
        )
    return name


def quoted(name: str) -> str:
    """Return a name that was accepted as it stands in a statement."""
    return f"`{name}`"


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of a database server.

    Attributes:
        account: the tenant; empty for all of them.
        database: empty for all of the account.
        table: empty for all of the database.
    """

    account: str = ""
    database: str = ""
    table: str = ""

    def __post_init__(self) -> None:
        """Refuse names that are not safe, and databases of the system, which are not restored.

        Raises:
            InvalidSpec: a name cannot be used, or one that it requires is missing.
        """
        for option, name in (
            (ACCOUNT, self.account),
            (DATABASE, self.database),
            (TABLE, self.table),
        ):
            if name and not _OBJECT.fullmatch(name):
                raise InvalidSpec(option, "must be letters, digits, _ and $, at most 64")
        if self.table and not self.database:
            raise InvalidSpec(DATABASE, "must be set, because table is")
        if self.database and not self.account:
            raise InvalidSpec(ACCOUNT, "must be set, because database is")
        if self.database.lower() in names.SYSTEM_DATABASES:
            raise InvalidSpec(DATABASE, "is one of the system, which cannot be restored alone")

    @property
    def level(self) -> str:
        """One of `LEVELS`."""
        names = (self.account, self.database, self.table)
        return LEVELS[sum(1 for name in names if name)]

    def holds(self, other: Scope) -> bool:
        """Tell whether another one is all of this one, or a part of it; case does not count."""
        mine = [name.lower() for name in (self.account, self.database, self.table) if name]
        others = [name.lower() for name in (other.account, other.database, other.table)]
        return others[: len(mine)] == mine

    def __str__(self) -> str:
        """Return what it is, for people."""
        if not self.account:
            return "the whole cluster"
        if not self.database:
            return f"account {self.account}"
        where = f"database {self.database} of account {self.account}"
        return f"table {self.table} in {where}" if self.table else where


def account_of(user: str) -> str:
    """Return the account that a user of the form ``account:user:role`` logs in to."""
    account, colon, _user = user.replace("#", ":").partition(":")
    return account if colon else SYSTEM_ACCOUNT
