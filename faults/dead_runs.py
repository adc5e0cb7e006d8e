# SPDX-License-Identifier: Apache-2.0
"""The process of a run is killed while what it has forked lives on, and holds its socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import time
from typing import cast

from ansible_operator.engine.forking import frames
from ansible_operator.engine.forking.pool import Pool
from ansible_operator.engine.forking.processes import ProcessTree
from ansible_operator.engine.forking.supervisor import Supervisor
from ansible_operator.engine.forking.template_process import Fork
from faults.points import Fault

_LATEST_SECONDS = 10.0
"""Within so many seconds the end of a run is noticed; usually within one."""
_WORKER_SECONDS = 60


class _Forks:
    """Stands for the template: each fork has a worker of its own, and plays nothing.

    Attributes:
        pids: of all processes.
    """

    def __init__(self) -> None:
        self.pids: list[int] = []

    async def fork(self, connection: socket.socket) -> Fork:
        """Fork a process that forks a worker; both hold the connection."""
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            _live_with_a_worker(write)
        os.close(write)
        self.pids += [pid, int.from_bytes(os.read(read, 4), "big")]
        os.close(read)
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[int | None] = loop.create_future()
        handle = os.pidfd_open(pid)

        def reap() -> None:
            loop.remove_reader(handle)
            os.close(handle)
            ended.set_result(-os.WTERMSIG(os.waitpid(pid, 0)[1]))

        loop.add_reader(handle, reap)
        del connection
        return Fork(pid, ProcessTree(pid), ended)


def _live_with_a_worker(write: int) -> None:
    worker = os.fork()
    if worker:
        os.write(write, worker.to_bytes(4, "big"))
    time.sleep(_WORKER_SECONDS)
    os._exit(0)


def run(rng: random.Random) -> None:
    """Kill the process of a run in the middle of its job.

    Raises:
        Fault: nobody notices.
    """
    forks = _Forks()
    try:
        asyncio.run(_killed(forks, rng.random() * 0.1))
    finally:
        for pid in forks.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


async def _killed(forks: _Forks, delay: float) -> None:
    pool = Pool(cast("Supervisor", forks), uses=1)
    worker = await pool.take()
    asyncio.get_running_loop().call_later(delay, os.kill, worker.fork.pid, signal.SIGKILL)
    try:
        async with asyncio.timeout(_LATEST_SECONDS):
            answer = await worker.ask(frames.Kind.JOB, b"{}")
    except TimeoutError:
        raise Fault(f"a killed run is not noticed within {_LATEST_SECONDS:g} s") from None
    finally:
        pool.drop(worker)
    if answer is not None:
        raise Fault(f"a killed run has answered {answer!r}")
