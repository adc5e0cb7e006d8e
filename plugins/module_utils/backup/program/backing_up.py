# SPDX-License-Identifier: Apache-2.0
"""Make a backup: MatrixOne's own statement writes it, and it counts when it is proven whole."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Final, TypedDict

from ...api import timestamps
from ...clients.objectstore import interface
from ...clients.objectstore.errors import Absent, StoreError
from ...clients.objectstore.interface import ObjectStore
from ...location.locations import S3Location, overlap
from ...ownership import deletion, marks, taking
from ...ownership.errors import Foreign, OwnershipError
from ...ownership.taking import SETTLED, Hold
from .. import manifest as manifests
from ..manifest import Base, Manifest
from ..task import tasks
from ..task.tasks import Reason, Step, Task
from . import attempts, listings
from .contents import Contents
from .errors import TaskFailed, as_failure
from .layout import EARLIER, is_of_backup
from .opened import Opened, Opener, holdings, listed, open_chain, record
from .progress import Progress
from .statements import entrance_of, run, statement, target_of, version
from .stores import Mounts
from .verifying import compare, missing_sums, require_meta

_RECORDS: Final = 3
"""Attempts to write the record where that of an earlier attempt is in its place."""
_CLEANINGS: Final = 10
_CLEANING_PAUSE: Final = 2.0
"""An earlier attempt's statement may go on writing for a while after its session was lost."""


@dataclass(frozen=True, slots=True)
class Making:
    """What is needed to make a backup.

    Attributes:
        task: what to do.
        mounts: the Secrets.
        store: of the target.
        opener: opens other locations of the same server.
        progress: of the task.
    """

    task: Task
    mounts: Mounts
    store: ObjectStore
    opener: Opener
    progress: Progress


def back_up(making: Making) -> Manifest:
    """Make a backup and prove it whole.

    An attempt that was killed is removed and repeated; one that had written its record is done.

    Returns:
        Its record.

    Raises:
        TaskFailed: why there is no backup.
    """
    base, finished = _begin(making)
    if finished:
        return finished
    task, store, progress = making.task, making.store, making.progress
    entrance = entrance_of(task, making.mounts)
    database = version(entrance)
    free = _what_may_be_there(task, store)
    with attempts.attempt(store, attempts.mark_of(task), progress, **free) as hold:
        # Whoever finds a record after it has taken over finds one that nobody will delete.
        finished = _finished(making)
        if finished:
            return finished
        attempts.note_conditions(hold, progress)
        try:
            _remove_earlier_attempts(hold, progress)
            started = timestamps.timestamp_now()
            progress.begin(Step.BACKUP)
            text = statement(task, making.mounts, base, store.region())
            run(entrance, text, store, progress, hold.require)
            return _prove(making, hold, base, started, database)
        except Exception as error:
            _remove_failed(task, hold, as_failure(error), progress)
            raise


def _remove_failed(task: Task, hold: Hold, failure: TaskFailed, progress: Progress) -> None:
    """Delete what the last attempt has written before it failed; what cannot be deleted stays.

    Its mark stays, too, where the statement of the database may go on writing.
    """
    is_last = not failure.retryable or hold.number >= task.attempts > 0
    if not is_last or failure.reason in (Reason.INTERRUPTED, Reason.DEADLINE_EXCEEDED):
        return
    with contextlib.suppress(OwnershipError, StoreError, TaskFailed):
        deletion.clear(
            _with_record(hold), is_of_backup, lambda _count: progress.check(), progress.sleep
        )
        if failure.reason is not Reason.STATEMENT_FAILED:
            deletion.release(hold, progress.sleep)
            progress.note(tasks.REMOVED)


def made(making: Making) -> Manifest | None:
    """Tell whether a backup is there, without writing anything.

    Returns:
        Its record; None where it can be made.

    Raises:
        TaskFailed: why it cannot be made.
    """
    base, finished = _begin(making)
    if finished is None:
        statement(making.task, making.mounts, base)
        version(entrance_of(making.task, making.mounts))
        attempts.require_ended(making.store)
        free = _what_may_be_there(making.task, making.store)
        taking.require_free(making.store, attempts.mark_of(making.task), **free)
    return finished


def _begin(making: Making) -> tuple[list[Opened], Manifest | None]:
    """Return what the backup continues, and its record if it was made before.

    Raises:
        TaskFailed: the target or the base cannot be used.
    """
    making.progress.begin(Step.CHECK_TARGET)
    _require_other_place(making.task)
    making.store.require()
    base = _open_base(making)
    return base, _finished(making)


def _finished(making: Making) -> Manifest | None:
    manifest = record(making.store)
    return manifest if manifest and manifest.id == making.task.id else None


def _require_other_place(task: Task) -> None:
    target = target_of(task)
    if isinstance(target, S3Location) and not target.prefix:
        raise TaskFailed(Reason.INVALID_TASK, "a backup needs a prefix in its bucket")
    for place in task.forbidden:
        if overlap(target, place):
            raise TaskFailed(
                Reason.TARGET_IS_SOURCE,
                f"{target.address} and the cluster's own storage {place.address} are one inside "
                "the other",
            )


def _open_base(making: Making) -> list[Opened]:
    """Read the backups that this one continues; none for a full one.

    Raises:
        TaskFailed: BaseMissing or ChainBroken.
    """
    base = making.task.base
    if base is None:
        return []
    if overlap(base.location, target_of(making.task)):
        raise TaskFailed(
            Reason.TARGET_IS_SOURCE, f"the base {base.location.address} is no other place"
        )
    try:
        return open_chain(base.location, base.id, making.opener)
    except TaskFailed as error:
        if error.reason not in (Reason.OBJECT_MISSING, Reason.OBJECT_CORRUPT):
            raise
        raise TaskFailed(Reason.BASE_MISSING, f"the base {base.id}: {error}") from error


class _Free(TypedDict):
    """What may be in a target that is about to be taken, see `taking.take`."""

    own: frozenset[str]
    is_empty: bool


def _what_may_be_there(task: Task, store: ObjectStore) -> _Free:
    """Return what an attempt by an earlier release has left; it wrote no owner's mark."""
    earlier = marks.read(store, EARLIER)
    is_own = earlier is not None and earlier.id in (task.id, task.owner.uid)
    if not is_own or record(store):
        return _Free(own=frozenset(), is_empty=True)
    return _Free(own=frozenset({EARLIER}), is_empty=False)


def _remove_earlier_attempts(hold: Hold, progress: Progress) -> None:
    """Delete what earlier attempts of this task have written.

    Raises:
        Foreign: something in the target is no part of a backup.
        TaskFailed: an earlier attempt goes on writing.
    """
    if hold.number > 2:  # the first attempt has deleted nothing
        progress.sleep(SETTLED)
    with_record = _with_record(hold)
    for _cleaning in range(_CLEANINGS):
        if all(marks.is_mark(entry.key) for entry in hold.store.entries()):
            return
        if hold.store.size(manifests.FILE) is not None:  # the record goes before what it is about
            deletion.discard(with_record, [manifests.FILE], progress.sleep)
        kept = deletion.clear(
            with_record, is_of_backup, lambda _count: progress.check(), progress.sleep
        )
        if kept:
            raise Foreign(f"{hold.store.name} is not empty: it holds {kept[0]}")
        progress.sleep(_CLEANING_PAUSE)
    raise TaskFailed(
        Reason.TARGET_NOT_EMPTY,
        f"something goes on writing to {hold.store.name}, probably an earlier attempt",
        retryable=True,
    )


def _prove(making: Making, hold: Hold, base: list[Opened], started: str, version: str) -> Manifest:
    """Compare what was written with its lists, and write the record.

    Raises:
        TaskFailed: it is not whole; another attempt may be.
    """
    task, store, progress = making.task, making.store, making.progress
    progress.begin(Step.VERIFY)
    try:
        found = listed(store)
        require_meta(found)
        manifest = _manifest(task, found.sizes, base, started, version, _timestamp(store))
        chain = [Opened(target_of(task), manifest, found), *base]
        needed = [holding for _key, holding in holdings(chain)]
        own = [one for one in needed if one.contents is found.contents]
        compare(own, task.parallelism, progress)
    except TaskFailed as error:
        again = error.reason in (Reason.OBJECT_MISSING, Reason.OBJECT_CORRUPT)
        raise TaskFailed(error.reason, str(error), retryable=again or error.retryable) from error
    progress.begin(Step.RECORD)
    sums = listings.sums_text(missing_sums(found, progress))
    hold.require()
    store.write(listings.OWN_SUMS, [sums], len(sums))
    store.flush()
    manifest = replace(manifest, completed_at=timestamps.timestamp_now())
    _write_record(hold, manifests.to_json(manifest).encode(), progress)
    store.flush()
    with contextlib.suppress(StoreError):  # it is a backup, whatever else is beside the record
        if EARLIER in hold.own:
            deletion.discard(hold, [EARLIER], progress.sleep)
    return manifest


def _write_record(hold: Hold, text: bytes, progress: Progress) -> None:
    """Write the record while the target is this attempt's.

    One of an earlier attempt that came after this one took over is about files that are gone.

    Raises:
        Superseded: another attempt has taken over; it finds the record, or deletes it.
    """
    store = hold.store
    for _attempt in range(_RECORDS):
        hold.require()
        if not hold.conditional:
            store.write(manifests.FILE, [text], len(text))
        elif not store.create(manifests.FILE, text) and _record_text(store) != text:
            deletion.discard(_with_record(hold), [manifests.FILE], progress.sleep)
            continue
        hold.require()
        return
    raise TaskFailed(
        Reason.TARGET_NOT_EMPTY, f"another attempt writes to {store.name}", retryable=True
    )


def _with_record(hold: Hold) -> Hold:
    return replace(hold, own=hold.own | {manifests.FILE})


def _record_text(store: ObjectStore) -> bytes | None:
    try:
        return interface.read_small(store, manifests.FILE, manifests.LARGEST)
    except (Absent, ValueError):
        return None


def _timestamp(store: ObjectStore) -> str:
    try:
        return listings.summary(Contents(store).small(listings.SUMMARY)).timestamp
    except listings.MalformedList as error:
        raise TaskFailed(Reason.OBJECT_CORRUPT, f"{store.name}: {error}") from error


def _manifest(
    task: Task, sizes: dict[str, int], base: list[Opened], started: str, version: str, ts: str
) -> Manifest:
    own = {key: size for key, size in sizes.items() if key != EARLIER and not marks.is_mark(key)}
    return Manifest(
        id=task.id,
        type=task.type,
        timestamp=ts,
        base=Base(base[0].location.address, base[0].manifest.id) if base else None,
        source=task.origin,
        started_at=started,
        completed_at=started,
        size=sum(own.values()),
        files=len(own),
        matrixone_version=version,
    )
