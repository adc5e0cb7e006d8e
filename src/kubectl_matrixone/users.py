# SPDX-License-Identifier: Apache-2.0
"""DatabaseUsers: what they are, and the login of one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .kubectl import Json, table_in
from .reading import condition, resource_of
from .terminal import Style, table

USERS: Final = resource_of("DatabaseUser")


@dataclass(frozen=True, slots=True)
class UserRecord:
    """A DatabaseUser in a list.

    Attributes:
        name: of the resource.
        user: of the database.
        cluster: of which it is a user.
        ready: whether a login succeeds: True, False or Unknown.
        synced: whether it has the privileges that are listed, and no others.
        secret: with its password; empty while none is known.
        granted: what it may do, by database or table.
        problem: what is wrong or awaited; may be empty.
    """

    name: str
    user: str
    cluster: str
    ready: str
    synced: str
    secret: str
    granted: tuple[str, ...]
    problem: str


def records(items: Sequence[Json], cluster: str) -> Iterator[UserRecord]:
    """Yield the DatabaseUsers of a cluster by name, or all where none is given."""
    for one in sorted(items, key=lambda each: str(each["metadata"]["name"])):
        spec, status = table_in(one, "spec"), table_in(one, "status")
        found = str(table_in(spec, "clusterRef").get("name") or "")
        if cluster not in ("", found):
            continue
        name = str(one["metadata"]["name"])
        states = [str(condition(one, kind).get("status") or "Unknown") for kind in _CONDITIONS]
        is_fine = states == ["True", "True"]
        yield UserRecord(
            name=name,
            user=str(status.get("user") or spec.get("name") or name),
            cluster=found,
            ready=states[0],
            synced=states[1],
            secret=str(table_in(status, "secretRef").get("name") or ""),
            granted=tuple(map(str, status.get("granted") or ())),
            problem="" if is_fine else str(status.get("message") or ""),
        )


_CONDITIONS: Final = ("Ready", "Synced")


def secret_of(items: Sequence[Json], cluster: str, user: str) -> str:
    """Return the Secret of a user of a cluster; empty where no resource is known to manage it."""
    found = (one for one in records(items, cluster) if one.user == user and one.ready == "True")
    return next((one.secret for one in found), "")


def lines(found: Sequence[UserRecord], style: Style) -> list[str]:
    """Return a table of users, for a person."""
    if not found:
        return ["no DatabaseUser is known"]
    rows = [("USER", "CLUSTER", "READY", "SYNCED", "SECRET", "MAY")]
    rows.extend(
        (one.user, one.cluster, one.ready, one.synced, one.secret or "?", "; ".join(one.granted))
        for one in found
    )
    problems = [f"{one.user}: {one.problem}" for one in found if one.problem]
    return [*table(rows, style, paint_column=2), *(["", *problems] if problems else [])]
