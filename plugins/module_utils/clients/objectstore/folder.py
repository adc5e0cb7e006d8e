# SPDX-License-Identifier: Apache-2.0
"""A folder of a volume as an object store."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from .errors import Absent, Forbidden, Full, Refused, StoreAbsent, StoreError, Unreachable
from .interface import CHUNK, Entry

_TEMPORARY: Final = ".matrixone-"
_OF_THE_VOLUME: Final = frozenset({"lost+found"})
"""What a new file system has at its root."""
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LOST: Final = frozenset({errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ETIMEDOUT})


class FolderStore:
    """A folder. Keys stay below it; links in it are listed and deleted, never opened.

    Args:
        root: absolute path.
    """

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    @property
    def name(self) -> str:
        """The store as messages name it."""
        return f"folder {self._root}"

    def require(self) -> None:
        """Return when the folder, or the nearest above it, can be listed."""
        existing = next(path for path in (self._root, *self._root.parents) if path.exists())
        with _understood(self.name):
            if not existing.is_dir() or existing == Path("/"):
                raise StoreAbsent(f"{self.name} is not there; is the volume mounted?")
            next(os.scandir(existing), None)

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        """Yield all files below a folder, without our own unfinished ones."""
        with _understood(self.name):
            yield from self._entries_in(prefix)

    def _entries_in(self, prefix: str) -> Iterator[Entry]:
        try:
            found = list(os.scandir(self._path(prefix)))
        except FileNotFoundError:
            return
        for one in found:
            if one.is_dir(follow_symlinks=False):
                if prefix or one.name not in _OF_THE_VOLUME:
                    yield from self._entries_in(f"{prefix}{one.name}/")
            elif not one.name.startswith(_TEMPORARY):
                yield Entry(f"{prefix}{one.name}", one.stat(follow_symlinks=False).st_size)

    def size(self, key: str) -> int | None:
        """Return the size of a file in bytes; None when there is none."""
        with _understood(self.name):
            try:
                return self._path(key).lstat().st_size
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read(self, key: str) -> Iterator[bytes]:
        """Yield the content of a file in pieces of `CHUNK` bytes."""
        with _understood(f"{key} in {self.name}"):
            descriptor = os.open(self._path(key), os.O_RDONLY | os.O_NOFOLLOW)
            with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123
                while piece := _read_fully(file.fileno()):
                    yield piece
                    if len(piece) < CHUNK:
                        return

    def write(self, key: str, pieces: Iterable[bytes], size: int) -> None:
        """Write a file beside its place and move it there; see `flush`."""
        path = self._path(key)
        with _understood(f"{key} in {self.name}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.parent / f"{_TEMPORARY}{secrets.token_hex(8)}"
            try:
                _write_all(unfinished, pieces, size)
                unfinished.replace(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    unfinished.unlink(missing_ok=True)
                raise

    def flush(self) -> None:
        """Return when every file that was written is on the disk, whatever it is mounted from."""
        with _understood(self.name):
            descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
            try:
                if _LIBC.syncfs(descriptor):
                    raise OSError(ctypes.get_errno(), "syncfs")
            finally:
                os.close(descriptor)

    def delete(self, keys: Iterable[str]) -> None:
        """Delete files; absent ones are deleted already."""
        with _understood(self.name):
            for key in keys:
                with contextlib.suppress(FileNotFoundError):
                    self._path(key).unlink()

    def clear(self) -> Iterator[int]:
        """Delete everything in the folder; the folder itself goes where that is allowed."""
        with _understood(self.name):
            folders = []
            for folder, inner, files in os.walk(self._root, topdown=True):
                here = Path(folder)
                if here == self._root:
                    inner[:] = [name for name in inner if name not in _OF_THE_VOLUME]
                folders.append(here)
                links = [name for name in inner if (here / name).is_symlink()]
                for name in (*files, *links):
                    (here / name).unlink(missing_ok=True)
                yield len(files)
            for here in reversed(folders):
                with contextlib.suppress(OSError):  # a mount point, or in use
                    here.rmdir()

    def _path(self, key: str) -> Path:
        """Return the path of a key.

        Raises:
            Refused: the key leads out of the folder.
        """
        if key.startswith("/") or ".." in key.split("/"):
            raise Refused(f"{key!r} is no key of {self.name}")
        return self._root / key


def _read_fully(descriptor: int) -> bytes:
    """Read `CHUNK` bytes, or what is left."""
    piece = os.read(descriptor, CHUNK)
    while 0 < len(piece) < CHUNK:
        more = os.read(descriptor, CHUNK - len(piece))
        if not more:
            break
        piece += more
    return piece


def _write_all(path: Path, pieces: Iterable[bytes], size: int) -> None:
    written = 0
    with open(path, "xb", buffering=0) as file:  # noqa: PTH123
        for piece in pieces:
            view = memoryview(piece)
            written += len(view)
            while view:
                view = view[os.write(file.fileno(), view) :]
        if written != size:
            raise Refused(f"{path.name} got {written} bytes instead of {size}")


@contextlib.contextmanager
def _understood(what: str) -> Iterator[None]:
    """Raise an error of the operating system as what it means for a store."""
    try:
        yield
    except OSError as error:
        text = f"{what}: {os.strerror(error.errno) if error.errno else error}"
        raise _kind(error)(text) from error


def _kind(error: OSError) -> type[StoreError]:
    if isinstance(error, FileNotFoundError):
        return Absent
    if error.errno in _FULL:
        return Full
    if error.errno in _DENIED:
        return Forbidden
    return Unreachable if error.errno in _LOST else Refused
