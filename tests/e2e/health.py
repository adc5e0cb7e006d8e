# SPDX-License-Identifier: Apache-2.0
"""How long the status of a cluster was wrong."""

import threading
import time
from typing import Self

from tests.e2e.clusters import Cluster
from tests.e2e.traffic import conclude
from tests.support.waiting import eventually

STATUS_SECONDS = 30.0
"""Within which status tells of a fault, and of its end (docs/health.md)."""
_SETS = {"LogSet": "mo", "DNSet": "mo", "ProxySet": "mo", "CNSet": "mo-tp"}


def await_fault(cluster: Cluster, kind: str, pods: list[str]) -> None:
    """Wait until the cluster and the set at fault are not Ready and name what is wrong.

    Args:
        cluster: the cluster.
        kind: of the set.
        pods: that its status must name.
    """
    name = _SETS[kind]

    def told() -> bool:
        own, whole = cluster.condition(kind, name, "Ready"), cluster.condition("mo", "mo", "Ready")
        if "True" in {own["status"], whole["status"]}:
            return False
        return all(pod in own["message"] and pod in whole["message"] for pod in pods)

    eventually(
        told,
        STATUS_SECONDS,
        f"{kind} and cluster that are not Ready",
        otherwise=lambda: [
            cluster.condition(kind, name, "Ready"),
            cluster.condition("mo", "mo", "Ready"),
        ],
    )


REPLACED_SECONDS = 90.0
"""Compute nodes whose commits are refused are replaced, one after the other."""


def await_recovery(cluster: Cluster, seconds: float = STATUS_SECONDS) -> None:
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
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._changes: list[tuple[float, str]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._begun = 0.0

    def __enter__(self) -> Self:
        self._begun = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _watch(self) -> None:
        last = "True"
        while not self._stop.wait(0.5):
            now = self._cluster.condition("mo", "mo", "Ready").get("status", "")
            if now != last:
                last = now
                self._changes.append((round(time.monotonic() - self._begun, 1), now))

    def conclude(self, name: str) -> None:
        """Report the changes, each with its second since the beginning of the fault."""
        conclude(
            f"{name}: Ready " + ", ".join(f"{state} after {at} s" for at, state in self._changes)
        )
