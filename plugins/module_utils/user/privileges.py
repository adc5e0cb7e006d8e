# SPDX-License-Identifier: Apache-2.0
"""What a user may do, where: read from a spec, and as statements have it.

MatrixOne has three levels (``objectType`` and ``PrivilegeScope`` in
``pkg/frontend/authenticate.go`` of 2.0.1): privileges of an account, of databases, and of tables.
It grants by the number of a database or table, so that one has to exist, and one that is created
again is another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from ..api import names
from ..api.errors import InvalidSpec


class Level(StrEnum):
    """To what a privilege applies."""

    ACCOUNT = "account"
    DATABASE = "database"
    TABLE = "table"


_WORDS: Final = {
    Level.TABLE: ("Select", "Insert", "Update", "Delete", "Truncate", "Reference", "Index"),
    Level.DATABASE: (
        "ShowTables", "CreateTable", "DropTable", "AlterTable", "CreateView", "DropView",
        "AlterView",
    ),
    Level.ACCOUNT: ("CreateDatabase", "DropDatabase", "ShowDatabases"),
}  # fmt: skip
LEVELS: Final = {word: level for level, words in _WORDS.items() for word in words}
"""The level of each privilege that a spec can name."""
CONNECT: Final = "connect"
"""What a role needs before ``use`` and ``show tables`` work."""
_NAME: Final = re.compile(r"[a-z0-9_$-]{1,64}")
_EVERYTHING: Final = "*"


def as_sql(word: str) -> str:
    """Return how MatrixOne names a privilege of a spec: ``CreateTable`` is ``create table``."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", word).lower()


def as_word(privilege: str) -> str:
    """Return how a spec names a privilege of MatrixOne."""
    return "".join(map(str.capitalize, privilege.split()))


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where privileges apply.

    Attributes:
        database: empty for all of them.
        table: empty for all of the database.
    """

    database: str = ""
    table: str = ""

    @classmethod
    def of(cls, field: str, text: str) -> Self:
        """Read ``*.*``, ``database.*`` or ``database.table``.

        Raises:
            InvalidSpec: it is none of them.
        """
        database, dot, table = text.partition(".")
        is_wide = database == _EVERYTHING and table == _EVERYTHING
        is_named = bool(_NAME.fullmatch(database)) and (
            table == _EVERYTHING or bool(_NAME.fullmatch(table))
        )
        if not dot or not (is_wide or is_named):
            raise InvalidSpec(
                field,
                "must be *.*, database.* or database.table, with names of at most 64 lower-case "
                "letters, digits, _, $ and -",
            )
        return cls(*("" if one == _EVERYTHING else one for one in (database, table)))

    def __str__(self) -> str:
        """Return it as a spec has it."""
        return f"{self.database or _EVERYTHING}.{self.table or _EVERYTHING}"


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """One privilege at one place.

    Attributes:
        place: where it applies.
        level: to what it applies.
        privilege: as MatrixOne names it.
    """

    place: Place
    level: Level
    privilege: str

    @property
    def on(self) -> str:
        """To what it applies, as it stands in a statement; names were checked and are quoted."""
        place = self.place
        database = f"`{place.database}`" if place.database else _EVERYTHING
        if self.level is Level.TABLE:
            table = f"`{place.table}`" if place.table else _EVERYTHING
            return f"table {database}.{table}"
        return f"{self.level.value} {database}"


def grants_of(field: str, target: str, words: Iterable[str]) -> list[Grant]:
    """Return what an entry of ``spec.privileges`` grants.

    Args:
        field: path of the entry, for errors.
        target: where, as a spec has it.
        words: names of privileges, as a spec has them.

    Raises:
        InvalidSpec: a privilege is unknown, or cannot be granted there.
    """
    place = Place.of(f"{field}.target", target)
    found = []
    for index, word in enumerate(words):
        path = f"{field}.grant[{index}]"
        level = LEVELS.get(word)
        if level is None:
            raise InvalidSpec(path, f"must be one of {', '.join(LEVELS)}")
        if level is Level.ACCOUNT and place != Place():
            raise InvalidSpec(path, f'{word} applies to all databases: grant it on "*.*"')
        if level is Level.DATABASE and place.table:
            where = f'"{place.database}.*"'
            raise InvalidSpec(path, f"{word} applies to a database: grant it on {where}")
        if place.database in names.SYSTEM_DATABASES and word != "Select":
            raise InvalidSpec(path, f"only Select can be granted on {place.database}")
        found.append(Grant(place, level, as_sql(word)))
    return found


def shown(grants: Iterable[Grant]) -> list[str]:
    """Return grants for people, one text for each place: ``shop.*: Insert, Select``."""
    words: dict[Place, list[str]] = {}
    for grant in sorted(grants):
        if grant.privilege != CONNECT:
            words.setdefault(grant.place, []).append(as_word(grant.privilege))
    return [f"{place}: {', '.join(sorted(found))}" for place, found in words.items()]
