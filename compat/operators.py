# SPDX-License-Identifier: Apache-2.0
"""A runner as a process, this one or the Go runner, on a project of an operator."""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.ports import choose_ports
from testbed.processes import last_words, terminate

ROOT = Path(__file__).resolve().parents[1]
OURS, GO = "ours", "go"
_GO_RUNS = Path("/tmp/ansible-operator/runner")  # noqa: S108 (it has no flag for another one)
_STOP_SECONDS = 45.0
_READY_SECONDS = 120.0


class RunError(Exception):
    """A runner ended, or has not begun the play in time."""


@dataclass(frozen=True, slots=True)
class Running:
    """A runner that is ready.

    Attributes:
        pid: of the reaper at the root of its processes.
        alive: raises :class:`RunError` if it has ended.
        log: file with its output.
    """

    pid: int
    alive: Callable[[], None]
    log: Path


def runs_of(program: str, folder: Path) -> Path:
    """Return where a runner keeps the artifacts of its runs; the Go runner for good."""
    return _GO_RUNS if program else folder / "runs"


def base_environment(kubeconfig: Path, folder: Path) -> dict[str, str]:
    """Return the variables of every runner: who it is, its programs, its home."""
    programs = Path(sys.executable).parent
    return {
        "PATH": f"{programs}:{os.environ.get('PATH', os.defpath)}",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "KUBECONFIG": str(kubeconfig),
        "ANSIBLE_GATHERING": "explicit",
        "VIRTUAL_ENV": str(programs.parent),
    }


@contextmanager
def running(
    program: str,
    project: Path,
    folder: Path,
    environment: Mapping[str, str],
    flags: Sequence[str] = (),
) -> Iterator[Running]:
    """Run a runner for the block.

    Args:
        program: the Go runner's; empty for this runner.
        project: folder with its watches.yaml, in which it runs.
        folder: gets its log, and the artifacts of this runner.
        environment: all of its variables.
        flags: that both runners know; they override those of this function.

    Raises:
        RunError: it is not ready in time.
    """
    log = folder / "log"
    ours = [sys.executable, "-m", "ansible_operator"]
    command = [*([program] if program else ours), "run", "--reconcile-period=0s"]
    port = choose_ports(("probes",), taken=())["probes"]
    command += ["--metrics-bind-address=0", f"--health-probe-bind-address=127.0.0.1:{port}"]
    if not program:
        runs = runs_of(program, folder)
        command += ["--proxy-port=0", "--metrics-api-port=0", f"--run-directory={runs}"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", ROOT / "bench" / "reaper.py", *command, *flags],
            cwd=project,
            env=dict(environment),
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def alive() -> None:
        if process.poll() is not None:
            raise RunError(f"the operator ended: {last_words(log, lines=10)}")

    try:
        _wait_until_ready(port, alive)
        yield Running(process.pid, alive, log)
    finally:
        terminate(process, _STOP_SECONDS)


def _wait_until_ready(port: int, alive: Callable[[], None]) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        alive()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise RunError(f"the operator is not ready within {_READY_SECONDS:.0f} s")
