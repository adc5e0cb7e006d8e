# SPDX-License-Identifier: Apache-2.0
"""MatrixOne's format of files on a file system: blocks of 2,048 bytes.

Each block begins with the CRC-32C (Castagnoli, little endian, 4 bytes) of its up to 2,044 bytes of
content; only the last block of a file is shorter. In a bucket the same file is its content alone.
Source: ``pkg/fileservice/file_with_checksum.go``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from ...clients.objectstore.errors import MissingLibrary

try:
    from crc32c import crc32c
except ImportError:  # reported when a block is read or written
    crc32c = None

BLOCK: Final = 2048
CHECKSUM: Final = 4
CONTENT: Final = BLOCK - CHECKSUM
_WRITTEN_AT_ONCE: Final = 512 * CONTENT


class CorruptBlock(Exception):
    """The content of a block does not have the checksum in front of it."""


def content_size(stored: int) -> int:
    """Return the bytes of content in a file of that size in blocks.

    A file that ends within a checksum has no such size; MatrixOne's own arithmetic is kept.
    """
    return stored - CHECKSUM * -(-stored // BLOCK)


def stored_size(content: int) -> int:
    """Return the size in blocks of a file with so many bytes of content."""
    return content + CHECKSUM * -(-content // CONTENT)


def decode(piece: bytes) -> bytes:
    """Return the content of blocks.

    Args:
        piece: whole blocks, but for the last one of a file.

    Raises:
        CorruptBlock: a checksum is wrong, or the last block ends within its checksum.
        MissingLibrary: crc32c is not installed.
    """
    _require_library()
    whole, rest = divmod(len(piece), BLOCK)
    if rest in range(1, CHECKSUM + 1):
        raise CorruptBlock("the file ends within a block's checksum")
    halves = _blocks(whole, rest).unpack(piece)
    contents = halves[1::2]
    if tuple(map(crc32c, contents)) != halves[::2]:
        raise CorruptBlock("a block does not have its checksum")
    return b"".join(contents)


@lru_cache(maxsize=64)  # ansible-operator: kept, it depends on two numbers only
def _blocks(whole: int, rest: int) -> struct.Struct:
    """Return what takes a piece apart at once, into checksum and content of each block."""
    last = f"I{rest - CHECKSUM}s" if rest else ""
    return struct.Struct(f"<{f'I{CONTENT}s' * whole}{last}")


def encode(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a content that comes in pieces of any size."""
    waiting = bytearray()
    for piece in pieces:
        waiting += piece
        whole = len(waiting) - len(waiting) % CONTENT
        if whole >= _WRITTEN_AT_ONCE:
            yield _encoded(bytes(waiting[:whole]))
            del waiting[:whole]
    if waiting:
        yield _encoded(bytes(waiting))


def _encoded(content: bytes) -> bytes:
    _require_library()
    view = memoryview(content)
    parts = [view[start : start + CONTENT] for start in range(0, len(view), CONTENT)]
    sums = [_SUM.pack(crc32c(part)) for part in parts]
    return b"".join(half for block in zip(sums, parts, strict=True) for half in block)


def _require_library() -> None:
    if crc32c is None:
        raise MissingLibrary("the Python package crc32c is needed for folders")


_SUM: Final = struct.Struct("<I")
