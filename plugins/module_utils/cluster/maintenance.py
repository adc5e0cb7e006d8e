# SPDX-License-Identifier: Apache-2.0
"""Maintenance windows: when changes that replace Pods of a cluster may begin.

``spec.maintenance.windows`` names them. Outside of them the components keep what they were given
in the last one, but for their sizes; new components are created, and what fails is repaired, which
the components do by themselves. What has begun in a window is completed after it.
``status.maintenance`` is the record of what they were given.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from ..admission.shapes import Mistake
from ..api import durations
from ..api.comparing import differing_paths
from ..api.cron import Schedule, schedule_in, zone_in
from ..api.errors import InvalidSpec
from ..api.fields import Fields, as_table
from ..api.timestamps import timestamp, unix_time
from ..api.types import Manifest, Resource
from ..reporting.reasons import Reason
from ..workload.plans import Observed, named

Record = Mapping[str, Any]
"""``status.maintenance``: open, nextChange, appliedDigest, message."""
Child = Mapping[str, Any]

_LONGEST: Final = timedelta(days=366)
_DIGEST: Final = 16


@dataclass(frozen=True, slots=True)
class Window:
    """One window.

    Attributes:
        start: when it opens.
        lasts: for how long.
    """

    start: Schedule
    lasts: timedelta

    def closes(self, moment: datetime) -> datetime | None:
        """Return when it closes; None if it is closed."""
        opened = self.start.last_until(moment, since=moment - _LONGEST)
        if opened is None or moment >= opened + self.lasts:
            return None
        return opened + self.lasts


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What a pass does about the windows of a cluster.

    Attributes:
        has_windows: whether there are any.
        opens: when the next one opens, RFC 3339; empty while one is open, or without any.
        closes: when the last of those that are open closes; empty while all are closed.
        at: the moment of the decision, RFC 3339.
    """

    has_windows: bool = False
    opens: str = ""
    closes: str = ""
    at: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether no change may begin."""
        return self.has_windows and not self.closes


def decide(resource: Resource, observed: Observed) -> Maintenance:
    """Decide whether changes may begin.

    Args:
        resource: the cluster.
        observed: what its references led to, with the present as ``now``.

    Raises:
        InvalidSpec: a window cannot be read.
    """
    windows, now = _windows(resource), str(observed.get("now") or "")
    if not windows or not now:
        return Maintenance(at=now)
    moment = datetime.fromtimestamp(unix_time(now), timezone.utc)
    closing = [when for one in windows if (when := one.closes(moment))]
    if closing:
        return Maintenance(True, closes=timestamp(max(closing).timestamp()), at=now)
    opening = [when for one in windows if (when := one.start.next_after(moment))]
    return Maintenance(True, timestamp(min(opening).timestamp()) if opening else "", at=now)


def waiting(
    resource: Resource, children: Sequence[Manifest], live: Mapping[str, Child]
) -> list[str]:
    """Return which components would be changed, but for their sizes, as ``Kind/name``.

    Args:
        resource: the cluster, with its status.
        children: the components, rendered.
        live: those that exist, by ``Kind/name``.
    """
    before = recorded(resource).get("appliedDigest")
    if before == digest(children):
        return []
    changed = [
        named(one)
        for one in children
        if named(one) in live
        and any(differing_paths(as_table(live[named(one)].get("spec")), _sizeless(one)))
    ]
    gone = sorted(set(live) - {named(one) for one in children})
    if changed or gone or not before:
        return [*changed, *gone]
    # A field was removed, which no comparison with what is there tells.
    return [named(one) for one in children if named(one) in live]


def digest(children: Iterable[Manifest]) -> str:
    """Return what identifies the components of a cluster, but for their sizes."""
    specs = {named(one): _sizeless(one) for one in children}
    text = json.dumps(specs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]


def held(planned: Mapping[str, Any]) -> tuple[Reason, str] | None:
    """Return reason and message while a change waits for a window; None if none does."""
    message = planned.get("message")
    return (Reason.WAITING_FOR_WINDOW, str(message)) if message else None


def message_of(components: Sequence[str], opens: str) -> str:
    """Return what waits, until when, and what to do about it."""
    more = f" and {len(components) - 1} more" if len(components) > 1 else ""
    when = f"that opens at {opens}" if opens else "; none will open"
    return (
        f"a change of {components[0]}{more} waits for the maintenance window {when}; remove "
        "spec.maintenance to have it applied now"
    )


def recorded(resource: Resource) -> Record:
    """Return ``status.maintenance``; empty without one."""
    return as_table(as_table(resource.get("status")).get("maintenance"))


def report(resource: Resource, planned: Mapping[str, Any], *, is_applied: bool) -> Record:
    """Return ``status.maintenance`` at the end of a pass.

    Args:
        resource: the cluster, with its status so far.
        planned: what was decided; empty if that was not reached.
        is_applied: whether the components have been given what was rendered.
    """
    before = recorded(resource)
    if not planned.get("at"):
        return before
    if not planned.get("hasWindows"):
        return {}
    rendered = planned.get("digest") if is_applied else before.get("appliedDigest")
    found = {
        "open": not planned.get("opens") and bool(planned.get("closes")),
        "nextChange": planned.get("opens") or planned.get("closes"),
        "appliedDigest": rendered,
        "message": planned.get("message"),
    }
    return {name: value for name, value in found.items() if value not in (None, "")}


def is_due(resource: Resource, now: float) -> bool:
    """Return whether a window has opened or closed since the last pass; ``now`` is Unix time."""
    expected = str(recorded(resource).get("nextChange") or "")
    return bool(expected) and unix_time(expected) <= now


def mistakes(resource: Resource) -> Iterator[Mistake]:
    """Yield what is wrong with the windows beyond their schema."""
    try:
        _windows(resource)
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message)


def _sizeless(child: Manifest) -> Manifest:
    return {name: value for name, value in child["spec"].items() if name != "replicas"}


def _windows(resource: Resource) -> list[Window]:
    fields = Fields("", resource).table("spec").table("maintenance")
    zone = zone_in(fields)
    return [_window(one, zone) for one in fields.tables("windows")]


def _window(fields: Fields, zone: str) -> Window:
    lasts = durations.seconds(fields, "duration")
    if not 60 <= lasts <= _LONGEST.total_seconds():
        raise fields.refuse("duration", "must be between 1m and 8784h")
    return Window(schedule_in(fields, "start", zone), timedelta(seconds=lasts))
