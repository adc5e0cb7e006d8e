# SPDX-License-Identifier: Apache-2.0
"""Ending a program that has a test bed."""

import signal
from types import FrameType


def end_as_by_ctrl_c() -> None:
    """Let SIGTERM raise KeyboardInterrupt, so that what the program has started is removed."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # another one must not interrupt the removal
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
