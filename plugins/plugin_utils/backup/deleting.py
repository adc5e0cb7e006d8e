# SPDX-License-Identifier: Apache-2.0
"""Delete a backup with everything that is in its folder."""

from __future__ import annotations

from ...module_utils.backup import manifest as manifests
from ...module_utils.backup.locations import Location, S3Location
from ...module_utils.backup.manifest import Manifest
from ...module_utils.backup.tasks import Amount, Reason, Step, Task
from ...module_utils.clients.objectstore.errors import StoreAbsent
from ...module_utils.clients.objectstore.interface import Entry, ObjectStore
from . import markers
from .errors import TaskFailed
from .markers import Marker, State
from .opened import record
from .progress import Progress


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
