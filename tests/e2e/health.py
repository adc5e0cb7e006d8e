# SPDX-License-Identifier: Apache-2.0
"""How long the status of a cluster was wrong."""

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Self

from testbed.bed import KubectlError
from tests.e2e.clusters import Cluster, Json
from tests.e2e.traffic import Traffic, conclude
from tests.support.waiting import eventually

STATUS_SECONDS = 30.0
"""Within which status tells of a fault, and of its end (docs/health.md)."""
FAULT_SECONDS = 30.0
"""How long a fault lasts at least."""
SERVED_SECONDS = 10.0
"""After which no client sees an error of a fault that is over, if no Pod was replaced."""
LOCK_SECONDS = 75.0
"""For about a minute the transaction node keeps the locks of a compute node that did not drain."""
LONGEST_GAP = 150.0
SETS = {"LogSet": "mo", "DNSet": "mo", "ProxySet": "mo", "CNSet": "mo-tp"}
"""The sets of a cluster whose processes are asked for a sign of life."""


def await_fault(
    cluster: Cluster, kind: str, pods: list[str], within: float = STATUS_SECONDS
) -> None:
    """Wait until the cluster and the set at fault are not Ready and name what is wrong.

    Args:
        cluster: the cluster.
        kind: of the set.
        pods: that its status must name.
        within: so many seconds.
    """
    name = SETS[kind]

    def told() -> bool:
        own, whole = cluster.condition(kind, name, "Ready"), cluster.condition("mo", "mo", "Ready")
        if "True" in {own["status"], whole["status"]}:
            return False
        return all(pod in own["message"] and pod in whole["message"] for pod in pods)

    eventually(
        told,
        within,
        f"{kind} and cluster that are not Ready",
        otherwise=lambda: [
            cluster.condition(kind, name, "Ready"),
            cluster.condition("mo", "mo", "Ready"),
        ],
    )


REPLACED_SECONDS = 90.0
"""Compute nodes whose commits are refused are replaced, one after the other."""


def await_recovery(cluster: Cluster, seconds: float) -> None:
    """Wait until the cluster is Ready again and nothing is Degraded."""

    def recovered() -> bool:
        states = [cluster.condition("mo", "mo", of)["status"] for of in ("Ready", "Degraded")]
        return states == ["True", "False"]

    eventually(
        recovered,
        seconds,
        "a cluster that is Ready again",
        otherwise=lambda: cluster.get("mo", "mo")["status"].get("conditions"),
    )


class Watched:
    """Notes when the cluster's Ready changes; a context manager.

    Its block begins with the fault and ends with the recovery.

    Attributes:
        changes: seconds since the beginning of the fault, with the new status and message.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.changes: list[tuple[float, str]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._begun = 0.0
        self._last: Json = {}

    def __enter__(self) -> Self:
        self._last = self._cluster.condition("mo", "mo", "Ready")
        self._begun = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _watch(self) -> None:
        last = self._last
        while not self._stop.wait(0.5):
            try:
                now = self._cluster.condition("mo", "mo", "Ready")
            except KubectlError:  # the API server may be what is away
                continue
            if now.get("status") != last.get("status"):
                last = now
                change = f"{now.get('status')}: {now.get('message')}"
                self.changes.append((round(time.monotonic() - self._begun, 1), change))

    def conclude(self, name: str) -> None:
        """Report the changes, each with its second since the beginning of the fault."""
        told = [f"{state} after {at} s" for at, state in self.changes]
        conclude(f"{name}: Ready " + ("; ".join(told) or "did not change"))


@contextmanager
def suffering(
    cluster: Cluster,
    name: str,
    fault: AbstractContextManager[None],
    seconds: float = FAULT_SECONDS,
    settled: float = SERVED_SECONDS,
    within: float = REPLACED_SECONDS,
) -> Iterator[Traffic]:
    """Let clients write before, during and after a fault; the block is for what is seen of it.

    Args:
        cluster: which is Ready.
        name: of the scenario.
        fault: begins before the block, and ends with it or later.
        seconds: how long it lasts at least.
        settled: after how many seconds of being Ready no client sees an error.
        within: how many seconds after its end status must be right again.
    """
    cluster.await_ready()
    with Traffic(cluster, name) as traffic:
        time.sleep(3)
        with Watched(cluster) as watched:
            begun = time.monotonic()
            with fault:
                yield traffic
                time.sleep(max(0.0, begun + seconds - time.monotonic()))
            ended = time.monotonic() - begun
            await_recovery(cluster, within)
            back = time.monotonic() - begun - ended
        watched.conclude(f"{name}, {ended:.0f} s, recovered {back:.1f} s after the end")
        ready = traffic.seconds()
        time.sleep(settled + 5)
    traffic.require_nothing_lost(longest=LONGEST_GAP, errors=None, at_least=20)
    traffic.require_service_since(ready + settled)
