# SPDX-License-Identifier: Apache-2.0
"""Durations as Kubernetes resources write them: ``90s``, ``5m``, ``1h30m``, ``1.5h``."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Final

from .fields import Fields

_UNITS: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_DURATION: Final = re.compile(f"(?:{_PART.pattern})+")


def seconds(fields: Fields, name: str) -> int:
    """Return a duration in whole seconds, rounded up; 0 when absent.

    Raises:
        InvalidSpec: The field is not a duration.
    """
    text = fields.text(name)
    if text in ("", "0"):
        return 0
    if not _DURATION.fullmatch(text):
        raise fields.refuse(name, f"must be a duration such as 30s, 5m or 1h30m, not {text!r}")
    return math.ceil(sum(Fraction(amount) * _UNITS[unit] for amount, unit in _PART.findall(text)))
