# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the objects of a YAML file as kubectl does.

Ansible reads YAML differently: a date becomes a date and not a text, `12:30` a number, several
documents are an error, and texts may be templates. kubectl turns each document into JSON first, by
the rules of go-yaml v2 (https://github.com/kubernetes-sigs/yaml): whoever applies a file by kubectl
and plays it must get the same objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ...module_utils.api import names
from ...module_utils.api.plain import plain

Json = dict[str, Any]

_TAG = "tag:yaml.org,2002:"
_BOOLEANS = {
    **dict.fromkeys(("y", "yes", "true", "on"), True),
    **dict.fromkeys(("n", "no", "false", "off"), False),
}
_SYNTAX: Mapping[str, tuple[str, list[str]]] = {
    "bool": (
        r"y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF",
        list("yYtToOnNfF"),
    ),
    "int": (
        r"[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)",
        list("-+0123456789"),
    ),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?",
        list("-+.0123456789"),
    ),
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "merge": (r"<<", ["<"]),
}
_LIST = re.compile(r"\w*List")


class ManifestError(Exception):
    """A file cannot be used as a manifest; the text is the whole message for the user."""


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a file.

    Attributes:
        place: where it stands, for messages: ``cluster.yaml``, ``cluster.yaml (document 2)`` or
            ``cluster.yaml (document 2, item 1)``.
        content: the object, of JSON types.
    """

    place: str
    content: Json

    @property
    def kind(self) -> str:
        """Its kind, empty where it names none."""
        return str(self.content.get("kind") or "")

    @property
    def name(self) -> str:
        """Its kind and name, for messages."""
        metadata = self.content.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return f"{self.kind or 'object without a kind'} {name or 'without a name'}"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML with the scalars of go-yaml v2: no dates, no numbers to the base of 60."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own interface


def _integer(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float:
    text = str(loader.construct_scalar(node)).replace("_", "").lower()
    digits = text.lstrip("+-")
    if len(digits) > 1 and digits.isdigit() and digits[0] == "0":
        # Octal as in YAML 1.1; what has an 8 or 9 in it is a decimal fraction to go-yaml.
        return int(text, 8) if set(digits) <= set("01234567") else float(text)
    return int(text, 0)


def _fraction(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    return float(str(loader.construct_scalar(node)).replace("_", ""))


def _boolean(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> bool:
    return _BOOLEANS[str(loader.construct_scalar(node)).lower()]


for _name, (_pattern, _first) in _SYNTAX.items():
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})$"), _first)
for _name, _read in (
    ("int", _integer),
    ("float", _fraction),
    ("bool", _boolean),
    # Elsewhere than as a key it is a text.
    ("merge", yaml.SafeLoader.construct_scalar),
):
    _Loader.add_constructor(_TAG + _name, _read)


def read_documents(text: str, source: str) -> list[Document]:
    """Return the objects of a file in their order, those of a ``List`` one by one.

    Args:
        text: the content of the file.
        source: its name, for messages.

    Raises:
        ManifestError: It is no YAML, has no object, or something in it is no object.
    """
    try:
        contents = [_json(content) for content in yaml.load_all(text, Loader=_Loader)]
    except (yaml.YAMLError, TypeError, ValueError, OverflowError) as error:
        raise ManifestError(f"{source}: is not valid YAML: {_line(error)}") from error
    except RecursionError as error:
        raise ManifestError(f"{source}: is nested too deeply to be an object") from error
    numbered = [(number, content) for number, content in enumerate(contents, 1) if content]
    documents = [
        document
        for number, content in numbered
        for document in _objects(
            content, f"{source} (document {number})" if len(contents) > 1 else source
        )
    ]
    if not documents:
        raise ManifestError(f"{source}: holds no object; write a resource of {names.API_VERSION}")
    return documents


def _objects(content: Any, place: str) -> Iterator[Document]:
    if not isinstance(content, dict):
        raise ManifestError(f"{place}: is not an object with apiVersion, kind and metadata")
    items = content.get("items")
    if not (isinstance(items, list) and _LIST.fullmatch(str(content.get("kind")))):
        yield Document(place, content)
        return
    for number, item in enumerate(items, 1):
        inner = (
            f"{place[:-1]}, item {number})" if place.endswith(")") else f"{place} (item {number})"
        )
        yield from _objects(item, inner)


def _json(value: Any) -> Any:
    """Return a value as JSON has it: a key that is a number or a boolean becomes its text."""
    if isinstance(value, dict):
        return {_key(key): _json(element) for key, element in value.items()}
    if isinstance(value, list):
        return [_json(element) for element in value]
    return plain(value)


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, str | int | float):
        return str(key)
    raise TypeError(f"a key must be a text, not {key!r}")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
