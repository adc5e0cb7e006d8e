# SPDX-License-Identifier: Apache-2.0
"""Processes for plays, checks and admission functions: forks of a template, ahead and reused."""

import asyncio
import contextlib
import socket
from dataclasses import dataclass
from functools import partial

import structlog

from ansible_operator.engine.forking import frames
from ansible_operator.engine.forking.processes import bury, end_tree
from ansible_operator.engine.forking.supervisor import Supervisor
from ansible_operator.engine.forking.template_process import Fork
from ansible_operator.errors import EngineError

IDLE_SECONDS = 10.0
"""How long a process that was used waits for its next use."""
CLOSE_SECONDS = 1.0
"""How long idle processes get to exit before the template ends them."""
_END_SECONDS = 8.0
"""How long the pool waits at its end for processes that it kills."""
_DRAIN_SECONDS = 0.5
"""How long what a process has sent before its end may take to be read."""
_EXIT_SECONDS = 0.5
"""How long the pool waits to learn how a process ended."""

_log = structlog.get_logger("engine")


class ProcessDiedError(EngineError):
    """Processes ended instead of answering; the message says how the last one ended."""


@dataclass(eq=False, slots=True)
class Worker:
    """One process and the socket over which it is used.

    Attributes:
        uses: how often it has been used.
        has_waited: whether it was idle before this use, and so may have died unnoticed.
    """

    fork: Fork
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    uses: int = 0
    has_waited: bool = False

    @property
    def is_alive(self) -> bool:
        """Whether it may still answer, as far as is known."""
        return not (self.fork.ended.done() or self.reader.at_eof() or self.writer.is_closing())

    async def ask(self, kind: frames.Kind, body: bytes) -> bytes | None:
        """Send one frame and return the answer; None when the process has ended."""
        try:
            self.writer.write(frames.frame(kind, body))
            await self.writer.drain()
            _, length = frames.HEADER.unpack(await self.reader.readexactly(frames.HEADER.size))
            return await self.reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def close(self) -> None:
        """Close the socket; a process that is idle exits then."""
        self.writer.close()
        if self.fork.ended.done() and self.fork.ended.result() is None:
            bury(self.fork.pid)


class Pool:
    """Hands out processes, idle ones first.

    Args:
        supervisor: of the template.
        uses: how often a process may be used; 1 for a process for each use, None for no limit.
        ready: how many processes are forked ahead, and wait however long nothing is to be done.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        *,
        uses: int | None,
        ready: int = 0,
    ) -> None:
        self._supervisor = supervisor
        self._uses = uses
        self._ready = ready
        self._idle: dict[Worker, asyncio.TimerHandle] = {}
        self._in_use = 0
        self._refilling: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._is_open = True

    async def fill(self) -> None:
        """Fork as many processes as shall stay ready.

        Raises:
            EngineError: the template does not fork.
        """
        while self._lacks():
            worker = await self._fork()
            if self._is_open and len(self._idle) < self._ready:
                self._wait(worker)
            else:
                worker.close()

    async def take(self, *, fresh: bool = False) -> Worker:
        """Return a process for one use; ``give_back``, ``drop`` or ``end`` it afterwards.

        Args:
            fresh: whether it must not have been idle before.

        Raises:
            EngineError: the template does not fork.
        """
        self._in_use += 1
        try:
            while self._idle and not fresh:
                worker, timer = self._idle.popitem()
                timer.cancel()
                if worker.is_alive:
                    return worker
                worker.close()
            return await self._fork()
        except BaseException:
            self._in_use -= 1
            raise

    async def ask(self, kind: frames.Kind, body: bytes, *, attempts: int = 1) -> bytes:
        """Ask a process one question.

        A process that was idle may have died before the question; asking it is no attempt.

        Args:
            kind: of the frame.
            body: of the frame.
            attempts: how many fresh processes may die before this gives up.

        Raises:
            EngineError: the template does not fork; ``ProcessDiedError``: they died.
        """
        worker = await self.take()
        while True:
            try:
                answer = await worker.ask(kind, body)
                if answer is not None:
                    self.give_back(worker)
                    return answer
                how = await worker.fork.how_it_ended(_EXIT_SECONDS)
            except BaseException:
                self.end(worker)
                raise
            self.end(worker)
            attempts -= not worker.has_waited
            if attempts <= 0:
                raise ProcessDiedError(how)
            worker = await self.take(fresh=True)

    def is_reusable(self, worker: Worker) -> bool:
        """Whether a process may be used once more after its current or next use."""
        return self._uses is None or worker.uses + 1 < self._uses

    def give_back(self, worker: Worker) -> None:
        """Take back a process that can be used again, as far as it is concerned."""
        if not (self._is_open and self.is_reusable(worker)):
            self.drop(worker)
            return
        worker.uses += 1
        self._wait(worker)
        self._release()

    def drop(self, worker: Worker) -> None:
        """Take back a process that is not to be used again, and that exits by itself."""
        worker.close()
        self._release()

    def end(self, worker: Worker) -> None:
        """Take back a process that may still be busy: it is killed in the background."""
        self.drop(worker)
        task = asyncio.create_task(_end(worker), name=f"end of process {worker.fork.pid}")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Dismiss all idle processes and let them exit; bounded."""
        self._is_open = False
        if self._refilling is not None:
            self._refilling.cancel()
            await asyncio.wait([self._refilling])
        idle = list(self._idle)
        for worker in idle:
            self._dismiss(worker)
        if idle:
            await asyncio.wait([worker.fork.ended for worker in idle], timeout=CLOSE_SECONDS)
        if self._ending:
            await asyncio.wait(self._ending, timeout=_END_SECONDS)

    def _release(self) -> None:
        self._in_use -= 1
        self._fork_ahead()

    def _fork_ahead(self) -> None:
        """Fork processes for later, if nothing else is to be done."""
        is_refilling = self._refilling is not None and not self._refilling.done()
        if self._lacks() and not is_refilling:
            self._refilling = asyncio.create_task(self._refill(), name="refill of the pool")

    def _lacks(self) -> bool:
        """Whether nothing is done, and processes are missing among those that are to be ready."""
        return self._is_open and not self._in_use and len(self._idle) < self._ready

    async def _refill(self) -> None:
        try:
            await self.fill()
        except EngineError as error:
            _log.info("No process is kept ready", reason=str(error))

    def _wait(self, worker: Worker) -> None:
        worker.has_waited = True
        loop = asyncio.get_running_loop()
        self._idle[worker] = loop.call_later(IDLE_SECONDS, self._retire, worker)

    def _retire(self, worker: Worker) -> None:
        """End a process that is too many, or that has grown in former uses."""
        if len(self._idle) > self._ready or worker.uses:
            self._dismiss(worker)
            self._fork_ahead()

    def _dismiss(self, worker: Worker) -> None:
        self._idle.pop(worker).cancel()
        worker.close()

    async def _fork(self) -> Worker:
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as undo:
            undo.callback(ours.close)
            with theirs:
                fork = await self._supervisor.fork(theirs)
            reader, writer = await asyncio.open_connection(sock=ours)
            undo.pop_all()
        worker = Worker(fork, reader, writer)
        fork.ended.add_done_callback(partial(_cut_off_later, worker))
        return worker


def _cut_off_later(worker: Worker, ended: asyncio.Future[int | None]) -> None:
    """End the conversation with a process that has ended.

    What it has forked holds its socket, too, so that its own end closes nothing.
    """
    if not ended.cancelled():
        asyncio.get_running_loop().call_later(_DRAIN_SECONDS, _cut_off, worker)


def _cut_off(worker: Worker) -> None:
    is_unknown = worker.fork.ended.result() is None
    if not (is_unknown and worker.fork.tree.is_root_running()):
        worker.writer.transport.abort()


async def _end(worker: Worker) -> None:
    """Kill a process with its descendants, whatever it does."""
    if not await end_tree(worker.fork.tree, grace=0):
        _log.error("A process cannot be ended", pid=worker.fork.pid)
    worker.close()
