# SPDX-License-Identifier: Apache-2.0
"""Operators as processes, as `make run` starts them."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.processes import last_words
from tests.support.places import COLLECTIONS, PROGRAMS, ROOT

NOTHING_ANSWERS = {"HEALTH_PERIOD": "0"}
"""No MatrixOne runs in the Pods of fake nodes; tests on real ones set the period that users have."""
_STOP_SECONDS = 60.0


@dataclass
class Operator:
    """A running ``ansible-operator run``.

    Attributes:
        process: of the operator.
        log: file with its output.
        runs: its run directory.
    """

    process: subprocess.Popen[bytes]
    log: Path
    runs: Path

    def stop(self, number: signal.Signals = signal.SIGTERM, seconds: float = _STOP_SECONDS) -> int:
        """Send it a signal, if it still runs, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(seconds)

    def kill(self) -> None:
        """End it with SIGKILL, if it still runs."""
        self.stop(signal.SIGKILL, 10)

    def text(self) -> str:
        return self.log.read_text()

    def lines(self, message: str = "", **wanted: Any) -> list[dict[str, Any]]:
        """Log lines with this message and these keys; the last one may not be written to its end."""
        found = []
        for text in self.text().splitlines(keepends=True):
            if not (text.startswith("{") and text.endswith("\n")):
                continue
            line = json.loads(text)
            if message in {"", line["msg"]} and wanted.items() <= line.items():
                found.append(line)
        return found

    def runs_of(self, name: str) -> int:
        """How many runs of an object have begun."""
        return sum(line["key"].endswith(f"/{name}") for line in self.lines("Reconciling"))


def launch(
    kubeconfig: Path,
    folder: Path,
    *flags: str,
    project: Path = ROOT,
    variables: Mapping[str, str] | None = None,
    inside: Sequence[str | Path] = (),
) -> Operator:
    """Start an operator; it opens no port that another process may have.

    Args:
        kubeconfig: who it is, and on which cluster.
        folder: gets its log, to which it appends, and its run directory.
        flags: of ``ansible-operator run``; they override those of this function.
        project: folder with its watches.yaml, in which it runs.
        variables: of its environment.
        inside: a command that starts its program elsewhere, as in a root file system of its own.
    """
    log, runs = folder / "log", folder / "runs"
    command = [*map(str, inside), str(PROGRAMS / "ansible-operator"), "run"]
    command += ["--proxy-port=0", "--metrics-api-port=0"]
    command += ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    command += [f"--run-directory={runs}", *flags]
    environment = {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_GATHERING": "explicit",
        **NOTHING_ANSWERS,
        **(variables or {}),
    }
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=project, env=environment, stdout=output, stderr=output
        )
    return Operator(process, log, runs)


@contextmanager
def running_operator(
    kubeconfig: Path, folder: Path, *flags: str, **variables: str
) -> Iterator[Path]:
    """Run the operator of MatrixOne for the block, which gets its log; it must not end before."""
    operator = launch(kubeconfig, folder, *flags, variables=variables)
    try:
        yield operator.log
        assert operator.process.poll() is None, last_words(operator.log)
    finally:
        operator.stop()
