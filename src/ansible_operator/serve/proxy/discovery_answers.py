# SPDX-License-Identifier: Apache-2.0
"""A short-lived cache for discovery: every play requests it, it seldom changes.

Plays start in bursts and each client begins with ``/version``, ``/api``, ``/apis`` and the lists
of a few groups. Answers are kept for seconds only, and not at all for a minute after a play has
touched custom resource definitions or API services.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from multidict import CIMultiDict

LIFETIME = 5.0
"""Seconds that an answer is reused."""
LIVE_SECONDS = 60.0
"""Seconds of live discovery after a kind may have been added or removed."""
LARGEST = 8 << 20
MOST = 128
_ROOTS = ("/api", "/apis", "/openapi", "/version")
_DEFINING = frozenset(
    {
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("apiregistration.k8s.io", "apiservices"),
    }
)


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """One answer with status 200."""

    headers: CIMultiDict[str]
    body: bytes
    until: float


@dataclass(slots=True)
class DiscoveryAnswers:
    """Answers by path, query and accepted types.

    Attributes:
        clock: monotonic seconds.
    """

    clock: Callable[[], float] = time.monotonic
    _answers: dict[tuple[str, str], CachedAnswer] = field(default_factory=dict)
    _locks: dict[tuple[str, str], asyncio.Lock] = field(default_factory=dict)
    _live_until: float = 0.0

    @staticmethod
    def serves(path: str) -> bool:
        """Whether the path (without the query) is one of discovery."""
        return path in _ROOTS or path.startswith(("/api/", "/apis/", "/openapi/"))

    def lock(self, key: tuple[str, str]) -> asyncio.Lock:
        """Held around lookup and fetch, so that a burst leads to one request."""
        if len(self._locks) > MOST:
            self._locks = {k: lock for k, lock in self._locks.items() if lock.locked()}
        return self._locks.setdefault(key, asyncio.Lock())

    def get(self, key: tuple[str, str]) -> CachedAnswer | None:
        """An answer that is young enough."""
        found = self._answers.get(key)
        return found if found is not None and self.clock() < found.until else None

    def put(self, key: tuple[str, str], headers: CIMultiDict[str], body: bytes) -> None:
        """Keep an answer, unless kinds are changing or it is too long."""
        now = self.clock()
        if now < self._live_until or len(body) > LARGEST:
            return
        if len(self._answers) >= MOST:
            self._answers.clear()
        self._answers[key] = CachedAnswer(headers, body, now + LIFETIME)

    def note_write(self, group: str, plural: str) -> None:
        """A play has written an object of this kind: forget everything if it defines kinds."""
        if (group, plural) in _DEFINING:
            self._answers.clear()
            self._live_until = self.clock() + LIVE_SECONDS
