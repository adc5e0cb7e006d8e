# SPDX-License-Identifier: Apache-2.0
"""Scalars of YAML as the Go runner's reader takes them, and numbers as Go writes them.

The rules are those of ``go.yaml.in/yaml/v2`` (``resolve.go``), which ``sigs.k8s.io/yaml`` reads
with, and of Go's ``encoding/json`` and ``strconv``.
"""

import base64
import binascii
import math
import re
import struct
from decimal import Decimal
from typing import TypeAlias

Scalar: TypeAlias = str | bool | int | float | None

PREFIX = "tag:yaml.org,2002:"
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(
        ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True
    ),
    **dict.fromkeys(
        ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False
    ),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INT = re.compile(
    r"([-+]?)(?:0[xX](?P<x>[\da-fA-F]+)|0[bB](?P<b>[01]+)|0[oO]?(?P<o>[0-7]+)"
    r"|(?P<d>0|[1-9][0-9]*))",
    re.ASCII,
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = {"x": 16, "b": 2, "o": 8, "d": 10}
_NAMES = {type(None): "null", bool: "bool", int: "int", float: "float", str: "str"}
_WHOLE = 1e21
"""From here on, JSON of Go has an exponent; smaller whole numbers are written as such."""
_LONGEST_FLOAT = 4096
"""Characters; Python takes quadratic time for more digits."""


def plain(text: str) -> Scalar:
    """The value of a scalar without quotes and without a tag."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] == ".":
        return _float(text)
    if not (text[0] in "+-" or (text[0].isascii() and text[0].isdigit())):
        return text
    digits = text.replace("_", "")
    found = _int(digits)
    if found is not None:
        return found
    number = _float(digits)
    return text if isinstance(number, str) else number


def _int(text: str) -> int | None:
    """A whole number of at most 64 bits; None for anything else."""
    match = _INT.fullmatch(text)
    if match is None or len(text) > 80:
        return None
    name = str(match.lastgroup)
    value = int(match[name], _BASES[name])
    value = -value if match[1] == "-" else value
    return value if -(2**63) <= value < (2**63 if match[1] == "+" else 2**64) else None


def _float(text: str) -> float | str:
    if not _FLOAT.fullmatch(text) or len(text) > _LONGEST_FLOAT:
        return text
    value = float(text)
    return text if math.isinf(value) else value


def tagged(tag: str, text: str) -> Scalar:
    """The value of a scalar with a tag; tags that YAML does not define make it a text.

    Raises:
        ValueError: with the message of the Go runner's reader.
    """
    name = tag.removeprefix(PREFIX)
    if name == "binary":
        return _decoded(text)
    if name not in _NAMES.values() or name == "str":
        return text
    value = plain(text)
    if name == "float" and type(value) is int:
        return float(value)
    if _NAMES[type(value)] != name:
        found = _NAMES[type(value)]
        raise ValueError(f"cannot decode !!{found} `{text}` as a !!{name}")
    return value


def _decoded(text: str) -> str:
    try:
        data = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("!!binary value contains invalid base64 data") from error
    return data.decode(errors="replace")


def number(value: float) -> int | float:
    """A number as it comes out of Go's JSON: whole ones have no fraction.

    Raises:
        ValueError: JSON has no such number.
    """
    if math.isnan(value) or math.isinf(value):
        raise ValueError(f"json: unsupported value: {as_text(value)}")
    if isinstance(value, int) or not value.is_integer() or abs(value) >= _WHOLE:
        return value
    return int(Decimal(repr(value)))


def as_text(value: bool | float) -> str:
    """A scalar where a text is expected: ``strconv.FormatFloat(value, 'g', -1, 32)`` for floats."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1, value) < 0 else ""
    try:
        single = struct.unpack("f", struct.pack("f", abs(value)))[0]
    except OverflowError:
        single = math.inf
    if math.isinf(single):
        return f"{sign or '+'}Inf"
    return sign + _shortest(single)


def _shortest(single: float) -> str:
    """The fewest digits that name a positive number of 32 bits, with an exponent from 1e+06 on."""
    written = f"{single:.8e}"
    for precision in range(9):
        written = f"{single:.{precision}e}"
        if struct.pack("f", float(written)) == struct.pack("f", single):
            break
    exponent = int(written.partition("e")[2])
    if single and not -4 <= exponent < 6:
        return written
    digits = format(Decimal(written), "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
