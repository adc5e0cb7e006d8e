# SPDX-License-Identifier: Apache-2.0
"""Log stores of a cluster on the real node: break them, mend them, ask how they are."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.e2e.clusters import Cluster
from tests.support.waiting import eventually

INCARNATIONS = "logset.matrixorigin.io/incarnations"
REPAIR = "logset.matrixorigin.io/repair"
REPAIR_SECONDS = 180
VOLUMES = "logset.matrixorigin.io/replaced-volumes"
FAILOVER = {"FailingOver", "FailedOver", "FailoverBlocked", "FailoverCalledOff", "VolumeKept"}
OLD = "60s"
"""A `storeFailureTimeout` that a restart stays below, and that a store soon is older than.

With the default of ten minutes nothing in the tests would be older than it.
"""
_OLD_SECONDS = 60
_ROLL_SECONDS = 300


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


@contextmanager
def old_log_stores(cluster: Cluster) -> Iterator[None]:
    """Log stores that are older than one may be down; none of them is replaced in the block."""
    before = cluster.get("logset", "mo")["spec"]["storeFailureTimeout"]
    cluster.patch("mo", "mo", {"spec": {"logService": {"storeFailureTimeout": OLD}}})
    _await_age(cluster)
    data, told = _data(cluster), FAILOVER & set(events(cluster))
    yield
    assert _data(cluster) == data
    assert FAILOVER & set(events(cluster)) == told
    cluster.patch("mo", "mo", {"spec": {"logService": {"storeFailureTimeout": before}}})


def _await_age(cluster: Cluster) -> None:
    """Wait until all log stores have been ready for longer than `OLD`."""

    def youngest() -> float:
        conditions = [
            entry
            for pod in cluster.pods("LogSet").values()
            for entry in pod["status"]["conditions"]
            if entry["type"] == "Ready"
        ]
        times = [datetime.fromisoformat(entry["lastTransitionTime"]) for entry in conditions]
        return min((datetime.now(UTC) - moment).total_seconds() for moment in times)

    eventually(lambda: youngest() > _OLD_SECONDS + 5, _OLD_SECONDS + 60, "old log stores")


def _data(cluster: Cluster) -> dict[str, Any]:
    """What identifies the data of the log stores: claims and incarnations."""
    claims = {pod: cluster.get("pvc", f"mo-data-{pod}") for pod in cluster.pods("LogSet")}
    uids = {pod: claim["metadata"]["uid"] for pod, claim in claims.items()}
    return {"claims": uids, "incarnations": annotation(cluster, INCARNATIONS)}


def roll(cluster: Cluster, config: str) -> None:
    """Give the log stores another configuration, and wait until all of them have it."""
    before = {pod["metadata"]["uid"] for pod in cluster.pods("LogSet").values()}
    cluster.change("logService/config", config)

    def rolled() -> bool:
        pods = cluster.pods("LogSet").values()
        return not before & {pod["metadata"]["uid"] for pod in pods} and not down(cluster)

    eventually(
        rolled, _ROLL_SECONDS, "new Pods of all log stores", otherwise=lambda: state(cluster)
    )
    cluster.await_ready()


def shards(cluster: Cluster) -> list[tuple[int, int]]:
    """Replicas that run and that there should be, by shard."""
    listed = cluster.get("logset", "mo")["status"].get("shards", [])
    return [(one["available"], one["replicas"]) for one in listed]


def down(cluster: Cluster) -> list[str]:
    """The stores that the status says are down."""
    listed = cluster.get("logset", "mo")["status"].get("failedStores", [])
    return [one["podName"] for one in listed]


def state(cluster: Cluster) -> str:
    """What the LogSet says, and since when its Pods are there, shortest first, for messages."""
    logset = cluster.get("logset", "mo")
    status = logset["status"]
    told = [f"{one['type']}={one['status']} {one['message']}" for one in status["conditions"]]
    pods = [
        f"{name} since {pod['metadata']['creationTimestamp']} {pod['status']['phase']}"
        for name, pod in cluster.pods("LogSet").items()
    ]
    rest = {key: status[key] for key in ("shards", "failedStores") if key in status}
    kept = logset["metadata"]["annotations"]
    known = {key: kept[key] for key in (REPAIR, INCARNATIONS) if key in kept}
    return "; ".join([*told, *pods, json.dumps(rest), json.dumps(known)])


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
    # A Pod that was slow to start may be up before the failover deletes it: then the failover is
    # canceled, with its incarnation on record, and begins again when the store has failed for good.
    eventually(
        lambda: shards(cluster) == [(3, 3)] * 2,
        REPAIR_SECONDS,
        "complete shards",
        otherwise=lambda: state(cluster),
    )
    cluster.await_ready(60)
    return seconds


def let_a_day_pass(cluster: Cluster) -> None:
    """Shift the time since which the volumes of replaced stores are kept."""
    volumes = annotation(cluster, VOLUMES)
    aged = json.dumps([{**one, "since": one["since"] - 24 * 3600} for one in volumes])
    cluster.patch("logset", "mo", {"metadata": {"annotations": {VOLUMES: aged}}})


def events(cluster: Cluster) -> list[str]:
    """The reasons of all Events of the namespace."""
    return [one["reason"] for one in cluster.get("events.events.k8s.io")["items"]]
