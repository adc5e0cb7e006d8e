# SPDX-License-Identifier: Apache-2.0
"""The workers seen from the runner: a few, reused, replaced when they die or take too long."""

import asyncio
import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import msgspec
import structlog

from ansible_operator.engine.admission.interface import AdmissionError, Answer, Call, Function
from ansible_operator.engine.forking import frames as wire
from ansible_operator.engine.forking.processes import bury, end_tree
from ansible_operator.engine.forking.supervisor import Fork, Program, Supervisor
from ansible_operator.errors import EngineError

_ATTEMPTS = 2
"""A worker that dies may have been killed by others: the question is asked once more."""
_EXIT_DEADLINE = 0.5
"""Seconds in which it is known how a worker ended."""
_END_DEADLINE = 8.0
_NAME = "the process of the admission functions"
_log = structlog.get_logger("admission")


class _WorkerDiedError(Exception):
    """A worker's socket has ended."""


@dataclass(frozen=True, slots=True)
class _Worker:
    """One fork and the way to it."""

    fork: Fork
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def is_alive(self) -> bool:
        return not (self.fork.ended.done() or self.reader.at_eof() or self.writer.is_closing())

    async def ask(self, question: bytes) -> dict[str, Any]:
        """One question, one answer."""
        try:
            self.writer.write(wire.frame(wire.Kind.JOB, question))
            await self.writer.drain()
            _, length = wire.HEADER.unpack(await self.reader.readexactly(wire.HEADER.size))
            said: dict[str, Any] = msgspec.json.decode(await self.reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise _WorkerDiedError from error
        return said


class FunctionPool:
    """Calls the functions of all watches.

    Args:
        functions: all that may be called.
        size: workers, that is calls at the same time; further ones wait.
    """

    def __init__(self, functions: Iterable[Function], *, size: int) -> None:
        arguments = [_argument(function) for function in functions]
        program = Program("ansible_operator.engine.admission.process", arguments, _NAME)
        self._supervisor = Supervisor(program)
        self._size = size
        self._slots = asyncio.Semaphore(size)
        self._idle: list[_Worker] = []
        self._ending: set[asyncio.Task[None]] = set()
        self._is_running = False

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Load the functions and make the workers.

        Raises:
            EngineError: a function cannot be found or loaded.
        """
        await self._supervisor.start()
        self._is_running = True
        self._idle += await asyncio.gather(*(self._new() for _ in range(self._size)))

    async def stop(self) -> None:
        """End all processes; bounded."""
        self._is_running = False
        for worker in self._idle:
            worker.writer.close()
        self._idle.clear()
        if self._ending:
            await asyncio.wait(self._ending, timeout=_END_DEADLINE)
        await self._supervisor.stop()

    async def call(self, call: Call, deadline: float) -> Answer:
        """Ask the functions.

        Args:
            call: the question.
            deadline: seconds in which there must be an answer.

        Raises:
            AdmissionError: there is none that can be used.
        """
        names = ", ".join(function.name for function in call.functions)
        question = msgspec.json.encode(
            {
                "phase": call.phase,
                "functions": [function.key for function in call.functions],
                "object": call.object,
                "request": call.request,
            }
        )
        try:
            async with asyncio.timeout(deadline), self._slots:
                said = await self._ask(question, names)
        except TimeoutError:
            text = f"admission functions {names} did not answer in {deadline:.1f} s"
            raise AdmissionError(text, "timeout") from None
        except EngineError as error:
            raise AdmissionError(str(error), "unavailable") from error
        if "failed" in said:
            raise AdmissionError(said["failed"], "exception")
        return Answer(said["object"], tuple(said["errors"]), tuple(said["warnings"]))

    async def _ask(self, question: bytes, names: str) -> dict[str, Any]:
        how = ""
        for _ in range(_ATTEMPTS):
            worker = await self._take()
            try:
                said = await worker.ask(question)
            except _WorkerDiedError:
                how = await worker.fork.how_it_ended(_EXIT_DEADLINE)
                self._drop(worker)
            except BaseException:
                # It is busy with a question whose answer nobody waits for.
                self._drop(worker)
                raise
            else:
                self._idle.append(worker)
                return said
        raise AdmissionError(f"the process of admission functions {names} {how}", "died")

    async def _take(self) -> _Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            self._drop(worker)
        return await self._new()

    async def _new(self) -> _Worker:
        if not self._is_running:
            raise EngineError(f"{_NAME} is not running")
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                fork = await self._supervisor.fork(theirs)
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()
            raise
        return _Worker(fork, reader, writer)

    def _drop(self, worker: _Worker) -> None:
        """End a worker beside what else happens."""
        worker.writer.close()
        ending = asyncio.create_task(_end(worker.fork), name=f"end of worker {worker.fork.pid}")
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)


async def _end(fork: Fork) -> None:
    if not await end_tree(fork.tree, grace=0):
        _log.error("A process of admission functions cannot be ended", pid=fork.pid)
    if fork.ended.done() and fork.ended.result() is None:
        bury(fork.pid)


def _argument(function: Function) -> str:
    """How a function is named on the command line of its process."""
    qualified = f"{function.collection}.{function.name}"
    is_short = bool(function.collection) and "." not in function.name
    names = [qualified, function.name] if is_short else [function.name]
    folder = str(function.folder)
    return json.dumps({"key": function.key, "names": names, "folder": folder})
