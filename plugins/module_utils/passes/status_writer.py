# SPDX-License-Identifier: Apache-2.0
"""Report on a resource: its status when that has changed, and Events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from ..api.comparing import without_empty_lists
from ..api.timestamps import timestamp_now
from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.editing import FIELD_MANAGER
from ..clients.kubernetes.emitting import emit
from ..clients.kubernetes.errors import KubeError, Outdated
from ..clients.kubernetes.kinds import describe
from ..clients.kubernetes.session import Session
from ..clients.kubernetes.statuses import write_status
from ..reporting.conditions import completed
from ..reporting.events import Occurrence, transitions

Json = dict[str, Any]
_EVERY = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class Written:
    """What was written of a resource.

    Attributes:
        before: its status before.
        after: its status as it is now.
        occurrences: events that the change deserves.
    """

    before: Json
    after: Json
    occurrences: list[Occurrence]


def find(session: Session, resource: Mapping[str, Any]) -> Json | None:
    """Return the live object of a resource, not a later one of its name; None if it is gone."""
    live = Writer(session).get(resource)
    uid = resource["metadata"].get("uid")
    return live if live is not None and (not uid or live["metadata"]["uid"] == uid) else None


def write(
    session: Session,
    live: Mapping[str, Any],
    status: Mapping[str, Any],
    manager: str = FIELD_MANAGER,
    *,
    dry_run: bool = False,
    decided_by: Mapping[str, Any] | None = None,
) -> Written:
    """Write a status if it differs from the live one; a condition keeps its time with its status.

    Args:
        session: connection to the API server.
        live: the object.
        status: the whole status.
        manager: name under which it is owned.
        dry_run: let the server validate, but keep nothing.
        decided_by: the object by whose status it was decided; None where that does not matter.

    Raises:
        Outdated: somebody else has written another status since.
        ApiError: the server refuses, or the object is gone.
    """
    now = timestamp_now()
    before = live.get("status") or {}
    desired = completed(status, before, now)
    after = before
    if differs(before, desired):
        seen = live if decided_by is None else _unchanged(session, decided_by)
        answer = write_status(
            session, seen, desired, manager, dry_run=dry_run, unless_changed=decided_by is not None
        )
        after = answer.get("status") or {}
    return Written(before, after, transitions(before, desired))


def _unchanged(session: Session, resource: Mapping[str, Any]) -> Json:
    """Return an object as it is at this moment, if it still has the status that was read.

    Raises:
        Outdated: it has another one, or is another object.
    """
    latest = Writer(session).latest(resource) or {"metadata": {}}
    is_same = latest["metadata"].get("uid") == resource["metadata"].get("uid")
    if is_same and not differs(latest.get("status") or {}, resource.get("status") or {}):
        return latest
    message = f"write the status of {describe(resource)}: it was changed since this was decided"
    raise Outdated(message, HTTPStatus.CONFLICT, "Conflict", [])


def differs(before: Mapping[str, Any], desired: Mapping[str, Any]) -> bool:
    """Tell whether writing a status would change what the live one says."""
    return bool(without_empty_lists(before) != without_empty_lists(desired))


def emit_all(session: Session, live: Mapping[str, Any], events: Iterable[Occurrence]) -> Json:
    """Emit events; when they cannot be emitted, that is a warning and no failure.

    Returns:
        For the result of a task: ``events``, their reasons, or ``warnings``.
    """
    emitted = []
    try:
        for event in events:
            emit(session, live, event)
            emitted.append(event["reason"])
    except KubeError as error:
        return {"warnings": [str(error)]}
    return {"events": emitted}


class StatusWriter:
    """Writes a resource's status repeatedly while a task waits for something.

    Args:
        session: connection to the API server.
        resource: whose status it is; empty to write nothing.
        begin: seconds from now before which nothing is written.
        clock: monotonic time in seconds.
    """

    def __init__(
        self,
        session: Session,
        resource: Mapping[str, Any] | None,
        begin: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session, self._resource, self._clock = session, resource, clock
        self._next = clock() + begin

    def write(self, status: Callable[[Json], Mapping[str, Any]]) -> None:
        """Write the status that a function returns for the live resource, every few seconds."""
        if self._resource and self._clock() >= self._next:
            self._next = self._clock() + _EVERY
            live = find(self._session, self._resource)
            if live is not None:
                written = write(self._session, live, status(live))
                emit_all(self._session, live, written.occurrences)

    def emit(self, events: Callable[[Json], Iterable[Occurrence]]) -> None:
        """Emit the events that a function returns for the live resource."""
        live = find(self._session, self._resource) if self._resource else None
        if live is not None:
            emit_all(self._session, live, events(live))
