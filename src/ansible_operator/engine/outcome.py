# SPDX-License-Identifier: Apache-2.0
"""The result of a run that ended: its artifacts ``rc`` and ``status``, its error."""

import re

from ansible_operator.engine.interface import RunResult, RunStatus
from ansible_operator.engine.private_files import write_private
from ansible_operator.engine.rundir import RunDirectory

INTERRUPTED_RC = 254
"""ansible-runner's exit code for timeouts and cancelled runs."""

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ERROR = re.compile(r"^(?:\[ERROR\]|ERROR!|ERROR):?\s*")
_LONGEST_ERROR = 4000
"""Characters of an error in a CR's status."""


def explain(stdout: str) -> str:
    """Ansible's own message in the output of a play that ended without statistics.

    That is everything from its last error line on (2.18 writes ``ERROR!``, later versions
    ``[ERROR]:``), else the last line.
    """
    lines = [_ANSI.sub("", line).rstrip() for line in stdout.splitlines()]
    for number in range(len(lines) - 1, -1, -1):
        if _ERROR.match(lines[number]):
            text = "\n".join([_ERROR.sub("", lines[number]), *lines[number + 1 :]]).strip()
            return text[:_LONGEST_ERROR]
    last = next((line for line in reversed(lines) if line.strip()), "")
    return last[:_LONGEST_ERROR] or "the play ended without output"


def ended(directory: RunDirectory, rc: int, stdout: str, *, has_stats: bool) -> RunResult:
    """The result of a run that came to its own end."""
    status = RunStatus.SUCCESSFUL if rc == 0 else RunStatus.FAILED
    error = "" if has_stats else explain(stdout)
    return _recorded(directory, RunResult(status=status, rc=rc, stdout=stdout, error=error))


def interrupted(directory: RunDirectory, status: RunStatus, stdout: str, error: str) -> RunResult:
    """The result of a run that was ended from outside."""
    result = RunResult(status=status, rc=INTERRUPTED_RC, stdout=stdout, error=error)
    return _recorded(directory, result)


def crashed(directory: RunDirectory, stdout: str, error: str) -> RunResult:
    """The result of a run whose process died."""
    result = RunResult(status=RunStatus.FAILED, rc=INTERRUPTED_RC, stdout=stdout, error=error)
    return _recorded(directory, result)


def _recorded(directory: RunDirectory, result: RunResult) -> RunResult:
    write_private(directory.artifacts / "rc", str(result.rc))
    write_private(directory.artifacts / "status", result.status.value)
    return result
