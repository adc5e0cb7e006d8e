# SPDX-License-Identifier: Apache-2.0
"""Runs the operator of a project for its author: again after each change, with what it changes."""

import json
import math
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ansible_operator.authoring import passes, writing
from ansible_operator.authoring.changes import Fingerprint, changed, fingerprint
from ansible_operator.authoring.refreshing import Definition, definitions
from ansible_operator.engine.forking.processes import die_with
from ansible_operator.errors import ConfigError

_LOOK_SECONDS = 0.5
"""How often files are compared."""
_STOP_SECONDS = 60.0
_KUBECTL_SECONDS = 60.0
_RETRY_SECONDS = 5.0
"""How long after an attempt without success the next one is made: a cluster may come up."""
_FLAGS = (
    "--proxy-port=0",
    "--metrics-api-port=0",
    "--metrics-bind-address=0",
    "--health-probe-bind-address=0",
    "--ansible-log-events=nothing",
    "--zap-encoder=json",
)
_ENDS = frozenset({"Ansible-runner exited successfully", "Run ended with failures"})
_SHOWN_LEVELS = frozenset({"warning", "warn", "error", "panic", "dpanic", "fatal"})
_MOST_SHOWN = 3
_SAID_BY_THE_RUN = "event runner on failed"
"""Error of a reconcile whose play has failed, which has been shown already."""


class Development:
    """An operator that follows the files of its project."""

    def __init__(self, project: Path, flags: Sequence[str], say: Callable[[str], None]) -> None:
        self._project = project
        self._flags = flags
        self._say = say
        self._rest = b""
        self._problem = ""
        self._failures: dict[str, list[str]] = {}

    def run(self) -> None:
        """Run the operator until interrupted; what is wrong with the project is said, no end."""
        with tempfile.TemporaryDirectory(prefix="ansible-operator-dev-") as folder:
            while True:
                self._once(Path(folder))

    def _once(self, runs: Path) -> None:
        """From one change of the files to the next."""
        before = fingerprint(self._project)
        try:
            before |= self._install()
        except ConfigError as error:
            self._report(str(error))
            self._wait(before, None, runs, _RETRY_SECONDS)
            return
        self._problem = ""
        operator = self._start(runs)
        try:
            self._wait(before, operator, runs)
        finally:
            self._stop(operator, runs)

    def _report(self, problem: str) -> None:
        """Say once what keeps the operator from its start."""
        if problem != self._problem:
            self._say(f"error: {problem}")
            self._say("trying again when a file changes, and every few seconds")
        self._problem = problem

    def _install(self) -> Fingerprint:
        """Renew the CRDs, and apply them to the cluster; return the files that it has changed.

        Raises:
            ConfigError: a CRD cannot follow from its role, or the cluster does not take it.
        """
        written = set()
        for one in definitions(self._project):
            if isinstance(one, Definition) and one.old is not None and one.old != one.new:
                writing.change(one.path, one.new)
                path = one.path.relative_to(self._project).as_posix()
                self._say(f"{path}: updated")
                written.add(path)
        if (self._project / "config/crd/kustomization.yaml").exists():
            self._apply()
        found = fingerprint(self._project)
        return {path: found[path] for path in written if path in found}

    def _apply(self) -> None:
        command = ["kubectl", "apply", "-k", "config/crd"]
        try:
            done = subprocess.run(
                command,
                cwd=self._project,
                capture_output=True,
                text=True,
                timeout=_KUBECTL_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"{' '.join(command)}: {error}") from error
        if done.returncode:
            raise ConfigError(f"{' '.join(command)}: {done.stderr.strip()}")

    def _start(self, runs: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "ansible_operator", "run", f"--run-directory={runs}"]
        environment = {"ANSIBLE_GATHERING": "explicit", **os.environ, "ANSIBLE_DIFF_ALWAYS": "true"}
        self._say("starting the operator")
        this = os.getpid()
        return subprocess.Popen(
            [*command, *_FLAGS, *self._flags],
            cwd=self._project,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,  # Ctrl+C reaches this process alone, which then ends the operator
            preexec_fn=lambda: die_with(this),  # noqa: PLW1509 - there are no threads
        )

    def _wait(
        self,
        before: Fingerprint,
        operator: subprocess.Popen[bytes] | None,
        runs: Path,
        seconds: float = math.inf,
    ) -> None:
        """Show what the operator does until a file changes, or for some seconds."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as ready:
            if operator is not None and operator.stdout is not None:
                ready.register(operator.stdout, selectors.EVENT_READ)
            while not (paths := changed(before, fingerprint(self._project))):
                if time.monotonic() > deadline:
                    return
                for key, _ in ready.select(_LOOK_SECONDS):
                    read = os.read(key.fd, 65536)
                    if not read:
                        ready.unregister(key.fileobj)
                        self._say("the operator has ended; waiting for a change of the files")
                    self._take(read, runs)
        more = f" and {len(paths) - _MOST_SHOWN} more" if len(paths) > _MOST_SHOWN else ""
        self._say(f"changed: {', '.join(paths[:_MOST_SHOWN])}{more}")

    def _stop(self, operator: subprocess.Popen[bytes], runs: Path) -> None:
        """Stop the operator, and show the runs that it still ends."""
        operator.terminate()
        try:
            output, _ = operator.communicate(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            operator.kill()
            output, _ = operator.communicate()
        self._take(output, runs)
        self._rest = b""

    def _take(self, output: bytes, runs: Path) -> None:
        *lines, self._rest = (self._rest + output).split(b"\n")
        for line in lines:
            self._show(line.decode(errors="replace"), runs)

    def _show(self, line: str, runs: Path) -> None:
        first, *others = [*shown(line, runs)] or [""]
        name = first.partition(": ")[0]
        is_failure = any(text.startswith("  failed: ") for text in others)
        if is_failure and self._failures.get(name) == others:
            self._say(f"{first}: failed as before")
            return
        if others:
            self._failures[name] = others
        for text in (first, *others):
            if text:
                self._say(text)


def shown(line: str, runs: Path) -> Iterator[str]:
    """What an author wants to see of a line of the operator's log.

    Args:
        line: as the operator writes it.
        runs: its run directory.
    """
    try:
        entry = json.loads(line)
        message = entry["msg"]
    except (ValueError, KeyError, TypeError):
        if line.strip():
            yield line
        return
    if message in _ENDS:
        yield from passes.told(_title(entry), passes.results(_events(runs, str(entry.get("job")))))
    is_problem = message not in _ENDS and entry.get("level") in _SHOWN_LEVELS
    if (is_problem or "error" in entry) and entry.get("error") != _SAID_BY_THE_RUN:
        yield f"{entry.get('level')}: {message}{_detail(entry)}"
    if message == "Watching resource":
        yield f"watching {entry.get('Options.Kind')} of {entry.get('Options.Group')}"


def _title(entry: dict[str, Any]) -> str:
    place = "/".join(part for part in (entry.get("namespace"), entry.get("name")) if part)
    return f"{place}: {entry.get('reason') or 'run'}"


def _detail(entry: dict[str, Any]) -> str:
    error = entry.get("error")
    return f": {error}" if error else ""


def _events(runs: Path, job: str) -> Iterator[dict[str, Any]]:
    """The events of a run; none if its folder has been deleted with its object."""
    for folder in runs.glob(f"*/*/*/**/artifacts/{job}/job_events"):
        for path in folder.glob("*.json"):
            try:
                yield json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
