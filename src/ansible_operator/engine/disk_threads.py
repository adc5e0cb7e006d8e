# SPDX-License-Identifier: Apache-2.0
"""Threads for what may take long on a disk: a run that leaves many files holds up no other one.

They are daemons, and none of the event loop's own: that ones resolve names as well, and the end of
a process waits for them.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

MOST_THREADS = 64
"""Calls at the same time; further ones wait."""

Result = TypeVar("Result")


class DiskThreads:
    """Calls functions in threads, of which there are as many as calls at the same time."""

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._most = most
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._lock = Lock()
        self._under_way = 0
        self._threads: list[Thread] = []
        self._is_closed = False

    async def run(self, call: Callable[[], Result]) -> Result:
        """Call a function in a thread and return its result; cancelling does not stop the call.

        Raises:
            RuntimeError: the threads have been closed.
            Exception: what the function raises.
        """
        if self._is_closed:
            raise RuntimeError("the threads for the disk are closed")

        def counted() -> Result:
            # It counts until its result is known: whoever waits may then begin the next one.
            try:
                return call()
            finally:
                with self._lock:
                    self._under_way -= 1

        settled, answer = settling(counted)
        with self._lock:
            self._under_way += 1
            is_missing = len(self._threads) < min(self._under_way, self._most)
        self._calls.put(settled)
        if is_missing:
            thread = Thread(target=self._work, name=f"disk-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        return await answer

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()

    def close(self, seconds: float) -> None:
        """Accept no more calls, and wait for those under way, but not for longer than that."""
        self._is_closed = True
        deadline = time.monotonic() + seconds
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))


_OF_OBJECTS = DiskThreads(8)
"""For what is done about objects beside their runs."""


async def in_disk_thread(call: Callable[[], Result]) -> Result:
    """Call a function that may take long on a disk.

    Raises:
        Exception: what the function raises.
    """
    return await _OF_OBJECTS.run(call)


def settling(call: Callable[[], Result]) -> tuple[Callable[[], None], asyncio.Future[Result]]:
    """A call for another thread, and what becomes of it in this event loop."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Result] = loop.create_future()

    def settle() -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 (whoever waits gets it)
            _tell(loop, answer.set_exception, error, answer)
        else:
            _tell(loop, answer.set_result, result, answer)

    return settle, answer


def _tell(
    loop: asyncio.AbstractEventLoop,
    settle: Callable[[Any], None],
    value: Any,
    answer: asyncio.Future[Any],
) -> None:
    with contextlib.suppress(RuntimeError):  # the loop may have ended: nobody waits any more
        loop.call_soon_threadsafe(_settle, settle, value, answer)


def _settle(settle: Callable[[Any], None], value: Any, answer: asyncio.Future[Any]) -> None:
    if not answer.done():  # whoever waited may have been cancelled
        settle(value)
