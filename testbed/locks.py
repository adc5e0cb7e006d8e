# SPDX-License-Identifier: Apache-2.0
"""Locks between processes that leave no file behind."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.errors import TestBedError

_POLL_SECONDS = 0.05


def _try_lock(path: Path) -> int | None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:  # the folder was removed by a holder that has just released the lock
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A holder removes the file before it lets go: a lock on a removed file is worth nothing.
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None


@contextmanager
def locked(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold an exclusive lock while the block runs.

    Args:
        path: the lock file; made when missing, removed at the end.
        timeout: seconds to wait for another holder.

    Raises:
        TestBedError: another process still holds the lock after ``timeout``.
    """
    deadline = time.monotonic() + timeout
    descriptor = _try_lock(path)
    while descriptor is None:
        if time.monotonic() > deadline:
            raise TestBedError(f"another testbed command holds {path}; wait for it to end")
        time.sleep(_POLL_SECONDS)
        descriptor = _try_lock(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)
