# SPDX-License-Identifier: Apache-2.0
"""Run one stage: in a session of its own, into a log of its own, never longer than its limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dev.gate.outcomes import Outcome, Test, read_report
from dev.gate.stages import Stage

_GRACE_SECONDS = 60.0
"""How long a stage may clean up after SIGINT, as after Ctrl-C."""
_END_SECONDS = 10.0
TIMED_OUT = 124
"""The exit code of a stage that was ended, as timeout(1) has it."""


class Running:
    """A stage that runs.

    Args:
        root: the repository.
        folder: for logs and reports.
        stage: what to run.
        seconds: after which it is ended.
        only: files of tests instead of the stage's own choice, run one after the other.
    """

    def __init__(
        self, root: Path, folder: Path, stage: Stage, seconds: float, only: Sequence[str] = ()
    ) -> None:
        name = f"{stage.name}-again" if only else stage.name
        self._report = folder / f"{name}.xml"
        self._begun = time.monotonic()
        self._limit = self._begun + seconds
        self._seconds = seconds
        self._is_tests = stage.is_tests
        self._ended: float | None = None
        self.outcome = Outcome(name, log=folder / f"{name}.log")
        with (folder / f"{name}.log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command(stage, folder, only),
                cwd=root,
                env={**os.environ, **stage.variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _command(self, stage: Stage, folder: Path, only: Sequence[str]) -> list[str]:
        if not stage.is_tests:
            return list(stage.command)
        chosen = [*stage.command[: stage.command.index("-m") + 2], *only] if only else stage.command
        return [
            # Verbose, so that the log of a stage that is ended names the test that hung.
            *(sys.executable, "-m", "pytest", "--verbose", *chosen),
            *("-o", "junit_family=xunit1", f"--junitxml={self._report}"),
            *("-o", f"cache_dir={folder / 'cache'}"),
        ]

    def has_ended(self) -> bool:
        """Tell whether `wait` has nothing to wait for: it ended, or its limit has passed.

        The first time that it has, the time is noted: what waits for it may be busy elsewhere.
        """
        has_ended = self._process.poll() is not None or time.monotonic() >= self._limit
        if has_ended and self._ended is None:
            self._ended = time.monotonic()
        return has_ended

    def wait(self) -> Outcome:
        """Wait for its end, or end it."""
        outcome = self.outcome
        try:
            outcome.code = self._process.wait(max(0.0, self._limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.end()
            outcome.code, outcome.note = (
                TIMED_OUT,
                f"ended after its limit of {self._seconds:.0f} s",
            )
        outcome.seconds = (self._ended or time.monotonic()) - self._begun
        outcome.tests = read_report(self._report)
        return outcome

    def end(self) -> None:
        """End it: as Ctrl-C does, so that it cleans up, then by force."""
        if self._process.poll() is not None:
            return
        if self._is_tests:
            self._process.send_signal(signal.SIGINT)
        else:
            # A terminal tells the whole group: make and shells do not pass it on to what they run.
            os.killpg(self._process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_SECONDS)
        for how in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)


def may_try_again(failed: Sequence[Test], tries_left: int, code: int | None) -> bool:
    """Tell whether the failed tests of a stage may have a second try.

    Args:
        failed: tests that failed.
        tries_left: how many faults of the whole run may still be gone on a second try.
        code: of pytest; only 1 says that tests ran and failed.
    """
    return code == 1 and 0 < faults(failed) <= tries_left


def faults(failed: Sequence[Test]) -> int:
    """Count failed tests; all that failed since their one fixture did are one."""
    return len(
        {(test.file, *test.failures) if test.is_not_set_up else test.node for test in failed}
    )
