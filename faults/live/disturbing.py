# SPDX-License-Identifier: Apache-2.0
"""What a proxy does to a request, drawn from a seed.

Everything but what is `HOSTILE` is something that Kubernetes allows, or that a network does: an
event that was left out for ever, or a list that is older than the client's own write, would break a
promise on which every client relies.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Flavour(StrEnum):
    """A kind of disturbance."""

    CONFLICT = "conflict"
    """A write is answered with 409."""
    BUSY = "busy"
    """429 with Retry-After."""
    ERROR = "error"
    """500 or 503, before the request is carried out."""
    UNKNOWN = "unknown"
    """500, or no answer, after the request was carried out."""
    CUT = "cut"
    """The connection ends before the request is carried out, or in the middle of the answer."""
    SLOW = "slow"
    """The answer comes late."""
    PAST = "past"
    """A read shows what it showed before, since the last write of this client."""
    EXPIRED = "expired"
    """A watch is answered with 410."""
    EXPIRED_EVENT = "expired-event"
    """A watch reports 410 as an event, at its beginning or after some events."""
    CLOSED = "closed"
    """A watch ends at once."""
    BOOKMARKS = "bookmarks"
    """A watch has a bookmark of where it began, and ends."""
    HELD = "held"
    """Events come late."""
    LOST = "lost"
    """An event is cut off in its middle, and the connection with it: the next watch has it."""
    REPEATED = "repeated"
    """Events come again, in their order."""
    REORDERED = "reordered"
    """Two events of different objects that follow each other change places."""
    GARBLED = "garbled"
    """An answer, or a line of a watch, is no JSON, or not what was asked for; with status 200."""
    MISSHAPEN = "misshapen"
    """An object has parts of types that no API server knows, or a list has no items."""


HOSTILE = frozenset({Flavour.GARBLED, Flavour.MISSHAPEN})
"""What neither Kubernetes nor a network does, and something between the two may."""
OF_WATCHES = HOSTILE | frozenset(
    {
        Flavour.EXPIRED,
        Flavour.EXPIRED_EVENT,
        Flavour.CLOSED,
        Flavour.BOOKMARKS,
        Flavour.HELD,
        Flavour.LOST,
        Flavour.REPEATED,
        Flavour.REORDERED,
    }
)
OF_READS = HOSTILE | {Flavour.BUSY, Flavour.ERROR, Flavour.CUT, Flavour.SLOW, Flavour.PAST}
OF_WRITES = HOSTILE | frozenset(
    {
        Flavour.CONFLICT,
        Flavour.BUSY,
        Flavour.ERROR,
        Flavour.UNKNOWN,
        Flavour.CUT,
        Flavour.SLOW,
    }
)
_SHARES = (0.1, 0.3, 0.7, 1.0)
_LONGEST_DELAY = 2.0


@dataclass(frozen=True)
class Disturbance:
    """What happens to one request.

    Attributes:
        flavour: which kind.
        number: chooses among the variants of a kind.
        seconds: that an answer, or an event, comes late.
        events: that a watch passes on before.
    """

    flavour: Flavour
    number: int = 0
    seconds: float = 0.0
    events: int = 0


class Disturbances:
    """Which requests are disturbed, and how.

    What happens to a request depends on the seed, its method, its path and how often that was
    requested, and not on the order of requests to different paths, which differs from run to run.

    Args:
        flavours: that are used.
        seed: of the draws.
        share: of requests that are disturbed; drawn if not given.
    """

    def __init__(
        self, flavours: Collection[Flavour], seed: int, share: float | None = None
    ) -> None:
        self._flavours = sorted(flavours)
        self._seed = seed
        self._share = random.Random(seed).choice(_SHARES) if share is None else share  # noqa: S311
        self._counts: Counter[str] = Counter()

    @property
    def flavours(self) -> frozenset[Flavour]:
        """Those that are used."""
        return frozenset(self._flavours)

    def next(self, method: str, path: str, is_watch: bool) -> Disturbance | None:
        """Return what happens to the next request with a method and a path without its query."""
        what = f"{method} {path} {is_watch}"
        self._counts[what] += 1
        rng = random.Random(f"{self._seed} {what} {self._counts[what]}")  # noqa: S311
        possible = self._possible(method, is_watch)
        if not possible or rng.random() >= self._share:
            return None
        return Disturbance(
            rng.choice(possible), rng.randrange(100), rng.uniform(0.1, _LONGEST_DELAY),
            rng.randrange(3),
        )  # fmt: skip

    def _possible(self, method: str, is_watch: bool) -> Sequence[Flavour]:
        if is_watch:
            of = OF_WATCHES | {Flavour.BUSY, Flavour.ERROR}
        else:
            of = OF_READS if method == "GET" else OF_WRITES
        return [one for one in self._flavours if one in of]
