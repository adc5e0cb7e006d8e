# SPDX-License-Identifier: Apache-2.0
"""TOML: reading what users write, merging, and writing it the same way every time.

The text decides the name of a ConfigMap and with it whether Pods are replaced; hence the fixed
order: scalars first, then tables, keys in the order of their bytes. That is why no library writes
it: an upgrade of one could restart every database.
"""

from __future__ import annotations

import copy
import datetime
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from . import toml_bounds
from .errors import InvalidSpec, TomlError

Table = dict[str, Any]

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_SHORT_ESCAPES: Final = {
    "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\",
}  # fmt: skip
_TOML_MAX: Final = (1 << 64) - 1
_TOML_MIN: Final = -(1 << 63)
_LONGEST_SHOWN: Final = 256


def parse(value: Any, field_path: str) -> Table:
    """Read a ``config`` field: TOML text, or the same as an object.

    Args:
        value: what the field holds; None for an absent field.
        field_path: where the field stands, for the error.

    Raises:
        InvalidSpec: The text is not TOML, with the parser's line and column in the message; or it
            violates a bound of `toml_bounds`.
    """
    if value is None:
        return {}
    if isinstance(value, Mapping):
        _require_bounds(toml_bounds.violated_by_value(value), field_path)
        return copy.deepcopy(dict(value))
    if not isinstance(value, str):
        raise InvalidSpec(field_path, "must be TOML as text")
    _require_bounds(toml_bounds.violated_by_text(value), field_path)
    try:
        table = tomllib.loads(value)
    except (ValueError, RecursionError, OverflowError) as error:
        raise InvalidSpec(field_path, f"is not valid TOML: {_cut(str(error))}") from error
    _require_bounds(toml_bounds.violated_by_value(table), field_path)
    return table


def _require_bounds(violated: str | None, field_path: str) -> None:
    if violated is not None:
        raise InvalidSpec(field_path, f"is not accepted: {violated}")


def _cut(text: str) -> str:
    """Cut what a user chose the length of; keys are quoted in errors."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def get(table: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return the value at a path, or None when something on the way is missing or no table."""
    value: Any = table
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def put(table: Table, path: Sequence[str], value: Any) -> None:
    """Set the value at a path, in place; what stands in the way becomes a table."""
    for key in path[:-1]:
        inner = table.get(key)
        if not isinstance(inner, dict):
            inner = table[key] = {}
        table = inner
    table[path[-1]] = value


def delete(table: Table, path: Sequence[str]) -> None:
    """Remove the value at a path, in place; nothing happens when it is not there."""
    inner = get(table, path[:-1])
    if isinstance(inner, dict):
        inner.pop(path[-1], None)


def merge(base: Any, override: Any) -> Any:
    """Lay one value over another and return the result; neither is changed.

    Tables merge key by key. Lists of tables that have names merge by name: the override's elements
    in their order, each over its namesake, then what is left of the base. Everything else is taken
    from the override.
    """
    if isinstance(base, Mapping) and isinstance(override, Mapping):
        merged = {key: copy.deepcopy(value) for key, value in base.items()}
        for key, value in override.items():
            merged[key] = merge(base[key], value) if key in base else copy.deepcopy(value)
        return merged
    if _is_named(base) and _is_named(override):
        return _merge_named(base, override)
    return copy.deepcopy(override)


def _is_named(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(element, Mapping) for element in value)
        and "name" in value[0]
    )


def _merge_named(base: list[Table], override: list[Table]) -> list[Table]:
    names = [element.get("name") for element in override]
    merged = []
    for element in override:
        namesake = next((b for b in base if b.get("name") == element.get("name")), {})
        merged.append(merge(namesake, element))
    return merged + [copy.deepcopy(b) for b in base if b.get("name") not in names]


def dump(table: Mapping[str, Any]) -> str:
    """Write a table as TOML.

    Raises:
        TomlError: A value has no form in TOML (null, for instance); the message names its key.
    """
    lines: list[str] = []
    _write_table(table, (), lines)
    return "".join(f"{line}\n" for line in lines)


def _write_table(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    inner: list[str] = []
    for key in sorted(table, key=lambda name: name.encode()):
        value = table[key]
        if isinstance(value, Mapping) or _is_table_list(value):
            inner.append(key)
        else:
            lines.append(f"{_key(key)} = {_scalar(value, (*path, key))}")
    for key in inner:
        value, here = table[key], (*path, key)
        dotted = ".".join(map(_key, here))
        if isinstance(value, Mapping):
            lines += ["", f"[{dotted}]"]
            _write_table(value, here, lines)
            continue
        for element in value:
            lines += ["", f"[[{dotted}]]"]
            _write_table(element, here, lines)


def _is_table_list(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(element, Mapping) for element in value)
    )


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _text(key)


def _text(value: str) -> str:
    return '"' + "".join(map(_character, value)) + '"'


def _character(character: str) -> str:
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    if ord(character) < 0x20 or ord(character) == 0x7F:
        return f"\\u{ord(character):04X}"
    return character


def _scalar(value: Any, path: tuple[str, ...]) -> str:
    """Write a value on one line."""
    if isinstance(value, list):
        return "[" + ", ".join(_scalar(element, path) for element in value) + "]"
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda name: name.encode())
        pairs = (f"{_key(key)} = {_scalar(value[key], (*path, key))}" for key in keys)
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, int) and not _TOML_MIN <= value <= _TOML_MAX:
        # Python refuses to write numbers of thousands of digits.
        shown = value if value.bit_length() <= _LONGEST_SHOWN else "a number"
        raise TomlError(f"{_cut('.'.join(path))}: {shown} does not fit into 64 bits")
    for kind, write in _SCALARS:
        if isinstance(value, kind):
            return write(value)
    raise TomlError(f"{_cut('.'.join(path))}: {value!r} has no form in TOML")


def _float(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    return text if any(mark in text for mark in ".e") else f"{text}.0"


_SCALARS: Final[tuple[tuple[Any, Callable[[Any], str]], ...]] = (
    (bool, lambda value: "true" if value else "false"),
    (str, _text),
    (int, str),
    (float, _float),
    ((datetime.datetime, datetime.date, datetime.time), lambda value: value.isoformat()),
)
"""How each type of value is written; a boolean is an integer too, so it comes first."""
