# SPDX-License-Identifier: Apache-2.0
"""What every store can do. Keys are relative to its root and separated by slashes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

CHUNK: Final = 1 << 20
"""Bytes that are read or written at once; a multiple of MatrixOne's blocks of 2,048 bytes."""
PAGE: Final = 1000
"""Items that are erased at once."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An object as a listing has it: its key, and its size in bytes as it is stored."""

    key: str
    size: int


@dataclass(frozen=True, slots=True)
class Erasable:
    """Something that takes space in a store, whether a listing of objects has it or not.

    Attributes:
        key: of the object; that of an unfinished file is the name that it has until then.
        version: of the object, where the store keeps versions; empty for the object itself.
        upload: id of an unfinished upload; empty for an object.
    """

    key: str
    version: str = ""
    upload: str = ""


class ObjectStore(Protocol):
    """A prefix of a bucket, or a folder. Safe to be used by several threads.

    Every method raises one of `errors`, after bounded attempts where another may help.
    """

    @property
    def name(self) -> str:
        """The store as messages name it."""

    def region(self) -> str:
        """Return the region of the bucket; empty for a folder, or where the server tells none."""

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

    def create(self, key: str, content: bytes) -> bool:
        """Write a small object unless there is one, in one step where the store can do that.

        Returns:
            Whether it was written. After an answer that was lost it may be False for an object of
            this call: who must know compares the content.

        Raises:
            Unsupported: the store knows no conditional writes and says so. One that does not know
                them and says nothing replaces the object.
        """

    def beginning(self, start: str) -> list[str]:
        """Return the keys that begin with a text, without those in a folder below that."""

    def folders(self, folder: str = "") -> Iterator[str]:
        """Yield the names of the folders in the root, or in one whose key ends with a slash."""

    def ancestors(self) -> Iterator[tuple[ObjectStore, str]]:
        """Yield the stores around this one, the nearest first, and the path to this one in each.

        The last one is the bucket, or ``/``.
        """

    def erasable(self, start: str = "") -> Iterator[Sequence[Erasable]]:
        """Yield what begins with a text in pages, with versions and unfinished uploads.

        A page may be erased before the next one is taken.
        """

    def erase(self, items: Sequence[Erasable]) -> None:
        """Delete what a page has, at most `PAGE` items, by one attempt; absent ones are no error.

        Only the package ``ownership`` calls this: it knows whose they are.
        """

    def tidy(self) -> None:
        """Remove empty folders, and the store's own if it is empty and may be removed."""


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
