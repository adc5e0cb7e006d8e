# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition with a deadline."""

import time
from collections.abc import Callable

from testbed.errors import StartError

_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.25


def wait_until(condition: Callable[[], bool], what: Callable[[], str], timeout: float) -> None:
    """Ask again and again, a little later each time, until the condition holds.

    Args:
        condition: what is waited for; an error it raises ends the wait.
        what: tells what is missing, asked when time is up.
        timeout: seconds.

    Raises:
        StartError: it does not hold in time.
    """
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise StartError(f"gave up after {timeout:.0f} s: {what()}")
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)
