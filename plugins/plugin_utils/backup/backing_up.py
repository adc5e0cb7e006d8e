# SPDX-License-Identifier: Apache-2.0
"""Make a backup: MatrixOne's own statement writes it, and it counts when it is proven whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ...module_utils.api import timestamps
from ...module_utils.backup import manifest as manifests
from ...module_utils.backup.manifest import Base, Manifest
from ...module_utils.backup.tasks import Reason, Step, Task
from ...module_utils.clients.objectstore.interface import ObjectStore
from ...module_utils.location.locations import S3Location, overlap
from . import listings, markers
from .contents import Contents
from .errors import TaskFailed
from .markers import Marker, State
from .opened import Opened, Opener, holdings, listed, open_chain, record
from .progress import Progress
from .statements import entrance_of, run, statement, target_of, version
from .stores import Mounts
from .verifying import compare, missing_sums, require_meta

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
    entrance = entrance_of(making.task, making.mounts)
    database = version(entrance)
    _take(making)
    started = timestamps.timestamp_now()
    making.progress.begin(Step.BACKUP)
    run(entrance, statement(making.task, making.mounts, base), making.store, making.progress)
    return _prove(making, base, started, database)


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
        _require_free(making)
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
    finished = record(making.store)
    return base, finished if finished and finished.id == making.task.id else None


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


def _take(making: Making) -> None:
    """Remove an unfinished attempt of this task, and mark the folder.

    Raises:
        TaskFailed: TargetNotEmpty.
    """
    store, task = making.store, making.task
    foreign = _require_free(making)
    for _cleaning in range(_CLEANINGS):
        if foreign is None:
            break
        for _count in store.clear():
            making.progress.check()
        making.progress.sleep(_CLEANING_PAUSE)
        foreign = next((one.key for one in store.entries()), None)
    else:
        raise TaskFailed(
            Reason.TARGET_NOT_EMPTY,
            f"something goes on writing to {store.name}, probably an earlier attempt",
            retryable=True,
        )
    markers.write(store, markers.ATTEMPT, Marker(task.id, State.RUNNING))


def _require_free(making: Making) -> str | None:
    """Return a key of an unfinished attempt of this task; None where there is nothing.

    Raises:
        TaskFailed: TargetNotEmpty.
    """
    store, task = making.store, making.task
    marker = markers.read(store, markers.ATTEMPT)
    foreign = next((one.key for one in store.entries()), None)
    if foreign and (marker is None or marker.task != task.id or record(store)):
        raise TaskFailed(Reason.TARGET_NOT_EMPTY, f"{store.name} is not empty: it holds {foreign}")
    return foreign


def _prove(making: Making, base: list[Opened], started: str, version: str) -> Manifest:
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
    store.write(listings.OWN_SUMS, [sums], len(sums))
    store.flush()
    manifest = replace(manifest, completed_at=timestamps.timestamp_now())
    text = manifests.to_json(manifest).encode()
    store.write(manifests.FILE, [text], len(text))
    store.flush()
    store.delete([markers.ATTEMPT])
    return manifest


def _timestamp(store: ObjectStore) -> str:
    try:
        return listings.summary(Contents(store).small(listings.SUMMARY)).timestamp
    except listings.MalformedList as error:
        raise TaskFailed(Reason.OBJECT_CORRUPT, f"{store.name}: {error}") from error


def _manifest(
    task: Task, sizes: dict[str, int], base: list[Opened], started: str, version: str, ts: str
) -> Manifest:
    own = {key: size for key, size in sizes.items() if key != markers.ATTEMPT}
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
