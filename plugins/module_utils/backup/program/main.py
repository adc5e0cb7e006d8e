# SPDX-License-Identifier: Apache-2.0
"""The program of the Pod that carries out one task.

It has no arguments. ``MATRIXONE_BACKUP_FOLDER`` names another folder with the task and the Secrets
than ``/etc/matrixone-backup``. The exit code is 0 when the task is done, 1 when another attempt may
succeed, 2 when it cannot.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final, NoReturn

from ...clients.objectstore.errors import StoreAbsent
from ...clients.objectstore.interface import ObjectStore
from ...location.locations import SOURCE, TARGET, Location
from ...ownership.errors import OwnershipError
from ..errors import InvalidTask
from ..manifest import Manifest
from ..task import tasks
from ..task.tasks import Phase, Reason, Result, Task, Verb
from . import reporting
from .backing_up import Making, back_up
from .claiming import claim
from .deleting import delete, purge
from .errors import TaskFailed, as_failure
from .progress import Progress
from .proving import prove
from .reclaiming import reclaim
from .reporting import Reporter
from .restoring import restore
from .stores import Mounts
from .verifying import verify

FOLDER_VARIABLE: Final = "MATRIXONE_BACKUP_FOLDER"
_WITHOUT_A_RECORD: Final[Mapping[Verb, Callable[[Task, ObjectStore, Progress], None]]] = {
    Verb.PURGE: purge,
    Verb.CLAIM: claim,
}
"""What is about no backup, by verb."""
_GRACE_SECONDS: Final = 20.0
"""For what runs when the task is interrupted; Kubernetes kills the Pod after 30 s."""
_MARGIN_SECONDS: Final = 15
"""Before the Job's own deadline, so that the end can still be reported."""


def main(environment: Mapping[str, str]) -> int:
    """Carry out the task of this Pod and return the exit code."""
    folder = Path(environment.get(FOLDER_VARIABLE, tasks.FOLDER))
    try:
        task = tasks.task_from_json((folder / "task" / tasks.TASK_KEY).read_text(encoding="utf-8"))
    except (InvalidTask, OSError, UnicodeDecodeError) as error:
        reporting.log(f"{Reason.INVALID_TASK}: {error}")
        return tasks.PERMANENT
    send = reporting.to_config_map(task.report, environment) if task.report else reporting.to_output
    return run(task, folder, Reporter(send))


def run(task: Task, folder: Path, reporter: Reporter) -> int:
    """Carry out a task and report its end.

    Args:
        task: what to do.
        folder: with the Secrets.
        reporter: gets progress and end.

    Returns:
        The exit code.
    """
    seconds = max(task.deadline_seconds - _MARGIN_SECONDS, task.deadline_seconds / 2)
    progress = Progress(reporter.running, time.monotonic() + seconds)
    ended = _end_when_told(progress, reporter, seconds)
    result = outcome(task, Mounts(folder, task.parallelism), progress)
    ended.set()
    arrived = reporter.end(result)
    if result.phase == Phase.FAILED:
        reporting.log(f"{result.reason}: {result.message}")
    return exit_code(result) if arrived else max(exit_code(result), tasks.TRY_AGAIN)


def outcome(task: Task, mounts: Mounts, progress: Progress) -> Result:
    """Carry out a task and return how it ended, whatever happens."""
    try:
        if task.verb == Verb.READ:
            return prove(task, mounts, progress)
        manifest = carry_out(task, mounts, progress)
        return Result(Phase.SUCCEEDED, message=progress.notes, manifest=manifest)
    except Exception as error:  # noqa: BLE001
        failed = _failed(error)
        said = "; ".join(filter(None, (failed.message, progress.notes)))
        return replace(failed, message=said)


def exit_code(result: Result) -> int:
    """Return the exit code that a result of a task that ended has."""
    if result.phase == Phase.SUCCEEDED:
        return tasks.DONE
    return tasks.TRY_AGAIN if result.retryable else tasks.PERMANENT


def carry_out(task: Task, mounts: Mounts, progress: Progress) -> Manifest | None:
    """Carry out a task.

    Returns:
        The record of the backup that it is about.

    Raises:
        TaskFailed, StoreError: it failed.
    """

    def source(location: Location) -> ObjectStore:
        return mounts.open(location, SOURCE)

    def target(location: Location) -> ObjectStore:
        return mounts.open(location, TARGET)

    store = target(task.target) if task.target else None
    if task.verb == Verb.VERIFY and task.source:
        return verify(
            task.source, task.expected_id, source, task.parallelism, progress,
            contents=task.checksums,
        )  # fmt: skip
    if task.verb == Verb.RESTORE and store:
        return restore(task, source, store, progress)
    if task.verb == Verb.DELETE and store:
        return delete(task, store, progress)
    if task.verb == Verb.RECLAIM and task.target:
        reclaim(task, target, progress)
        return None
    if task.verb in _WITHOUT_A_RECORD and store:
        _WITHOUT_A_RECORD[task.verb](task, store, progress)
        return None
    if task.verb == Verb.BACKUP and store:
        return back_up(Making(task, mounts, store, target, progress))
    raise TaskFailed(Reason.INVALID_TASK, "the task lacks a location")


def _failed(error: Exception) -> Result:
    failure = as_failure(error)
    if failure is not error and not isinstance(error, (StoreAbsent, InvalidTask, OwnershipError)):
        traceback.print_exception(error, limit=-8, file=sys.stderr)
    return Result(
        Phase.FAILED,
        reason=failure.reason,
        message=str(failure),
        retryable=failure.retryable,
    )


def _end_when_told(progress: Progress, reporter: Reporter, seconds: float) -> Event:
    """Interrupt the task on SIGTERM, and end the process if the task does not end by itself.

    Returns:
        What is set when the task has ended.
    """
    ended, told = Event(), Event()

    def interrupt(_number: int, _frame: Any) -> None:
        progress.interrupt()
        told.set()

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)

    def watch() -> None:
        in_time = not told.wait(seconds)
        if not ended.wait(_GRACE_SECONDS / (1 if told.is_set() else 2)):
            reason = Reason.DEADLINE_EXCEEDED if in_time else Reason.INTERRUPTED
            reporter.end(
                Result(Phase.FAILED, reason=reason, message="a request did not end in time",
                       retryable=reason in tasks.RETRYABLE)
            )  # fmt: skip
            leave(tasks.PERMANENT if in_time else tasks.TRY_AGAIN)

    Thread(target=watch, name="watch", daemon=True).start()
    return ended


def leave(code: int) -> NoReturn:
    """End the process without waiting for threads that are in a request."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
