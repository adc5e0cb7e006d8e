# SPDX-License-Identifier: Apache-2.0
"""Unpack LZ4 blocks: servers with ``enable-compress`` answer in them. Nothing is ever packed.

The package lz4 would be one more requirement of every controller, compiled, for a setting that is
off by default; and it does not look at a deadline.
"""

from __future__ import annotations

from typing import Final

from .deadlines import Deadline
from .errors import MalformedAnswer

_SHORTEST_MATCH: Final = 4
_MORE: Final = 15
_TOKENS_BETWEEN_CHECKS: Final = 1 << 10


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.offset = 0

    def take(self, length: int) -> bytes:
        end = self.offset + length
        if end > len(self.data):
            raise MalformedAnswer("a compressed block ends too early")
        taken = self.data[self.offset : end]
        self.offset = end
        return taken

    def length(self, short: int) -> int:
        """Return a length whose first four bits are given; all of them set: bytes follow."""
        total = short
        step = 255 if short == _MORE else 0
        while step == 255:
            step = self.take(1)[0]
            total += step
        return total

    def exhausted(self) -> bool:
        return self.offset >= len(self.data)


def unpack(block: bytes, limit: int, deadline: Deadline | None = None) -> bytes:
    """Return the content of a block.

    Args:
        block: literals and back references, without a frame header.
        limit: most bytes to return; no more are ever held.
        deadline: when to give up; None for blocks that are known to be small.

    Raises:
        MalformedAnswer: it is no block, or its content is larger than the limit.
        TimedOut: the deadline passed while unpacking.
    """
    reader, out, tokens = _Reader(block), bytearray(), 0
    while not reader.exhausted():
        tokens += 1
        if tokens % _TOKENS_BETWEEN_CHECKS == 0 and deadline is not None:
            deadline.require("unpacking the answer")
        token = reader.take(1)[0]
        literals = reader.length(token >> 4)
        _require_room(len(out) + literals, limit)
        out += reader.take(literals)
        if reader.exhausted():
            break
        distance = int.from_bytes(reader.take(2), "little")
        length = reader.length(token & _MORE) + _SHORTEST_MATCH
        _require_room(len(out) + length, limit)
        out += _match(out, distance, length)
    return bytes(out)


def _require_room(size: int, limit: int) -> None:
    if size > limit:
        raise MalformedAnswer(f"a compressed block is larger than the {limit} bytes accepted")


def _match(out: bytearray, distance: int, length: int) -> bytes | bytearray:
    """Return what a back reference stands for; it may overlap with what it produces."""
    start = len(out) - distance
    if distance == 0 or start < 0:
        raise MalformedAnswer("a compressed block refers to what is not there")
    piece = out[start : start + length]
    return piece if len(piece) == length else (piece * (length // len(piece) + 1))[:length]
