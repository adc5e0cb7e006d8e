# SPDX-License-Identifier: Apache-2.0
"""The part of Protocol Buffers that MatrixOne's control calls need, driven by tables.

A message is a dict from field name to value: numbers, ``bool``, ``str``, ``bytes``, a dict for a
sub-message, a list for a repeated field, a dict for a map. A sub-message that is present but empty
is an empty dict; an absent one is no key. Here are tables and encoding; ``decoding`` reads.

The package protobuf needs code generated from all of MatrixOne's schema, for the range of versions
that the installed one accepts; and it reads a message whole, before anything in it can be bounded.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from .errors import BadRequest

Values = dict[str, Any]

_VARINT: Final = 0
_FIXED64: Final = 1
_LENGTH: Final = 2
_MASK: Final = (1 << 64) - 1


class Kind(Enum):
    """Type of a field; the value is its wire type."""

    UINT64 = (_VARINT, "uint64")
    UINT32 = (_VARINT, "uint32")
    INT64 = (_VARINT, "int64")
    INT32 = (_VARINT, "int32")
    BOOL = (_VARINT, "bool")
    ENUM = (_VARINT, "enum")
    DOUBLE = (_FIXED64, "double")
    STRING = (_LENGTH, "string")
    BYTES = (_LENGTH, "bytes")
    MESSAGE = (_LENGTH, "message")
    OPAQUE = (_LENGTH, "opaque message")
    """A sub-message that is not looked into: its bytes."""

    @property
    def wire_type(self) -> int:
        """The wire type that precedes such a value."""
        return self.value[0]


_LARGEST: Final = {
    Kind.UINT64: _MASK,
    Kind.UINT32: (1 << 32) - 1,
    Kind.INT64: (1 << 63) - 1,
    Kind.INT32: (1 << 31) - 1,
    Kind.BOOL: 1,
    Kind.ENUM: (1 << 31) - 1,
}
_SIGNED: Final = frozenset({Kind.INT64, Kind.INT32})
_HAS_PRESENCE: Final = frozenset({Kind.MESSAGE, Kind.OPAQUE})


@dataclass(frozen=True, slots=True)
class Field:
    """One row of a message's table.

    Attributes:
        number: field number.
        name: field name as the database's schema spells it.
        kind: type of the value; of a map, of its values.
        message: table of a sub-message.
        repeated: whether the value is a list.
        key: type of a map's keys; None for what is no map.
        entry: table of a map's entries.
    """

    number: int
    name: str
    kind: Kind
    message: Message | None = None
    repeated: bool = False
    key: Kind | None = None
    entry: Message | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        entry = None
        if self.key is not None:
            value = Field(2, "value", self.kind, self.message)
            entry = Message(f"{self.name} entry", (Field(1, "key", self.key), value))
        object.__setattr__(self, "entry", entry)


@dataclass(frozen=True, slots=True)
class Message:
    """Table of a message: its fields by number, in the order in which they are sent."""

    name: str
    fields: tuple[Field, ...]
    by_number: Mapping[int, Field] = field(init=False, compare=False, repr=False)
    by_name: Mapping[str, Field] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_number", {one.number: one for one in self.fields})
        object.__setattr__(self, "by_name", {one.name: one for one in self.fields})


def table(name: str, *fields: Field) -> Message:
    """Return the table of a message."""
    return Message(name, tuple(sorted(fields, key=lambda one: one.number)))


def strings(first: int, *names: str) -> tuple[Field, ...]:
    """Return string fields with consecutive numbers."""
    return tuple(Field(first + i, name, Kind.STRING) for i, name in enumerate(names))


def opaque(first: int, *names: str) -> tuple[Field, ...]:
    """Return sub-messages with consecutive numbers that are not looked into."""
    return tuple(Field(first + i, name, Kind.OPAQUE) for i, name in enumerate(names))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(one: Field, value: Any) -> bytes:
    """Encode a whole number; refuse what the type cannot hold."""
    largest = _LARGEST[one.kind]
    smallest = -largest - 1 if one.kind in _SIGNED else 0
    if not isinstance(value, int) or not smallest <= value <= largest:
        raise BadRequest(f"{one.name}: {value!r} is no {one.kind.value[1]}")
    return _varint(value & _MASK)


def _scalar(one: Field, value: Any) -> bytes:
    """Encode one value without its tag."""
    match one.kind:
        case Kind.MESSAGE if one.message is not None and isinstance(value, Mapping):
            body = encode(one.message, value)
        case Kind.STRING if isinstance(value, str):
            body = value.encode()
        case Kind.BYTES | Kind.OPAQUE if isinstance(value, bytes):
            body = value
        case Kind.DOUBLE if isinstance(value, float | int):
            return struct.pack("<d", value)
        case kind if kind in _LARGEST:
            return _number(one, value)
        case _:
            raise BadRequest(f"{one.name}: {type(value).__name__} is no {one.kind.value[1]}")
    return _varint(len(body)) + body


def _tagged(one: Field, value: Any) -> bytes:
    return _varint(one.number << 3 | one.kind.wire_type) + _scalar(one, value)


def _entry(one: Field, entry: Message, pair: tuple[Any, Any]) -> bytes:
    # Both parts of an entry are sent even when empty, as the database does.
    body = b"".join(map(_tagged, entry.fields, pair))
    return _varint(one.number << 3 | _LENGTH) + _varint(len(body)) + body


def _field(one: Field, value: Any) -> bytes:
    if one.entry is not None:
        return b"".join(_entry(one, one.entry, pair) for pair in value.items())
    if one.repeated:
        return b"".join(_tagged(one, item) for item in value)
    if one.kind not in _HAS_PRESENCE and not value:
        return b""
    return _tagged(one, value)


def encode(message: Message, values: Mapping[str, Any]) -> bytes:
    """Return the bytes of a message, fields in ascending order.

    Raises:
        BadRequest: a name is not in the table, or a value does not fit its type.
    """
    unknown = values.keys() - message.by_name.keys()
    if unknown:
        raise BadRequest(f"{message.name} has no field {', '.join(sorted(unknown))}")
    return b"".join(_field(one, values[one.name]) for one in message.fields if one.name in values)
