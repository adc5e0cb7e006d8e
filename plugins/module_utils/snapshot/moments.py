# SPDX-License-Identifier: Apache-2.0
"""Moments: RFC 3339 for people, nanoseconds and texts without a zone for the database."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Final

from ..api.errors import InvalidSpec

_NANOSECONDS: Final = 1_000_000_000
_TEXT: Final = "%Y-%m-%d %H:%M:%S"


def of_nanoseconds(count: int) -> str:
    """Return a moment as RFC 3339 in UTC, to the microsecond."""
    seconds, rest = divmod(count, _NANOSECONDS)
    whole = datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=rest // 1000)
    return whole.isoformat().replace("+00:00", "Z")


def of_text(text: str) -> datetime:
    """Return the moment that a text of the database, which is in UTC, means."""
    return datetime.strptime(text[:19], _TEXT).replace(tzinfo=timezone.utc)


def parsed(option: str, text: str) -> datetime:
    """Return the whole second that RFC 3339 with a zone means.

    Raises:
        InvalidSpec: it is no such text, or has no zone.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidSpec(option, "must be RFC 3339 with a zone, such as 2026-11-23T10:15:00Z")
    return moment.astimezone(timezone.utc).replace(microsecond=0)


def as_text(moment: datetime) -> str:
    """Return a moment in UTC as statements have it."""
    return moment.strftime(_TEXT)


def as_nanoseconds(moment: datetime) -> int:
    """Return the nanoseconds since 1970 of a whole second."""
    return int(moment.timestamp()) * _NANOSECONDS


def shown(moment: datetime) -> str:
    """Return a moment in UTC as RFC 3339."""
    return moment.isoformat().replace("+00:00", "Z")
