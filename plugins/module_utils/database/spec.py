# SPDX-License-Identifier: Apache-2.0
"""The spec of a Database, read once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..admission.shapes import Mistake
from ..api import names
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.types import Resource
from ..database_objects.naming import NAME_FIELD, name_in_database

DELETE: Final = "Delete"
RETAIN: Final = "Retain"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSpec:
    """What a Database asks for.

    Attributes:
        cluster: name of the MatrixOneCluster, in its namespace.
        database: name of the database.
        adopts: whether a database of this name that somebody else has created is taken over.
        deletes: whether the database is dropped with the resource.
    """

    cluster: str
    database: str
    adopts: bool
    deletes: bool

    @classmethod
    def of(cls, resource: Resource) -> DatabaseSpec:
        """Read a Database.

        Raises:
            InvalidSpec: a field cannot be used.
        """
        spec = Fields("", resource).table("spec")
        return cls(
            cluster=spec.table("clusterRef").required_text("name"),
            database=database_of(resource),
            adopts=spec.flag("adopt"),
            deletes=spec.choice("deletionPolicy", (RETAIN, DELETE), RETAIN) == DELETE,
        )


def database_of(resource: Resource) -> str:
    """Return the name of the database: ``spec.name``, else that of the resource.

    Raises:
        InvalidSpec: it cannot be used.
    """
    name = name_in_database(resource)
    if name in names.SYSTEM_DATABASES:
        raise InvalidSpec(NAME_FIELD, f"{name} is a database of MatrixOne")
    return name


def database_mistakes(resource: Resource) -> Iterator[Mistake]:
    """Yield the first thing that is wrong with a Database, beyond its schema."""
    try:
        DatabaseSpec.of(resource)
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message)


def deletion_warnings(resource: Resource) -> Iterator[str]:
    """Warn of what is lost by the deletion of a Database."""
    try:
        spec = DatabaseSpec.of(resource)
    except InvalidSpec:
        return
    if spec.deletes:
        yield (
            f"spec.deletionPolicy is Delete: the database {spec.database} is dropped with all its "
            "tables"
        )
