# SPDX-License-Identifier: Apache-2.0
"""Files and directories that only the operator's user can read."""

import contextlib
import os
import stat
import uuid
from pathlib import Path

from ansible_operator.errors import EngineError


def write_private(path: Path | str, content: str | bytes) -> None:
    """Write a file of mode 0600 in one step: readers see the old or the new content."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{uuid.uuid4().hex}")
    try:
        create_private(temporary, content)
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def create_private(path: str, content: str | bytes) -> None:
    """Write a file of mode 0600 that does not exist yet, and that nobody reads while it grows.

    Raises:
        FileExistsError: it exists.
    """
    data = content.encode() if isinstance(content, str) else content
    write_and_close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), data)


def write_and_close(descriptor: int, data: bytes) -> None:
    """Write all of it, however the kernel divides it."""
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)


def keep_private(path: str, content: str) -> None:
    """Have a file of mode 0600 with this content; most runs of an object find it there already."""
    with contextlib.suppress(FileNotFoundError):
        is_private = os.lstat(path).st_mode == stat.S_IFREG | 0o600
        if is_private and Path(path).read_bytes() == content.encode():
            return
    write_private(path, content)


def make_private(path: str) -> bool:
    """Make a directory and its missing parents with mode 0700; whether it was not there.

    Raises:
        OSError: it cannot be made.
        EngineError: it exists and belongs to another user.
    """
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        make_folders(Path(path))
    else:
        return True
    if os.stat(path).st_uid != os.geteuid():
        raise EngineError(
            f"run directory {path} belongs to another user; remove it or choose another"
        )
    return False


def make_folders(path: Path) -> None:
    """Make a directory and its missing parents with mode 0700; existing ones stay as they are.

    Raises:
        OSError: it cannot be made.
    """
    missing = []
    current = path
    while not current.exists():
        missing.append(current)
        current = current.parent
    for step in reversed(missing):
        with contextlib.suppress(FileExistsError):
            step.mkdir(mode=0o700)
