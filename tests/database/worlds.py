# SPDX-License-Identifier: Apache-2.0
"""Databases as resources, and a catalog that answers conversations about them."""

from collections.abc import Sequence
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.database.conversation import (
    Known,
    Outcome,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.database_objects.conversation import (
    Conversation,
    Statement,
)

from tests.support import resources as r

Json = dict[str, Any]
UID = "7b5c0f9e-1111-4222-8333-444455556666"
NAME = "shop"


def database(resource: str = NAME, **spec: Any) -> Json:
    """Return a Database of the cluster mo."""
    return {
        "apiVersion": r.API_VERSION,
        "kind": "Database",
        "metadata": {
            "name": resource,
            "namespace": "prod",
            "uid": UID,
            "generation": 2,
            "creationTimestamp": "2026-11-22T18:00:00Z",
        },
        "spec": {"clusterRef": {"name": "mo"}, **spec},
    }


def known(number: str = "", *, uid: str = UID, adopts: bool = False) -> Known:
    """Return what is known of the database shop."""
    return Known(name=NAME, uid=uid, number=number, adopts=adopts)


class Catalog:
    """MatrixOne's list of databases: for each name its number and the text that created it.

    Attributes:
        databases: by name.
        said: statements that change something, in order.
    """

    def __init__(self) -> None:
        self.databases: dict[str, tuple[int, str]] = {}
        self.said: list[str] = []
        self._next = 272513

    def create(self, name: str, text: str) -> str:
        """Create a database by a statement; return its number."""
        self.databases[name] = (self._next, text)
        self._next += 1
        return str(self.databases[name][0])

    def number(self, name: str = NAME) -> str:
        """Return the number of a database; empty if it is not there."""
        return str(self.databases[name][0]) if name in self.databases else ""

    def talk(self, spoken: Conversation[Outcome]) -> Outcome:
        """Answer until the conversation ends, and return what it returns."""
        try:
            statement = next(spoken)
            while True:
                statement = spoken.send(self._rows(statement))
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome

    def _rows(self, statement: Statement) -> Sequence[Sequence[Any]]:
        text, values = statement
        if text.startswith("select"):
            found = self.databases.get(values[0])
            return [found] if found else []
        assert values == ()
        self.said.append(text)
        command, _database, quoted, *_comment = text.split(" ")
        name = quoted.strip("`")
        if command == "create":
            assert name not in self.databases
            self.create(name, text)
        else:
            assert command == "drop"
            del self.databases[name]
        return []
