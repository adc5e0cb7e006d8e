# SPDX-License-Identifier: Apache-2.0
"""Bounds of TOML that users write, checked in one linear pass before it is parsed.

The standard library's parser needs a time that grows with the square of a key's parts, and calls
itself for every bracket: a text that the schema accepts could stall every worker for minutes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

MOST_DOTS: Final = 32
"""Dots in one key."""
DEEPEST: Final = 32
"""Tables and lists within one another; what MatrixOne reads has five."""
LONGEST_NUMBER: Final = 128
"""Characters of a number; the longest with a meaning, a 64-bit integer in base two, has 66."""

_STRINGS_AND_COMMENTS: Final = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+"{3,5}'
    r"|'''(?:[^']++|'(?!''))*+'{3,5}"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"'
    r"|'[^'\n]*+'"
    r"|#[^\n]*+"
    r"|[\"']",
    re.DOTALL,
)
_BETWEEN_KEYS: Final = re.compile(r"[\n\[\]{},=]")
_NUMBER: Final = re.compile(r"(?<![\w.+-])[+-]?\d[\w.+-]*+")
_BRACKETS: Final = re.compile(r"[\[\]{}]")


def violated_by_text(text: str) -> str | None:
    """Return which bound a TOML text violates; None when it may be parsed.

    A text that is no TOML may pass: the parser ends at its first mistake, and up to there both
    read the same.
    """
    bare = _without_strings(text)
    if any(part.count(".") > MOST_DOTS for part in _BETWEEN_KEYS.split(bare)):
        return f"a key has more than {MOST_DOTS} dots"
    if _deepest_bracket(bare) > DEEPEST:
        return f"lists and inline tables are nested deeper than {DEEPEST}"
    if any(len(match[0]) > LONGEST_NUMBER for match in _NUMBER.finditer(bare)):
        return f"a number has more than {LONGEST_NUMBER} characters"
    return None


def violated_by_value(value: Any) -> str | None:
    """Return which bound a value violates; None when it may be copied, merged and written.

    Dotted keys, headers and brackets are bounded each, and may still add up.
    """
    level: list[Any] = [value]
    for _depth in range(DEEPEST + 1):
        level = [inner for one in level for inner in _inner(one)]
        if not level:
            return None
    return f"tables and lists are nested deeper than {DEEPEST}"


def _inner(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [one for one in value.values() if isinstance(one, Mapping | list)]
    return [one for one in value if isinstance(one, Mapping | list)]


def _without_strings(text: str) -> str:
    """Return a text with a letter for each string and without comments, up to a stray quote."""
    parts, begin = [], 0
    for match in _STRINGS_AND_COMMENTS.finditer(text):
        parts.append(text[begin : match.start()])
        if len(match[0]) == 1 and match[0] in "\"'":
            return "".join(parts)
        parts.append("" if match[0].startswith("#") else "s")
        begin = match.end()
    return "".join((*parts, text[begin:]))


def _deepest_bracket(bare: str) -> int:
    depth = deepest = 0
    for match in _BRACKETS.finditer(bare):
        depth = depth + 1 if match[0] in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest
