# SPDX-License-Identifier: Apache-2.0
"""Writing the artifacts of runs in ansible-runner's layout, off the event loop."""

import contextlib
import json
import os
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import structlog

from ansible_operator.engine import rundir
from ansible_operator.engine.disk_threads import settling
from ansible_operator.engine.interface import JobEvent, RunRequest
from ansible_operator.engine.private_files import write_and_close, write_private
from ansible_operator.engine.rundir import RunDirectory

Result = TypeVar("Result")
_log = structlog.get_logger("engine")


class ArtifactWriter:
    """One thread that writes for all runs, in the order in which it was asked.

    A queue and nothing else wakes it: a run has dozens of small files, and handing each to an
    executor costs more than writing it.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._is_closed = False
        self._thread = Thread(target=self._write, name="artifacts", daemon=True)
        self._thread.start()

    def begin(self, directory: RunDirectory, request: RunRequest) -> "RunArtifacts":
        """Start writing the artifacts of a run."""
        artifacts = RunArtifacts(self, directory)
        command = ["ansible-playbook", *request.command_line.split(), str(directory.playbook)]
        content = {
            "command": command,
            "cwd": str(directory.project),
            "env": rundir.run_environment(request, directory.temporary),
        }
        artifacts.submit(_begin, "", json.dumps(content))
        return artifacts

    def submit(self, write: Callable[[], object]) -> None:
        """Have something written after everything that was asked for before."""
        self._queue.put(write)

    def _write(self) -> None:
        for write in iter(self._queue.get, None):
            try:
                write()
            except Exception as error:  # noqa: BLE001 (one bad file must not stop all others)
                _log.error("An artifact cannot be written", error=str(error))

    async def then(self, call: Callable[[], Result]) -> Result:
        """Call a function in the thread, after everything that was asked for before.

        Raises:
            RuntimeError: the writer is closed.
            Exception: what the function raises.
        """
        if self._is_closed:
            raise RuntimeError("the writer of artifacts is closed")
        settled, answer = settling(call)
        self._queue.put(settled)
        return await answer

    def close(self, seconds: float) -> None:
        """Write what is waiting and end the thread; wait no longer than that."""
        self._is_closed = True
        self._queue.put(None)
        self._thread.join(seconds)
        if self._thread.is_alive():
            _log.error("The artifacts of the last runs are not complete", waited=seconds)


class RunArtifacts:
    """The artifacts of one run."""

    def __init__(self, writer: ArtifactWriter, directory: RunDirectory) -> None:
        self._writer = writer
        self._folder = str(directory.artifacts)
        self._stdout: list[str] = []
        self._unwritten: deque[str] = deque()

    @property
    def stdout(self) -> str:
        """The output so far."""
        return "".join(self._stdout)

    def submit(self, function: Any, name: str, *arguments: Any) -> None:
        """Have ``function(path of the artifact, ...)`` called by the thread."""
        self._writer.submit(partial(function, f"{self._folder}/{name}", *arguments))

    def event(self, event: JobEvent, raw: bytes) -> None:
        """Write an event and its part of the output."""
        text = event["stdout"]
        if text:
            self._stdout.append(f"{text}\n")
            self._unwritten.append(f"{text}\n")
            if len(self._unwritten) == 1:
                self.submit(_append_all, "stdout", self._unwritten)
        self.submit(_write_event, f"job_events/{event['counter']}-{event['uuid']}.json", raw)

    async def then(
        self, function: Callable[..., Result], *arguments: Any, **options: Any
    ) -> Result:
        """Call a function in the thread, after everything that was asked for before.

        Raises:
            Exception: what the function raises.
        """
        return await self._writer.then(partial(function, *arguments, **options))


def _begin(folder: str, command: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(f"{folder}job_events", 0o700)
    _append(f"{folder}stdout", b"")
    write_private(f"{folder}command", command)


def _append_all(path: str, texts: deque[str]) -> None:
    """Append what has come until now, in one piece.

    Text that comes meanwhile is taken along, or finds the queue empty and asks for another write.
    """
    taken = []
    while texts:
        taken.append(texts.popleft())
    _append(path, "".join(taken).encode("utf-8", "replace"))


def _append(path: str, data: bytes) -> None:
    write_and_close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), data)


def _write_event(path: str, raw: bytes) -> None:
    temporary = f"{path}.tmp"
    _append(temporary, raw)
    os.rename(temporary, path)
