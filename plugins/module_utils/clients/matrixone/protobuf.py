# SPDX-License-Identifier: Apache-2.0
"""The part of Protocol Buffers that MatrixOne's control calls need, driven by tables.

A message is a dict from field name to value: numbers, ``bool``, ``str``, ``bytes``, a dict for a
sub-message, a list for a repeated field, a dict for a map. A sub-message that is present but empty
is an empty dict; an absent one is no key. Decoding is strict about what is known and skips what is
not: newer releases send fields that no table here has.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from .errors import BadRequest, MalformedAnswer

Values = dict[str, Any]

_VARINT: Final = 0
_FIXED64: Final = 1
_LENGTH: Final = 2
_FIXED32: Final = 5
_MASK: Final = (1 << 64) - 1
_SIGN: Final = 1 << 63
_LONGEST_VARINT: Final = 10


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


def _read_varint(data: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    for position in range(offset, min(offset + _LONGEST_VARINT, len(data))):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, position + 1
        shift += 7
    raise MalformedAnswer("a number has no end")


def _take(data: bytes, offset: int, length: int) -> tuple[bytes, int]:
    end = offset + length
    if end > len(data):
        raise MalformedAnswer("a field is longer than its message")
    return data[offset:end], end


def _read_raw(data: bytes, offset: int, wire_type: int) -> tuple[int | bytes, int]:
    """Read a value of any wire type, known field or not."""
    if wire_type == _VARINT:
        return _read_varint(data, offset)
    if wire_type == _LENGTH:
        length, offset = _read_varint(data, offset)
        return _take(data, offset, length)
    if wire_type in (_FIXED64, _FIXED32):
        return _take(data, offset, 8 if wire_type == _FIXED64 else 4)
    raise MalformedAnswer(f"there is no wire type {wire_type}")


def _as_number(kind: Kind, raw: int) -> int | bool:
    if kind is Kind.BOOL:
        return raw != 0
    if kind is Kind.UINT64:
        return raw
    if kind is Kind.UINT32:
        return raw & 0xFFFFFFFF
    signed = raw - (1 << 64) if raw & _SIGN else raw
    if kind is Kind.INT64:
        return signed
    low = signed & 0xFFFFFFFF
    return low - (1 << 32) if low & 0x80000000 else low


def _value(one: Field, raw: int | bytes, before: Any) -> Any:
    if isinstance(raw, int):
        return _as_number(one.kind, raw)
    if one.kind is Kind.MESSAGE and one.message is not None:
        # A sub-message may come in pieces, which add up.
        return _decode_into(one.message, raw, before if isinstance(before, dict) else {})
    if one.kind is Kind.DOUBLE:
        return struct.unpack("<d", raw)[0]
    if one.kind is Kind.STRING:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise MalformedAnswer(f"{one.name} is no text") from None
    return raw


def _default(one: Field) -> Any:
    if one.kind is Kind.MESSAGE:
        return {}
    if one.kind is Kind.STRING:
        return ""
    return 0 if one.kind.wire_type != _LENGTH else b""


def _store(values: Values, one: Field, raw: int | bytes) -> None:
    if one.entry is not None:
        pair = decode(one.entry, raw if isinstance(raw, bytes) else b"")
        key, value = one.entry.fields
        entries = values.setdefault(one.name, {})
        entries[pair.get("key", _default(key))] = pair.get("value", _default(value))
    elif one.repeated:
        values.setdefault(one.name, []).append(_value(one, raw, None))
    else:
        values[one.name] = _value(one, raw, values.get(one.name))


def _decode_into(message: Message, data: bytes, values: Values) -> Values:
    offset = 0
    while offset < len(data):
        tag, offset = _read_varint(data, offset)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise MalformedAnswer("there is no field 0")
        raw, offset = _read_raw(data, offset, wire_type)
        one = message.by_number.get(number)
        if one is None:
            continue
        wanted = _LENGTH if one.key is not None else one.kind.wire_type
        if wire_type != wanted:
            raise MalformedAnswer(f"{message.name}.{one.name} has wire type {wire_type}")
        _store(values, one, raw)
    return values


def decode(message: Message, data: bytes) -> Values:
    """Return the known fields of a message.

    Raises:
        MalformedAnswer: the bytes are no such message.
    """
    return _decode_into(message, data, {})
