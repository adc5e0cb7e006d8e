# SPDX-License-Identifier: Apache-2.0
"""One template process seen from the runner: started, asked to fork, ended."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from ansible_operator.engine.forking.frames import LARGEST_PACKET, packet
from ansible_operator.engine.forking.processes import ProcessTree, end_tree
from ansible_operator.errors import EngineError

START_DEADLINE = 120.0
"""Seconds in which a template must be ready."""
_FORK_DEADLINE = 10.0
_STOP_GRACE = 4.0

_log = structlog.get_logger("engine")


@dataclass(frozen=True, slots=True)
class Fork:
    """A fork's process.

    Attributes:
        pid: its process id.
        tree: it and its descendants.
        ended: its exit code (negative: a signal), or None when it is unknown.
    """

    pid: int
    tree: ProcessTree
    ended: asyncio.Future[int | None]

    async def how_it_ended(self, seconds: float) -> str:
        """How the process ended, in words, if that is known within so many seconds."""
        code = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                code = await asyncio.shield(self.ended)
        if code is None:
            return "ended without a trace"
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"exited with {code}"


@dataclass(frozen=True, slots=True)
class Program:
    """What a template process is.

    Attributes:
        module: started with ``python -m``, with the number of its control socket, its folder and
            ``arguments``; it reports over the socket when it can fork.
        arguments: the rest of its command line.
        name: for people, with its article.
    """

    module: str
    arguments: Sequence[str]
    name: str


class TemplateProcess:
    """One template process.

    Attributes:
        warning: what did not work when it started, though it can fork; ``""`` when all did.
    """

    def __init__(self, folder: Path, program: Program) -> None:
        self._folder = folder
        self._program = program
        self._next = 0
        self._starting: dict[int, asyncio.Future[Fork]] = {}
        self._forks: dict[int, Fork] = {}
        self.warning = ""
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()
        self.exited: asyncio.Future[None] = loop.create_future()

    async def start(self) -> None:
        """Start the process and wait until it can fork.

        Raises:
            EngineError: Ansible cannot be loaded, or it took too long.
        """
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        try:
            self._process = await self._spawn(theirs)
        finally:
            theirs.close()
        self._tree = ProcessTree(self._process.pid)
        asyncio.get_running_loop().add_reader(self._control, self._receive)
        try:
            async with asyncio.timeout(START_DEADLINE):
                await self._ready
        except TimeoutError:
            await self.stop()
            message = f"{self._program.name} was not ready in {START_DEADLINE:g} s"
            raise EngineError(message) from None
        except BaseException:
            await self.stop()
            raise

    async def _spawn(self, theirs: socket.socket) -> asyncio.subprocess.Process:
        environment = {
            "ANSIBLE_HOST_KEY_CHECKING": "False",
            **os.environ,
            "ANSIBLE_RETRY_FILES_ENABLED": "False",
            "ANSIBLE_LOCAL_TEMP": str(self._folder),
        }
        with self._output.open("ab") as output:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", self._program.module),
                *(str(theirs.fileno()), str(self._folder), *self._program.arguments),
                env=environment,
                cwd=self._folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    async def fork(self, connection: socket.socket) -> Fork:
        """Fork a run that reads its job from the connection's other end.

        Raises:
            EngineError: the template has exited.
        """
        loop = asyncio.get_running_loop()
        self._next += 1
        number = self._next
        started = self._starting[number] = loop.create_future()
        try:
            socket.send_fds(self._control, [packet({"run": number})], [connection.fileno()])
            async with asyncio.timeout(_FORK_DEADLINE):
                return await started
        except (OSError, TimeoutError) as error:
            raise EngineError(f"{self._program.name} does not fork: {error}") from error
        finally:
            self._starting.pop(number, None)

    async def stop(self) -> None:
        """End the process and all its forks."""
        asyncio.get_running_loop().remove_reader(self._control)
        self._control.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_GRACE):
                await self._process.wait()
        await end_tree(self._tree, grace=0)
        await self._process.wait()
        self._lost()

    @property
    def _output(self) -> Path:
        return self._folder / "template.log"

    def _receive(self) -> None:
        while True:
            try:
                data = self._control.recv(LARGEST_PACKET)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                asyncio.get_running_loop().remove_reader(self._control)
                self._lost()
                return
            self._handle(json.loads(data))

    def _handle(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            if message["warning"]:
                self.warning = message["warning"]
                _log.warning("Ansible's warm-up failed", error=self.warning)
            self._ready.set_result(None)
        elif "failed" in message:
            text = f"{self._program.name} cannot start: {message['failed']}"
            self._ready.set_exception(EngineError(text))
        elif "started" in message:
            number, pid = message["started"], message["pid"]
            ended = asyncio.get_running_loop().create_future()
            fork = self._forks[number] = Fork(pid, ProcessTree(pid), ended)
            started = self._starting.get(number)
            if started is not None and not started.done():
                started.set_result(fork)
        elif "refused" in message:
            started = self._starting.get(message["refused"])
            if started is not None and not started.done():
                reason = f"{self._program.name} cannot fork: {message['reason']}"
                started.set_exception(EngineError(reason))
        elif ended_fork := self._forks.pop(message["ended"], None):
            ended_fork.ended.set_result(message["code"])

    def _lost(self) -> None:
        """Fail all that waits for the process: it has exited."""
        if not self._ready.done():
            output = self._output.read_text(errors="replace")[-2000:].strip()
            text = f"{self._program.name} ended while it started: {output}"
            self._ready.set_exception(EngineError(text))
        for started in self._starting.values():
            if not started.done():
                started.set_exception(EngineError(f"{self._program.name} died"))
        for fork in self._forks.values():
            fork.ended.set_result(None)
        self._forks.clear()
        if not self.exited.done():
            self.exited.set_result(None)
