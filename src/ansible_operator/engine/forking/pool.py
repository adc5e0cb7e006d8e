# SPDX-License-Identifier: Apache-2.0
"""The processes that play: forks of the template, kept to serve one run more."""

import asyncio
import contextlib
import socket
from dataclasses import dataclass

import structlog

from ansible_operator.engine.forking import frames as wire
from ansible_operator.engine.forking.processes import bury, end_tree
from ansible_operator.engine.forking.supervisor import Fork, Supervisor
from ansible_operator.errors import EngineError

IDLE_SECONDS = 10.0
"""How long a process waits for another run, unless it is one of those that stay."""
REHEARSAL_SECONDS = 20.0
"""Longest time that a process may take until it is ready for a first run."""
CLOSE_SECONDS = 1.0
"""How long processes get to end before the template ends them."""

_log = structlog.get_logger("engine")


@dataclass(eq=False, slots=True)
class Worker:
    """One process and the socket on which it gets jobs.

    Attributes:
        runs: that it has served.
        has_waited: whether it may have ended before it got its job.
    """

    fork: Fork
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    runs: int = 0
    has_waited: bool = False

    @property
    def is_alive(self) -> bool:
        """Whether it may still answer, as far as is known."""
        return not self.fork.ended.done() and not self.reader.at_eof()

    async def ask(self, kind: wire.Kind, body: bytes) -> bytes | None:
        """Send one frame and return what it is answered with; None when the process has ended."""
        try:
            self.writer.write(wire.frame(kind, body))
            _, length = wire.HEADER.unpack(await self.reader.readexactly(wire.HEADER.size))
            return await self.reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def end(self) -> None:
        """End the process, whatever it does."""
        await end_tree(self.fork.tree, grace=0)
        self.close()

    def close(self) -> None:
        """Send no more jobs; a process that waits for one ends."""
        self.writer.close()
        if self.fork.ended.done() and self.fork.ended.result() is None:
            bury(self.fork.pid)


class Workers:
    """Hands out processes, those that wait first.

    Args:
        supervisor: of the template.
        runs_each: how many runs a process may serve; 1 for a process of its own for each.
        staying: how many processes wait however long nothing is to be run: a first run in a
            process costs three times as much as a later one.
    """

    def __init__(self, supervisor: Supervisor, runs_each: int, staying: int = 0) -> None:
        self._supervisor = supervisor
        self._runs_each = runs_each
        self._staying = staying if runs_each > 1 else 0
        self._waiting: dict[Worker, asyncio.TimerHandle] = {}

    async def rehearse(self) -> None:
        """Have the processes that stay wait for their first run, their own warm-up done.

        What does not work is tried again by the first run itself, which tells of it.
        """
        for _ in range(self._staying):
            try:
                await self._rehearse_one()
            except EngineError as error:
                _log.info("No process is kept ready for a first run", reason=str(error))

    async def _rehearse_one(self) -> None:
        worker = await self._fork()
        try:
            async with asyncio.timeout(REHEARSAL_SECONDS):
                leftovers = await worker.ask(wire.Kind.REHEARSAL, b"")
        except TimeoutError:
            await worker.end()
            raise EngineError(f"its warm-up took {REHEARSAL_SECONDS:g} s") from None
        except BaseException:
            await asyncio.shield(worker.end())
            raise
        if leftovers is None or leftovers:
            worker.close()
            raise EngineError((leftovers or b"it ended in its warm-up").decode())
        self.give_back(worker)

    async def take(self) -> Worker:
        """A process for one run.

        Raises:
            EngineError: no template forks.
        """
        while self._waiting:
            worker, timer = self._waiting.popitem()
            timer.cancel()
            if worker.is_alive:
                return worker
            worker.close()
        return await self._fork()

    def keeps(self, worker: Worker) -> bool:
        """Whether a process may serve another run behind its next one."""
        return worker.runs + 1 < self._runs_each

    def give_back(self, worker: Worker) -> None:
        """Have a process wait for another run."""
        worker.has_waited = True
        loop = asyncio.get_running_loop()
        self._waiting[worker] = loop.call_later(IDLE_SECONDS, self._retire, worker)

    async def close(self) -> None:
        """Dismiss all that wait, and let them end by themselves."""
        waiting = list(self._waiting)
        for worker in waiting:
            self._dismiss(worker)
        if waiting:
            await asyncio.wait([worker.fork.ended for worker in waiting], timeout=CLOSE_SECONDS)

    def _retire(self, worker: Worker) -> None:
        if len(self._waiting) > self._staying:
            self._dismiss(worker)

    def _dismiss(self, worker: Worker) -> None:
        self._waiting.pop(worker).cancel()
        worker.close()

    async def _fork(self) -> Worker:
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as undo:
            undo.callback(ours.close)
            with theirs:
                fork = await self._supervisor.fork(theirs)
            reader, writer = await asyncio.open_connection(sock=ours)
            undo.pop_all()
        return Worker(fork, reader, writer)
