# SPDX-License-Identifier: Apache-2.0
"""The reference engine: every run is a process of the ansible-runner package.

Events are read from the artifact folder, where ansible-runner puts each in one step under a name
that begins with its counter; so they are handed over in order without another channel.
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import msgspec

from ansible_operator.engine import outcome, rundir
from ansible_operator.engine.event_json import encoded
from ansible_operator.engine.forking.processes import (
    ProcessTree,
    end_tree,
    is_anyone_with,
    kill_tree,
)
from ansible_operator.engine.interface import (
    CheckRequest,
    EventHandler,
    JobEvent,
    RoleTarget,
    RunRequest,
    RunResult,
    RunStatus,
)
from ansible_operator.engine.private_files import write_private
from ansible_operator.engine.rundir import RunDirectory
from ansible_operator.errors import EngineError

_POLL = 0.05
"""Seconds between two searches for new events."""
_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL of a run."""
_GENERATED_PLAY = re.compile("[0-9a-f]{32}")
_LEADER = Path(__file__).parent / "forking" / "session_leader.py"


class RunnerPackageEngine:
    """Starts ``ansible-runner run`` for every run."""

    answers_checks: ClassVar[bool] = False
    fallback: ClassVar[str] = ""

    def __init__(self, *, max_runs: int | None = None) -> None:
        """Allow at most ``max_runs`` runs at a time; None for no limit."""
        self._slots = asyncio.Semaphore(max_runs) if max_runs else contextlib.nullcontext()
        self._runs: set[asyncio.Task[RunResult]] = set()
        self._trees: set[ProcessTree] = set()
        self._program = ""

    async def start(self) -> None:
        """Find the program.

        Raises:
            EngineError: ansible-runner is not installed.
        """
        self._program = _find_program()

    async def run(self, request: RunRequest, on_event: EventHandler) -> RunResult:
        """Play to the end; see ``Engine.run``."""
        task = asyncio.create_task(self._run(request, on_event), name=f"run {request.ident}")
        self._runs.add(task)
        task.add_done_callback(self._runs.discard)
        return await task

    async def is_up_to_date(self, check: CheckRequest) -> None:
        """None: there is no process that a check could be made in."""

    async def stop(self) -> None:
        """End all runs and their children."""
        runs = list(self._runs)
        for run in runs:
            run.cancel()
        if runs:
            await asyncio.wait(runs, timeout=4 * _GRACE)

    def abandon(self) -> None:
        """Kill all runs with their children, without waiting for their end."""
        for tree in self._trees:
            kill_tree(tree)

    async def _run(self, request: RunRequest, on_event: EventHandler) -> RunResult:
        async with self._slots:
            directory = await asyncio.to_thread(rundir.prepare, request)
            try:
                await asyncio.to_thread(directory.write_extra_vars, request.extra_vars)
                run = _Run(self._program or _find_program(), request, directory, self._trees)
                return await run.play(on_event)
            finally:
                await asyncio.to_thread(_tidy, directory, request)


class _Run:
    """One process of ansible-runner."""

    def __init__(
        self, program: str, request: RunRequest, directory: RunDirectory, trees: set[ProcessTree]
    ) -> None:
        self._trees = trees
        self._program = program
        self._request = request
        self._directory = directory
        self._events = _EventFiles(directory.artifacts / "job_events")
        self._has_stats = False

    async def play(self, on_event: EventHandler) -> RunResult:
        output = self._directory.artifacts / "runner_output"
        output.touch(mode=0o600)
        process = await self._start(output)
        tree = ProcessTree(process.pid)
        self._trees.add(tree)
        try:
            async with asyncio.timeout(self._request.timeout):
                await self._follow(process, on_event)
        except TimeoutError:
            await self._end(process, tree)
            self._deliver(on_event)
            message = f"the run was ended after its timeout of {self._request.timeout:g} s"
            return outcome.interrupted(self._directory, RunStatus.TIMEOUT, self._stdout(), message)
        except asyncio.CancelledError:
            await asyncio.shield(self._end(process, tree))
            outcome.interrupted(self._directory, RunStatus.CANCELED, self._stdout(), "")
            raise
        except BaseException:
            await self._end(process, tree)
            raise
        finally:
            self._trees.discard(tree)
        self._deliver(on_event)
        return self._result(process, output)

    async def _start(self, output: Path) -> asyncio.subprocess.Process:
        temporary = self._directory.temporary
        environment = os.environ | rundir.run_environment(self._request, temporary)
        environment.setdefault("ANSIBLE_LOCAL_TEMP", str(temporary))
        binaries = str(Path(sys.executable).parent)
        environment["PATH"] = os.pathsep.join([binaries, environment.get("PATH", os.defpath)])
        with output.open("wb") as file:
            try:
                return await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-S", str(_LEADER)),
                    *_command(self._program, self._request, self._directory),
                    env=environment,
                    cwd=self._directory.root,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    start_new_session=True,
                )
            except OSError as error:
                raise EngineError(f"cannot start {self._program}: {error.strerror}") from error

    async def _follow(self, process: asyncio.subprocess.Process, on_event: EventHandler) -> None:
        ended = asyncio.create_task(process.wait(), name=f"process of run {self._request.ident}")
        try:
            while not ended.done():
                await asyncio.wait([ended], timeout=_POLL)
                self._deliver(on_event)
        finally:
            ended.cancel()

    def _deliver(self, on_event: EventHandler) -> None:
        for event in self._events.new():
            self._has_stats |= event.get("event") == "playbook_on_stats"
            on_event(event)

    async def _end(self, process: asyncio.subprocess.Process, tree: ProcessTree) -> None:
        ended = await end_tree(tree, grace=_GRACE)
        if not ended:
            raise EngineError(f"processes of run {self._request.ident} cannot be ended")
        await process.wait()

    def _stdout(self) -> str:
        with contextlib.suppress(OSError):
            return (self._directory.artifacts / "stdout").read_text(errors="replace")
        return ""

    def _result(self, process: asyncio.subprocess.Process, output: Path) -> RunResult:
        stdout = self._stdout()
        rc = process.returncode
        with contextlib.suppress(OSError, ValueError):
            rc = int((self._directory.artifacts / "rc").read_text())
        if rc is None or rc < 0 or (rc and not stdout):
            printed = output.read_text(errors="replace") or f"{self._program} exited with {rc}"
            return outcome.crashed(self._directory, stdout, outcome.explain(printed))
        return outcome.ended(self._directory, rc, stdout, has_stats=self._has_stats)


class _EventFiles:
    """The event files of one run, in the order of their counters."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._next = 1

    def new(self) -> Iterator[JobEvent]:
        """Events that were written since the last call and have no gap before them."""
        try:
            names = [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            return
        found = {}
        for name in names:
            counter, _, rest = name.partition("-")
            if counter.isdigit() and rest.endswith(".json") and not rest.endswith("-partial.json"):
                found[int(counter)] = name
        while self._next in found:
            name = found[self._next]
            yield event_of_file(name, (self._folder / name).read_bytes())
            self._next += 1


def event_of_file(name: str, raw: bytes) -> JobEvent:
    """The event that a file of ansible-runner holds, with nothing that strict JSON cannot.

    Raises:
        EngineError: it holds none.
    """
    try:
        try:
            event = msgspec.json.decode(raw)
        except (ValueError, RecursionError):
            # Python writes more than JSON, and reads it.
            event = msgspec.json.decode(encoded(json.loads(raw), str))
    except (ValueError, RecursionError, AttributeError) as error:
        raise EngineError(f"the event {name} cannot be read: {error}") from error
    if not isinstance(event, dict):
        raise EngineError(f"{name} holds no event")
    return event


def _find_program() -> str:
    beside = Path(sys.executable).parent / "ansible-runner"
    program = str(beside) if beside.exists() else shutil.which("ansible-runner")
    if not program:
        raise EngineError("ansible-runner is not on PATH; install the ansible-runner package")
    return program


def _command(program: str, request: RunRequest, directory: RunDirectory) -> list[str]:
    command = [program, "run", str(directory.root), "--quiet"]
    if isinstance(request.target, RoleTarget):
        roles_path = rundir.run_environment(request, directory.temporary)["ANSIBLE_ROLES_PATH"]
        command += ["--role", rundir.role_name(request.target)]
        command += ["--roles-path", roles_path, "--hosts", "localhost"]
    else:
        command += ["-p", str(directory.playbook)]
    command += ["-i", request.ident]
    if request.verbosity > 0:
        command.append("-" + "v" * request.verbosity)
    if isinstance(request.target, RoleTarget) and not request.target.gather_facts:
        command.append("--role-skip-facts")
    return command


def _tidy(directory: RunDirectory, request: RunRequest) -> None:
    """Take secrets and leftovers out of what ansible-runner wrote, then rotate."""
    command = directory.artifacts / "command"
    with contextlib.suppress(OSError, ValueError):
        written = json.loads(command.read_bytes())
        ours = rundir.run_environment(request, directory.temporary)
        written["env"] = {k: v for k, v in written["env"].items() if k in ours}
        write_private(command, json.dumps(written))
    for path in directory.artifacts.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o600)
    for entry in directory.project.iterdir():
        # The play that ansible-runner generates stays when it is killed.
        if _GENERATED_PLAY.fullmatch(entry.name):
            entry.unlink(missing_ok=True)
    left = is_anyone_with("TMPDIR", str(directory.temporary))
    rundir.finish(directory, request.artifacts_to_keep, in_use=left)
