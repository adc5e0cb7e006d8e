# SPDX-License-Identifier: Apache-2.0
"""When a schedule is due: cron expressions in a time zone.

The expressions are those of a CronJob of Kubernetes (robfig/cron v3, ``ParseStandard``): five
fields, names of months and days, ``@daily`` and its like; neither ``@every`` nor a time zone inside
the expression.

What differs on purpose: a CronJob leaves out a run whose time the clock skips, and repeats one
whose time comes twice. Here, as in the cron of Debian, a time of day that is skipped is the moment
at which the clock is put forward, and one that comes twice is the first of the two. Expressions
for every hour (``*/10 * * * *``) go by elapsed time in any case.

A library would read another language: cronsim 2.8 takes ``L`` and 7 for Sunday, which a CronJob
refuses, and neither ``?`` nor ``@daily``, which it takes. And filters need this module, on every
controller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from .fields import Fields

_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_MINUTE: Final = timedelta(minutes=1)
_DAY: Final = timedelta(days=1)
_FARTHEST: Final = 366 * 9
"""Days that are searched: 29 February is missing for eight years around 2100."""


class InvalidSchedule(ValueError):
    """An expression or a time zone cannot be used; the message says what would be right."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of an expression.

    Attributes:
        title: for messages.
        first: lowest value.
        last: highest value.
        words: names of the values, from the lowest.
    """

    title: str
    first: int
    last: int
    words: Sequence[str] = ()


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 6, _DAYS),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A parsed expression in a time zone.

    Attributes:
        minutes: of the hour.
        hours: of the day.
        days: of the month.
        months: of the year.
        weekdays: 0 for Sunday.
        any_day: neither day field restricts the other: both must match, instead of one of them.
        zone: in which the fields are read.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    zone: tzinfo

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first run after a moment, in UTC; None if there is none for nine years."""
        for day in self._days_from(moment, _DAY):
            for run in self._runs_of(day):
                if run > moment:
                    return run
        return None

    def last_until(self, moment: datetime, *, since: datetime) -> datetime | None:
        """Return the last run at or before a moment, in UTC; None if none is after ``since``."""
        first = since.astimezone(self.zone).date() - _DAY
        for day in self._days_from(moment, -_DAY):
            if day < first:
                return None
            for run in reversed(list(self._runs_of(day))):
                if since < run <= moment:
                    return run
        return None

    def _days_from(self, moment: datetime, step: timedelta) -> Iterator[date]:
        """Yield the days that match, from one beside that of a moment: zones may shift its runs."""
        day = moment.astimezone(self.zone).date() - step
        for _day in range(_FARTHEST):
            if self._matches(day):
                yield day
            try:
                day += step
            except OverflowError:
                return

    def _matches(self, day: date) -> bool:
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        chosen = (in_month and in_week) if self.any_day else (in_month or in_week)
        return day.month in self.months and chosen

    def _runs_of(self, day: date) -> Iterator[datetime]:
        """Yield the runs of a day that matches, in UTC, in their order."""
        if len(self.hours) == 24:
            yield from self._minutes_of(day)
            return
        last = None
        for hour in self.hours:
            for minute in self.minutes:
                run = _moment(datetime.combine(day, time(hour, minute)), self.zone)
                if run != last:
                    yield run
                last = run

    def _minutes_of(self, day: date) -> Iterator[datetime]:
        moment = _moment(datetime.combine(day, time()), self.zone)
        end = _moment(datetime.combine(day + _DAY, time()), self.zone)
        while moment < end:
            if moment.astimezone(self.zone).minute in self.minutes:
                yield moment
            moment += _MINUTE


def parse(expression: str, zone: str = "") -> Schedule:
    """Return the schedule that an expression describes.

    Args:
        expression: e.g. ``0 3 * * MON-FRI`` or ``@daily``.
        zone: name of a time zone in the IANA database, e.g. ``Europe/Berlin``; UTC if empty.

    Raises:
        InvalidSchedule: one of them cannot be used.
    """
    fields = _MACROS.get(expression.strip().lower(), expression).split()
    if len(fields) != len(_FIELDS):
        raise InvalidSchedule(
            "must be five fields (minute, hour, day of the month, month, day of the week) or one "
            f"of {', '.join(_MACROS)}, not {expression!r}"
        )
    found = [_values(field, text) for field, text in zip(_FIELDS, fields, strict=True)]
    minutes, hours, days, months, weekdays = (tuple(sorted(values)) for values in found)
    return Schedule(
        minutes=minutes,
        hours=hours,
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(weekdays),
        any_day=any(_is_star(text) for text in (fields[2], fields[4])),
        zone=find_zone(zone),
    )


def find_zone(name: str) -> tzinfo:
    """Return a time zone; UTC for an empty name.

    Raises:
        InvalidSchedule: the database of time zones does not have it.
    """
    if name in ("", "UTC", "Etc/UTC"):
        return timezone.utc
    try:
        if name.lower() != "local":
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass
    raise InvalidSchedule(f"must be a time zone such as Etc/UTC or Europe/Berlin, not {name!r}")


def _values(field: _Field, text: str) -> set[int]:
    """Return the values of a field: a list of ranges with steps."""
    return {value for part in text.split(",") for value in _range(field, part)}


def _range(field: _Field, part: str) -> range:
    """Return the values of ``*``, ``a``, ``a-b``, each perhaps with ``/step``.

    ``a/step`` goes from a to the highest value, as in Kubernetes.
    """
    bounds, slash, step_text = part.partition("/")
    step = _step(field, step_text) if slash else 1
    if bounds in ("*", "?"):
        return range(field.first, field.last + 1, step)
    low_text, dash, high_text = bounds.partition("-")
    low = _value(field, low_text)
    high = _value(field, high_text) if dash else (field.last if slash else low)
    if low > high:
        raise InvalidSchedule(f"{field.title}: {part!r} begins after its end")
    return range(low, high + 1, step)


def _step(field: _Field, text: str) -> int:
    if not _is_number(text) or int(text) == 0:
        raise InvalidSchedule(f"{field.title}: the step must be a number above 0, not {text!r}")
    return int(text)


def _value(field: _Field, text: str) -> int:
    word = text.lower()
    if word in field.words:
        return field.words.index(word) + field.first
    if _is_number(text) and field.first <= int(text) <= field.last:
        return int(text)
    named = f" or {field.words[0].upper()} to {field.words[-1].upper()}" if field.words else ""
    limits = f"{field.first} to {field.last}"
    raise InvalidSchedule(f"{field.title}: must be {limits}{named}, not {text!r}")


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,4}", text) is not None


def _is_star(text: str) -> bool:
    """Return whether a day field leaves the choice to the other one; ``*/2`` does not (robfig)."""
    return any(re.fullmatch(r"[*?](/0*1)?", part) for part in text.split(","))


def _moment(local: datetime, zone: tzinfo) -> datetime:
    """Return the first moment at which a clock shows a time, or has passed it, in UTC."""
    before, after = (
        local.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1)
    )
    if before.astimezone(zone).replace(tzinfo=None) == local:
        return before
    return _first(after, before, lambda moment: _offset(moment, zone) > _offset(after, zone))


def _offset(moment: datetime, zone: tzinfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()


def _first(low: datetime, high: datetime, holds: Callable[[datetime], bool]) -> datetime:
    """Return the first second of a span at whose end a condition holds, but not at its start."""
    while high - low > timedelta(seconds=1):
        middle = (low + (high - low) / 2).replace(microsecond=0)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def duration(seconds: float) -> str:
    """Return a time to wait as ``requeue_after`` takes it: at least a second, e.g. ``1h0m5s``."""
    whole = max(1, int(-(-seconds // 1)))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}h{minutes}m{left}s"


def zone_in(fields: Fields, name: str = "timeZone") -> str:
    """Return the time zone that a field names; empty for UTC.

    Raises:
        InvalidSpec: there is no such time zone.
    """
    zone = fields.text(name)
    try:
        find_zone(zone)
    except InvalidSchedule as error:
        raise fields.refuse(name, str(error)) from error
    return zone


def schedule_in(fields: Fields, name: str, zone: str) -> Schedule:
    """Return the schedule whose expression a field has, in a time zone that exists.

    Raises:
        InvalidSpec: it is no expression, or is never due.
    """
    expression = fields.required_text(name)
    try:
        schedule = parse(expression, zone)
    except InvalidSchedule as error:
        raise fields.refuse(name, str(error)) from error
    if schedule.next_after(datetime.now(timezone.utc)) is None:
        raise fields.refuse(name, f"{expression!r} is never due")
    return schedule


CALENDAR: Final[Mapping[str, Callable[[datetime], tuple[int, ...]]]] = {
    "daily": lambda local: (local.year, local.month, local.day),
    "weekly": lambda local: tuple(local.isocalendar()[:2]),
    "monthly": lambda local: (local.year, local.month),
}
"""The day, the week (ISO 8601) and the month to which a local time belongs."""
