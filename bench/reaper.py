# SPDX-License-Identifier: Apache-2.0
"""Runs a command and reaps everything that it leaves, so that no CPU time gets lost.

Started as ``python -I -S reaper.py COMMAND...``; ends with the command, and ends what it has left.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

_SUBREAPER = 36
_DEATH_SIGNAL = 1


def main() -> int:
    """Run the command; its exit code is the answer."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    command = os.fork()
    if command == 0:
        libc.prctl(_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
        os.execvp(sys.argv[1], sys.argv[1:])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: os.kill(command, number))
    code = 1
    while True:
        pid, status = os.wait()
        if pid == command:
            code = os.waitstatus_to_exitcode(status)
            break
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    _end_leftovers()
    return code if code >= 0 else 128 - code


def _end_leftovers() -> None:
    """Kill and reap what the command's orphans have become: children of this process."""
    while True:
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    sys.exit(main())
