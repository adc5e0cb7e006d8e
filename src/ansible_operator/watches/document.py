# SPDX-License-Identifier: Apache-2.0
"""Reads the text of a watches file as the Go runner does: YAML 1.1 to plain JSON values."""

import itertools
from typing import Any

import yaml

from ansible_operator.errors import ConfigError
from ansible_operator.watches import scalars

MOST_VALUES = 100_000
"""Values of a watches file: ten aliases of ten aliases of ten are more than they look."""
_TAG = scalars.PREFIX
_STRING = f"{_TAG}str"


class _Loader(yaml.SafeLoader):
    """YAML as Go reads it: tags that it does not know, such as Ansible's, do not count."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._merged = 0

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        """Compose a scalar; with ``!`` it is a text."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        event.tag = _STRING if event.tag == "!" else event.tag
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        return node

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        """Return the tag of a node that has none: of a plain scalar, that of ``_PLAIN``."""
        if kind is yaml.ScalarNode:
            if not implicit[0]:
                return _STRING
            return f"{_TAG}merge" if value == "<<" else _PLAIN
        return f"{_TAG}{'seq' if kind is yaml.SequenceNode else 'map'}"

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put merged keys where ``<<`` stands: as in Go, whatever comes later wins.

        Raises:
            ConstructorError: what is merged is no mapping, or merges of merges make too much of it.
        """
        flat: list[tuple[yaml.Node, yaml.Node]] = []
        for key, value in node.value:
            if key.tag == f"{_TAG}merge":
                for part in self._parts(value):
                    self.flatten_mapping(part)
                    self._merged += len(part.value)
                    if self._merged > MOST_VALUES:
                        raise _error("document contains excessive aliasing", value)
                    flat += part.value
            else:
                flat.append((key, value))
        node.value = flat

    def _parts(self, value: yaml.Node) -> list[yaml.MappingNode]:
        """Return the mappings that are merged; of several, the first one wins."""
        found = [*reversed(value.value)] if isinstance(value, yaml.SequenceNode) else [value]
        mappings = [one for one in found if isinstance(one, yaml.MappingNode)]
        if len(mappings) < len(found):
            raise _error("expected a mapping or a list of mappings for merging", value)
        return mappings


_PLAIN = f"{_TAG}plain"


def _error(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _constructed(loader: _Loader, node: yaml.Node) -> Any:
    """The value of any node.

    Raises:
        MarkedYAMLError: it has none, as in Go.
    """
    if isinstance(node, yaml.SequenceNode):
        return [loader.construct_object(item, deep=True) for item in node.value]
    try:
        if isinstance(node, yaml.MappingNode):
            return _mapping(loader, node)
        if node.tag == _PLAIN:
            return scalars.plain(node.value)
        return scalars.tagged(node.tag, node.value)
    except ValueError as error:
        raise _error(str(error), node) from error


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    return {
        _key(loader.construct_object(key, deep=True)): loader.construct_object(value, deep=True)
        for key, value in node.value
    }


_Loader.yaml_constructors = {None: _constructed}
_Loader.yaml_multi_constructors = {}


def json_type(value: Any) -> str:
    """The name that Go's JSON decoder has for the type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def parse(text: str) -> list[dict[str, Any]]:
    """The entries of a watches file.

    As in Go, documents after the first one do not count.

    Raises:
        ConfigError: the text is not YAML, or not a list of mappings.
    """
    try:
        document = _expanded(_first_document(text))
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"error converting YAML to JSON: yaml: {_said(error)}") from error
    except RecursionError as error:
        problem = "it is nested too deep, or an anchor contains itself"
        raise ConfigError(f"error converting YAML to JSON: yaml: {problem}") from error
    if document is None:
        return []
    if not isinstance(document, list):
        raise mismatch(document, "value", "[]watches.alias")
    for entry in document:
        if entry is not None and not isinstance(entry, dict):
            raise mismatch(entry, "value", "watches.alias")
    return [entry or {} for entry in document]


def _said(error: Exception) -> str:
    """What an error says, with the line in the words of Go."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    message = " ".join(str(problem or error).split())
    return f"line {mark.line + 1}: {message}" if mark else message


def _first_document(text: str) -> Any:
    loader = _Loader(text)
    try:
        has_any = loader.check_data()  # type: ignore[no-untyped-call]
        return loader.get_data() if has_any else None
    finally:
        loader.dispose()


def _expanded(document: Any) -> Any:
    """The same value with a copy of its own for each alias.

    Raises:
        ValueError: aliases make too much of it.
    """
    values = itertools.count(1)

    def expanded(value: Any) -> Any:
        if next(values) > MOST_VALUES:
            raise ValueError("document contains excessive aliasing")
        if isinstance(value, dict):
            return {key: expanded(item) for key, item in value.items()}
        if isinstance(value, list):
            return [expanded(item) for item in value]
        return value

    return expanded(document)


def _key(key: Any) -> str:
    """A key as JSON has it.

    Raises:
        ValueError: there is none.
    """
    if isinstance(key, str):
        return key
    if key is None:
        raise ValueError("unsupported map key: null")
    try:
        text = scalars.as_text(key)
    except TypeError as error:
        raise ValueError("invalid map key") from error
    return {"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}.get(text, text)


def as_json(value: Any) -> Any:
    """The value that comes out of Go's JSON.

    Whole numbers keep all their digits, of which Go loses those after the sixteenth.

    Raises:
        ConfigError: JSON has no such number.
    """
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if not isinstance(value, float):
        return value
    try:
        return scalars.number(value)
    except ValueError as error:
        raise ConfigError(f"error converting YAML to JSON: {error}") from error


def mismatch(value: Any, place: str, expected: str) -> ConfigError:
    """The error of Go's JSON decoder for a value of the wrong type.

    Args:
        value: what was found.
        place: ``value``, or ``struct field <struct>.<Field>``.
        expected: Go's name of the expected type.
    """
    return ConfigError(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
        f"{json_type(value)} into Go {place} of type {expected}"
    )
