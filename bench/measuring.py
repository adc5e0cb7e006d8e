# SPDX-License-Identifier: Apache-2.0
"""What scenarios have in common: how much is done, what it costs, when it is over."""

import time
from dataclasses import dataclass

from bench.clusters import Cluster
from bench.peers import Running

Measures = dict[str, float | None]

NEVER = "36000s"
_QUIET_SECONDS = 1.0
_SETTLE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Load:
    """How much a scenario does.

    Attributes:
        size: number of objects.
        seconds: longest time of each of its steps.
    """

    size: int
    seconds: float


class Bill:
    """What a running peer spends from now on."""

    def __init__(self, peer: Running, cluster: Cluster) -> None:
        self._peer, self._cluster = peer, cluster
        self._cpu, self._runs = peer.cpu(), peer.runs()
        _, self._offset = cluster.requests(peer.user)

    def runs(self) -> int:
        """Runs so far."""
        return self._peer.runs() - self._runs

    def total(self, objects: float) -> Measures:
        """CPU seconds and requests by object, and runs."""
        cpu = self._peer.cpu() - self._cpu
        requests, _ = self._cluster.requests(self._peer.user, self._offset)
        counted = sum(count for verb, count in requests.items() if verb != "watch")
        runs = self.runs()
        return {
            "cpu_per_object": cpu / objects,
            "cpu_per_run": cpu / runs if runs else None,
            "requests_per_object": counted / objects,
            "runs_per_object": runs / objects,
        }


def await_runs(operator: Running, count: int, seconds: float, *, pause: float = 0.1) -> bool:
    """Wait until so many runs have ended since the start; False when the time is over.

    Each look, one in ``pause`` seconds, costs the operator some milliseconds of CPU.
    """
    deadline = time.monotonic() + seconds
    while operator.runs() < count:
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def settle(operator: Running) -> None:
    """Wait until the operator does next to nothing for a second; 20 s at most."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    before = operator.cpu()
    while time.monotonic() < deadline:
        time.sleep(_QUIET_SECONDS)
        now = operator.cpu()
        if now - before <= 0.03 * _QUIET_SECONDS:
            return
        before = now
