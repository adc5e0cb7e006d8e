# SPDX-License-Identifier: Apache-2.0
"""YAML as text: documents that are written, and single values that change in a text of others."""

import re
from collections.abc import Sequence
from typing import Any

import yaml

Json = dict[str, Any]
Path = Sequence[str | int]
"""Keys and indexes that lead to a value."""
_WIDTH = 110


class NotEditableError(ValueError):
    """A value cannot be changed without rewriting what is around it."""


class _Dumper(yaml.SafeDumper):
    """Indents lists, knows no aliases, and quotes templates as Ansible's documentation does."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    # PyYAML loses unusual line breaks, such as U+0085, in other styles than quotes.
    is_plain = value.replace("\n", "").isprintable() and "{{" not in value
    style = ("|" if "\n" in value else None) if is_plain else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def block(value: object) -> str:
    """A value in block style, with a newline at the end."""
    dumped: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, width=_WIDTH, allow_unicode=True
    )
    return dumped


def documents(*values: object, comment: str = "") -> str:
    """A file of one or more documents.

    Args:
        values: the documents.
        comment: what the file begins with; a line each.
    """
    header = "".join(f"# {line}\n" for line in comment.splitlines())
    return header + "".join(f"---\n{block(value)}" for value in values)


def replaced(text: str, path: Path, value: object) -> str:
    """The text with another value of a key; all else, comments included, stays as it is.

    Raises:
        NotEditableError: there is no such key, or the rest would not mean the same.
    """
    key, node = _found(text, path)
    start = key.start_mark
    old = _content(text[start.index : node.end_mark.index])
    new = _indented(block({key.value: value}), start.column).strip()
    return _checked(
        text[: start.index] + new + text[start.index + len(old) :], _with(text, path, value)
    )


def appended(text: str, path: Path, item: object) -> str:
    """The text with one more item in a list; all else, comments included, stays as it is.

    Raises:
        NotEditableError: there is no such list, or the rest would not mean the same.
    """
    data = yaml.safe_load(text)
    listed = _at(data, path)
    if not isinstance(listed, list):
        raise NotEditableError("there is no list")
    _, node = _found(text, path)
    if isinstance(node, yaml.CollectionNode) and node.flow_style:
        end = node.end_mark.index - 1
        inline = yaml.safe_dump(item, default_flow_style=True, width=1000).removesuffix("...\n")
        changed = f"{text[:end]}{', ' if listed else ''}{inline.strip()}{text[end:]}"
    else:
        start = node.start_mark
        end = start.index + len(_content(text[start.index : node.end_mark.index]))
        line = _indented(block([item]), start.column, first="\n").rstrip()
        changed = text[:end] + line + (text[end:] or "\n")
    return _checked(changed, _with(text, path, [*listed, item]))


def _found(text: str, path: Path) -> tuple[yaml.Node, yaml.Node]:
    """The node of the last key, and the node of its value; the value twice for an item."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise NotEditableError(str(error)) from error
    if node is None:
        raise NotEditableError("it is empty")
    key = node
    for part in path:
        if isinstance(node, yaml.MappingNode):
            pairs = {one.value: (one, value) for one, value in node.value}
            if part not in pairs:
                raise NotEditableError(f"it has no {part}")
            key, node = pairs[part]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            key = node = node.value[part]
        else:
            raise NotEditableError(f"it has no {part}")
    return key, node


def _content(text: str) -> str:
    """A block without the comments and blank lines that follow it."""
    lines = text.splitlines(keepends=True)
    while lines and re.fullmatch(r"\s*(#.*)?\s*", lines[-1]):
        lines.pop()
    return "".join(lines).rstrip()


def _indented(text: str, column: int, first: str = "") -> str:
    lines = text.splitlines(keepends=True)
    return first + "".join(" " * column + line if line.strip() else line for line in lines)


def _at(data: Any, path: Path) -> Any:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError) as error:
            raise NotEditableError(f"it has no {part}") from error
    return data


def _with(text: str, path: Path, value: object) -> Any:
    data = yaml.safe_load(text)
    if not path:
        return value
    _at(data, path[:-1])[path[-1]] = value
    return data


def _checked(text: str, meant: object) -> str:
    try:
        is_meant = yaml.safe_load(text) == meant
    except yaml.YAMLError:
        is_meant = False
    if not is_meant:
        raise NotEditableError("its style leaves no place for a change")
    return text
