# SPDX-License-Identifier: Apache-2.0
"""Mark a path in a bucket as that of a database, before the database writes there.

The claims of one Kubernetes cluster keep its databases apart. The mark keeps those of two clusters
apart, and those that reach one server by two names. A path that is kept and used again keeps the
uid of its mark; whose it is then, the name in the latest attempt says.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Final

from ...api.owners import Owner
from ...clients.objectstore.interface import ObjectStore
from ...ownership import marks
from ...ownership.errors import Contested, Foreign
from ...ownership.taking import Hold
from ..task.tasks import Task
from . import attempts
from .progress import Progress

_COPIED: Final = marks.first_key(marks.RESTORE)


def claim(task: Task, store: ObjectStore, progress: Progress) -> None:
    """Mark a path, or take over the mark of who had it before.

    Args:
        task: with the owner, and its predecessor where there is one.
        store: of the path.
        progress: notes if the store does not know conditional writes.

    Raises:
        Foreign: the path is somebody else's, or something around or below it is.
        Contested: another attempt takes it at the same moment.
        StoreError: the store does not tell.
    """
    store.require()
    with held(task, store, progress, copied(store)) as hold:
        attempts.note_conditions(hold, progress)


@contextlib.contextmanager
def held(
    task: Task, store: ObjectStore, progress: Progress, own: Collection[str]
) -> Iterator[Hold]:
    """Have the path of a database for as long as the block.

    Args:
        task: with the owner.
        store: of the path.
        progress: of the task.
        own: keys in the root that are known to be the owner's.

    Raises:
        Foreign, Contested, StoreError: as `claim`.
    """
    number, mark = require_own(task, store), attempts.mark_of(task)
    with attempts.attempt(store, mark, progress, own=own, is_empty=False) as hold:
        if hold.number != number + 1:
            hold.withdraw()
            raise Contested(f"another attempt has taken {store.name}")
        yield hold


def require_own(task: Task, store: ObjectStore) -> int:
    """Return the number of the latest attempt in a path that is the task's owner's, or nobody's.

    Raises:
        Foreign: somebody else has it, or has taken it over.
        StoreError: the store does not tell.
    """
    number, latest = marks.latest(store, marks.OWNER)
    if latest is None:
        return number
    if latest.id != task.id or not _is_one_of(latest.owner, task.owner, task.predecessor):
        raise Foreign(f"{store.name} is taken by {latest}")
    return number


def _is_one_of(owner: Owner, own: Owner, predecessor: Owner | None) -> bool:
    """Return whether a path is an owner's by name, or its predecessor's, or anybody's."""
    allowed = {(one.namespace, one.name) for one in (own, predecessor) if one}
    is_anybody = predecessor is not None and not predecessor.name
    return is_anybody or (owner.namespace, owner.name) in allowed


def copied(store: ObjectStore) -> frozenset[str]:
    """Return the mark of a copy that has become the database's data.

    Raises:
        Foreign: a backup is being copied there.
    """
    copy = marks.read(store, _COPIED)
    if copy is None:
        return frozenset()
    if copy.state != marks.DONE:
        raise Foreign(f"{store.name} is where the restore {copy} has not ended")
    return frozenset({_COPIED})
