# SPDX-License-Identifier: Apache-2.0
"""Takes typed fields out of decoded mappings, with Go's rules: keys in any case, null is absent."""

from collections.abc import Mapping
from typing import Any

from ansible_operator.watches import scalars
from ansible_operator.watches.document import as_json, mismatch
from ansible_operator.watches.durations import InvalidDuration, parse_duration

_LARGEST = 2**63


def _decoded(before: Any, value: Any) -> Any:
    """What Go has after both values of a key, which it decodes into the same place."""
    if isinstance(before, dict) and isinstance(value, dict):
        return before | value
    is_kept = isinstance(before, str | int | float) and not isinstance(before, bool)
    return before if value is None and is_kept else value


def _lenient(value: Any) -> Any:
    return scalars.as_text(value) if isinstance(value, bool | int | float) else value


class Fields:
    """The keys of one mapping, each to be taken once."""

    def __init__(self, values: Mapping[str, Any], struct: str) -> None:
        self._struct = struct
        self._names: dict[str, str] = {}
        self._values: dict[str, Any] = {}
        self._written = tuple(values)
        # Go decodes JSON, whose keys are sorted: of ``Role`` and ``role``, the latter comes last.
        for name in sorted(values):
            key = name.lower()
            self._names[key] = name
            self._values[key] = _decoded(self._values.get(key), values[name])

    def leftover(self) -> tuple[str, ...]:
        """Keys that nobody took, as written."""
        left = {self._names[key] for key in self._values}
        return tuple(name for name in self._written if name in left)

    def _take(self, name: str) -> Any:
        return self._values.pop(name.lower(), None)

    def _mismatch(self, name: str, value: Any, expected: str) -> Exception:
        field = name[:1].upper() + name[1:]
        return mismatch(value, f"struct field {self._struct}.{field}", expected)

    def text(self, name: str, *, lenient: bool = False) -> str:
        """A string; lenient ones take booleans and numbers as written in JSON."""
        value = self._take(name)
        if value is None:
            return ""
        value = _lenient(value) if lenient else value
        if not isinstance(value, str):
            raise self._mismatch(name, value, "string")
        return value

    def labels(self, name: str) -> dict[str, str]:
        """An object of strings, whose keys count as written; booleans and numbers are text."""
        value = self._take(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._mismatch(name, value, "map[string]string")
        found = {key: "" if item is None else _lenient(item) for key, item in value.items()}
        for item in found.values():
            if not isinstance(item, str):
                raise self._mismatch(name, item, "string")
        return found

    def flag(self, name: str, *, default: bool) -> bool:
        """A boolean."""
        value = self._take(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._mismatch(name, value, "bool")
        return value

    def flag_or(self, name: str, word: str) -> bool | str:
        """A boolean, or this word, which is also the default."""
        if self._values.get(name.lower()) in (None, word):
            return self.text(name) or word
        return self.flag(name, default=False)

    def integer(self, name: str, default: int) -> int:
        """A whole number."""
        value = self._take(name)
        if value is None:
            return default
        if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST:
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._mismatch(name, value, "int")
        return value

    def seconds(self, name: str, default: float = 0.0) -> float:
        """A Go duration in quotes."""
        text = self.text(name)
        try:
            return parse_duration(text) if text else default
        except InvalidDuration as error:
            raise InvalidDuration(f"{name}: {error}") from error

    def mapping(self, name: str) -> dict[str, Any]:
        """An object."""
        value = self._take(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._mismatch(name, value, "map[string]interface {}")
        return {key: as_json(item) for key, item in value.items()}

    def optional(self, name: str, struct: str) -> "Fields | None":
        """The fields of a nested object; None when there is none."""
        value = self._take(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self._mismatch(name, value, struct)
        return Fields(value, struct)

    def nested(self, name: str, struct: str) -> "list[Fields]":
        """The fields of each object of a list."""
        value = self._take(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._mismatch(name, value, f"[]{struct}")
        for item in value:
            if not isinstance(item, dict):
                raise self._mismatch(name, item, struct)
        return [Fields(item, struct) for item in value]

    def texts(self, name: str, *, lenient: bool = False) -> tuple[str, ...]:
        """A list of strings; lenient ones take booleans and numbers."""
        value = self._take(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self._mismatch(name, value, "[]string")
        found = [_lenient(item) if lenient else item for item in value]
        for item in found:
            if not isinstance(item, str):
                raise self._mismatch(name, item, "string")
        return tuple(found)

    def texts_or_fields(self, name: str, struct: str) -> "tuple[str, ...] | Fields":
        """A list of strings, or the fields of a nested object."""
        if isinstance(self._values.get(name.lower()), dict):
            return self.optional(name, struct) or ()
        return self.texts(name)
