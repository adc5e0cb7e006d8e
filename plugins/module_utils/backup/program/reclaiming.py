# SPDX-License-Identifier: Apache-2.0
"""Delete the data of a database whose path in a bucket is no longer in use."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from ...clients.objectstore.errors import StoreAbsent, StoreError
from ...clients.objectstore.interface import ObjectStore
from ...location.locations import Location, S3Location
from ...ownership import deletion, marks, neighbours
from ...ownership.errors import OwnershipError
from ...workload.storage import FOLDERS
from ..task.tasks import Amount, Step, Task
from .claiming import copied, held, require_own
from .errors import TaskFailed
from .progress import Progress
from .statements import target_of

_CHECKED: Final = 10_000
"""Objects between two checks of the deadline while they are counted."""
Counted = tuple[ObjectStore, frozenset[str]]
"""A store, and the keys in its root that are the database's."""


def reclaim(task: Task, open_store: Callable[[Location], ObjectStore], progress: Progress) -> None:
    """Delete everything below a path, with versions and unfinished uploads.

    Of a whole bucket, only the folders of a database are deleted: nobody says that the rest is its.
    An attempt that was killed is simply made again.

    Args:
        task: with the path of the database.
        open_store: opens the store of a location.
        progress: counts objects and bytes.

    Raises:
        OwnershipError: a backup is there, which may be the only one, or a restore is under way, or
            something is marked as somebody else's.
    """
    progress.begin(Step.CHECK_TARGET)
    target = target_of(task)
    root = open_store(target)
    try:
        root.require()
    except StoreAbsent:
        return
    is_claimed = require_own(task, root) > 0
    places = _places(target)
    if places == [target]:
        _empty(task, [root], progress, is_claimed=is_claimed)
        return
    folders = [open_store(place) for place in places]
    if not is_claimed:
        _empty(task, folders, progress)
        return
    with held(task, root, progress, copied(root)) as hold:
        _empty(task, folders, progress)
        deletion.release(hold, progress.sleep, others=(marks.RESTORE,))


def _empty(
    task: Task, stores: Sequence[ObjectStore], progress: Progress, *, is_claimed: bool = False
) -> None:
    owned = [(store, copied(store)) for store in stores]
    progress.begin(Step.DELETE, _counted(owned, progress))
    for store, own in owned:
        if any(store.erasable()):  # also unfinished uploads, and versions that no listing has
            _delete(task, store, own, progress, is_claimed=is_claimed)


def _places(target: Location) -> list[Location]:
    if isinstance(target, S3Location) and not target.prefix:
        return [target.below(folder) for folder in FOLDERS]
    return [target]


def _counted(owned: list[Counted], progress: Progress) -> Amount:
    """Count what is going to be deleted, without keeping a list of it.

    Raises:
        Foreign: something below is somebody else's.
    """
    files = size = 0
    for store, own in owned:
        neighbours.require_none_below(store, own | {marks.first_key(marks.OWNER)})
        for entry in store.entries():
            files, size = files + 1, size + entry.size
            if files % _CHECKED == 0:
                progress.check()
    return Amount(files, size)


def _delete(
    task: Task,
    store: ObjectStore,
    own: frozenset[str],
    progress: Progress,
    *,
    is_claimed: bool,
) -> None:
    def advance(count: int) -> None:
        progress.finish(count)
        progress.publish()

    with held(task, store, progress, own) as hold:
        try:
            deletion.clear(hold, lambda _key: True, advance, progress.sleep)
        except BaseException:
            # Where there was no mark, the path may get another user, as when the claim is
            # released. What is left proves to be this claim's without a mark, too.
            with contextlib.suppress(OwnershipError, StoreError, TaskFailed):
                if not is_claimed:
                    deletion.release(hold, progress.sleep)
            raise
        deletion.release(hold, progress.sleep, others=(marks.RESTORE,))
