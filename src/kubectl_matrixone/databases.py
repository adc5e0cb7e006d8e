# SPDX-License-Identifier: Apache-2.0
"""Databases that are managed as resources."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .kubectl import Json, table_in
from .reading import condition, resource_of
from .terminal import Style, table

DATABASES: Final = resource_of("Database")


@dataclass(frozen=True, slots=True)
class DatabaseRecord:
    """A Database in a list.

    Attributes:
        name: of the resource.
        database: in the database system.
        cluster: in which it is.
        ready: whether it is there: True, False or Unknown.
        synced: whether it is the one that the resource stands for.
        id: the number that MatrixOne has given it; empty while none is known.
        policy: what becomes of it when the resource is deleted.
        problem: what is wrong or awaited; may be empty.
    """

    name: str
    database: str
    cluster: str
    ready: str
    synced: str
    id: str
    policy: str
    problem: str


def records(items: Sequence[Json], cluster: str) -> Iterator[DatabaseRecord]:
    """Yield the Databases of a cluster by name, or all where none is given."""
    for one in sorted(items, key=lambda each: str(each["metadata"]["name"])):
        spec, status = table_in(one, "spec"), table_in(one, "status")
        found = str(table_in(spec, "clusterRef").get("name") or "")
        if cluster not in ("", found):
            continue
        name = str(one["metadata"]["name"])
        ready, synced = (
            str(condition(one, kind).get("status") or "Unknown") for kind in ("Ready", "Synced")
        )
        yield DatabaseRecord(
            name=name,
            database=str(status.get("database") or spec.get("name") or name),
            cluster=found,
            ready=ready,
            synced=synced,
            id=str(status.get("id") or ""),
            policy=str(spec.get("deletionPolicy") or "Retain"),
            problem="" if (ready, synced) == ("True", "True") else str(status.get("message") or ""),
        )


def lines(found: Sequence[DatabaseRecord], style: Style) -> list[str]:
    """Return a table of databases, for a person."""
    if not found:
        return ["no Database is known"]
    rows = [("DATABASE", "CLUSTER", "READY", "SYNCED", "ID", "POLICY")]
    rows.extend(
        (one.database, one.cluster, one.ready, one.synced, one.id or "?", one.policy)
        for one in found
    )
    problems = [f"{one.database}: {one.problem}" for one in found if one.problem]
    return [*table(rows, style, paint_column=2), *(["", *problems] if problems else [])]
