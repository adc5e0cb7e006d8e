# SPDX-License-Identifier: Apache-2.0
"""Starting, finding and ending the processes of a test bed, and no others.

Two things say that a process is ours: a record file (pid, start time, boot), and a mark in the
process' environment that only this test bed has. A pid alone says nothing: it may be used again.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import StartError
from testbed.places import SOURCE, Places

MARK = "MATRIXONE_TESTBED"
_LAUNCH_SECONDS = 30.0
_KILL_SECONDS = 30.0
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Process:
    """A recorded process; ``start_time`` in clock ticks since the boot."""

    name: str
    pid: int
    start_time: int
    boot: str

    def alive(self) -> bool:
        """Return whether this very process still runs."""
        return self.boot == boot_id() and start_time(self.pid) == self.start_time


def boot_id() -> str:
    """Return the kernel's name of the current boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int) -> int | None:
    """Return when a process started, or None when it has ended (zombies have)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def resident_mebibytes(pid: int) -> int:
    """Return how much memory a process occupies; 0 when it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def environment(identity: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a test bed's process: little, without the caller's proxies."""
    path = os.environ.get("PATH", "")
    return {
        "PATH": f"{path}:/usr/sbin:/sbin:/usr/bin:/bin",
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
        MARK: identity,
        **(extra or {}),
    }


def terminate(child: subprocess.Popen[bytes], seconds: float) -> None:
    """Ask a process of ours to end, and kill it after so many seconds."""
    child.terminate()
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def find(places: Places, name: str) -> Process | None:
    """Return the recorded process, running or not; None when there is no record."""
    try:
        record = json.loads((places.processes / f"{name}.json").read_text())
    except FileNotFoundError:
        return None
    return Process(**record)


def recorded(places: Places) -> list[Process]:
    """Return all recorded processes, running or not, by name."""
    names = sorted(path.stem for path in places.processes.glob("*.json"))
    return [process for name in names if (process := find(places, name))]


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts processes of one test bed.

    Attributes:
        places: the test bed's folder.
        identity: the test bed's mark.
    """

    places: Places
    identity: str

    def start(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        join: int | None = None,
        new_namespaces: bool = False,
    ) -> Process:
        """Start a process unless it runs already.

        Args:
            name: names the record and the log file.
            argv: the command; its first word is an absolute path.
            env: added to the small environment that all processes get.
            join: pid of a process whose namespaces are entered.
            new_namespaces: give the process mount, network, pid, IPC and UTS namespaces of its
                own, as its first process.

        Raises:
            StartError: the command could not be executed.
        """
        existing = find(self.places, name)
        if existing and existing.alive():
            return existing
        job = {
            "name": name,
            "argv": [str(word) for word in argv],
            "env": environment(self.identity, env),
            "records": str(self.places.processes),
            "log": str(self.log(name)),
            "join": join,
            "new_namespaces": new_namespaces,
            "boot": boot_id(),
        }
        self._launch(name, json.dumps(job))
        started = find(self.places, name)
        if started is None:
            raise StartError(f"{name} left no record in {self.places.processes}")
        return started

    def _launch(self, name: str, job: str) -> None:
        self.places.processes.mkdir(parents=True, exist_ok=True)
        self.places.logs.mkdir(parents=True, exist_ok=True)
        result = subprocess.run(
            [sys.executable, "-I", "-S", str(SOURCE / "launch.py")],
            input=job,
            text=True,
            capture_output=True,
            timeout=_LAUNCH_SECONDS,
            check=False,
            env=environment(self.identity),
        )
        if result.returncode:
            raise StartError(f"{name} did not start: {result.stderr.strip()}")

    def log(self, name: str) -> Path:
        """Return the log file of a process."""
        return self.places.logs / f"{name}.log"

    def require_alive(self, name: str) -> None:
        """Raise an error that quotes the log when a process has ended.

        Raises:
            StartError: it has.
        """
        process = find(self.places, name)
        if process is None or not process.alive():
            raise StartError(f"{name} has ended: {last_words(self.log(name))}")


def last_words(log: Path, lines: int = 3) -> str:
    """Return the end of a log file and its path, for an error message."""
    try:
        tail = log.read_text(errors="replace").strip().splitlines()[-lines:]
    except FileNotFoundError:
        tail = []
    return f"{' | '.join(tail) or 'no output'} (log: {log})"


def marked(identity: str) -> list[int]:
    """Return the pids of all processes that carry the mark of a test bed.

    Processes of other users cannot be read and are left out.
    """
    mark = f"{MARK}={identity}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in variables and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _running(places: Places, identity: str) -> set[int]:
    pids = {process.pid for process in recorded(places) if process.alive()}
    return pids | {pid for pid in marked(identity) if start_time(pid) is not None}


def kill_all(places: Places, identity: str) -> None:
    """End every process of a test bed at once.

    Nothing is asked to end by itself: what these processes hold is removed with them, and an API
    server without its etcd would take a minute. The first process of a node takes all processes
    of its pid namespace along.

    Raises:
        StartError: some do not end within half a minute.
    """
    deadline = time.monotonic() + _KILL_SECONDS
    while pids := _running(places, identity):
        if time.monotonic() > deadline:
            raise StartError(f"processes {sorted(pids)} do not end; see why with ps")
        _signal(pids, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


def kill(process: Process) -> None:
    """Terminate one process and wait for its end.

    Raises:
        StartError: it does not end within half a minute.
    """
    deadline = time.monotonic() + _KILL_SECONDS
    while process.alive():
        if time.monotonic() > deadline:
            raise StartError(f"process {process.pid} ({process.name}) does not end")
        _signal([process.pid], signal.SIGKILL)
        time.sleep(_POLL_SECONDS)
