# SPDX-License-Identifier: Apache-2.0
"""The logs of all Pods of a cluster, one line after the other by their time."""

import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Final

from .errors import KubectlError, UsageError
from .kubectl import Kubectl, reason
from .reading import LABEL

_LINE: Final = re.compile(r"\[pod/(?P<pod>[^/\]]+)/[^\]]+\] (?P<time>\S+) (?P<text>.*)")
_PODS: Final = 500
"""Whose logs are read at a time; kubectl asks for a limit."""
_LONGEST_MESSAGE: Final = 4096


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines are shown.

    Attributes:
        cluster: name of the cluster.
        tail: last lines of each Pod.
        since: only those of so long ago, such as ``10m``; empty for any.
        follow: whether new lines are shown as they come, until the user interrupts.
        previous: whether those of the containers before the last restart are shown.
        grep: a pattern that a line has to have; empty for any.
    """

    cluster: str
    tail: int
    since: str = ""
    follow: bool = False
    previous: bool = False
    grep: str = ""


def show(kubectl: Kubectl, wanted: Wanted, output: IO[str]) -> None:
    """Write the lines.

    Raises:
        UsageError: the pattern is none.
        KubectlError: the logs cannot be read.
    """
    pattern = _compiled(wanted.grep)
    # A file, because a pipe that nobody reads meanwhile stops kubectl when it is full.
    with tempfile.TemporaryFile("w+", errors="replace") as problems:
        process = subprocess.Popen(
            kubectl.command(*_arguments(wanted)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=problems,
            text=True,
            errors="replace",
        )
        try:
            printed = process.stdout or ()
            lines = printed if wanted.follow else _by_time(printed)
            for line in shown(lines, pattern):
                print(line, file=output, flush=wanted.follow)
            code = process.wait()
        finally:
            process.kill()
            process.wait()
        problems.seek(0)
        message = problems.read(_LONGEST_MESSAGE)
    if code:
        raise KubectlError(reason(message))


def _compiled(pattern: str) -> "re.Pattern[str]":
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--grep {pattern!r} is no regular expression: {error}") from error


def _arguments(wanted: Wanted) -> list[str]:
    options = {
        "--follow": wanted.follow,
        "--previous": wanted.previous,
        f"--since={wanted.since}": bool(wanted.since),
    }
    return [
        *("logs", f"--selector={LABEL}={wanted.cluster}", "--prefix", "--timestamps"),
        *(f"--tail={wanted.tail}", f"--max-log-requests={_PODS}"),
        *(option for option, given in options.items() if given),
    ]


def _by_time(lines: Iterable[str]) -> Iterator[str]:
    """Return lines by their time.

    One without a time, as kubectl's own messages are, stays behind the line before it.
    """
    keyed: list[tuple[str, int, str]] = []
    last = ""
    for number, line in enumerate(lines):
        found = _LINE.match(line)
        last = found["time"] if found else last
        keyed.append((last, number, line))
    return (line for _time, _number, line in sorted(keyed))


def shown(lines: Iterable[str], pattern: "re.Pattern[str]") -> Iterator[str]:
    """Yield the lines that have a pattern, as ``time pod text``."""
    for line in lines:
        found = _LINE.match(line)
        text = f"{found['time']} {found['pod']} {found['text']}" if found else line.rstrip("\n")
        if pattern.search(found["text"] if found else line):
            yield text
