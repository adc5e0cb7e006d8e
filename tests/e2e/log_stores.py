# SPDX-License-Identifier: Apache-2.0
"""Log stores of a cluster on the real node: break them, mend them, ask how they are."""

import json
from pathlib import Path
from typing import Any

from tests.e2e.clusters import Cluster

# HAKeeper gives a log store up after 5 minutes; tests cannot wait for that.
HAKEEPER_TIMEOUT = '[logservice.HAKeeperConfig]\nlog-store-timeout = "20s"\n'
INCARNATIONS = "logset.matrixorigin.io/incarnations"
REPAIR = "logset.matrixorigin.io/repair"


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
