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

    @property
    def written(self) -> str:
        """The value on one line, as YAML; a text as it is."""
        if not (self.items or self.keys):
            return str(self.value)
        return yaml.safe_dump(self.plain(), default_flow_style=True, width=1000).strip()

    def plain(self) -> object:
        """The value without lines."""
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        return self.value

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
        return [_located(node) for node in nodes if node is not None]
    except RecursionError as error:
        problem = "it is nested too deep, or an anchor contains itself"
        raise UnreadableError(problem, 0) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(str(error), 0) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it is no YAML"
        raise UnreadableError(str(problem), mark.line + 1 if mark else 0) from error


def _located(node: yaml.Node) -> Located:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return Located({key: _located(value) for key, value in _pairs(node).items()}, line)
    if isinstance(node, yaml.SequenceNode):
        return Located([_located(item) for item in node.value], line)
    return Located(_scalar(node.tag.removeprefix(_PREFIX), str(node.value)), line)


def _pairs(node: yaml.MappingNode) -> dict[str, yaml.Node]:
    """The keys of a mapping, after those that ``<<`` merges into it, the first of which win."""
    merged: dict[str, yaml.Node] = {}
    own: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if key.tag != f"{_PREFIX}merge":
            own[str(key.value)] = value
            continue
        parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
        for part in parts:
            if isinstance(part, yaml.MappingNode):
                merged = _pairs(part) | merged
    return merged | own


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
