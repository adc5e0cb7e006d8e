# SPDX-License-Identifier: Apache-2.0
"""The warm engine: runs are played by forks of a process that has Ansible loaded (design D10)."""

import asyncio
import contextlib
import json
import uuid
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import msgspec
import structlog

from ansible_operator import metrics
from ansible_operator.engine import outcome, rundir
from ansible_operator.engine.disk_threads import DiskThreads
from ansible_operator.engine.forking import frames
from ansible_operator.engine.forking.pool import Pool, Worker
from ansible_operator.engine.forking.processes import end_tree
from ansible_operator.engine.forking.supervisor import Supervisor
from ansible_operator.engine.forking.template_process import Program
from ansible_operator.engine.interface import (
    RUNS_PER_PROCESS,
    CheckRequest,
    EventHandler,
    JobEvent,
    RunRequest,
    RunResult,
    RunStatus,
)
from ansible_operator.engine.rundir import RunDirectory
from ansible_operator.engine.runner_package import RunnerPackageEngine
from ansible_operator.engine.warm import checks as check_questions
from ansible_operator.engine.warm.artifacts import ArtifactWriter, RunArtifacts
from ansible_operator.engine.warm.job import Job, why_not_served
from ansible_operator.errors import EngineError
from ansible_operator.watches.model import Isolation

_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL of a run."""
_MARKER = "ANSIBLE_OPERATOR_RUN"
"""Variable by which the programs of a run are found when the run's own process has exited."""
_TEMPLATE = "the warm Ansible process"
_READY = {Isolation.RUN: 1, Isolation.SHARED: 4}
"""Processes that are forked ahead, if so many runs are allowed at a time.

Those of shared runs serve run after run, so a burst of runs finds all that it needs.
"""
_CLOSE_SECONDS = 5.0
"""Longest time to write artifacts, and to remove files of runs, at the end of the process."""
_EXIT_DEADLINE = 2.0
"""Seconds in which the template reports how a process of a run ended."""

_EVENT_FIELDS = {"event": str, "uuid": str, "counter": int, "stdout": str, "event_data": dict}

_log = structlog.get_logger("engine")


class WarmEngine:
    """Forks runs from a template; what it cannot serve goes through ansible-runner."""

    answers_checks: ClassVar[bool] = True

    def __init__(
        self,
        *,
        preload: Sequence[Path] = (),
        checks: Sequence[str] = (),
        isolations: Collection[Isolation] = (Isolation.RUN,),
        max_runs: int | None = None,
        runs_per_process: int = RUNS_PER_PROCESS,
    ) -> None:
        """Load the collections that these roles use; see ``make_engine``."""
        self._slots = asyncio.Semaphore(max_runs) if max_runs else contextlib.nullcontext()
        loaded = json.dumps({"roles": [str(role) for role in preload], "checks": list(checks)})
        program = Program("ansible_operator.engine.warm.template", [loaded], _TEMPLATE)
        self._supervisor = Supervisor(program)
        most = max_runs or _READY[Isolation.SHARED]
        self._processes = {
            isolation: Pool(
                self._supervisor,
                uses=runs_per_process if isolation is Isolation.SHARED else 1,
                ready=min(_READY[isolation], most) if isolation in isolations else 0,
            )
            for isolation in Isolation
        }
        self._checking = Pool(self._supervisor, uses=runs_per_process)
        self._reference = RunnerPackageEngine()
        self._writer = ArtifactWriter()
        self._disk = DiskThreads()
        self._runs: set[asyncio.Task[RunResult]] = set()
        self._logged: set[str] = set()
        self._self_test = ""

    @property
    def fallback(self) -> str:
        """Why all runs are played through ansible-runner; see ``Engine.fallback``."""
        return self._self_test

    async def start(self) -> None:
        """Start the template; see ``Engine.start``."""
        await self._supervisor.start()
        self._self_test = (await self._supervisor.template()).warning
        metrics.WARM_ENGINE.set(not self._self_test)
        if self._self_test:
            _log.error("All runs are played through ansible-runner", reason=self._self_test)
            return
        for processes in self._processes.values():
            await processes.fill()

    async def run(self, request: RunRequest, on_event: EventHandler) -> RunResult:
        """Play to the end; see ``Engine.run``."""
        task = asyncio.create_task(self._run(request, on_event), name=f"run {request.ident}")
        self._runs.add(task)
        task.add_done_callback(self._runs.discard)
        return await task

    async def is_up_to_date(self, check: CheckRequest) -> bool:
        """Ask a check; see ``Engine.is_up_to_date``."""
        async with self._slots:
            return await check_questions.ask(self._checking, check)

    async def stop(self) -> None:
        """End all runs, the template and their children."""
        runs = list(self._runs)
        for run in runs:
            run.cancel()
        if runs:
            await asyncio.wait(runs, timeout=4 * _GRACE)
        for processes in (*self._processes.values(), self._checking):
            await processes.close()
        await self._supervisor.stop()
        await asyncio.to_thread(self._writer.close, _CLOSE_SECONDS)
        await asyncio.to_thread(self._disk.close, _CLOSE_SECONDS)

    def abandon(self) -> None:
        """Have all runs end; the template ends its forks as soon as this process has exited."""
        self._reference.abandon()

    async def _run(self, request: RunRequest, on_event: EventHandler) -> RunResult:
        async with self._slots:
            reason = self._self_test or why_not_served(request)
            if reason:
                if reason not in self._logged:
                    self._logged.add(reason)
                    _log.info("Playing through ansible-runner", reason=reason, job=request.ident)
                return await self._reference.run(request, on_event)
            directory = await self._disk.run(
                partial(rundir.prepare, request, self._supervisor.folder)
            )
            artifacts = self._writer.begin(directory, request)
            run = _Run(request, directory, artifacts)
            try:
                return await run.play(self._processes[request.isolation], on_event)
            finally:
                keep, in_use = request.artifacts_to_keep, run.leaves_behind
                tidy = partial(rundir.finish, directory, keep, in_use=in_use)
                await asyncio.shield(self._disk.run(tidy))


class _Ended(msgspec.Struct):
    """How a run ended, as its fork says."""

    rc: int
    has_stats: bool
    leaves_behind: bool
    leftovers: str


def _readable_end(ident: str, body: bytes) -> _Ended:
    try:
        return msgspec.json.decode(body, type=_Ended)
    except (ValueError, RecursionError) as error:
        raise EngineError(f"run {ident} sent an end that cannot be read: {error}") from error


def readable_event(ident: str, body: bytes) -> JobEvent:
    """The event in a frame: code of the play runs in the process that sends it.

    Raises:
        EngineError: it is none.
    """
    try:
        event = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise EngineError(f"run {ident} sent an event that cannot be read: {error}") from error
    if not isinstance(event, dict) or any(
        not isinstance(event.get(name), kind) for name, kind in _EVENT_FIELDS.items()
    ):
        raise EngineError(f"run {ident} sent what is no event")
    return event


class _Run:
    """One fork of the template."""

    def __init__(
        self, request: RunRequest, directory: RunDirectory, artifacts: RunArtifacts
    ) -> None:
        self._request = request
        self._directory = directory
        self._artifacts = artifacts
        self._mark = uuid.uuid4().hex
        self._result: _Ended | None = None

    @property
    def leaves_behind(self) -> bool:
        """Whether a task of a run that came to its end may go on."""
        return self._result is not None and self._result.leaves_behind

    async def play(self, processes: Pool, on_event: EventHandler) -> RunResult:
        worker = await processes.take()
        is_reused = False
        try:
            is_shared = processes.is_reusable(worker)
            result = await self._follow(worker, on_event, is_shared=is_shared)
            is_reused = is_shared and self._is_reusable()
        finally:
            if is_reused:
                processes.give_back(worker)
            else:
                processes.drop(worker)
        if result is None:
            # The process ended while it was idle, so nothing of this job was played.
            return await self.play(processes, on_event)
        return result

    def _is_reusable(self) -> bool:
        leftovers = "it crashed" if self._result is None else self._result.leftovers
        if leftovers:
            _log.debug("A process ends with its run", job=self._request.ident, reason=leftovers)
        return not leftovers

    async def _follow(
        self, worker: Worker, on_event: EventHandler, *, is_shared: bool
    ) -> RunResult | None:
        """Have a process play; None when one that was idle has died before it began."""
        try:
            async with asyncio.timeout(self._request.timeout):
                body = self._job(is_shared=is_shared).encoded()
                worker.writer.write(frames.frame(frames.Kind.JOB, body))
                began = await self._read(worker.reader, on_event)
        except TimeoutError:
            await self._end(worker)
            return await self._interrupted(RunStatus.TIMEOUT)
        except asyncio.CancelledError:
            await asyncio.shield(self._end(worker))
            await asyncio.shield(self._interrupted(RunStatus.CANCELED))
            raise
        except BaseException:
            await self._end(worker)
            raise
        if worker.has_waited and not began:
            return None
        return await self._ended(worker)

    def _job(self, *, is_shared: bool) -> Job:
        return Job(
            ident=self._request.ident,
            root=str(self._directory.root),
            playbook=str(self._directory.playbook),
            is_generated=self._directory.generated,
            environment=self._environment() | {_MARKER: self._mark},
            verbosity=self._request.verbosity,
            command_line=self._request.command_line,
            data=self._request.extra_vars.data,
            templates=self._request.extra_vars.templates,
            has_own_hosts=not (self._request.inventory or self._request.command_line),
            is_shared=is_shared,
        )

    def _environment(self) -> dict[str, str]:
        return rundir.run_environment(self._request, self._directory.temporary)

    async def _read(self, reader: asyncio.StreamReader, on_event: EventHandler) -> bool:
        """Take events until the result, or the end of the process; whether there was anything."""
        began = False
        while True:
            try:
                header = await reader.readexactly(frames.HEADER.size)
                kind, length = frames.HEADER.unpack(header)
                if length > frames.LARGEST_FRAME:
                    raise EngineError(f"run {self._request.ident} sent {length} bytes at once")
                body = await reader.readexactly(length)
            except (asyncio.IncompleteReadError, ConnectionError):
                return began
            began = True
            if kind == frames.Kind.RESULT.value:
                self._result = _readable_end(self._request.ident, body)
                return began
            event = readable_event(self._request.ident, body)
            self._artifacts.event(event, body)
            on_event(event)

    async def _ended(self, worker: Worker) -> RunResult:
        write, stdout = self._artifacts.then, self._artifacts.stdout
        if self._result is not None:
            rc, has_stats = self._result.rc, self._result.has_stats
            return await write(outcome.ended, self._directory, rc, stdout, has_stats=has_stats)
        how = await worker.fork.how_it_ended(_EXIT_DEADLINE)
        worker.fork.tree.adopt(_MARKER, self._mark)
        await self._end(worker)
        message = f"the process of the run {how}"
        return await write(outcome.crashed, self._directory, stdout, message)

    async def _end(self, worker: Worker) -> None:
        if not await end_tree(worker.fork.tree, grace=_GRACE):
            pid = worker.fork.pid
            _log.error("Processes of a run cannot be ended", job=self._request.ident, pid=pid)

    async def _interrupted(self, status: RunStatus) -> RunResult:
        message = ""
        if status is RunStatus.TIMEOUT:
            message = f"the run was ended after its timeout of {self._request.timeout:g} s"
        stdout = self._artifacts.stdout
        return await self._artifacts.then(
            outcome.interrupted, self._directory, status, stdout, message
        )
