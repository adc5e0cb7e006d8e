# SPDX-License-Identifier: Apache-2.0
"""What belongs to others around and below a prefix or folder."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from ..api import names
from ..api.owners import PLAYBOOK, Owner
from ..backup import manifest as manifests
from ..clients.objectstore.errors import Forbidden
from ..clients.objectstore.interface import ObjectStore
from . import marks
from .errors import Foreign

BACKUP_FOLDERS: Final = ("tae", "hakeeper", "config")
"""What a backup has below its own folder (``listings``)."""
_OF_BACKUPS: Final = frozenset({"Backup", "BackupJob", PLAYBOOK})
_LOOKED_AT: Final = 64
"""Folders of a page up to which each is asked for; for more, everything is listed."""
_SHOWN: Final = 3


def require_none_around(store: ObjectStore) -> None:
    """Return when no store around this one is somebody's.

    Raises:
        Foreign: one is.
        StoreError: a store around does not tell, for another reason than missing rights.
    """
    for outer, _path, keys in _held_around(store):
        raise Foreign(f"{store.name} is inside of what {', '.join(keys)} in {outer.name} marks")


def require_outside(store: ObjectStore, owner: Owner) -> None:
    """Return when this store is not among the files that somebody else around it has.

    A backup has files in certain folders alone: one that earlier releases made beside these folders
    may be deleted.

    Args:
        store: to look around.
        owner: whose the store is.

    Raises:
        Foreign: it is.
        StoreError: a store around does not tell, for another reason than missing rights.
    """
    for outer, path, keys in _held_around(store):
        others = [key for key in keys if not _is_of(outer, key, owner)]
        is_apart = path.split("/")[0] not in BACKUP_FOLDERS
        if others and not (is_apart and all(_is_of_a_backup(outer, key) for key in others)):
            raise Foreign(f"{store.name} is a part of what {others[0]} in {outer.name} marks")


def _held_around(store: ObjectStore) -> Iterator[tuple[ObjectStore, str, list[str]]]:
    """Yield each store around that is somebody's, the path in it, and the keys that say so.

    Credentials for one prefix alone may not look around it. They cannot do anything there either.
    """
    for outer, path in store.ancestors():
        try:
            keys = marks.holders(outer.beginning(marks.BEGINNING))
        except Forbidden:
            continue
        if keys:
            yield outer, path, keys


def _is_of(outer: ObjectStore, key: str, owner: Owner) -> bool:
    """Return whether a mark is the owner's, or of a copy that has become its database.

    A database that has a whole bucket has folders in it, while the mark of the copy is at its root.
    """
    if key == marks.first_key(marks.RESTORE) and owner.kind == names.BUCKET_CLAIM:
        copied = marks.read(outer, key)
        return copied is not None and copied.state == marks.DONE
    mark = marks.read(outer, key) if key == marks.first_key(marks.OWNER) else None
    return mark is not None and mark.owner.uid == owner.uid


def _is_of_a_backup(outer: ObjectStore, key: str) -> bool:
    if key in (manifests.FILE, marks.EARLIER_ATTEMPT):
        return True
    mark = marks.read(outer, key) if key == marks.first_key(marks.OWNER) else None
    return mark is not None and mark.owner.kind in _OF_BACKUPS


def require_empty(store: ObjectStore, own: Collection[str] = ()) -> None:
    """Return when a store has no object but the caller's own, and requests of rivals.

    Raises:
        Foreign: it has.
    """
    for entry in store.entries():
        if entry.key not in own and not marks.is_request(entry.key):
            raise Foreign(f"{store.name} is not empty: it holds {entry.key}")


def require_none_below(store: ObjectStore, own: Collection[str] = ()) -> None:
    """Return when nothing in a store is somebody else's, by a listing of everything in it.

    Args:
        store: to look into.
        own: keys in its root which are known to be the caller's.

    Raises:
        Foreign: something is.
    """
    found: list[str] = []
    for entry in store.entries():
        if marks.holders([entry.key]) and entry.key not in own:
            found.append(entry.key)
            if len(found) == _SHOWN:
                break
    _refuse(store, found)


def require_none_beside(store: ObjectStore, keys: Iterable[str], own: Collection[str] = ()) -> None:
    """Return when no file of a page lies in a folder that is somebody else's.

    Args:
        store: to look into.
        keys: of the page.
        own: keys in its root which are known to be the caller's.

    Raises:
        Foreign: one does.
    """
    folders = {folder for key in keys for folder in _folders_of(key)} | {""}
    if len(folders) > _LOOKED_AT:
        require_none_below(store, own)
        return
    for folder in sorted(folders):
        found = marks.holders(store.beginning(posixpath.join(folder, marks.BEGINNING)))
        _refuse(store, [key for key in found if key not in own])


def _folders_of(key: str) -> Iterator[str]:
    folder = posixpath.dirname(key)
    while folder.strip("/"):
        yield folder
        folder = posixpath.dirname(folder)


def _refuse(store: ObjectStore, found: list[str]) -> None:
    if found:
        kinds = {_NAMED.get(key.rsplit("/", 1)[-1], "what somebody else owns") for key in found}
        raise Foreign(
            f"{store.name} holds {' and '.join(sorted(kinds))} ({', '.join(found)}); "
            "delete it or move it first"
        )


_NAMED: Final = {
    manifests.FILE: "a backup",
    marks.EARLIER_ATTEMPT: "an unfinished backup",
    marks.first_key(marks.RESTORE): "a restored copy of a backup",
}
