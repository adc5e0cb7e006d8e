# SPDX-License-Identifier: Apache-2.0
"""Kubernetes quantities, as exact numbers and in the spelling that MatrixOne reads.

Source: Kubernetes resource quantities. The function of the kubernetes package also takes what the
API server refuses (``1_000``, ``NaN``, a blank before the number), and importing it takes a quarter
of a second, for its whole client.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, Final

from .errors import QuantityError

_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {
    "n": -3, "u": -2, "m": -1, "": 0, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6,
}  # fmt: skip
_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+))(?P<suffix>[KMGTPE]i|[numkMGTPE]?|[eE][+-]?\d+)"
)
_TOO_SMALL_FOR_MATRIXONE: Final = ("n", "u", "m")
_TO_THE_BASE_OF_TEN: Final = ("k", "M", "G", "T", "P", "E")
_MAX_EXPONENT: Final = 18
_LARGEST: Final = 2**63 - 1
"""Kubernetes reads what is larger as this: a claim would be grown to it, and could not shrink."""
_EXPONENT: Final = re.compile(r"[eE][+-]?\d+$")


def parse(value: Any) -> Fraction:
    """Return the exact value of a quantity (text or number).

    Raises:
        QuantityError: The value is not a quantity, or larger than any that Kubernetes has.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = repr(value)
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise QuantityError(f"{value!r} is not a quantity such as 512Mi, 10Gi or 1500m")
    number = Fraction(match["number"]) * _unit(value, match["suffix"])
    if abs(number) > _LARGEST:
        raise QuantityError(f"{value!r} is beyond 2^63-1, the largest quantity of Kubernetes")
    return number


def _unit(value: Any, suffix: str) -> Fraction:
    if suffix in _BINARY:
        return Fraction(1024) ** _BINARY[suffix]
    if suffix in _DECIMAL:
        return Fraction(1000) ** _DECIMAL[suffix]
    exponent = int(suffix[1:])
    if abs(exponent) > _MAX_EXPONENT:
        raise QuantityError(f"{value!r} has an exponent beyond {_MAX_EXPONENT}")
    return Fraction(10) ** exponent


def to_bytes(value: Any) -> int:
    """Return a quantity of bytes, rounded up to a whole byte as Kubernetes does."""
    exact = parse(value)
    return -(-exact.numerator // exact.denominator)


def canonical(size: int) -> str:
    """Write bytes as a canonical binary quantity: the largest unit that leaves no fraction."""
    for suffix, power in reversed(_BINARY.items()):
        unit = int(1024**power)
        if size and size % unit == 0:
            return f"{size // unit}{suffix}"
    return str(size)


def matrixone_size(value: Any, *, decimal_as_bytes: bool) -> str:
    """Return a quantity in the spelling of MatrixOne's size settings, e.g. ``1GiB``.

    What the user wrote keeps its spelling, unless MatrixOne reads it differently: it takes the
    suffix of ``1500m`` for mega, and no exponent.

    Args:
        value: the quantity.
        decimal_as_bytes: whether ``10G`` is written as bytes, too. As ``10GB``, MatrixOne takes it
            for 10 GiB, which is more than a volume of 10G has.
    """
    size, text = to_bytes(value), str(value)
    unread = (*_TOO_SMALL_FOR_MATRIXONE, *(_TO_THE_BASE_OF_TEN if decimal_as_bytes else ()))
    return f"{size}B" if text.endswith(unread) or _EXPONENT.search(text) else f"{text}B"


def part(value: Any, numerator: int, denominator: int) -> str:
    """Return a part of a quantity, rounded down to bytes, in canonical form."""
    return canonical(to_bytes(value) * numerator // denominator)
