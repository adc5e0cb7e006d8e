# SPDX-License-Identifier: Apache-2.0
"""Keep a backup that another one near it continues, whether or not that has an object anywhere."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Final

from ...clients.objectstore import interface
from ...clients.objectstore.errors import Absent, Forbidden, StoreAbsent
from ...clients.objectstore.interface import ObjectStore
from .. import manifest as manifests
from ..chains import successors
from ..errors import InvalidManifest
from ..manifest import Manifest
from ..task.tasks import Reason
from .errors import TaskFailed

_DEPTH: Final = 3
"""Levels of folders below the one that the backup is in: the name of a schedule and a time, say."""
_MOST: Final = 20_000
"""Folders that are looked at."""


def require_last(store: ObjectStore, manifest: Manifest) -> None:
    """Return when no backup in the folder above, or in one below that, continues a backup.

    Credentials for one prefix alone may not look around it. They made no increment there either.

    Args:
        store: with the backup.
        manifest: its record.

    Raises:
        TaskFailed: ChainBroken: without it, another one could not be restored, or a record cannot
            be read that may be of such a one.
        StoreError: the store does not tell, for another reason than missing rights.
    """
    outer, path = next(iter(store.ancestors()), (None, ""))
    if outer is None:
        return
    for key in successors(_records(outer, path), manifest.id):
        raise TaskFailed(
            Reason.CHAIN_BROKEN,
            f"{store.name} is not deleted: the backup in {key} of {outer.name} continues it; "
            "delete that one first",
        )


def _records(outer: ObjectStore, own: str) -> Iterator[tuple[str, Manifest]]:
    """Yield the records below a folder, with their folders, but for one folder.

    Raises:
        TaskFailed: ChainBroken: a record cannot be read, or there are too many folders.
    """
    waiting, count = [""], 0
    while waiting:
        folder = waiting.pop()
        for name in _folders(outer, folder):
            key = f"{folder}{name}/"
            count += 1
            if count > _MOST:
                message = f"{outer.name} has more than {_MOST} folders, which are too many to read"
                raise TaskFailed(Reason.CHAIN_BROKEN, f"nothing is deleted: {message}")
            if key == f"{own}/":
                continue
            if (record := _record(outer, key)) is not None:
                yield key, record
            elif key.count("/") < _DEPTH:
                waiting.append(key)


def _folders(outer: ObjectStore, folder: str) -> Iterator[str]:
    try:
        yield from outer.folders(folder)
    except (Forbidden, StoreAbsent):
        return


def _record(outer: ObjectStore, folder: str) -> Manifest | None:
    key = posixpath.join(folder, manifests.FILE)
    try:
        return manifests.from_json(interface.read_small(outer, key, manifests.LARGEST))
    except (Absent, Forbidden):
        return None
    except (InvalidManifest, ValueError) as error:
        message = f"{key} in {outer.name} cannot be read, and may continue this backup: {error}"
        raise TaskFailed(Reason.CHAIN_BROKEN, f"nothing is deleted: {message}") from error
