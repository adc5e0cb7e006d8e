# SPDX-License-Identifier: Apache-2.0
"""Which backup an incremental one continues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...api.errors import InvalidSpec
from ...api.fields import Fields
from ...api.timestamps import unix_time
from ...location import locations
from ...location.locations import Location
from ..chains import Link, chain_of
from ..links import links_of
from ..sources import Source, scope_of_record
from ..task.tasks import BaseBackup

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Base:
    """A backup to continue.

    Attributes:
        name: of its Backup.
        backup: for the task.
    """

    name: str
    backup: BaseBackup


def choose(
    asked: Fields, backups: Iterable[Json], source: Source, target: Location
) -> tuple[Base | None, str]:
    """Return the backup to continue, or else why there is none.

    Args:
        asked: ``spec.base``.
        backups: all Backups.
        source: what is backed up.
        target: where the new backup goes; the base must be on the same server, as it is read with
            the same credentials.
    """
    wanted = asked.text("backupName")
    known = list(backups)
    links = {link.name: link for link in links_of(known)}
    by_id = {link.id: link for link in links.values()}
    usable: list[tuple[bool, float, Base]] = []
    why = f"there is no available Backup of {source.reference}"
    for backup in known:
        name = backup["metadata"]["name"]
        if wanted and name != wanted:
            continue
        base, unfit = _fit(backup, source, target)
        link = links.get(name)
        if base is not None and link is not None:
            unfit = _chain_problem(link, by_id)
        if base is None or link is None or unfit:
            if wanted:
                return None, unfit
            continue
        sound = all(part.known for part in chain_of(link, by_id))
        usable.append((sound, link.at.timestamp(), base))
    if usable:
        return max(usable, key=lambda one: one[:2])[2], ""
    return None, f"Backup {wanted} does not exist" if wanted else why


def _chain_problem(link: Link, by_id: Mapping[str, Link]) -> str:
    """Say why nothing can be restored that continues a backup; empty if something may be.

    One of which nothing is known may be whole: the program looks at the files.
    """
    chain = chain_of(link, by_id)
    if not chain:
        return f"Backup {link.name} is based on a Backup that does not exist"
    bad = next((part for part in chain if part.known and not part.good), None)
    if bad is None:
        return ""
    if bad is link:
        return f"Backup {link.name} is broken"
    return f"Backup {link.name} is based on Backup {bad.name}, which cannot be restored"


def _fit(backup: Json, source: Source, target: Location) -> tuple[Base | None, str]:
    """Return a backup as base, or else why it cannot be one."""
    name = backup["metadata"]["name"]
    if backup["metadata"].get("deletionTimestamp"):
        return None, f"Backup {name} is being deleted"
    meta = Fields("meta", backup.get("meta") or {})
    try:
        if why := _of_another(meta, source):
            return None, f"Backup {name} is {why}"
        place = locations.from_fields(
            meta.table("location"), locations.TARGET, scope_of_record(meta), in_use=True
        )
        identity = meta.required_text("id")
        unix_time(meta.required_text("atTime"))
    except (InvalidSpec, ValueError) as error:
        return None, f"Backup {name} cannot be read: {error}"
    if not locations.are_on_one_server(place, target):
        return None, f"Backup {name} is on another server than the target"
    return Base(name, BaseBackup(target.at(place.address), identity)), ""


def _of_another(meta: Fields, source: Source) -> str:
    """Say how a backup is not one of this database; empty if it is.

    A timestamp of one database means nothing in another one of the same name.
    """
    if meta.text("sourceRef") != source.reference:
        return f"of {meta.text('sourceRef')}, not of {source.reference}"
    uid = meta.text("sourceUid")
    if uid and source.uid and uid != source.uid:
        return f"of an earlier {source.reference}, so of another database"
    if source.since and unix_time(meta.text("atTime")) < unix_time(source.since):
        return f"older than {source.reference}, so of another database"
    return ""
