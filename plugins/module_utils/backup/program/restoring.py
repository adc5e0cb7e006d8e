# SPDX-License-Identifier: Apache-2.0
"""Copy a backup to where a new cluster has its shared storage.

====================  ====================  ======================
in the backup         a bucket's prefix     a folder
====================  ====================  ======================
``tae/*``             ``<prefix>/data/*``   ``<folder>/*``
``hakeeper/hk_data``  ``<prefix>/hk_data``  ``<folder>/hk_data``
====================  ====================  ======================

A log store reads ``hk_data`` by its file service ``BACKUP`` when it bootstraps. The places are
those of the rendered file services (``workload/storage.py``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from ...clients.objectstore import errors as store_errors
from ...clients.objectstore.folder import FolderStore
from ...clients.objectstore.interface import ObjectStore
from ...clients.objectstore.s3 import S3Store
from ...location.locations import Location, are_on_one_server, overlap
from ...ownership import deletion, marks, taking
from ...ownership.marks import Mark
from ...ownership.taking import Hold
from ...upgrade.paths import problem_of_restore
from ..manifest import Manifest
from ..task.tasks import Amount, Reason, Step, Task
from . import attempts, blocks, listings
from .errors import TaskFailed
from .opened import Holding, Opened, Opener, holdings, open_chain, still_there
from .progress import Progress, for_each
from .verifying import require_meta, require_sum

HAKEEPER: Final = "hk_data"
_MARK: Final = marks.first_key(marks.RESTORE)


@dataclass(frozen=True, slots=True)
class Move:
    """A file, and the key that it gets in the target."""

    holding: Holding
    to: str


def restore(task: Task, source: Opener, target: ObjectStore, progress: Progress) -> Manifest:
    """Copy a backup, with what it continues, into an empty storage.

    The same task goes on where it was killed. When it was done once, it does nothing: by then a
    cluster may run there.

    Returns:
        The record of the backup.

    Raises:
        TaskFailed: TargetNotEmpty, TargetIsSource, what is wrong with the backup, or what a store
            says.
    """
    chain = _open_source(task, source, progress)
    manifest = chain[0].manifest
    target.require()
    if _is_done(marks.read(target, _MARK), target, task, manifest.id):
        return manifest
    mark = attempts.mark_of(task, state=marks.RUNNING, backup=manifest.id)
    with attempts.attempt(target, mark, progress, base=marks.RESTORE) as hold:
        attempts.note_conditions(hold, progress)
        # An earlier attempt may have ended in between; by now a database may run there.
        if _is_done(marks.read(target, _MARK), target, task, manifest.id):
            return manifest
        with still_there(chain):
            for one in chain:
                require_meta(one.listed)
            _Copying(task, chain, hold, progress).run()
        target.flush()
        hold.require()
        done = marks.to_json(replace(hold.mark, state=marks.DONE))
        target.write(_MARK, [done], len(done))
        target.flush()
    return manifest


def restored(
    task: Task, source: Opener, target: ObjectStore, progress: Progress
) -> tuple[str, bool]:
    """Return the id of a backup and whether it was copied before, without writing anything.

    What was copied by the same task counts even if the backup has been deleted since.

    Raises:
        TaskFailed: why it cannot be copied.
    """
    target.require()
    mark = marks.read(target, _MARK)
    same = mark and mark.id == task.id and task.expected_id in (None, mark.backup)
    if mark and same and mark.state == marks.DONE:
        return mark.backup, True
    backup = _open_source(task, source, progress)[0].manifest.id
    attempts.require_ended(target, marks.RESTORE)
    if not _is_done(mark, target, task, backup):
        new = attempts.mark_of(task, state=marks.RUNNING, backup=backup)
        taking.require_free(target, new, base=marks.RESTORE)
        return backup, False
    return backup, True


def _open_source(task: Task, source: Opener, progress: Progress) -> list[Opened]:
    """Read the backup, with what it continues.

    Raises:
        TaskFailed: TargetIsSource, VersionNotSuitable, or what is wrong with the backup.
    """
    origin, destination = _require(task.source), _require(task.target)
    progress.begin(Step.CHECK_TARGET)
    chain = open_chain(origin, task.expected_id, source)
    for one in chain:
        if overlap(one.location, destination):
            raise TaskFailed(
                Reason.TARGET_IS_SOURCE,
                f"{destination.address} and the backup {one.location.address} are one inside the "
                "other",
            )
    if problem := problem_of_restore(chain[0].manifest.matrixone_version, task.runs):
        raise TaskFailed(Reason.VERSION_NOT_SUITABLE, problem)
    return chain


def _is_done(mark: Mark | None, target: ObjectStore, task: Task, backup: str) -> bool:
    """Tell whether a task has copied everything before.

    Raises:
        TaskFailed: TargetNotEmpty: the target is taken by another task.
    """
    if mark is None:
        return False
    if (mark.id, mark.backup) != (task.id, backup):
        raise TaskFailed(
            Reason.TARGET_NOT_EMPTY,
            f"{target.name} is taken by the restore {mark.id} of {mark.backup}",
        )
    return mark.state == marks.DONE


class _Copying:
    """Copies the files of a chain."""

    def __init__(self, task: Task, chain: list[Opened], hold: Hold, progress: Progress) -> None:
        self._task = task
        self._chain = chain
        self._hold = hold
        self._target = hold.store
        self._progress = progress
        self._in_blocks = isinstance(hold.store, FolderStore)
        self._by_server = all(
            are_on_one_server(one.location, _require(task.target)) for one in chain
        )

    def run(self) -> None:
        moves = list(self._moves())
        there = {entry.key: entry.size for entry in self._target.entries()}
        total = Amount(len(moves), sum(move.holding.size for move in moves))
        self._progress.begin(Step.COPY, total)
        workers = self._task.parallelism
        ordered = sorted(moves, key=lambda move: -move.holding.size)
        for_each(ordered, lambda move: self._bring(move, there), workers, self._progress)
        self._require_all(moves)

    def _moves(self) -> Iterator[Move]:
        folder = "" if self._in_blocks else "data/"
        for path, holding in holdings(self._chain):
            yield Move(holding, f"{folder}{path}")
        newest = self._chain[0].listed
        sums = newest.contents.small(listings.HAKEEPER + listings.CHECKSUM_SUFFIX).hex()
        size = newest.sizes[listings.HAKEEPER]
        yield Move(Holding(newest.contents, listings.HAKEEPER, size, sums), HAKEEPER)

    def _require_all(self, moves: list[Move]) -> None:
        """Compare the target with what must be there now, by size."""
        there = {entry.key: entry.size for entry in self._target.entries()}
        for move in moves:
            if there.get(move.to) != self._stored_size(move):
                # This says nothing of the backup.
                raise TaskFailed(
                    Reason.INTERRUPTED,
                    f"{move.to} in {self._target.name} vanished or changed after it was written",
                )

    def _stored_size(self, move: Move) -> int:
        size = move.holding.size
        return blocks.stored_size(size) if self._in_blocks else size

    def _bring(self, move: Move, there: dict[str, int]) -> None:
        if there.get(move.to) == self._stored_size(move) and self._is_copied(move):
            return
        if not (self._by_server and self._copied_by_server(move)):
            self._stream(move)

    def _is_copied(self, move: Move) -> bool:
        """Tell whether an earlier attempt wrote the file whole; it is read again to be sure."""
        if move.holding.sha256 is None:
            return False
        key, total = move.to, hashlib.sha256()
        try:
            for piece in self._target.read(key):
                self._progress.check()
                total.update(blocks.decode(piece) if self._in_blocks else piece)
        except (blocks.CorruptBlock, store_errors.Absent):
            return False
        if total.hexdigest() != move.holding.sha256:
            return False
        self._progress.advance(move.holding.size)
        return True

    def _copied_by_server(self, move: Move) -> bool:
        """Let one server copy; False when it does not, or not for these credentials.

        The source is read to be compared: what is damaged must not become a database.
        """
        source = move.holding.contents.store
        if not (isinstance(source, S3Store) and isinstance(self._target, S3Store)):
            return False
        if self._task.checksums:
            contents = move.holding.contents
            require_sum(move.holding, contents.sha256(move.holding.key, self._progress.advance))
        try:
            self._target.copy(source, move.holding.key, move.to, move.holding.size)
        except (store_errors.Forbidden, store_errors.Unsupported):
            self._by_server = False
            return False
        if not self._task.checksums:
            self._progress.advance(move.holding.size)
        return True

    def _stream(self, move: Move) -> None:
        """Read, compare and write a file; what does not have its checksum is deleted again."""
        holding, total = move.holding, hashlib.sha256()
        pieces = self._converted(holding, total.update)
        self._target.write(move.to, pieces, self._stored_size(move))
        try:
            require_sum(holding, total.hexdigest())
        except TaskFailed:
            deletion.discard(self._hold, [move.to], self._progress.sleep)
            raise

    def _converted(self, holding: Holding, seen: Callable[[bytes], None]) -> Iterator[bytes]:
        """Yield a file as the target stores it, and show its content."""
        contents = holding.contents
        pieces = contents.stored_pieces(holding.key, self._progress.advance)
        if self._in_blocks and contents.in_blocks:
            yield from (stored for stored, _content in _shown(pieces, seen))
            return
        content = (content for _stored, content in _shown(pieces, seen))
        yield from blocks.encode(content) if self._in_blocks else content


def _shown(
    pieces: Iterator[tuple[bytes, bytes]], seen: Callable[[bytes], None]
) -> Iterator[tuple[bytes, bytes]]:
    for stored, content in pieces:
        seen(content)
        yield stored, content


def _require(location: Location | None) -> Location:
    if location is None:  # tasks are checked when they are read
        raise TaskFailed(Reason.INVALID_TASK, "the task lacks a location")
    return location
