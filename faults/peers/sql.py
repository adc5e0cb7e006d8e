# SPDX-License-Identifier: Apache-2.0
"""A database that answers a login and one question in SQL, and how its packets go wrong.

A conversation is a list of replies, each with its packets; each packet is sent with its header.
"""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from faults.peers.damage import EXTREMES, TEXTS, damaged

Rows = Sequence[Sequence[str | None]]
PASSWORD: Final = "only-the-database-knows"  # noqa: S105
MARK: Final = "kept-to-itself"
OK: Final = b"\x00\x00\x00\x02\x00\x00\x00"
EOF: Final = b"\xfe\x00\x00\x02\x00"
_FILE: Final = b"\xfb/etc/hostname"
_SALT: Final = bytes(range(1, 21))
_CAPABILITIES: Final = 0x001FF7FF & ~0x0800
_TEXT: Final = 253
_QUERY: Final = 3
_CHUNK: Final = 1 << 16
GREETING, LOGIN, SETTING, ANSWER = range(4)
_TYPES: Final = (*range(20), *range(245, 256))
_COUNTS: Final = (b"\xfb", b"\xfc\xff\xff", b"\xfd\xff\xff\xff", b"\xfe" + b"\xff" * 8, b"\xff")


def _greeting() -> bytes:
    low, high = _CAPABILITIES & 0xFFFF, _CAPABILITIES >> 16
    return (
        b"\x0a8.0.30-MatrixOne\x00"
        + struct.pack("<I", 7)
        + _SALT[:8]
        + struct.pack("<xHBHHB10x", low, 45, 2, high, 21)
        + _SALT[8:]
        + b"\x00mysql_native_password\x00"
    )


def column(name: str, kind: int = _TEXT, charset: int = 45) -> bytes:
    """Return the definition of a column."""
    text = name.encode()
    names = b"\x03def" + b"\x00" * 3 + bytes([len(text)]) + text + b"\x00"
    return names + b"\x0c" + struct.pack("<HIBHB2x", charset, 90, kind, 0, 0)


def row(values: Sequence[str | None]) -> bytes:
    """Return a row of short texts."""
    parts = []
    for one in values:
        text = (one or "").encode()
        parts.append(b"\xfb" if one is None else bytes([len(text)]) + text)
    return b"".join(parts)


def refusal(code: int, text: bytes) -> bytes:
    """Return the packet of an error."""
    return b"\xff" + struct.pack("<H", code) + b"#HY000" + text


def result(rows: Rows) -> list[bytes]:
    """Return the packets of a result; all rows are of one width."""
    width = len(rows[0])
    columns = [column(f"c{one}") for one in range(width)]
    return [bytes([width]), *columns, EOF, *map(row, rows), EOF]


@dataclass
class Conversation:
    """What a database sends.

    Attributes:
        replies: packets of the greeting, and of the answers to the login, to a setting, and to any
            other statement.
        raw: replies in the place of these, as bytes, by number.
        end: after how many bytes the connection ends; never if None.
        received: all that came.
    """

    replies: list[list[bytes]]
    raw: dict[int, bytes] = field(default_factory=dict)
    end: int | None = None
    received: bytearray = field(default_factory=bytearray)

    def reply(self, number: int, first: int) -> bytes:
        """Return the bytes of a reply.

        Args:
            number: of the reply.
            first: number of its first packet.
        """
        if number in self.raw:
            return self.raw[number]
        return b"".join(
            struct.pack("<I", len(one))[:3] + bytes([(first + index) % 256]) + one
            for index, one in enumerate(self.replies[number])
        )

    def handle(self, peer: socket.socket) -> None:
        """Speak with one client."""
        left = [1 << 40 if self.end is None else self.end]

        def send(data: bytes) -> None:
            peer.sendall(data[: left[0]])
            left[0] -= len(data)
            if left[0] <= 0:
                raise ConnectionError

        send(self.reply(GREETING, 0))
        if GREETING in self.raw:
            return  # what comes after damaged bytes, nobody can tell
        self._take(peer)
        send(self.reply(LOGIN, 2))
        number = LOGIN
        while number != ANSWER and number not in self.raw:
            asked = self._take(peer)
            if asked[:1] != bytes([_QUERY]):
                return
            number = SETTING if asked[1:].lstrip().upper().startswith(b"SET") else ANSWER
            send(self.reply(number, 1))

    def _take(self, peer: socket.socket) -> bytes:
        size = int.from_bytes(self._exactly(peer, 4)[:3], "little")
        return self._exactly(peer, size)

    def _exactly(self, peer: socket.socket, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = peer.recv(min(count - len(data), _CHUNK))
            if not more:
                raise ConnectionError
            data += more
        self.received += data
        return data


def conversation(rows: Rows) -> Conversation:
    """Return a conversation in which all is well."""
    return Conversation([[_greeting()], [OK], [OK], result(rows)])


def length(good: Conversation) -> int:
    """Return how many bytes a client reads in a conversation with one question."""
    return sum(len(good.reply(number, 0)) for number in range(4))


def cut(good: Conversation, end: int) -> Conversation:
    """Return a conversation that ends after some bytes."""
    return Conversation(good.replies, end=end)


def with_damage(good: Conversation, rng: random.Random) -> Conversation:
    """Return one with some bytes of one reply changed; its connection ends there."""
    number = rng.choice((GREETING, LOGIN, ANSWER, ANSWER))
    first = {GREETING: 0, LOGIN: 2}.get(number, 1)
    return Conversation(good.replies, {number: damaged(good.reply(number, first), rng)})


def misshapen(good: Conversation, rng: random.Random) -> Conversation:
    """Return one whose packets are whole, and whose content is not what was asked for."""
    replies = deepcopy(good.replies)
    answer = replies[ANSWER]
    index = rng.randrange(len(answer))
    way = rng.randrange(8)
    if way == 0:
        replies[rng.choice((LOGIN, ANSWER, ANSWER))] = [rng.choice((OK, _instead(rng)))]
    elif way == 1:
        answer[0] = rng.choice((*_COUNTS, b"\x00", b"\x01", b"\x04", b"\x7f"))
    elif way == 2:
        kind, charset = rng.choice(_TYPES), rng.choice((0, 8, 33, 45, 63, 255, 65535))
        answer[1] = column("c0", kind, charset)
        answer[-2] = _odd_row(good, rng)
    elif way == 3:
        answer[-2] = _odd_row(good, rng)
    elif way == 4:
        del answer[index]
    elif way == 5:
        answer.insert(index, rng.choice((_instead(rng), answer[index])))
    elif way == 6:
        answer[index] = damaged(answer[index], rng)
    else:
        replies[GREETING] = [damaged(replies[GREETING][0], rng)]
    return Conversation(replies)


def _instead(rng: random.Random) -> bytes:
    text = rng.choice(TEXTS)[:2000]
    code = rng.choice((0, 1, 1045, 1064, 2003, 2013, 20101, 65535))
    return rng.choice(
        (OK, EOF, b"", b"\x00", b"\xff", b"\xfe", _FILE, b"\x00" + b"\xff" * 9, refusal(code, text))
    )


def _odd_row(good: Conversation, rng: random.Random) -> bytes:
    texts = [rng.choice(TEXTS)[:200] for _ in range(good.replies[ANSWER][0][0])]
    short = rng.choice((0, 0, 1))
    parts = [bytes([len(one)]) + one for one in texts[short:]]
    lie = rng.choice((b"", b"", b"\xfe" + EXTREMES[-1].to_bytes(8, "little"), b"\xfc\xff\xff"))
    return b"".join(parts) + lie


def is_question_unanswered(spoiled: Conversation) -> bool:
    """Tell whether there is no result where there should be one: then no rows are not none."""
    if ANSWER in spoiled.raw or not spoiled.replies[ANSWER]:
        return False
    return spoiled.replies[ANSWER][0][:1] in (b"", b"\x00", b"\xff", b"\xfe", b"\xfb")


def shape_of(rows: Any, spoiled: Conversation) -> str:
    """Return what is wrong with the shape of rows; empty if nothing is."""
    if not isinstance(rows, list):
        return f"they are a {type(rows).__name__}"
    widths = {len(one) for one in rows}
    if len(widths) > 1:
        return f"they are {' and '.join(map(str, sorted(widths)))} wide"
    answer = spoiled.replies[ANSWER]
    said = answer[0][0] if ANSWER not in spoiled.raw and answer and answer[0] else None
    return f"they are not {said} wide" if said is not None and widths - {said} else ""
