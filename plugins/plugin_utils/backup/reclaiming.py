# SPDX-License-Identifier: Apache-2.0
"""Delete the data of a database whose path in a bucket is no longer in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...module_utils.backup import manifest as manifests
from ...module_utils.backup.tasks import Amount, Reason, Step
from ...module_utils.clients.objectstore.errors import StoreAbsent
from ...module_utils.clients.objectstore.interface import ObjectStore
from ...module_utils.location.locations import Location, S3Location
from ...module_utils.workload.storage import FOLDERS
from .errors import TaskFailed
from .progress import Progress

_CHECKED: Final = 10_000
"""Objects between two checks of the deadline while they are counted."""


def reclaim(
    target: Location, open_store: Callable[[Location], ObjectStore], progress: Progress
) -> None:
    """Delete everything below a path, with versions and unfinished uploads.

    Of a whole bucket, only the folders of a database are deleted: nobody says that the rest is its.
    An attempt that was killed is simply made again.

    Args:
        target: the path of the database.
        open_store: opens the store of a location.
        progress: counts objects and bytes.

    Raises:
        TaskFailed: TargetNotEmpty: a backup is there, which may be the only one.
    """
    progress.begin(Step.CHECK_TARGET)
    stores = [open_store(place) for place in _places(target)]
    try:
        for store in stores:
            store.require()
    except StoreAbsent:
        return
    progress.begin(Step.DELETE, _counted(stores, progress))
    for store in stores:
        for count in store.clear():
            progress.finish(count)
            progress.publish()


def _places(target: Location) -> list[Location]:
    if isinstance(target, S3Location) and not target.prefix:
        return [target.below(folder) for folder in FOLDERS]
    return [target]


def _counted(stores: list[ObjectStore], progress: Progress) -> Amount:
    """Count what is going to be deleted, without keeping a list of it.

    Raises:
        TaskFailed: TargetNotEmpty.
    """
    files = size = 0
    for store in stores:
        for one in store.entries():
            if one.key.rsplit("/", 1)[-1] == manifests.FILE:
                raise TaskFailed(
                    Reason.TARGET_NOT_EMPTY,
                    f"{store.name} holds a backup ({one.key}); delete it or move it first",
                )
            files, size = files + 1, size + one.size
            if files % _CHECKED == 0:
                progress.check()
    return Amount(files, size)
