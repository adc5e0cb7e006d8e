# SPDX-License-Identifier: Apache-2.0
"""MatrixOne's files in a store, by their content: in blocks in a folder, plain in a bucket."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...clients.objectstore.errors import Absent
from ...clients.objectstore.folder import FolderStore
from ...clients.objectstore.interface import ObjectStore
from ..task.tasks import Reason
from . import blocks, listings
from .errors import TaskFailed

Advance = Callable[[int], None]
"""Is called with the bytes that were just read; it raises when the task must end."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The files of a backup, or of a cluster's shared storage.

    Attributes:
        store: that has them.
    """

    store: ObjectStore

    @property
    def in_blocks(self) -> bool:
        """Whether the database's own files have its checksums in front of their blocks."""
        return isinstance(self.store, FolderStore)

    def sizes(self) -> dict[str, int]:
        """Return the bytes of content of every object by its key."""
        return {
            entry.key: self._content_size(entry.key, entry.size) for entry in self.store.entries()
        }

    def _content_size(self, key: str, size: int) -> int:
        return blocks.content_size(size) if self._is_in_blocks(key) else size

    def _is_in_blocks(self, key: str) -> bool:
        """Tell the files of the database from those for readers outside (``pkg/backup/fs.go``)."""
        return self.in_blocks and key.startswith((listings.DATA, "hakeeper/"))

    def pieces(self, key: str, advance: Advance) -> Iterator[bytes]:
        """Yield the content of a file.

        Raises:
            TaskFailed: it is absent, or a block does not have its checksum.
        """
        for _stored, content in self.stored_pieces(key, advance):
            yield content

    def stored_pieces(self, key: str, advance: Advance) -> Iterator[tuple[bytes, bytes]]:
        """Yield each piece of a file as it is stored, and its content.

        Raises:
            TaskFailed: it is absent, or a block does not have its checksum.
        """
        in_blocks = self._is_in_blocks(key)
        try:
            for piece in self.store.read(key):
                content = blocks.decode(piece) if in_blocks else piece
                advance(len(content))
                yield piece, content
        except Absent as error:
            raise TaskFailed(Reason.OBJECT_MISSING, f"{key} is missing: {error}") from error
        except blocks.CorruptBlock as error:
            raise TaskFailed(
                Reason.OBJECT_CORRUPT, f"{key} in {self.store.name} is corrupt: {error}"
            ) from error

    def sha256(self, key: str, advance: Advance) -> str:
        """Read a file and return the checksum of its content in hex."""
        total = hashlib.sha256()
        for piece in self.pieces(key, advance):
            total.update(piece)
        return total.hexdigest()

    def small(self, key: str, largest: int = listings.LARGEST_LIST) -> bytes:
        """Return the content of a small file.

        Raises:
            TaskFailed: it is absent, corrupt or larger than it can be.
        """
        content = bytearray()
        for piece in self.pieces(key, lambda _: None):
            content += piece
            if len(content) > largest:
                raise TaskFailed(
                    Reason.OBJECT_CORRUPT, f"{key} in {self.store.name} is too large to be one"
                )
        return bytes(content)
