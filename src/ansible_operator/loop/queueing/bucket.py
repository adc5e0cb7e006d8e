# SPDX-License-Identifier: Apache-2.0
"""The limit of retries over all objects."""

from collections.abc import Callable

BUCKET_RATE = 10.0
BUCKET_BURST = 100


class Bucket:
    """A token bucket over all retries, so that a broken cluster is not hammered."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._next = clock() - BUCKET_BURST / BUCKET_RATE

    def reserve(self) -> float:
        """Seconds to wait for the next token."""
        now = self._clock()
        self._next = max(self._next, now - BUCKET_BURST / BUCKET_RATE) + 1 / BUCKET_RATE
        return max(0.0, self._next - now)
