# SPDX-License-Identifier: Apache-2.0
"""The API server refuses, is cut off after writing, and shows the past (Sieve's stale states).

What the operator reads may be older than what others have written since, but not older than what
it has written itself: that is what its cache promises, and what a restart gives it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (  # noqa: E501
    BadConnection,
)

from faults.lives import disturbed, steps_of
from faults.points import Method, Point
from faults.simulation.server import Snapshot, refusal
from faults.simulation.world import World

Json = dict[str, Any]
NAME = "lossy"
_ROUNDS = 12
_SEEDS = 40
_REFUSALS = ((409, "Conflict"), (429, "TooManyRequests"), (500, "InternalError"), (503, "Down"))


class Weather:
    """What goes wrong with requests, drawn from a seed.

    Args:
        world: whose session is disturbed.
        rng: decides.
        share: of requests that fail.
    """

    def __init__(self, world: World, rng: random.Random, share: float) -> None:
        self._world, self._rng, self._share = world, rng, share
        self._past: list[Snapshot] = []
        self._written = 0

    def before(self, method: str, path: str) -> None:
        """Refuse a request, or cut its connection.

        Raises:
            KubeError: it does not come to the server.
        """
        del path
        if self._rng.random() >= self._share:
            return
        if self._rng.random() < 0.3:
            raise BadConnection("request: the connection was cut")
        status, reason = self._rng.choice(_REFUSALS[method == "GET" :])
        raise refusal(status, reason, "the weather is bad")

    def after(self) -> None:
        """Cut the connection before the answer to a write.

        Raises:
            BadConnection: it was written, and nobody knows.
        """
        if self._rng.random() < self._share / 2:
            raise BadConnection("request: the connection was cut before the answer")

    def read(self, path: str, query: Mapping[str, str]) -> Json | None:
        """Answer a read from some time since the operator's last write."""
        if len(self._world.session.writes) != self._written or not self._past:
            self._written, self._past = len(self._world.session.writes), []
        self._past.append(self._world.server.snapshot())
        chosen = self._rng.choice(self._past)
        try:
            return self._world.server.answer_from(chosen, path, query)
        finally:
            del self._past[:-8]


def points(kind: str, rng: random.Random) -> Iterator[Point]:
    """Yield seeds for each step of the life of a kind."""
    for step in steps_of(kind):
        for _ in range(_SEEDS):
            yield Point(NAME, kind, f"{step}:{rng.randrange(10**6)}")


def run(point: Point) -> None:
    """Let requests fail and reads be old for some rounds, then be well again.

    Raises:
        Fault: the end is not that of an undisturbed life.
    """
    step, _, seed = point.place.partition(":")
    rng = random.Random(int(seed))  # noqa: S311 - repeatable

    def disturb(world: World) -> None:
        weather = Weather(world, rng, rng.choice((0.0, 0.05, 0.2, 0.5)))
        session = world.session
        session.disturb, session.reads = weather.before, weather.read
        session.answered = weather.after
        for _ in range(_ROUNDS):
            world.round()
            world.pass_time(3.0)
        session.disturb = session.reads = session.answered = None

    disturbed(point.kind, step, disturb)


METHOD = Method(NAME, "requests fail, answers are lost, reads are old", points, run)
