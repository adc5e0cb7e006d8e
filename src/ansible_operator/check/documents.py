# SPDX-License-Identifier: Apache-2.0
"""YAML with the line of every value, without the tags that Ansible knows and YAML does not."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import yaml

Value: TypeAlias = "str | bool | int | float | list[Located] | dict[str, Located] | None"
_PREFIX = "tag:yaml.org,2002:"
_TRUE = frozenset({"yes", "true", "on"})


@dataclass(frozen=True, slots=True)
class Located:
    """A value and the line that it begins in, from 1; keys of mappings are text."""

    value: Value
    line: int

    @property
    def items(self) -> list["Located"]:
        """The items of a list; nothing for anything else."""
        return self.value if isinstance(self.value, list) else []

    @property
    def keys(self) -> dict[str, "Located"]:
        """The keys of a mapping; nothing for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def text(self) -> str:
        """The value of a string; ``""`` for anything else."""
        return self.value if isinstance(self.value, str) else ""

    def strings(self) -> Iterator["Located"]:
        """All strings in it, at any depth."""
        if isinstance(self.value, str):
            yield self
        for inner in (*self.items, *self.keys.values()):
            yield from inner.strings()


class UnreadableError(Exception):
    """A file is no YAML.

    Attributes:
        line: where it ends to be, from 1; 0 if unknown.
    """

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def read(path: Path) -> list[Located]:
    """The documents of a file.

    Raises:
        UnreadableError: it cannot be read, or is no YAML.
    """
    try:
        nodes = list(yaml.compose_all(path.read_text(), Loader=yaml.CSafeLoader))
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(str(error), 0) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it is no YAML"
        raise UnreadableError(str(problem), mark.line + 1 if mark else 0) from error
    return [_located(node) for node in nodes if node is not None]


def _located(node: yaml.Node) -> Located:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        pairs = {str(key.value): _located(value) for key, value in node.value}
        return Located(pairs, line)
    if isinstance(node, yaml.SequenceNode):
        return Located([_located(item) for item in node.value], line)
    return Located(_scalar(node.tag.removeprefix(_PREFIX), str(node.value)), line)


def _scalar(tag: str, text: str) -> str | bool | int | float | None:
    if tag == "null":
        return None
    if tag == "bool":
        return text.lower() in _TRUE
    try:
        if tag == "int":
            return int(text, 0) if not text.isdigit() else int(text)
        return float(text) if tag == "float" else text
    except ValueError:
        return text
