# SPDX-License-Identifier: Apache-2.0
"""Answers of the API server, bounded: a list may hold an object that was made to be too deep.

The API server stores 10,000 levels of nesting in fields whose schema is open; Python's recursion
ends at 1,000, and that of Ansible's templates at 250. What is deeper than any object of use is left
out where it enters, so that one object never fails the passes of those beside it. The operator
refuses to play such an object.
"""

from __future__ import annotations

import json
import re
from typing import Any

OBJECT_LEVELS = 100  # of an object that the operator plays; a deeper one it refuses
DEEPEST = OBJECT_LEVELS + 10  # levels of an answer: those of an object and of a list around it
_ABSURD = 12_000
_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)


def decode(data: bytes) -> Any:
    """Return the JSON document; what is nested deeper than ``DEEPEST`` levels is None in it.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        document = json.loads(data)
    except RecursionError:
        return _decode_deep(data)
    _cut(document)
    return document


def _decode_deep(data: bytes) -> Any:
    try:
        return json.loads(_shortened(data))
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _shortened(data: bytes) -> bytes:
    """Return JSON text in which everything that is too deep has become ``null``.

    Raises:
        ValueError: it is deeper than anything that is stored.
    """
    parts: list[bytes] = []
    depth, begin = 0, 0
    for token in _TOKENS.finditer(data):
        char = data[token.start()]
        if char in b"[{":
            depth += 1
            if depth > _ABSURD:
                raise ValueError(f"it has more than {_ABSURD} levels")
            if depth == DEEPEST + 1:
                parts += (data[begin : token.start()], b"null")
        elif char in b"]}":
            if depth == DEEPEST + 1:
                begin = token.end()
            depth -= 1
    parts.append(data[begin:] if depth <= DEEPEST else b"")
    return b"".join(parts)


def _cut(document: Any) -> None:
    """Replace in place what is nested deeper by None."""
    level = [document] if isinstance(document, dict | list) else []
    for number in range(1, DEEPEST + 1):
        inside = []
        for value in level:
            for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(inner, dict | list):
                    inside.append((value, step, inner))
        if number == DEEPEST:
            for value, step, _inner in inside:
                value[step] = None
        level = [inner for _value, _step, inner in inside]
        if not level:
            return
