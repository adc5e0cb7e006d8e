# SPDX-License-Identifier: Apache-2.0
"""What every store can do. Keys are relative to its root and separated by slashes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

CHUNK: Final = 1 << 20
"""Bytes that are read or written at once; a multiple of MatrixOne's blocks of 2,048 bytes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An object as a listing has it: its key, and its size in bytes as it is stored."""

    key: str
    size: int


class ObjectStore(Protocol):
    """A prefix of a bucket, or a folder. Safe to be used by several threads.

    Every method raises one of `errors`, after bounded attempts where another may help.
    """

    @property
    def name(self) -> str:
        """The store as messages name it."""

    def require(self) -> None:
        """Return when the bucket or folder can be listed; an empty one can.

        Raises:
            StoreAbsent: there is none. A folder that is yet to be made counts as there when one
                above it is, but for the root.
        """

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        """Yield all objects below a key prefix that ends with a slash, or all, in any order."""

    def size(self, key: str) -> int | None:
        """Return the size of an object in bytes; None when there is none."""

    def read(self, key: str) -> Iterator[bytes]:
        """Yield the content of an object in pieces of at most `CHUNK` bytes.

        Only the last piece of a file of a folder is shorter.

        Raises:
            Absent: there is no such object.
        """

    def write(self, key: str, pieces: Iterable[bytes], size: int) -> None:
        """Write an object; it appears whole or not at all, and replaces an older one.

        Args:
            key: of the object.
            pieces: its content.
            size: bytes of the content in all.

        Raises:
            Full: no space or quota is left.
        """

    def flush(self) -> None:
        """Return when everything that was written would survive a loss of power."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects in batches; absent ones are deleted already."""

    def clear(self) -> Iterator[int]:
        """Delete everything in the store, with versions and unfinished uploads.

        Yields:
            The number of objects deleted since the last yield, so that progress can be reported.
        """


def read_small(store: ObjectStore, key: str, largest: int) -> bytes:
    """Return the content of an object that is known to be small.

    Raises:
        ValueError: it is larger than ``largest`` bytes.
        Absent: there is no such object.
    """
    content = bytearray()
    for piece in store.read(key):
        content += piece
        if len(content) > largest:
            raise ValueError(f"{key} in {store.name} has more than {largest} bytes")
    return bytes(content)
