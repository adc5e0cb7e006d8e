# SPDX-License-Identifier: Apache-2.0
"""Spec keys to variable names, exactly as roles written for the Go runner expect.

Some rules are odd; each of them is somebody's variable name.
"""

import re
import string
from collections.abc import Mapping
from typing import Any

from ansible_operator.logs import get_logger

_LOG = get_logger("parameters")
_DIGITS = re.compile(r"([a-zA-Z])([0-9]+)([a-zA-Z]([0-9]+))")
_CAPITALS, _SMALL = frozenset(string.ascii_uppercase), frozenset(string.ascii_lowercase)
"""Only letters of ASCII begin and end words, as in Go."""
_ACRONYMS = ("HTTP", "URL", "IP")
_BREAKS = frozenset(" _-")


def snake_case(name: str) -> str:
    """The variable name of a spec key."""
    if not name:
        return name
    text = _DIGITS.sub(r"\1 \2 \3", name).strip(" ")
    prefix = "_" if "A" <= text[:1] <= "Z" else ""
    for acronym in _ACRONYMS:
        text = _set_apart(text, acronym)
    words = _words(text)
    if words and words[0] in {acronym.lower() for acronym in _ACRONYMS}:
        prefix = ""
    return prefix + "_".join(words)


def _set_apart(text: str, acronym: str) -> str:
    """Put ``_`` around the first occurrence of an acronym; its plural ``s`` belongs to it."""
    start = text.find(acronym)
    if start < 0:
        return text
    end = start + len(acronym)
    before, after = text[:start], text[end:]
    if not after:
        return f"{before}_{acronym}"
    if after[0] == "s":
        acronym, after = f"{acronym}S", after[1:]
        if not after:
            return f"{before}_{acronym}"
    return f"{acronym}_{after}" if not before else f"{before}_{acronym}_{after}"


def _words(text: str) -> list[str]:
    words: list[str] = []
    current = ""
    for index, char in enumerate(text):
        following = text[index + 1] if index + 1 < len(text) else ""
        if char in _BREAKS:
            words.append(current)
            current = ""
            continue
        turns = (char in _CAPITALS and following in _SMALL) or (
            char in _SMALL and following in _CAPITALS
        )
        if turns and current and not current.endswith("_"):
            if char in _CAPITALS:
                words.append(current)
                current = char
            else:
                words.append(current + char)
                current = ""
        else:
            current += char
    words.append(current)
    return [_lower(word) for word in words]


def _lower(word: str) -> str:
    """Letter by letter, as Go does: no letter becomes two, whatever its neighbours are."""
    return "".join(char.lower()[0] for char in word)


def snake_case_keys(value: Any) -> Any:
    """Convert the keys of mappings at every depth; other values stay.

    When two keys become one, the last in the object's own order wins and a line is logged.
    """
    if isinstance(value, Mapping):
        converted: dict[str, Any] = {}
        for key, item in value.items():
            name = snake_case(key)
            if name in converted:
                _LOG.warning("Two keys become the same variable", key=key, variable=name)
            converted[name] = snake_case_keys(item)
        return converted
    if isinstance(value, list):
        return [snake_case_keys(item) for item in value]
    return value
