# SPDX-License-Identifier: Apache-2.0
"""Following something to its end: with progress for whoever looks on, and a deadline."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TextIO

from .errors import KubectlError, PluginError, Unanswered
from .kubectl import Json, Kubectl, parsed, table_in

_POLL_SECONDS: Final = 2.0
_TRIES: Final = 10
"""How often in a row nothing can be read before that counts: an API server may restart."""
_LINE_SECONDS: Final = 15.0
"""Between two lines of one step, where no terminal can write over the last one."""


class Outcome(StrEnum):
    """How something ended, if it did."""

    OPEN = "Open"
    DONE = "Done"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class State:
    """How far something is.

    Attributes:
        step: in a few words.
        detail: numbers, or what it waits for; may be empty.
        outcome: how it ended.
    """

    step: str
    detail: str = ""
    outcome: Outcome = Outcome.OPEN

    @property
    def text(self) -> str:
        """Both in a line."""
        return f"{self.step}: {self.detail}" if self.detail else self.step


@dataclass(slots=True)
class Progress:
    """Says how far something is.

    Attributes:
        stream: where it is said; a terminal keeps one line.
    """

    stream: TextIO
    _said: State | None = field(default=None, init=False)
    _said_at: float = field(default=0.0, init=False)

    def say(self, state: State) -> None:
        """Write a state, where it is news."""
        now = time.monotonic()
        if self.stream.isatty():
            self.stream.write(f"\r\033[K{state.text}")
        elif self._is_news(state, now):
            self.stream.write(f"{state.text}\n")
            self._said, self._said_at = state, now
        self.stream.flush()

    def _is_news(self, state: State, now: float) -> bool:
        if self._said is None or state.step != self._said.step:
            return True
        return state != self._said and now - self._said_at >= _LINE_SECONDS

    def close(self) -> None:
        """Leave the line of a terminal empty."""
        if self.stream.isatty():
            self.stream.write("\r\033[K")
            self.stream.flush()


def follow(
    what: str,
    observed: Callable[[], State],
    seconds: float,
    progress: Progress,
    pause: float = _POLL_SECONDS,
) -> State:
    """Observe something until it has ended; return how.

    Args:
        what: is followed, for messages.
        observed: returns how far it is.
        seconds: to wait at most; 0 for ever.
        progress: where it is said.
        pause: seconds between two looks.

    Raises:
        PluginError: the time is over; the message says how far it was.
        KubectlError: it could not be read ten times in a row.
        Unanswered: the database did not answer ten times in a row.
    """
    began, state, failures = time.monotonic(), State("nothing is known of it yet"), 0
    try:
        while True:
            try:
                state, failures = observed(), 0
            except (KubectlError, Unanswered) as error:
                failures += 1
                if failures == _TRIES:
                    raise
                state = State("not known", str(error))
            if state.outcome is not Outcome.OPEN:
                return state
            progress.say(state)
            if seconds and time.monotonic() - began + pause > seconds:
                raise PluginError(f"{what} has not ended within {seconds:g} s ({state.text})")
            time.sleep(pause)
    finally:
        progress.close()


def existing(kubectl: Kubectl, resource: str, name: str) -> Json | None:
    """Return an object; None where there is none.

    Raises:
        KubectlError: it is not known whether there is one.
    """
    found = kubectl.run("get", resource, name, "--ignore-not-found", "--output=json")
    return parsed(found) if found.strip() else None


def job_state(kubectl: Kubectl, resource: str, name: str) -> State:
    """Return how far a BackupJob or a RestoreJob is.

    Raises:
        PluginError: it was deleted, so that nobody can know how it ends.
        KubectlError: it cannot be read.
    """
    job = existing(kubectl, resource, name)
    if job is None:
        raise PluginError(f"{resource} {name} was deleted: how it ended is not known")
    return state_of(table_in(job, "status"))


def state_of(status: Json) -> State:
    """Return how far a job is, from its status."""
    phase = str(status.get("phase") or "Pending")
    message = str(status.get("message") or "")
    if phase in {"Completed", "Failed"}:
        outcome = Outcome.DONE if phase == "Completed" else Outcome.FAILED
        return State(phase, message, outcome)
    progress = table_in(status, "progress")
    counts = (("files", "files"), ("bytes", "bytes"))
    numbers = [f"{progress[name]} {noun}" for name, noun in counts if progress.get(name)]
    step = str(status.get("step") or "")
    return State(
        f"{phase}, {step}" if step else phase, "; ".join((*numbers, *filter(None, [message])))
    )
