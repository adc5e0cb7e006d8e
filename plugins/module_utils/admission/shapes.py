# SPDX-License-Identifier: Apache-2.0
"""Shapes of JSON values as data, and what is wrong with a value that does not fit.

A null reads like an absent field, as the API server reads it. Fields that a shape does not name
are left to the API server: Kubernetes grows.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .formats import Format, amount

INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
FORBIDDEN = "FieldValueForbidden"
DUPLICATE = "FieldValueDuplicate"
MOST_MISTAKES = 50
"""Mistakes that are shown; whoever fixes them is told of the others then."""
_MOST_FOUND = 1000
"""Mistakes that are looked for; a document of 4 MiB has room for half a million."""
_LONGEST_SHOWN = 200
_NOTHING: tuple[Any, ...] = (None, "", [])


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a field.

    Attributes:
        field: dotted path from the resource's root.
        message: what would be right.
        reason: a cause as Kubernetes names them.
        value: what the field holds; a mistake with another value is another mistake.
        at_creation: whether it is refused of what is new alone, since what runs can work with it.
    """

    field: str
    message: str
    reason: str = INVALID
    value: Any = None
    at_creation: bool = False

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message

    @property
    def mark(self) -> tuple[str, str, str, str]:
        """What tells it from other mistakes, to look it up."""
        return self.field, self.message, self.reason, _as_text(self.value)


def look_for(mistakes: Iterable[Mistake]) -> list[Mistake]:
    """Return the first mistakes, which are more than anybody is shown."""
    return list(itertools.islice(mistakes, _MOST_FOUND))


def shortened(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Return the mistakes that are shown, and how many more there are."""
    more = len(mistakes) - MOST_MISTAKES
    if more <= 0:
        return list(mistakes)
    count = f"{more} or more" if len(mistakes) >= _MOST_FOUND else str(more)
    return [*mistakes[:MOST_MISTAKES], Mistake("", f"and {count} other mistakes")]


class Shape(Protocol):
    """Something that values fit or do not fit."""

    def mistakes(self, path: str, value: Any) -> Iterator[Mistake]:
        """Yield what is wrong with a value that is not null."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a format, or one of some words.

    Attributes:
        pattern: its format.
        choices: the words.
    """

    pattern: Format | None = None
    choices: tuple[str, ...] = ()

    def mistakes(self, path: str, value: Any) -> Iterator[Mistake]:
        """See :class:`Shape`."""
        if not isinstance(value, str):
            yield Mistake(path, f"must be a text, not {_kind(value)}", value=value)
        elif self.choices and value not in self.choices:
            words = ", ".join(filter(None, self.choices))
            yield Mistake(path, f"must be one of {words}, not {_shown(value)}", value=value)
        elif self.pattern and (required := self.pattern(value)):
            yield Mistake(path, f"{required}, not {_shown(value)}", value=value)


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number within limits."""

    minimum: int = 0
    maximum: int = (1 << 63) - 1

    def mistakes(self, path: str, value: Any) -> Iterator[Mistake]:
        """See :class:`Shape`."""
        if not isinstance(value, int) or isinstance(value, bool):
            yield Mistake(path, f"must be a whole number, not {_kind(value)}", value=value)
        elif value < self.minimum:
            yield Mistake(
                path, f"must be at least {self.minimum}, not {_shown(value)}", value=value
            )
        elif value > self.maximum:
            text = f"must be at most {self.maximum}, not {_shown(value)}"
            yield Mistake(path, text, value=value)


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def mistakes(self, path: str, value: Any) -> Iterator[Mistake]:
        """See :class:`Shape`."""
        if not isinstance(value, bool):
            yield Mistake(path, f"must be true or false, not {_kind(value)}", value=value)


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity of at least zero."""

    def mistakes(self, path: str, value: Any) -> Iterator[Mistake]:
        """See :class:`Shape`."""
        if required := amount(value):
            yield Mistake(path, required, value=value)


@dataclass(frozen=True, slots=True)
class Either:
    """A number or a text, as ports are."""

    number: Number
    text: Text

    def mistakes(self, path: str, value: Any) -> Iterator[Mistake]:
        """See :class:`Shape`."""
        shape: Shape = self.text if isinstance(value, str) else self.number
        yield from shape.mistakes(path, value)


Check = Callable[[str, Mapping[str, Any]], Iterator[Mistake]]
"""A rule about several fields of an object."""


@dataclass(frozen=True, slots=True)
class Table:
    """An object.

    Attributes:
        fields: shapes by name.
        required: fields that must not be absent or empty.
        one_of: fields of which exactly one must be there.
        checks: rules about several fields, for objects whose fields fit.
    """

    fields: Mapping[str, Shape] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    def mistakes(self, path: str, value: Any) -> Iterator[Mistake]:
        """See :class:`Shape`."""
        if not isinstance(value, Mapping):
            yield Mistake(path, f"must be an object, not {_kind(value)}", value=value)
            return
        fits = True
        for mistake in self._fields(path, value):
            fits = False
            yield mistake
        if not fits:
            return
        for check in self.checks:
            yield from check(path, value)

    def _fields(self, path: str, value: Mapping[str, Any]) -> Iterator[Mistake]:
        for name in self.required:
            if value.get(name) in _NOTHING:
                yield Mistake(f"{path}.{name}", "must be set", REQUIRED)
        given = [name for name in self.one_of if value.get(name) is not None]
        if len(given) > 1:
            yield Mistake(path, f"{' and '.join(given)} are mutually exclusive", FORBIDDEN, given)
        if self.one_of and not given:
            yield Mistake(path, f"one of {', '.join(self.one_of)} must be set", REQUIRED)
        for name, shape in self.fields.items():
            inner = value.get(name)
            if inner is not None and not (name in self.required and inner in _NOTHING):
                yield from shape.mistakes(f"{path}.{name}", inner)


@dataclass(frozen=True, slots=True)
class Items:
    """A list.

    Attributes:
        each: shape of the elements.
        key: fields that together differ in all elements.
        longest: number of elements at most; 0 for no limit.
    """

    each: Shape
    key: tuple[str, ...] = ()
    longest: int = 0

    def mistakes(self, path: str, value: Any) -> Iterator[Mistake]:
        """See :class:`Shape`."""
        if not isinstance(value, Sequence) or isinstance(value, str):
            yield Mistake(path, f"must be a list, not {_kind(value)}", value=value)
            return
        if self.longest and len(value) > self.longest:
            text = f"must not have more than {self.longest} elements"
            yield Mistake(path, text, value=len(value))
        seen: set[str] = set()
        for index, element in enumerate(value):
            here = f"{path}[{index}]"
            yield from self.each.mistakes(here, {} if element is None else element)
            if not self.key or not isinstance(element, Mapping):
                continue
            mark = [element.get(name) for name in self.key]
            if mark[0] is None:
                continue
            text = _as_text(mark)
            if text in seen:
                named = " and ".join(self.key)
                yield Mistake(here, f"another element has the same {named}", DUPLICATE, mark)
            seen.add(text)


@dataclass(frozen=True, slots=True)
class Keyed:
    """An object whose keys users choose.

    Attributes:
        keys: format of the keys.
        values: shape of the values.
        largest: bytes of keys and values together at most; 0 for no limit.
    """

    keys: Format
    values: Shape
    largest: int = 0

    def mistakes(self, path: str, value: Any) -> Iterator[Mistake]:
        """See :class:`Shape`."""
        if not isinstance(value, Mapping):
            yield Mistake(path, f"must be an object, not {_kind(value)}", value=value)
            return
        for key, inner in value.items():
            if required := self.keys(key):
                yield Mistake(path, f"{required}, not {_shown(key)}", value=key)
            if inner is not None:
                yield from self.values.mistakes(f"{path}.{key[:_LONGEST_SHOWN]}", inner)
        size = sum(len(key.encode()) + len(str(inner).encode()) for key, inner in value.items())
        if self.largest and size > self.largest:
            yield Mistake(path, f"must not have more than {self.largest} bytes", value=size)


def _shown(value: Any) -> str:
    """Quote a value; whoever wrote a long one knows it by its beginning."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_SHOWN:
        return "such a large number"
    text = repr(value[: _LONGEST_SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST_SHOWN + 2 else f"{text[:_LONGEST_SHOWN]}..."


def _as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _kind(value: Any) -> str:
    """Name a JSON type the way that its writer knows it."""
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list"}
    return names.get(type(value), "an object")
