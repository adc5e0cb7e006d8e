# SPDX-License-Identifier: Apache-2.0
"""How far a task is, when it must end, and work on many files at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from threading import Event, Lock
from typing import Final, TypeVar

from ..task.tasks import Amount, Reason, Step
from .errors import TaskFailed

_WAITING_FACTOR: Final = 4
"""Files in work and waiting, for each worker; a longer queue only takes memory."""
_CHECK_SECONDS: Final = 0.5
Item = TypeVar("Item")


class Progress:
    """Counts files and bytes of the step, and ends the task when it must end.

    Args:
        report: is called with the step and both amounts from time to time; it may ignore them.
        deadline: of ``time.monotonic()``.
    """

    def __init__(self, report: Callable[[Step, Amount, Amount], None], deadline: float) -> None:
        self._report = report
        self._deadline = deadline
        self._lock = Lock()
        self._interrupted = Event()
        self._step = Step.CHECK_TARGET
        self._files = self._bytes = 0
        self._total = Amount()
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> str:
        """What the task has to say beside its end; empty if nothing."""
        return "; ".join(self._notes)

    def note(self, text: str) -> None:
        """Add something that people should know, however the task ends."""
        self._notes[text] = None

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; zero afterwards."""
        return max(0.0, self._deadline - time.monotonic())

    def interrupt(self) -> None:
        """Let the task end soon; may be called in a signal handler."""
        self._interrupted.set()

    def begin(self, step: Step, total: Amount | None = None) -> None:
        """Begin a step.

        Raises:
            TaskFailed: the task must end.
        """
        with self._lock:
            self._step, self._files, self._bytes = step, 0, 0
            self._total = total or Amount()
        self.publish()

    def advance(self, count: int) -> None:
        """Count bytes.

        Raises:
            TaskFailed: the task must end.
        """
        with self._lock:
            self._bytes += count
        self.check()

    def finish(self, files: int = 1) -> None:
        """Count files."""
        with self._lock:
            self._files += files

    def check(self) -> None:
        """Return unless the task must end.

        Raises:
            TaskFailed: it was interrupted, or its time is over.
        """
        if self._interrupted.is_set():
            raise TaskFailed(Reason.INTERRUPTED, "the Pod was told to end")
        if time.monotonic() > self._deadline:
            raise TaskFailed(Reason.DEADLINE_EXCEEDED, "the task did not end before its deadline")

    def publish(self) -> None:
        """Report how far the step is.

        Raises:
            TaskFailed: the task must end.
        """
        self.check()
        with self._lock:
            step, done, total = self._step, Amount(self._files, self._bytes), self._total
        self._report(step, done, total)

    def sleep(self, seconds: float) -> None:
        """Wait, but no longer than the task may run.

        Raises:
            TaskFailed: the task must end.
        """
        self._interrupted.wait(min(seconds, self.seconds_left))
        self.check()


def for_each(
    items: Iterable[Item], work: Callable[[Item], None], workers: int, progress: Progress
) -> None:
    """Do the same work on many items, some at a time, and stop at the first failure.

    Args:
        items: taken as they are needed.
        work: is called in a thread; it calls ``progress.advance``, which ends it.
        workers: threads.
        progress: is published from here.

    Raises:
        Exception: what the first failed work raised.
        TaskFailed: the task must end.
    """
    left = iter(items)
    with _threads(workers) as pool:
        running: set[Future[None]] = set()
        while True:
            missing = workers * _WAITING_FACTOR - len(running)
            running |= {pool.submit(work, item) for item in islice(left, missing)}
            if not running:
                return
            done, running = wait(running, _CHECK_SECONDS, FIRST_COMPLETED)
            for one in done:
                one.result()
                progress.finish()
            progress.publish()


@contextmanager
def _threads(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Make a pool that forgets what waits when the block fails."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="file")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
