# SPDX-License-Identifier: Apache-2.0
"""A point in time by which something has to be done, whatever it is made of."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .errors import TimedOut


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point of the monotonic clock.

    Attributes:
        at: seconds of ``time.monotonic()``.
    """

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the deadline that many seconds from now."""
        return cls(time.monotonic() + seconds)

    def within(self, seconds: float) -> Deadline:
        """Return this deadline or the one that many seconds from now, whichever comes first."""
        return Deadline(min(self.at, time.monotonic() + seconds))

    def remaining(self) -> float:
        """Return the seconds left; zero or less when it has passed."""
        return self.at - time.monotonic()

    def require(self, what: str) -> float:
        """Return the seconds left, more than zero.

        Raises:
            TimedOut: there are none; the message begins with ``what``.
        """
        left = self.remaining()
        if left <= 0:
            raise TimedOut(f"{what}: the deadline has passed")
        return left

    def pause(self, seconds: float) -> bool:
        """Sleep, unless the deadline would pass meanwhile; return whether it was slept."""
        if self.remaining() <= seconds:
            return False
        time.sleep(seconds)
        return True
