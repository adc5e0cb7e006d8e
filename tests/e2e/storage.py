# SPDX-License-Identifier: Apache-2.0
"""Faults of the shared storage under traffic: what clients see, and when checkpoints are written.

Single rows are committed to the log service, so that they are answered while the shared storage is
out of order; what is written to it, such as a checkpoint, waits until it is back.
"""

import json
import threading
import time
from contextlib import AbstractContextManager
from typing import Self

import pymysql

from tests.e2e.clusters import Cluster, Json
from tests.e2e.health import FAULT_SECONDS, STATUS_SECONDS, suffering
from tests.e2e.traffic import conclude
from tests.support.waiting import eventually

BEGINNING_SECONDS = 290
WRITTEN_SECONDS = 60.0
"""Within which the shared storage is written to again."""


def run(cluster: Cluster, resources: list[Json]) -> None:
    """Bring up a cluster from its resource and what it needs."""
    listed = {"apiVersion": "v1", "kind": "List", "items": resources}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(listed))
    cluster.await_ready(BEGINNING_SECONDS)


class Checkpoints:
    """Asks for one checkpoint after the other, each of which writes to the shared storage.

    Attributes:
        written: when each was written, in seconds since the beginning.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.written: list[float] = []
        self._cluster = cluster
        self._begun = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)

    def seconds(self) -> float:
        """Return the seconds since the beginning."""
        return time.monotonic() - self._begun

    def _ask(self) -> None:
        while not self._stop.is_set():
            try:
                with self._cluster.connect() as session, session.cursor() as cursor:
                    cursor.execute("select mo_ctl('dn', 'checkpoint', '')")
                    self.written.append(self.seconds())
            except pymysql.MySQLError:
                pass
            self._stop.wait(1)


def endure(cluster: Cluster, name: str, fault: AbstractContextManager[None], degraded: str) -> None:
    """Let a fault of the shared storage pass: no checkpoint is written meanwhile, rows are.

    Args:
        cluster: the cluster.
        name: of the fault.
        fault: is there within its block.
        degraded: reason that the status gives for it in time.
    """
    with Checkpoints(cluster) as checkpoints:
        eventually(lambda: checkpoints.written, WRITTEN_SECONDS, "a first checkpoint")
        eventually(
            lambda: cluster.condition("LogSet", "mo", "StorageWritable").get("status") == "True",
            STATUS_SECONDS,
            "a shared storage that takes what is written",
        )
        with suffering(cluster, name, fault, FAULT_SECONDS) as traffic:
            known, begun = len(traffic.acknowledged), checkpoints.seconds()
            noticed = _seconds_until_degraded(cluster, degraded)
            time.sleep(max(0.0, begun + FAULT_SECONDS - checkpoints.seconds()))
            told = [
                f"{of} {found['status']} ({found['message']})"
                for of in ("Ready", "Degraded")
                if (found := cluster.condition("mo", "mo", of))
            ]
            rows, during = len(traffic.acknowledged) - known, checkpoints.seconds()
        eventually(lambda: checkpoints.written[-1] > during, WRITTEN_SECONDS, "a checkpoint")
    waited = min(at for at in checkpoints.written if at > during) - during
    conclude(
        f"{name}: {rows} rows during the fault, the next checkpoint {waited:.1f} s after its end; "
        f"Degraded after {noticed}; then {', '.join(told)}"
    )
    # One that had begun before the fault may end in its first seconds.
    late = [at for at in checkpoints.written if begun + FAULT_SECONDS / 2 < at < during]
    assert not late, "the fault does not keep checkpoints from being written"
    assert rows > 0


def _seconds_until_degraded(cluster: Cluster, reason: str) -> str:
    """Wait until the cluster and its log service give a reason, and return how long it took."""
    begun = time.monotonic()

    def told() -> bool:
        found = [cluster.condition(*of, "Degraded") for of in (("LogSet", "mo"), ("mo", "mo"))]
        return all(one["status"] == "True" and one["reason"] == reason for one in found)

    eventually(
        told,
        STATUS_SECONDS,
        f"Degraded with the reason {reason}",
        otherwise=lambda: cluster.get("LogSet", "mo")["status"]["conditions"],
    )
    return f"{time.monotonic() - begun:.1f} s"
