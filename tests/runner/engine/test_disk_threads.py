# SPDX-License-Identifier: Apache-2.0
"""Threads for the disk: as many as calls at the same time, reused, and a bounded end."""

import asyncio
import threading
import time

import pytest

from ansible_operator.engine.disk_threads import DiskThreads


async def test_calls_do_not_wait_for_each_other_and_threads_are_reused() -> None:
    threads, gate = DiskThreads(4), threading.Event()
    slow = [asyncio.create_task(threads.run(lambda: gate.wait(10))) for _ in range(3)]
    await asyncio.sleep(0.05)
    names = {await threads.run(lambda: threading.current_thread().name) for _ in range(20)}
    assert names == {"disk-3"}
    gate.set()
    assert await asyncio.gather(*slow) == [True] * 3
    await asyncio.gather(*(threads.run(lambda: time.sleep(0.01)) for _ in range(40)))
    assert len(threads._threads) == 4
    threads.close(1)
    with pytest.raises(RuntimeError):
        await threads.run(lambda: None)


async def test_what_a_call_raises_arrives() -> None:
    threads = DiskThreads()

    def fail() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        await threads.run(fail)
    threads.close(1)


async def test_the_end_is_bounded() -> None:
    threads, gate = DiskThreads(), threading.Event()
    task = asyncio.create_task(threads.run(lambda: gate.wait(30)))
    await asyncio.sleep(0.05)
    began = time.monotonic()
    await asyncio.to_thread(threads.close, 0.2)
    assert time.monotonic() - began < 2
    gate.set()
    assert await task


async def test_there_are_never_more_threads_than_calls_at_the_same_time() -> None:
    """Calls that follow each other closely meet threads that are just about to be idle."""
    threads = DiskThreads()

    async def caller() -> None:
        for _ in range(500):
            await threads.run(lambda: None)

    await asyncio.gather(*(caller() for _ in range(3)))
    assert len(threads._threads) <= 3
    threads.close(1)
