# SPDX-License-Identifier: Apache-2.0
"""Read messages of Protocol Buffers by the tables of ``protobuf``, within bounds.

Strict about what is known, and what is not is skipped: newer releases send fields that no table
here has. Whoever sends a message chooses how much work it is, so that its elements are counted and
the caller's deadline is checked while reading.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

from .deadlines import Deadline
from .errors import MalformedAnswer
from .protobuf import Field, Kind, Message, Values

MOST_ELEMENTS: Final = 1 << 16
"""Elements of lists and maps in one message together. A cluster of 1,000 compute nodes with ten
labels each has a fifth of them."""

_VARINT: Final = 0
_FIXED64: Final = 1
_LENGTH: Final = 2
_FIXED32: Final = 5
_MASK: Final = (1 << 64) - 1
_SIGN: Final = 1 << 63
_LONGEST_VARINT: Final = 10
_FIELDS_BETWEEN_CHECKS: Final = 1 << 10


@dataclass(slots=True)
class _Budget:
    """What one message may still cost.

    Attributes:
        deadline: when to give up; None for what was read within bounds before.
        elements: how many more elements of lists and maps are accepted.
        fields: how many fields were read, unknown ones included.
    """

    deadline: Deadline | None
    elements: int = MOST_ELEMENTS
    fields: int = 0

    def field(self) -> None:
        self.fields += 1
        if self.fields % _FIELDS_BETWEEN_CHECKS == 0 and self.deadline is not None:
            self.deadline.require("decoding the answer")

    def element(self, one: Field) -> None:
        self.elements -= 1
        if self.elements < 0:
            raise MalformedAnswer(
                f"{one.name}: a message has more than the {MOST_ELEMENTS} elements of lists and "
                "maps that are accepted"
            )


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


def _value(one: Field, raw: int | bytes, before: Any, budget: _Budget) -> Any:
    if isinstance(raw, int):
        return _as_number(one.kind, raw)
    if one.kind is Kind.MESSAGE and one.message is not None:
        # A sub-message may come in pieces, which add up.
        values = before if isinstance(before, dict) else {}
        return _decode_into(one.message, raw, values, budget)
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


def _store(values: Values, one: Field, raw: int | bytes, budget: _Budget) -> None:
    if one.entry is not None:
        budget.element(one)
        pair = _decode_into(one.entry, raw if isinstance(raw, bytes) else b"", {}, budget)
        key, value = one.entry.fields
        entries = values.setdefault(one.name, {})
        entries[pair.get("key", _default(key))] = pair.get("value", _default(value))
    elif one.repeated:
        budget.element(one)
        values.setdefault(one.name, []).append(_value(one, raw, None, budget))
    else:
        values[one.name] = _value(one, raw, values.get(one.name), budget)


def _decode_into(message: Message, data: bytes, values: Values, budget: _Budget) -> Values:
    offset = 0
    while offset < len(data):
        budget.field()
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
        _store(values, one, raw, budget)
    return values


def decode(message: Message, data: bytes, deadline: Deadline | None = None) -> Values:
    """Return the known fields of a message.

    Args:
        message: its table.
        data: its bytes.
        deadline: when to give up; None for a part of a message that was read with one.

    Raises:
        MalformedAnswer: the bytes are no such message, or it has more than `MOST_ELEMENTS`.
        TimedOut: the deadline passed while decoding.
    """
    return _decode_into(message, data, {}, _Budget(deadline))
