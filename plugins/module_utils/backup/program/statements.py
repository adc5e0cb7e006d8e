# SPDX-License-Identifier: Apache-2.0
"""MatrixOne's ``BACKUP`` statement: its text, its options, and how it is run to its end."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final

from ...api.certificates import AUTHORITY, CERTIFICATE
from ...clients import sql
from ...clients.objectstore.interface import ObjectStore
from ...clients.sql import Entrance, Statement
from ...location.locations import FolderLocation, Location, S3Location
from ..task.tasks import Reason, Task
from . import listings
from .errors import TaskFailed
from .opened import Opened
from .progress import Progress
from .stores import Mounts, read_secret

_SHORT_SECONDS: Final = 30.0
"""For a statement that only asks."""
_LAST_FILES_SECONDS: Final = 120.0
"""For what the statement writes after the list of its data: a few KiB."""
_LOOK_SECONDS: Final = 10.0
"""Between two looks at what the statement has written."""
_KEYS: Final = frozenset({"access_key_id", "secret_access_key"})
"""Options whose values are shown to nobody."""
_LONGEST_SHARED: Final = 6
"""Characters of a key that a message may have by chance."""


def statement(task: Task, mounts: Mounts, base: list[Opened], region: str = "") -> Statement:
    """Return the statement; the driver quotes all values.

    Args:
        task: to make a backup.
        mounts: with the credentials.
        base: the backups that it continues; none for a full one.
        region: of the bucket, as its server tells it; empty for the one of the location.

    Raises:
        TaskFailed: InvalidTask: the database cannot use such credentials.
    """
    target, parallelism = target_of(task), str(task.parallelism)
    if isinstance(target, FolderLocation):
        text = "BACKUP %s FILESYSTEM %s PARALLELISM %s"
        values: tuple[str, ...] = (task.id, target.server_path, parallelism)
    else:
        options = _options(target, mounts, parallelism, region)
        text = f"BACKUP %s S3OPTION {{{', '.join(['%s=%s'] * len(options))}}}"
        values = (task.id, *(part for pair in options.items() for part in pair))
    if base:
        text += " TYPE %s TIMESTAMP %s"
        values = (*values, "increment", base[0].manifest.timestamp)
    return text, values


def _options(target: S3Location, mounts: Mounts, parallelism: str, region: str) -> dict[str, str]:
    keys = mounts.keys(target)
    if keys and keys.session_token:
        raise TaskFailed(
            Reason.INVALID_TASK,
            "MatrixOne's BACKUP statement cannot use AWS_SESSION_TOKEN; use static keys, or no "
            "Secret and an identity of the compute nodes' Pods",
        )
    given = {
        "endpoint": target.url,
        "region": region or target.region,
        "bucket": target.bucket,
        "filepath": target.prefix,
        "is_minio": "true" if target.type == "minio" else "false",
        "parallelism": parallelism,
    }
    if keys:
        given |= {"access_key_id": keys.access_key, "secret_access_key": keys.secret_key}
    return given


def target_of(task: Task) -> Location:
    """Return where the backup is to be.

    Raises:
        TaskFailed: InvalidTask.
    """
    if task.target is None:  # tasks are checked when they are read
        raise TaskFailed(Reason.INVALID_TASK, "the task lacks a target")
    return task.target


def entrance_of(task: Task, mounts: Mounts) -> Entrance:
    """Return where the database answers, and as whom to log in.

    Raises:
        TaskFailed: the Secret lacks a key.
    """
    login, folder = task.login, mounts.folder / "login"
    if login is None:  # tasks are checked when they are read
        raise TaskFailed(Reason.INVALID_TASK, "the task lacks a login")
    user, password = read_secret(folder / "username"), read_secret(folder / "password")
    trusted = _trusted(mounts.folder / "tls") if login.tls else ""
    return Entrance(login.host, login.port, user, password, trusted)


def _trusted(folder: Path) -> str:
    """Return the certificates, in PEM, by which the database proves what it is.

    Raises:
        TaskFailed: the Secret has no certificate.
    """
    authority = folder / AUTHORITY
    more = [read_secret(authority)] if authority.exists() else []
    return "\n".join([read_secret(folder / CERTIFICATE), *more])


def version(entrance: Entrance) -> str:
    """Ask the database for its version; a login that is refused is seen before anything else.

    Raises:
        TaskFailed: LoginFailed or Unreachable.
    """
    try:
        rows = sql.ask(entrance, ("SELECT VERSION()", ()), _SHORT_SECONDS)
    except sql.LoginRefused as error:
        raise TaskFailed(Reason.LOGIN_FAILED, str(error)) from error
    except sql.SqlError as error:
        raise TaskFailed(Reason.UNREACHABLE, str(error)) from error
    return str(rows[0][0]) if rows and rows[0] else ""


def run(
    entrance: Entrance,
    text: Statement,
    store: ObjectStore,
    progress: Progress,
    require_own: Callable[[], None],
) -> None:
    """Run the statement, in a thread, so that the task can end when it must.

    Args:
        entrance: where the database answers.
        text: the statement.
        store: of the target.
        progress: of the task.
        require_own: raises when the target is another attempt's by now; asked from time to time.

    Raises:
        TaskFailed: StatementFailed, or the task must end.
        OwnershipError: the target is another attempt's by now.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="statement")
    end = _End(store, require_own)
    try:
        answer = pool.submit(sql.ask, entrance, text, progress.seconds_left)
        while not answer.done():
            wait([answer], timeout=1.0)
            progress.publish()
            end.require()
        answer.result()
    except sql.SqlError as error:
        message = f"the BACKUP statement failed: {shown_of(error, text)}"
        raise TaskFailed(Reason.STATEMENT_FAILED, message) from error
    finally:
        pool.shutdown(wait=False)


def shown_of(error: sql.SqlError, asked: Statement) -> str:
    """Return what a database said about a statement, as far as it holds no key of a store.

    Errors of its parser quote the statement from anywhere on, so any part of a key counts.

    Args:
        error: of the database.
        asked: the statement, with its values.
    """
    values = [str(one) for one in asked[1]]
    keys = [value for name, value in itertools.pairwise(values) if name in _KEYS]
    if any(_shares(key, error.words) for key in keys):
        return f"{error} (its text quotes the keys of the store, and is not shown)"
    return error.said()


def _shares(key: str, words: str) -> bool:
    length = min(len(key), _LONGEST_SHARED + 1)
    return any(
        key[start : start + length] in words for start in range(max(1, len(key) - length + 1))
    )


class _End:
    """Notices a statement that has written all data and does not end.

    The last that BACKUP does is to ask HAKeeper for its state, without a limit of its own
    (``backupHakeeper`` in ``pkg/backup/backup.go``): where the request is lost with HAKeeper's
    leader, it waits for ever.

    Args:
        store: of the target.
        require_own: raises when the target is another attempt's by now.
    """

    def __init__(self, store: ObjectStore, require_own: Callable[[], None]) -> None:
        self._store = store
        self._require_own = require_own
        self._looked = time.monotonic()
        self._complete_at = 0.0

    def require(self) -> None:
        """Look from time to time.

        Raises:
            TaskFailed: the statement should have ended long ago.
        """
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        self._require_own()
        if not self._complete_at:
            is_complete = self._store.size(listings.SUMMARY) is not None
            self._complete_at = now if is_complete else 0.0
        elif now - self._complete_at > _LAST_FILES_SECONDS:
            raise TaskFailed(
                Reason.STATEMENT_FAILED,
                "the BACKUP statement has written all data, but has not ended "
                f"{_LAST_FILES_SECONDS:.0f} s later: HAKeeper does not tell it its state",
            )
