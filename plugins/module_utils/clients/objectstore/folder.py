# SPDX-License-Identifier: Apache-2.0
"""A folder of a volume as an object store."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import posixpath
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from .errors import Absent, Forbidden, Full, Refused, StoreAbsent, StoreError, Unreachable
from .interface import CHUNK, PAGE, Entry, Erasable

_TEMPORARY: Final = ".matrixone-"
_OF_THE_VOLUME: Final = frozenset({"lost+found"})
"""What a new file system has at its root."""
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK}
)
_NEW: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
_CREATIONS: Final = 100
"""Attempts to make a file and its folders."""
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

    def region(self) -> str:
        """Return nothing: a folder has no region."""
        return ""

    def require(self) -> None:
        """Return when the folder, or the nearest above it, can be listed."""
        with _understood(self.name), contextlib.suppress(NotADirectoryError):
            for path in (self._root, *self._root.parents[:-1]):
                with contextlib.suppress(FileNotFoundError):
                    next(os.scandir(path), None)
                    return
        raise StoreAbsent(f"{self.name} is not there; is the volume mounted?")

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
                with contextlib.suppress(FileNotFoundError):  # deleted since it was listed
                    size = one.stat(follow_symlinks=False).st_size
                    yield Entry(f"{prefix}{one.name}", size)

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

    def create(self, key: str, content: bytes) -> bool:
        """Write a file beside its place, and link it there unless there is one."""
        path = self._path(key)
        with _understood(f"{key} in {self.name}"):
            unfinished = path.parent / f"{_TEMPORARY}{secrets.token_hex(8)}"
            try:
                _write_all(unfinished, [content], len(content), durable=True)
                return _link(unfinished, path) or _move(unfinished, path)
            except FileExistsError:
                return False
            finally:
                with contextlib.suppress(OSError):
                    unfinished.unlink(missing_ok=True)

    def beginning(self, start: str) -> list[str]:
        """Return the keys of files that begin with a text, without those in a folder below."""
        folder, _slash, name = start.rpartition("/")
        with _understood(self.name):
            try:
                return sorted(
                    posixpath.join(folder, entry.name)
                    for entry in os.scandir(self._path(folder))
                    if entry.name.startswith(name) and not entry.is_dir(follow_symlinks=False)
                )
            except (FileNotFoundError, NotADirectoryError):
                return []

    def folders(self, folder: str = "") -> Iterator[str]:
        """Yield the names of the folders in a folder, without links."""
        with _understood(self.name):
            try:
                yield from sorted(
                    entry.name
                    for entry in os.scandir(self._path(folder))
                    if entry.is_dir(follow_symlinks=False)
                )
            except (FileNotFoundError, NotADirectoryError):
                return

    def ancestors(self) -> Iterator[tuple[FolderStore, str]]:
        """Yield the folders around this one, and the path to this one in each."""
        for path in self._root.parents:
            yield FolderStore(str(path)), self._root.relative_to(path).as_posix()

    def erasable(self, start: str = "") -> Iterator[Sequence[Erasable]]:
        """Yield files in pages, with our own unfinished ones."""
        with _understood(self.name):
            page: list[Erasable] = []
            for folder, inner, files in os.walk(self._root, topdown=True):
                here = Path(folder)
                if here == self._root:
                    inner[:] = [name for name in inner if name not in _OF_THE_VOLUME]
                links = [name for name in inner if (here / name).is_symlink()]
                for name in (*files, *links):
                    key = (here / name).relative_to(self._root).as_posix()
                    if key.startswith(start):
                        page.append(Erasable(key))
                    if len(page) == PAGE:
                        yield page
                        page = []
            if page:
                yield page

    def erase(self, items: Sequence[Erasable]) -> None:
        """Delete files; absent ones are deleted already."""
        with _understood(self.name):
            for item in items:
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    self._path(item.key).unlink()

    def tidy(self) -> None:
        """Remove empty folders from the innermost to the folder itself."""
        with _understood(self.name):
            for folder, _inner, _files in os.walk(self._root, topdown=False):
                if folder != str(self._root) and Path(folder).name in _OF_THE_VOLUME:
                    continue
                with contextlib.suppress(OSError):  # not empty, a mount point, or in use
                    Path(folder).rmdir()

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


def _created(path: Path) -> int:
    """Return the descriptor of a new file, with the folders above it.

    An attempt that tidies up removes empty folders, also one that another attempt has just made.
    """
    left = _CREATIONS
    while True:
        left -= 1
        try:
            _make_folder(path.parent)
            return os.open(path, _NEW, 0o666)
        except FileNotFoundError:
            if not left:
                raise


def _make_folder(path: Path) -> None:
    """Make a folder unless there is one.

    Raises:
        FileNotFoundError: it, or one above it, was there and was removed meanwhile.
        NotADirectoryError: there is something else.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        # Path.mkdir looks only afterwards whether what is there is a folder, and it may be gone.
        if stat.S_ISDIR(path.lstat().st_mode):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None


def _write_all(path: Path, pieces: Iterable[bytes], size: int, *, durable: bool = False) -> None:
    written = 0
    with open(_created(path), "wb", buffering=0) as file:
        for piece in pieces:
            view = memoryview(piece)
            written += len(view)
            while view:
                view = view[os.write(file.fileno(), view) :]
        if written != size:
            raise Refused(f"{path.name} got {written} bytes instead of {size}")
        if durable:
            os.fsync(file.fileno())


def _link(unfinished: Path, path: Path) -> bool:
    """Give a whole file its name in one step; False where the file system has no links.

    Raises:
        FileExistsError: there is a file of that name.
    """
    try:
        os.link(unfinished, path, follow_symlinks=False)
    except FileExistsError:
        # NFS repeats a request whose answer was lost: then it is this very file.
        if os.path.samestat(path.lstat(), unfinished.lstat()):
            return True
        raise
    except OSError as error:
        if error.errno in _NO_LINKS:
            return False
        raise
    return True


def _move(unfinished: Path, path: Path) -> bool:
    """Reserve the name of a file, then move the whole one over the empty one.

    Raises:
        FileExistsError: there is a file of that name.
    """
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IRUSR | stat.S_IWUSR))
    unfinished.replace(path)
    return True


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
