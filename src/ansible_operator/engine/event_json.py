# SPDX-License-Identifier: Apache-2.0
"""JSON of events that every reader takes, whatever the result of a task is.

Python writes NaN, halves of surrogate pairs and any nesting, which strict readers refuse, and
refuses what it cannot write, such as very long numbers and cycles. The usual event is written as it
is; only another one is copied for it.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ansible_operator.nesting import VALUE_LEVELS

DEEPEST = VALUE_LEVELS + 10
"""Levels of an event: those of a result, and of what is around it."""
TOO_DEEP = f"nested more than {DEEPEST} levels deep"
_MOST_BITS = 14_000
"""Of a number: Python writes 4,300 digits."""
_HALF = "\\ud"
"""How half of a surrogate pair begins in JSON; a whole pair does, too."""
_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)


def encoded(event: Mapping[str, Any], plain: Callable[[Any], Any]) -> bytes:
    """The event as JSON, in ASCII.

    A number that is not finite, or too long, becomes a text; half a surrogate pair a question mark;
    what is nested deeper than ``DEEPEST`` is left out.

    Args:
        event: with values of any types.
        plain: gives a value of JSON for one of another type.
    """
    try:
        text = _encoder(plain).encode(event)
        if _HALF not in text and not _is_deep(text):
            return text.encode()
    except (ValueError, TypeError, RecursionError):
        pass
    return _encoder(plain).encode(_copied(event, plain, DEEPEST)).encode()


@cache
def _encoder(plain: Callable[[Any], Any]) -> json.JSONEncoder:
    return json.JSONEncoder(default=plain, allow_nan=False)


def _is_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for mark in _TOKENS.findall(text):
        if mark in "[{":
            depth += 1
            if depth > DEEPEST:
                return True
        elif mark in "]}":
            depth -= 1
    return False


def _copied(value: Any, plain: Callable[[Any], Any], levels: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (str, int, float)):
        return _scalar(value)
    if levels <= 0:
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {_key(key, plain): _copied(item, plain, levels - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(item, plain, levels - 1) for item in value]
    return _copied(_of_another_type(value, plain), plain, levels - 1)


def _scalar(value: str | int | float) -> str | int | float:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int):
        bits = value.bit_length()
        return int(value) if bits <= _MOST_BITS else f"a number of {bits} bits"
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _key(key: Any, plain: Callable[[Any], Any]) -> str:
    copied = _copied(key, plain, 1)
    if isinstance(copied, str):
        return copied
    return json.dumps(copied)


def _of_another_type(value: Any, plain: Callable[[Any], Any]) -> Any:
    try:
        return plain(value)
    except Exception as error:  # noqa: BLE001 (the text of a value is code of its type)
        return f"{type(value).__name__} without a text: {type(error).__name__}"
