# SPDX-License-Identifier: Apache-2.0
"""Filters, lookups and tests that a template names, as Jinja itself reads it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jinja2 import Environment, TemplateSyntaxError

_HEADER = re.compile(r"#jinja2:(.*)\n?")
_OPTION = re.compile(r"(\w+_(?:start|end)_string)\s*:\s*(['\"])(.*?)\2")
_LOOKUPS = frozenset({"lookup", "query", "q"})
_IGNORED = frozenset({"whitespace", "comment", "linecomment"})
Token = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class Use:
    """A plugin that a template names.

    Attributes:
        kind: ``filter``, ``lookup`` or ``test``.
        line: in the text, from 1.
    """

    kind: str
    name: str
    line: int


def uses(text: str) -> list[Use]:
    """What a text names inside of ``{{ }}`` and ``{% %}``, each once; nothing if it cannot be read.

    The first line of a template may set other delimiters, as Ansible allows.
    """
    if "{" not in text and not text.startswith("#jinja2:"):
        return []
    header = _HEADER.match(text)
    options = {name: value for name, _, value in _OPTION.findall(header[1])} if header else {}
    try:
        tokens = [
            (line, kind, value)
            for line, kind, value in Environment(**options).lex(text)  # noqa: S701
            if kind not in _IGNORED
        ]
    except (TemplateSyntaxError, TypeError, ValueError):
        return []
    return list({(use.kind, use.name): use for use in reversed([*_named(tokens)])}.values())[::-1]


def _named(tokens: list[Token]) -> Iterator[Use]:
    for place, (line, kind, value) in enumerate(tokens):
        following = tokens[place + 1 : place + 3]
        if kind == "operator" and value == "|":
            yield from _plugin("filter", line, tokens[place + 1 :])
        elif kind == "name" and value == "is":
            negated = bool(following) and following[0][1:] == ("name", "not")
            yield from _plugin("test", line, tokens[place + 1 + negated :])
        elif (
            value in _LOOKUPS
            and [kind, *(token[1] for token in following)] == ["name", "operator", "string"]
            and following[0][2] == "("
        ):
            yield Use("lookup", following[1][2][1:-1], line)


def _plugin(kind: str, line: int, tokens: list[Token]) -> Iterator[Use]:
    """The dotted name that tokens begin with."""
    parts: list[str] = []
    for place in range(0, len(tokens), 2):
        if tokens[place][1] != "name":
            break
        parts.append(tokens[place][2])
        if tokens[place + 1 : place + 2] and tokens[place + 1][1:] == ("operator", "."):
            continue
        break
    if parts:
        yield Use(kind, ".".join(parts), line)
