# SPDX-License-Identifier: Apache-2.0
"""Kubernetes quantities such as ``10Gi`` as numbers."""

import re
from decimal import Decimal

_FORM = re.compile(r"([+-]?[0-9.]+)(?:([eE][+-]?[0-9]+)|([KMGTPE]i)|([numkMGTPE]))?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parse_quantity(text: str) -> Decimal:
    """Return the exact value of a quantity.

    Raises:
        ValueError: the text is not one.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity")
    number, exponent, binary, decimal = match.groups()
    value = Decimal(number + (exponent or ""))
    if binary:
        return value * Decimal(2 ** _BINARY[binary])
    return value.scaleb(_DECIMAL[decimal]) if decimal else value
