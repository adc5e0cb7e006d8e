# SPDX-License-Identifier: Apache-2.0
"""A template that is replaced when it dies."""

import asyncio
import shutil
import socket
import tempfile
import time
from pathlib import Path

import structlog

from ansible_operator.engine.forking.template_process import (
    START_DEADLINE,
    Fork,
    Program,
    TemplateProcess,
)
from ansible_operator.errors import EngineError

_FORK_ATTEMPTS = 3
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
"""Seconds between two starts of templates that die."""
_LIVED_LONG = 60.0

_log = structlog.get_logger("engine")


class Supervisor:
    """Keeps one template alive.

    Attributes:
        folder: private folder, removed with the last template even if the runner is killed.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.folder = Path()
        self._keeper: asyncio.Task[None] | None = None
        self._current: asyncio.Future[TemplateProcess] | None = None
        self._error = ""

    async def start(self) -> None:
        """Start the first template.

        Raises:
            EngineError: it cannot start.
        """
        self.folder = Path(tempfile.mkdtemp(prefix="ansible-operator-engine-"))
        try:
            template = await self._new()
        except BaseException:
            await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
            raise
        self._keeper = asyncio.create_task(self._keep(template), name="template keeper")

    async def template(self) -> TemplateProcess:
        """The template, waiting for the next one when one has just died.

        Raises:
            EngineError: there is none within the deadline.
        """
        if self._keeper is None or self._current is None:
            raise EngineError("the engine was not started")
        try:
            async with asyncio.timeout(START_DEADLINE):
                while True:
                    template = await asyncio.shield(self._current)
                    if not template.exited.done():
                        return template
                    await asyncio.sleep(0)
        except TimeoutError:
            raise EngineError(f"{self._program.name} has exited: {self._error}") from None

    async def fork(self, connection: socket.socket) -> Fork:
        """Fork a run; a template that dies meanwhile is waited for (it has not got the job yet).

        Raises:
            EngineError: no template forks.
        """
        for attempt in range(1, _FORK_ATTEMPTS + 1):
            template = await self.template()
            try:
                return await template.fork(connection)
            except EngineError:
                # A broken pipe is seen before the end of the process is.
                await asyncio.wait([template.exited], timeout=1)
                if attempt == _FORK_ATTEMPTS or not template.exited.done():
                    raise
        raise EngineError(f"{self._program.name} does not fork")

    async def stop(self) -> None:
        """End the template, its forks and its folder."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
            self._keeper = None
        if self._current is not None and self._current.done():
            await self._current.result().stop()
        self._current = None
        if self.folder != Path():
            await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    async def _new(self) -> TemplateProcess:
        template = TemplateProcess(self.folder, self._program)
        await template.start()
        if self._current is None or self._current.done():
            self._current = asyncio.get_running_loop().create_future()
        self._current.set_result(template)
        return template

    async def _keep(self, template: TemplateProcess) -> None:
        pause = _FIRST_PAUSE
        while True:
            since = time.monotonic()
            await asyncio.shield(template.exited)
            self._current = asyncio.get_running_loop().create_future()
            if time.monotonic() - since > _LIVED_LONG:
                pause = _FIRST_PAUSE
            name = self._program.name[:1].upper() + self._program.name[1:]
            _log.warning(f"{name} died, starting another", pause_seconds=pause)
            while True:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                try:
                    template = await self._new()
                    break
                except EngineError as error:
                    self._error = str(error)
                    _log.error(f"{name} cannot be started", error=self._error)
