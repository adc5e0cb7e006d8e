# SPDX-License-Identifier: Apache-2.0
"""Reads the text of a watches file as the Go runner does: YAML 1.1 to plain JSON values."""

import itertools
import re
from typing import Any

import yaml

from ansible_operator.errors import ConfigError

MOST_VALUES = 100_000
"""Values of a watches file: ten aliases of ten aliases of ten are more than they look."""


class _Loader(yaml.SafeLoader):
    """YAML 1.1 with ``y`` and ``n`` as booleans, and without dates and base-60 numbers."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._merged = 0

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
                key.tag = f"{_TAG}str" if key.tag == f"{_TAG}value" else key.tag
                flat.append((key, value))
        node.value = flat

    def _parts(self, value: yaml.Node) -> list[yaml.MappingNode]:
        """Return the mappings that are merged; of several, the first one wins."""
        found = [*reversed(value.value)] if isinstance(value, yaml.SequenceNode) else [value]
        mappings = [one for one in found if isinstance(one, yaml.MappingNode)]
        if len(mappings) < len(found):
            raise _error("expected a mapping or a list of mappings for merging", value)
        return mappings


def _error(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


_TAG = "tag:yaml.org,2002:"
_BOOL = re.compile(
    r"^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$"
)
_INT = re.compile(r"^(?:[-+]?0b[01_]+|[-+]?0o?[0-7_]+|[-+]?(?:0|[1-9][\d_]*)|[-+]?0x[\da-fA-F_]+)$")
_FLOAT = re.compile(
    r"^(?:[-+]?(?:\d[\d_]*)?\.\d[\d_]*(?:[eE][-+]?\d+)?|[-+]?\d[\d_]*\.?(?:[eE][-+]?\d+)"
    r"|[-+]?\d[\d_]*\.|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
_TRUE = frozenset({"y", "yes", "true", "on"})

_Loader.yaml_implicit_resolvers = {
    first: [entry for entry in entries if entry[0] in {f"{_TAG}null", f"{_TAG}merge"}]
    for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_TAG}bool", _BOOL, list("yYnNtTfFoO"))
_Loader.add_implicit_resolver(f"{_TAG}int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+0123456789."))


def _bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    return str(loader.construct_scalar(node)).lower() in _TRUE


def _int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node)).replace("_", "")
    digits = text.lstrip("+-")
    if digits[:2].lower() in {"0b", "0o", "0x"}:
        value = int(digits, 0)
    else:
        value = int(digits, 8) if len(digits) > 1 and digits[0] == "0" else int(digits)
    return -value if text[0] == "-" else value


def _float(loader: _Loader, node: yaml.ScalarNode) -> float:
    text = str(loader.construct_scalar(node)).replace("_", "").lower()
    return float(text.replace(".inf", "inf").replace(".nan", "nan"))


_Loader.add_constructor(f"{_TAG}bool", _bool)
_Loader.add_constructor(f"{_TAG}int", _int)
_Loader.add_constructor(f"{_TAG}float", _float)


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
        message = " ".join(str(error).split())
        raise ConfigError(f"error converting YAML to JSON: yaml: {message}") from error
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


def _first_document(text: str) -> Any:
    loader = _Loader(text)
    try:
        has_any = loader.check_data()  # type: ignore[no-untyped-call]
        return loader.get_data() if has_any else None
    finally:
        loader.dispose()


def _expanded(document: Any) -> Any:
    """The same value with keys as JSON has them, and with a copy of its own for each alias.

    Raises:
        ValueError: aliases make too much of it.
    """
    values = itertools.count(1)

    def expanded(value: Any) -> Any:
        if next(values) > MOST_VALUES:
            raise ValueError("document contains excessive aliasing")
        if isinstance(value, dict):
            return {_key(key): expanded(item) for key, item in value.items()}
        if isinstance(value, list):
            return [expanded(item) for item in value]
        return value

    return expanded(document)


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


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
