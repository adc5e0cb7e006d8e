# SPDX-License-Identifier: Apache-2.0
"""Durations as Go writes and reads them (``1h30m``), with Go's error texts."""

import re

from ansible_operator.errors import ConfigError

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART = re.compile(r"(\d*\.?\d*)([^\d.]*)")
_LONGEST = 2**63 / 1e9


class InvalidDuration(ConfigError):
    """A text is not a duration."""


def parse_duration(text: str) -> float:
    """Seconds of a Go duration such as ``10h``, ``1m30s``, ``-1.5h`` or ``0``.

    Raises:
        InvalidDuration: with the message that Go's ``time.ParseDuration`` gives.
    """
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    invalid = InvalidDuration(f"time: invalid duration {quoted}")
    sign, rest = (-1.0, text[1:]) if text[:1] == "-" else (1.0, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    if not rest:
        raise invalid
    total, position = 0.0, 0
    while position < len(rest):
        match = _PART.match(rest, position)
        number, unit = match.groups() if match else ("", "")
        if not number or number == ".":
            raise invalid
        if not unit:
            raise InvalidDuration(f"time: missing unit in duration {quoted}")
        if unit not in _UNITS:
            raise InvalidDuration(f'time: unknown unit "{unit}" in duration {quoted}')
        total += float(number) * _UNITS[unit]
        position += len(number) + len(unit)
    if total > _LONGEST:
        raise invalid
    return sign * total


def format_duration(seconds: float) -> str:
    """A duration as Go prints it: ``1h30m0s``, ``1.5s``, ``250ms``, ``0s``."""
    if seconds == 0:
        return "0s"
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    for unit, size in (("ns", 1e-6), ("µs", 1e-3), ("ms", 1.0)):
        if seconds < size:
            return f"{sign}{_number(seconds / _UNITS[unit])}{unit}"
    minutes, rest = divmod(round(seconds, 9), 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{_number(rest)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else f"{sign}{text}"


def _number(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".")
