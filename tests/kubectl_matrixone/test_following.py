# SPDX-License-Identifier: Apache-2.0
"""Following a job: when it has ended, when the time is over, and what nobody could read."""

import argparse
import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubectl_matrixone.commands.options import seconds
from kubectl_matrixone.commands.restore import restore_state
from kubectl_matrixone.errors import KubectlError, PluginError
from kubectl_matrixone.following import Outcome, Progress, State, follow, state_of

COPYING = State("Running, Copy", "3/97 files")
DONE = State("Completed", outcome=Outcome.DONE)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def looks(*found: State | Exception) -> Callable[[], State]:
    """Return an observation that has one result after the other; the last one stays."""
    left: Iterator[State | Exception] = iter(found)
    last: list[State | Exception] = []

    def observed() -> State:
        if one := next(left, None):
            last[:] = [one]
        if isinstance(last[0], Exception):
            raise last[0]
        return last[0]

    return observed


def followed(*found: State | Exception, seconds: float = 0, stream: Any = None) -> State:
    progress = Progress(stream or io.StringIO())
    return follow("BackupJob mo", looks(*found), seconds, progress, pause=0.001)


def test_a_job_is_followed_to_its_end() -> None:
    failed = State("Failed", "the bucket is full", Outcome.FAILED)
    assert followed(COPYING, COPYING, DONE) == DONE
    assert followed(COPYING, failed) == failed


def test_an_api_server_may_be_away_for_a_while() -> None:
    away = KubectlError("connection refused")
    assert followed(COPYING, *[away] * 9, COPYING, *[away] * 9, DONE) == DONE
    with pytest.raises(KubectlError, match="connection refused"):
        followed(COPYING, *[away] * 10, DONE)


def test_what_was_deleted_is_not_waited_for() -> None:
    with pytest.raises(PluginError, match="how it ended is not known"):
        followed(COPYING, PluginError("backupjobs mo was deleted: how it ended is not known"))


def test_the_deadline_says_how_far_it_was() -> None:
    with pytest.raises(PluginError, match=r"BackupJob mo has not ended within 0.01 s.*3/97 files"):
        followed(COPYING, seconds=0.01)


def test_a_log_has_a_line_for_each_step_and_a_terminal_one_in_all() -> None:
    states = (State("Pending"), COPYING, State("Running, Copy", "4/97 files"), DONE)
    log, terminal = io.StringIO(), Terminal()
    followed(*states, stream=log)
    assert log.getvalue() == "Pending\nRunning, Copy: 3/97 files\n"
    followed(*states, stream=terminal)
    assert "\n" not in terminal.getvalue()
    assert terminal.getvalue().endswith("Running, Copy: 4/97 files\r\033[K")


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({}, State("Pending")),
        (
            {"phase": "Pending", "message": "waits for BackupJob a"},
            State("Pending", "waits for BackupJob a"),
        ),
        (
            {"phase": "Running", "step": "Copy", "progress": {"files": "3/97", "bytes": "1Mi/9Mi"}},
            State("Running, Copy", "3/97 files; 1Mi/9Mi bytes"),
        ),
        ({"phase": "Completed", "step": "Record"}, DONE),
        (
            {"phase": "Failed", "message": "Unreachable: no answer"},
            State("Failed", "Unreachable: no answer", Outcome.FAILED),
        ),
    ],
)
def test_a_status_says_how_far_a_job_is(status: dict[str, Any], state: State) -> None:
    assert state_of(status) == state


READY = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Ready"}


@pytest.mark.parametrize(
    ("status", "step", "outcome"),
    [
        ({}, "Restore Pending", Outcome.OPEN),
        ({**READY}, "Restore Pending", Outcome.OPEN),
        ({"restore": {"phase": "Running"}}, "Restore Running", Outcome.OPEN),
        ({"restore": {"phase": "Completed"}, "phase": "NotReady"}, "NotReady", Outcome.OPEN),
        ({"restore": {"phase": "Completed"}, **READY}, "Ready", Outcome.DONE),
        ({"restore": {"phase": "Failed"}}, "Failed", Outcome.FAILED),
        ({"restore": {"phase": "Skipped"}, **READY}, "Skipped", Outcome.FAILED),
    ],
)
def test_a_cluster_is_restored_when_it_serves_what_was_restored(
    status: dict[str, Any], step: str, outcome: Outcome
) -> None:
    state = restore_state({"metadata": {"name": "new"}, "status": status})
    assert (state.step, state.outcome) == (step, outcome)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("1h0m5s", 3605)],
)
def test_durations_are_those_of_kubectl(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "h", "1d", "5m1h", "-1s", "1.5h", "m", "\u0661s", "²"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no duration"):
        seconds(text)
