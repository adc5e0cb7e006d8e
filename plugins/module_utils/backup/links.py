# SPDX-License-Identifier: Apache-2.0
"""Backups as chains and retention see them, read from their objects.

What is not known of a Backup is never taken for something bad: its object may have been applied
again, by a person or by a tool, and then has no status until the operator has written one.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final

from ..api import names
from ..api.digests import digest7
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.timestamps import unix_time
from ..location.locations import TARGET, from_fields
from .chains import Link
from .sources import scope_of_record
from .verification.verdicts import is_refuted

Json = Mapping[str, Any]

AVAILABLE: Final = "Available"
BROKEN: Final = "Broken"
"""Phases of a Backup."""


_LOOKED_AT: Final = ("id", "location", "secretNamespace", "serviceAccountName", "size")


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a Backup.

    Attributes:
        good: it can be restored, as far as its own files are concerned.
        known: whether this is known.
    """

    good: bool
    known: bool = True


def links_of(backups: Iterable[Json]) -> list[Link]:
    """Return Backups as chains and retention see them.

    One whose meta cannot be read is left out, see `unclear`: nothing is based on it.
    """
    links = (_link_of(backup) for backup in backups)
    return [link for link in links if link is not None]


def unclear(backups: Iterable[Json]) -> list[str]:
    """Return the names of Backups of which it is not known how they are, or what they need."""
    named = ((backup["metadata"]["name"], _link_of(backup)) for backup in backups)
    return sorted(name for name, link in named if link is None or not link.known)


def state_of(backup: Json) -> State:
    """Return what is known of a Backup.

    It is bad if it is being deleted, or if somebody has looked at it and found it so. A status that
    does not say how it is, or none, tells nothing, nor does one of another meta: a Backup may be
    changed, or be applied over another one of its name.
    """
    if backup["metadata"].get("deletionTimestamp"):
        return State(good=False)
    if not is_about(backup):
        return State(good=False, known=False)
    phase = _status_of(backup).get("phase")
    if phase == BROKEN or is_refuted(backup):
        return State(good=False)
    return State(good=phase == AVAILABLE, known=phase == AVAILABLE)


def is_about(backup: Json) -> bool:
    """Return whether the status of a Backup is about what the Backup says now."""
    status = _status_of(backup)
    if known := status.get("lookedAt"):
        return bool(known == looked_at(backup))
    written_for = status.get("observedGeneration")  # of an earlier release
    generation = int(backup["metadata"].get("generation") or 0)
    if written_for is not None and int(written_for) < generation:
        return False
    return status.get("id") in (None, Fields("", backup).table("meta").text("id"))


def looked_at(backup: Json) -> str:
    """Return a digest of what says which files a Backup has, and how they are looked for."""
    meta = Fields("", backup).table("meta")
    found = [meta.raw(name) for name in _LOOKED_AT]
    return digest7(json.dumps(found, sort_keys=True, default=str))


def source_of(meta: Fields) -> str:
    """Return the database of a Backup as text.

    Backups of earlier releases do not have the uid of the resource: they count as of a database of
    their own, as it may have been another one of the same name.
    """
    return f"{meta.text('sourceRef')} {meta.text('sourceUid')}".strip()


def _status_of(backup: Json) -> Mapping[str, Any]:
    status = backup.get("status")
    return status if isinstance(status, Mapping) else {}


def _link_of(backup: Json) -> Link | None:
    """Return a Backup as chains see it; None if its meta cannot be read."""
    metadata, meta = backup["metadata"], Fields("", backup).table("meta")
    try:
        at = datetime.fromtimestamp(unix_time(meta.required_text("atTime")), timezone.utc)
        location = from_fields(meta.table("location"), TARGET, scope_of_record(meta), in_use=True)
        state = state_of(backup)
        return Link(
            name=metadata["name"],
            id=meta.required_text("id"),
            base=meta.table("base").text("id"),
            at=at,
            good=state.good,
            known=state.known,
            root=f"{meta.text('sourceRef')} {posixpath.dirname(location.address)}",
            source=source_of(meta),
            pinned=(metadata.get("annotations") or {}).get(names.ANNOTATION_KEEP) == "true",
        )
    except (InvalidSpec, ValueError, OverflowError, OSError):
        return None
