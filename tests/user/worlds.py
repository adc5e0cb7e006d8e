# SPDX-License-Identifier: Apache-2.0
"""DatabaseUsers and a cluster, and a database that answers a conversation about one."""

from collections.abc import Sequence
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.database_objects.conversation import (
    Conversation,
    Statement,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user import conversation
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.conversation import Held
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.privileges import (
    Grant,
    Level,
    Place,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.spec import UserSpec

from tests.support import resources as r

Json = dict[str, Any]
PASSWORD = "p"


def user(resource: str = "shop", *privileges: tuple[str, list[str]], **spec: Any) -> Json:
    """Return a DatabaseUser of the cluster mo."""
    listed = [{"target": target, "grant": grant} for target, grant in privileges]
    return {
        "apiVersion": r.API_VERSION,
        "kind": "DatabaseUser",
        "metadata": {
            "name": resource,
            "namespace": "prod",
            "uid": f"uid-{resource}",
            "generation": 2,
            "creationTimestamp": "2026-11-22T18:00:00Z",
        },
        "spec": {
            "clusterRef": {"name": "mo"},
            **({"privileges": listed} if listed else {}),
            **spec,
        },
    }


def spec_of(*privileges: tuple[str, list[str]], **spec: Any) -> UserSpec:
    """Return what the user shop asks for."""
    return UserSpec.of(user("shop", *privileges, **spec))


def grant(target: str, privilege: str) -> Grant:
    """Return a privilege as MatrixOne names it; its level follows from the words."""
    place = Place.of("", target)
    if privilege in ("connect", "create database", "drop database", "show databases"):
        return Grant(place, Level.ACCOUNT, privilege)
    level = Level.DATABASE if privilege.rpartition(" ")[2] in _OF_DATABASES else Level.TABLE
    return Grant(place, level, privilege)


_OF_DATABASES = frozenset({"table", "view", "tables"})


class Database:
    """What a database has of the user shop, which obeys the statements that were seen to work."""

    def __init__(self, *places: str, user: str = "", default: str = "") -> None:
        self.places = {Place.of("", one) for one in places}
        self.user = user
        self.default = default
        self.roles: set[str] = {"public"}
        self.members: set[str] = {"public"} if user else set()
        self.held: set[Held] = set()
        self.said: list[str] = []
        self.passwords: list[str] = []

    def talk(self, spoken: Conversation[Any]) -> Any:
        """Answer until the conversation ends, and return what it returns."""
        try:
            statement = next(spoken)
            while True:
                statement = spoken.send(self._rows(statement))
        except StopIteration as end:
            return end.value

    def _rows(self, statement: Statement) -> Sequence[Sequence[Any]]:
        text, values = statement
        if not text.startswith("select"):
            self.said.append(text)
            self.passwords += values
            return []
        return self._answer(text, values)

    def _answer(self, text: str, values: tuple[Any, ...]) -> Sequence[Sequence[Any]]:
        if "mo_user where" in text:
            return [(5, 7 if self.default in self.roles - {"public"} else 1)] if self.user else []
        if "mo_role where" in text:
            return [(7,)] if values[0] in self.roles else []
        if "mo_user_grant" in text:
            return [(one,) for one in sorted(self.members)]
        if "mo_database where" in text:
            return [(one.database,) for one in self.places if one.database in values[0]]
        if "mo_tables where" in text:
            return [(one.database, one.table) for one in self.places if one.table]
        return [_row(one) for one in self.held]


def _row(one: Held) -> tuple[Any, ...]:
    place, option = one.grant.place, str(one.with_option).lower()
    number = 0 if not place.database else 9
    named = (None, place.database, place.table) if place.table else (place.database, None, None)
    level = one.grant.level.value
    return level, number, one.grant.privilege, one.written, option, *named


def plain(*grants: Grant) -> set[Held]:
    """Return privileges as `Grant.on` grants them."""
    found = set()
    for one in grants:
        written = ("d.t" if one.place.table else "d.*") if one.place.database else "*.*"
        if one.level is not Level.TABLE:
            written = "d" if one.place.database else "*"
        found.add(Held(one, written))
    return found


def keep(
    database: Database, spec: UserSpec, password: str = PASSWORD, *, fits: bool = False
) -> Any:
    """Bring the user about; return the outcome."""
    return database.talk(conversation.keep(spec, conversation.Password(password, fits)))
