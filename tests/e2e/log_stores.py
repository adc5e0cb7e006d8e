# SPDX-License-Identifier: Apache-2.0
"""Log stores of a cluster on the real node: break them, mend them, ask how they are."""

import json
import time
from pathlib import Path
from typing import Any

from tests.e2e.clusters import Cluster
from tests.support.waiting import eventually

INCARNATIONS = "logset.matrixorigin.io/incarnations"
REPAIR = "logset.matrixorigin.io/repair"
REPAIR_SECONDS = 180


def annotation(cluster: Cluster, key: str) -> Any:
    """A JSON annotation of the LogSet; None without it."""
    return json.loads(cluster.get("logset", "mo")["metadata"]["annotations"].get(key, "null"))


def volume(cluster: Cluster, pod: str) -> dict[str, Any]:
    """The PersistentVolume of a log store."""
    claim = cluster.get("pvc", f"mo-data-{pod}")
    return cluster.get("pv", claim["spec"]["volumeName"])


def folder_of(pv: dict[str, Any]) -> Path:
    """Where a PersistentVolume is on this machine."""
    return Path((pv["spec"].get("hostPath") or pv["spec"]["local"])["path"])


def wreck(cluster: Cluster, pod: str) -> None:
    """Make the data of a store unusable, so that it never comes up again."""
    folder = folder_of(volume(cluster, pod))
    cluster.kubectl("delete", "pod", pod, "--force", "--grace-period=0")
    (folder / "data").rename(folder / "lost")
    (folder / "data").write_text("no folder")


def mend(cluster: Cluster, pod: str) -> None:
    """Take back what `wreck` did."""
    folder = folder_of(volume(cluster, pod))
    (folder / "data").unlink()
    (folder / "lost").rename(folder / "data")
    cluster.kubectl("delete", "pod", pod, "--force", "--grace-period=0")


def shards(cluster: Cluster) -> list[tuple[int, int]]:
    """Replicas that run and that there should be, by shard."""
    listed = cluster.get("logset", "mo")["status"].get("shards", [])
    return [(one["available"], one["replicas"]) for one in listed]


def down(cluster: Cluster) -> list[str]:
    """The stores that the status says are down."""
    listed = cluster.get("logset", "mo")["status"].get("failedStores", [])
    return [one["podName"] for one in listed]


def state(cluster: Cluster) -> str:
    """All that the LogSet says, for messages."""
    logset = cluster.get("logset", "mo")
    return json.dumps([logset["metadata"]["annotations"], logset["status"]], indent=1)


def replaced(cluster: Cluster, ordinal: int, incarnation: int) -> bool:
    """Whether a store has that incarnation or a later one, and no failover is under way."""
    known = annotation(cluster, INCARNATIONS) or {}
    # On a busy machine a new store may not come up in time either, and is replaced in its turn.
    return known.get(str(ordinal), 0) >= incarnation and annotation(cluster, REPAIR) is None


def await_replacement(cluster: Cluster, ordinal: int, incarnation: int) -> float:
    """Wait until a store was replaced, all shards are complete and the cluster is ready."""
    begun = time.monotonic()
    eventually(
        lambda: replaced(cluster, ordinal, incarnation),
        REPAIR_SECONDS,
        f"incarnation {incarnation} of store {ordinal}",
        otherwise=lambda: state(cluster),
    )
    seconds = time.monotonic() - begun
    eventually(lambda: shards(cluster) == [(3, 3)] * 2, 30, "complete shards")
    cluster.await_ready(60)
    return seconds


def events(cluster: Cluster) -> list[str]:
    """The reasons of all Events of the namespace."""
    return [one["reason"] for one in cluster.get("events.events.k8s.io")["items"]]
