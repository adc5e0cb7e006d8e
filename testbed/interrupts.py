# SPDX-License-Identifier: Apache-2.0
"""Ending a program that has a test bed."""

import signal
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing; unlike SIG_IGN, programs that are started later do not inherit it."""


def end_as_by_ctrl_c() -> None:
    """Let the first SIGTERM or SIGINT raise KeyboardInterrupt, and no other one.

    Ctrl-C under make sends both. The second would interrupt the removal of what the program has
    started, or the return of a lock ("release unlocked lock") while it waits for a thread.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for one in _SIGNALS:
            signal.signal(one, _ignore)
        raise KeyboardInterrupt

    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as shells start what is in background
            signal.signal(number, interrupt)
