# SPDX-License-Identifier: Apache-2.0
"""Typed reading of a custom resource, with errors that name the field.

Rendering runs with webhooks off and on resources written by hand, so every read checks the type and
says which field is wrong. An explicit null reads like an absent field, except through ``has``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import InvalidSpec


def as_table(value: object) -> Mapping[str, Any]:
    """Return a table of an object that others have written; an empty one if it is none."""
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Fields:
    """A table of a resource and the path at which it stands.

    Attributes:
        path: dotted path from the root, empty for the root itself.
        data: the table.
    """

    path: str
    data: Mapping[str, Any]

    def at(self, name: str) -> str:
        """Return the path of a field of this table."""
        return f"{self.path}.{name}" if self.path else name

    def has(self, name: str) -> bool:
        """Return whether the field is written at all, be it as null or empty."""
        return name in self.data

    def raw(self, name: str) -> Any:
        """Return the value as it is; None when absent."""
        return self.data.get(name)

    def refuse(self, name: str, message: str) -> InvalidSpec:
        """Return the error for a field of this table."""
        return InvalidSpec(self.at(name), message)

    def table(self, name: str) -> Fields:
        """Return a table inside this one; an absent one is empty."""
        value = self.data.get(name)
        if value is None:
            return Fields(self.at(name), {})
        if not isinstance(value, Mapping):
            raise self.refuse(name, f"must be an object, not {_kind(value)}")
        return Fields(self.at(name), value)

    def tables(self, name: str) -> Iterator[Fields]:
        """Yield the elements of a list of tables, each with its index in its path."""
        for index, value in enumerate(self.items(name)):
            path = f"{self.at(name)}[{index}]"
            if not isinstance(value, Mapping):
                raise InvalidSpec(path, f"must be an object, not {_kind(value)}")
            yield Fields(path, value)

    def items(self, name: str) -> list[Any]:
        """Return a list; an absent one is empty."""
        value = self.data.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.refuse(name, f"must be a list, not {_kind(value)}")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        values = self.items(name)
        for index, value in enumerate(values):
            if not isinstance(value, str):
                raise InvalidSpec(
                    f"{self.at(name)}[{index}]", f"must be a text, not {_kind(value)}"
                )
        return values

    def text(self, name: str) -> str:
        """Return a text; empty when absent."""
        value = self.data.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.refuse(name, f"must be a text, not {_kind(value)}")
        return value

    def required_text(self, name: str, message: str = "must be set") -> str:
        """Return a text that must not be empty."""
        value = self.text(name)
        if not value:
            raise self.refuse(name, message)
        return value

    def texts_by_key(self, name: str) -> dict[str, str]:
        """Return a table of texts, such as labels or annotations."""
        table = self.table(name)
        return {key: table.text(key) for key in table.data}

    def flag(self, name: str) -> bool:
        """Return a boolean; False when absent."""
        value = self.data.get(name)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self.refuse(name, f"must be true or false, not {_kind(value)}")
        return value

    def number(self, name: str, minimum: int = 0) -> int | None:
        """Return an integer of at least ``minimum``; None when absent."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.refuse(name, f"must be an integer, not {_kind(value)}")
        if value < minimum:
            raise self.refuse(name, f"must be at least {minimum}, not {value}")
        return value

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        """Return one of the allowed words, or the default when absent or empty."""
        value = self.text(name) or default
        if value not in allowed:
            raise self.refuse(
                name, f"must be one of {', '.join(filter(None, allowed))}, not {value!r}"
            )
        return value


def _kind(value: Any) -> str:
    """Name a JSON type the way that its writer knows it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"
