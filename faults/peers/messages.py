# SPDX-License-Identifier: Apache-2.0
"""Messages of Protocol Buffers that are right but for some of their fields.

A message is read into nodes by the tables of the client; some of the nodes are then spoiled.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    protobuf,
)

from faults.peers.damage import EXTREMES, TEXTS, damaged

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_MANY: Final = 70_000
"""More elements than a client accepts."""
_MOST_SPOILED: Final = 2


@dataclass
class Node:
    """A field of a message.

    Attributes:
        number: of the field.
        wire: its wire type.
        content: a number, bytes, or the fields of a message in it.
        lie: bytes that its length promises and that are not there.
        times: how often it is sent.
    """

    number: int
    wire: int
    content: int | bytes | list[Node]
    lie: int = 0
    times: int = 1


def varint(value: int) -> bytes:
    """Return a number as it is sent."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def read(table: protobuf.Message | None, data: bytes) -> list[Node]:
    """Return the fields of a good message; those without a table are left as bytes."""
    found: list[Node] = []
    offset = 0
    while offset < len(data):
        tag, offset = _number(data, offset)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, offset = _number(data, offset)
            found.append(Node(number, wire, value))
            continue
        length = 8 if wire == _FIXED64 else 4
        if wire == _LENGTH:
            length, offset = _number(data, offset)
        part, offset = data[offset : offset + length], offset + length
        inner = _table_of(table, number)
        found.append(Node(number, wire, read(inner, part) if inner else part))
    return found


def _number(data: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[offset]
        value |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 0x80:
            return value, offset


def _table_of(table: protobuf.Message | None, number: int) -> protobuf.Message | None:
    one = table.by_number.get(number) if table else None
    if one is None:
        return None
    return one.entry or (one.message if one.kind is protobuf.Kind.MESSAGE else None)


def encode(nodes: list[Node]) -> bytes:
    """Return the bytes of fields."""
    return b"".join(_encoded(one) * one.times for one in nodes)


def _encoded(node: Node) -> bytes:
    tag = varint(node.number << 3 | node.wire)
    if isinstance(node.content, int):
        value = node.content & 2**64 - 1
        if node.wire == _VARINT:
            return tag + varint(value)
        return tag + value.to_bytes(8, "little")
    body = encode(node.content) if isinstance(node.content, list) else node.content
    return tag + (varint(len(body) + node.lie) if node.wire == _LENGTH else b"") + body


def spoil(nodes: list[Node], rng: random.Random, spared: frozenset[int] = frozenset()) -> None:
    """Spoil some fields of a message.

    Args:
        nodes: of the message, not empty.
        rng: chooses.
        spared: numbers of the outermost fields that stay as they are.
    """
    for _ in range(rng.randint(1, _MOST_SPOILED)):
        places = [
            (inside, index)
            for inside, index in _places(nodes)
            if inside is not nodes or inside[index].number not in spared
        ]
        if not places:
            return
        inside, index = rng.choice(places)
        _spoil(inside, index, rng)


def _places(nodes: list[Node]) -> list[tuple[list[Node], int]]:
    found = [(nodes, index) for index in range(len(nodes))]
    for one in nodes:
        if isinstance(one.content, list):
            found += _places(one.content)
    return found


def _spoil(inside: list[Node], index: int, rng: random.Random) -> None:
    """Spoil a field: it is missing, comes again, lies about itself, or has odd content."""
    node = inside[index]
    way = rng.choice(
        ("missing", "again", "type", "length", "beside", "content", "content", "content")
    )
    if way == "missing":
        del inside[index]
    elif way == "again":
        node.times = rng.choice((2, 2, 3, _MANY if rng.random() < 0.1 else 2))
    elif way == "type":
        node.wire = rng.randrange(8)
    elif way == "length":
        node.lie = rng.choice((1, 40, 2**31, 2**63))
    elif way == "beside":
        number = rng.choice((0, node.number, 99, 2**29))
        inside.insert(index, Node(number, _LENGTH, rng.choice(TEXTS)))
    else:
        _spoil_content(node, rng)


def _spoil_content(node: Node, rng: random.Random) -> None:
    if isinstance(node.content, int):
        node.content = rng.choice(EXTREMES)
    elif isinstance(node.content, list) and rng.random() < 0.5:
        for one in node.content:
            if isinstance(one.content, int):
                one.content = rng.choice(EXTREMES)
    elif isinstance(node.content, list) and rng.random() < 0.7:
        node.content = damaged(encode(node.content) or b"\x08", rng)
    else:
        node.content = rng.choice((*TEXTS, *(varint(one) for one in EXTREMES)))
