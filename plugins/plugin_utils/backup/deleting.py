# SPDX-License-Identifier: Apache-2.0
"""Delete a backup with everything that is in its folder, or a copy of one."""

from __future__ import annotations

from typing import Final

from ...module_utils.backup import manifest as manifests
from ...module_utils.backup.manifest import Manifest
from ...module_utils.backup.tasks import Amount, Reason, Step, Task
from ...module_utils.clients.objectstore.errors import StoreAbsent
from ...module_utils.clients.objectstore.interface import Entry, ObjectStore
from ...module_utils.location.locations import Location, S3Location
from . import markers
from .errors import TaskFailed
from .markers import Marker, State
from .opened import record
from .progress import Progress

_BATCH: Final = 1000
"""Objects between two reports of progress."""


def delete(task: Task, store: ObjectStore, progress: Progress) -> Manifest | None:
    """Delete the backup in a folder, or the unfinished attempt of the same id.

    The record goes first, so that a deletion that was killed leaves no backup that looks whole; the
    marker that it leaves lets the same task go on.

    Returns:
        The record of what was deleted; None when there was none any more.

    Raises:
        TaskFailed: TargetNotEmpty: the folder holds something else.
    """
    manifest, entries = deletable(task, store, progress)
    if not manifest and not entries:
        return None
    progress.begin(Step.DELETE, Amount(len(entries), sum(one.size for one in entries)))
    if manifest:
        markers.write(store, markers.ATTEMPT, Marker(manifest.id, State.RUNNING))
        store.delete([manifests.FILE])
    for count in store.clear():
        progress.finish(count)
        progress.publish()
    return manifest


def purge(task: Task, store: ObjectStore, progress: Progress) -> None:
    """Delete a copy of a backup, with everything that a database has written there since.

    The marker of the restore goes last, so that a purge that was killed can go on.

    Raises:
        TaskFailed: TargetNotEmpty: the folder is not that of the expected restore.
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
    marker = markers.read(store, markers.RESTORE)
    if marker is None or marker.task != task.expected_id:
        held = f"the restore {marker.task}" if marker else entries[0].key
        raise TaskFailed(
            Reason.TARGET_NOT_EMPTY,
            f"{store.name} holds {held}, not the restore {task.expected_id}",
        )
    progress.begin(Step.DELETE, Amount(len(entries), sum(one.size for one in entries)))
    others = [one.key for one in entries if one.key != markers.RESTORE]
    for first in range(0, len(others), _BATCH):
        store.delete(others[first : first + _BATCH])
        progress.finish(len(others[first : first + _BATCH]))
        progress.publish()
    for count in store.clear():
        progress.finish(count)
        progress.publish()


def deletable(
    task: Task, store: ObjectStore, progress: Progress
) -> tuple[Manifest | None, list[Entry]]:
    """Return the record of what would be deleted, and the objects, without deleting anything.

    Raises:
        TaskFailed: TargetNotEmpty: the folder holds something else.
    """
    progress.begin(Step.CHECK_TARGET)
    _require_prefix(task.target)
    try:
        store.require()
    except StoreAbsent:
        return None, []
    manifest = _require_own(task, store)
    return manifest, list(store.entries())


def _require_prefix(target: Location | None) -> None:
    if isinstance(target, S3Location) and not target.prefix:
        raise TaskFailed(Reason.INVALID_TASK, "a whole bucket is never deleted")


def _require_own(task: Task, store: ObjectStore) -> Manifest | None:
    """Return the record; None for an unfinished attempt, or where nothing is left.

    Raises:
        TaskFailed: TargetNotEmpty.
    """
    manifest = record(store)
    if manifest and task.expected_id in (None, manifest.id):
        return manifest
    if manifest:
        raise TaskFailed(
            Reason.TARGET_NOT_EMPTY,
            f"{store.name} holds the backup {manifest.id}, not {task.expected_id}",
        )
    marker = markers.read(store, markers.ATTEMPT)
    foreign = next((one.key for one in store.entries()), None)
    if foreign and (marker is None or task.expected_id not in (None, marker.task)):
        raise TaskFailed(
            Reason.TARGET_NOT_EMPTY, f"{store.name} holds {foreign}, which is no backup"
        )
    return None
