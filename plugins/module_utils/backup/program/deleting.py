# SPDX-License-Identifier: Apache-2.0
"""Delete a backup, or a copy of one, and nothing that is not proven to be a part of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...api import names
from ...api.owners import Owner
from ...clients.objectstore.errors import StoreAbsent
from ...clients.objectstore.interface import Entry, ObjectStore
from ...location.locations import FolderLocation, Location, S3Location
from ...ownership import deletion, marks
from ...ownership.marks import Mark
from .. import manifest as manifests
from ..manifest import Manifest
from ..task.tasks import Amount, Reason, Step, Task
from . import attempts
from .continued import require_last
from .errors import TaskFailed
from .layout import EARLIER, is_of_backup
from .opened import record
from .progress import Progress

_SHOWN: Final = 10
"""Unknown files that a message names."""


@dataclass(frozen=True, slots=True)
class Deletable:
    """What a deletion is about.

    Attributes:
        manifest: record of the backup; None for an unfinished attempt, or where nothing is left.
        mark: whose it is; None where nothing is left.
        own: keys in the root that prove it.
        entries: all objects in the folder.
    """

    manifest: Manifest | None
    mark: Mark | None
    own: frozenset[str]
    entries: list[Entry]


def delete(task: Task, store: ObjectStore, progress: Progress) -> Manifest | None:
    """Delete the backup in a folder, or the unfinished attempt of the same id.

    The record goes first, so that a deletion that was killed leaves no backup that looks whole; the
    owner's mark goes last, so that the same task can go on.

    Returns:
        The record of what was deleted; None when there was none any more. Files in the folder that
        are no part of a backup stay, and are noted.

    Raises:
        TaskFailed: TargetNotEmpty: the folder holds something else. ChainBroken: another backup
            continues this one.
        OwnershipError: something in it or around it is somebody else's.
    """
    found = deletable(task, store, progress)
    if found.mark is None:
        return None
    if found.manifest:
        require_last(store, found.manifest)
    amount = Amount(len(found.entries), sum(entry.size for entry in found.entries))
    progress.begin(Step.DELETE, amount)
    taken = attempts.attempt(
        store, found.mark, progress, own=found.own, is_empty=False, elsewhere=True
    )
    with taken as hold:
        if found.manifest:
            deletion.discard(hold, [manifests.FILE], progress.sleep)
        kept = deletion.clear(hold, is_of_backup, _counting(progress), progress.sleep)
        deletion.release(hold, progress.sleep)
    if kept:
        more = f" and {len(kept) - _SHOWN} more" if len(kept) > _SHOWN else ""
        shown = f"{', '.join(kept[:_SHOWN])}{more}"
        progress.note(f"these files are no part of the backup and stay in {store.name}: {shown}")
    return found.manifest


def purge(task: Task, store: ObjectStore, progress: Progress) -> None:
    """Delete a copy of a backup, with everything that a database has written there since.

    The mark of the restore goes last, so that a purge that was killed can go on.

    Raises:
        TaskFailed: TargetNotEmpty: the folder is not that of the expected restore.
        OwnershipError: something in it or around it is somebody else's.
    """
    progress.begin(Step.CHECK_TARGET)
    _require_prefix(task.target)
    try:
        store.require()
    except StoreAbsent:
        return
    entries = list(store.entries())
    if not entries:
        return
    mark = marks.read(store, marks.first_key(marks.RESTORE))
    if mark is None or mark.id != task.expected_id:
        held = f"the restore {mark.id}" if mark else entries[0].key
        raise TaskFailed(
            Reason.TARGET_NOT_EMPTY,
            f"{store.name} holds {held}, not the restore {task.expected_id}",
        )
    progress.begin(Step.DELETE, Amount(len(entries), sum(entry.size for entry in entries)))
    with attempts.attempt(
        store, _again(mark), progress, base=marks.RESTORE, is_empty=False
    ) as hold:
        deletion.clear(hold, lambda _key: True, _counting(progress), progress.sleep)
        deletion.release(hold, progress.sleep)


def _counting(progress: Progress) -> deletion.Advance:
    def advance(count: int) -> None:
        progress.finish(count)
        progress.publish()

    return advance


def deletable(task: Task, store: ObjectStore, progress: Progress) -> Deletable:
    """Return what would be deleted, without deleting anything.

    Raises:
        TaskFailed: TargetNotEmpty: the folder holds something else.
    """
    progress.begin(Step.CHECK_TARGET)
    _require_prefix(task.target)
    try:
        store.require()
    except StoreAbsent:
        _require_volume(task)
        return Deletable(None, None, frozenset(), [])
    found = _proven(task, store)
    if found.mark is None:
        _require_volume(task)
    return found


def _require_volume(task: Task) -> None:
    """Return when a folder in which nothing was found is one of a volume.

    A Backup says that it is there: without its volume, nothing is there to be found. The folder
    around it stays when a backup is deleted.

    Raises:
        TaskFailed: TargetMissing.
    """
    target = task.target
    if task.owner.kind != names.BACKUP or not isinstance(target, FolderLocation):
        return
    folder = Path(target.path)
    is_mounted = any(path.is_mount() for path in (folder, *folder.parents[:-1]))
    if not (is_mounted and folder.parent.is_dir()):
        raise TaskFailed(
            Reason.TARGET_MISSING,
            f"the volume with folder {target.path} is not mounted, or is another one: "
            f"{folder.parent} is not there",
        )


def _require_prefix(target: Location | None) -> None:
    if isinstance(target, S3Location) and not target.prefix:
        raise TaskFailed(Reason.INVALID_TASK, "a whole bucket is never deleted")


def _proven(task: Task, store: ObjectStore) -> Deletable:
    """Return what a mark, a record, or what an earlier release has written proves to be the task's.

    Raises:
        TaskFailed: TargetNotEmpty.
    """
    expected, entries = task.expected_id, list(store.entries())
    mark = marks.read(store, marks.first_key(marks.OWNER))
    manifest = record(store)
    earlier = None if manifest else marks.read(store, EARLIER)
    for what, identity in (
        ("the backup", manifest and manifest.id),
        ("files of", mark and mark.id),
        ("the unfinished backup", earlier and earlier.id),
    ):
        if identity and identity != (expected or identity):
            raise TaskFailed(
                Reason.TARGET_NOT_EMPTY, f"{store.name} holds {what} {identity}, not {expected}"
            )
    if manifest and mark and mark.id != manifest.id:
        raise TaskFailed(
            Reason.TARGET_NOT_EMPTY,
            f"{store.name} holds the backup {manifest.id}, but is marked as that of {mark}",
        )
    own = frozenset({manifests.FILE} if manifest else {EARLIER} if earlier else ())
    if mark:
        return Deletable(manifest, _again(mark), own, entries)
    identity = manifest.id if manifest else earlier.id if earlier else ""
    if identity:
        return Deletable(manifest, _first(task, identity), own, entries)
    if entries:
        raise TaskFailed(
            Reason.TARGET_NOT_EMPTY, f"{store.name} holds {entries[0].key}, which is no backup"
        )
    return Deletable(None, None, own, entries)


def _again(mark: Mark) -> Mark:
    """Return the mark of a new attempt about what a mark says."""
    return Mark(mark.owner, mark.id, state=mark.state, backup=mark.backup)


def _first(task: Task, identity: str) -> Mark:
    """Return the mark for what an earlier release wrote without one."""
    owner = Owner(task.owner.kind, task.owner.namespace, task.owner.name, identity)
    return Mark(owner, identity)
