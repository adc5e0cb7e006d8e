# SPDX-License-Identifier: Apache-2.0
"""Unpack LZ4 blocks: servers with ``enable-compress`` answer in them. Nothing is ever packed."""

from __future__ import annotations

from typing import Final

from .errors import MalformedAnswer

_SHORTEST_MATCH: Final = 4
_MORE: Final = 15


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


def unpack(block: bytes, limit: int) -> bytes:
    """Return the content of a block.

    Args:
        block: literals and back references, without a frame header.
        limit: most bytes to return.

    Raises:
        MalformedAnswer: it is no block, or its content is larger than the limit.
    """
    reader, out = _Reader(block), bytearray()
    while not reader.exhausted():
        token = reader.take(1)[0]
        out += reader.take(reader.length(token >> 4))
        if reader.exhausted():
            break
        distance = int.from_bytes(reader.take(2), "little")
        length = reader.length(token & _MORE) + _SHORTEST_MATCH
        if not 0 < distance <= len(out):
            raise MalformedAnswer("a compressed block refers to what is not there")
        if len(out) + length > limit:
            raise MalformedAnswer("a compressed block is larger than what is accepted")
        # A match may overlap with what it produces: its bytes then repeat.
        piece = out[-distance:]
        out += (piece * (length // len(piece) + 1))[:length]
    if len(out) > limit:
        raise MalformedAnswer("a compressed block is larger than what is accepted")
    return bytes(out)
