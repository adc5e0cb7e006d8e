# SPDX-License-Identifier: Apache-2.0
"""The objects of a cluster as an API server returns them, with what the plugin reads of them."""

from typing import Any

Json = dict[str, Any]

NAMESPACE = "shop"
BEGAN = "2026-11-20T08:00:00Z"
GROUP = "core.matrixorigin.io/v1alpha1"
WELL = {"Ready": "True", "Synced": "True", "Progressing": "False", "Degraded": "False"}


def condition(kind: str, status: str, reason: str = "AsExpected", message: str = "") -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-27T05:58:30Z",
    }


def well(**other: tuple[str, str, str]) -> list[Json]:
    """Return the conditions of something that serves, but for others."""
    kinds = {**{kind: (status,) for kind, status in WELL.items()}, **other}
    return [condition(kind, *values) for kind, values in kinds.items()]


def cluster(**status: Any) -> Json:
    return {
        "apiVersion": GROUP,
        "kind": "MatrixOneCluster",
        "metadata": {"name": "mo", "namespace": NAMESPACE, "uid": "u-1"},
        "spec": {
            "version": "3.0.18",
            "logService": {
                "sharedStorage": {"s3": {"path": "databases/mo", "endpoint": "http://minio:9000"}}
            },
        },
        "status": {
            "phase": "Ready",
            "conditions": well(),
            "version": "3.0.18",
            "host": "mo-proxy.shop.svc",
            "port": 6001,
            "credentialRef": {"name": "mo-credential"},
            "binding": {"name": "mo-connection"},
            **status,
        },
    }


def part(kind: str, name: str, pods: str, **status: Any) -> Json:
    """Return a set of the cluster."""
    labels = {"matrixorigin.io/cluster": "mo"}
    shown = {"phase": "Ready", "conditions": well(), "version": "3.0.18", "pods": pods}
    return {
        "apiVersion": GROUP,
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "status": {**shown, **status},
    }


def pod(name: str, kind: str, instance: str, **how: Any) -> Json:
    labels = {
        "matrixorigin.io/cluster": "mo",
        "matrixorigin.io/component": kind,
        "matrixorigin.io/instance": instance,
    }
    ready = how.get("ready", True)
    container = {"name": "main", "restartCount": how.get("restarts", 0), "state": {"running": {}}}
    if "waiting" in how:
        container["state"] = {"waiting": {"reason": how["waiting"]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": labels,
            "annotations": how.get("annotations", {}),
            "creationTimestamp": BEGAN,
        },
        "spec": {"nodeName": "node-1"},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [container],
        },
    }


def claim(name: str, phase: str = "Bound") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"resources": {"requests": {"storage": "10Gi"}}},
        "status": {
            "phase": phase,
            **({"capacity": {"storage": "10Gi"}} if phase == "Bound" else {}),
        },
    }


def backup(name: str, moment: str, source: str = "matrixonecluster/shop/mo", **status: Any) -> Json:
    return {
        "apiVersion": GROUP,
        "kind": "Backup",
        "metadata": {"name": name},
        "meta": {"sourceRef": source, "sourceUid": "u-1", "atTime": moment},
        "status": {"phase": "Available", **status},
    }


STORES = [
    {"podName": "mo-tp-cn-a", "uuid": "30000000-0000-0000-0000-000000000000", "state": "Working"},
    {"podName": "mo-tp-cn-b", "uuid": "30000000-0000-0000-0000-000000000001", "state": "Draining"},
]
SHARDS = [
    {"shard": 0, "replicas": 3, "available": 3},
    {"shard": 1, "replicas": 3, "available": 2},
]
TLS = {"secretName": "mo-tls", "notAfter": "2027-02-01T12:00:00Z"}

PARTS = [
    claim("mo-log-data-mo-log-0"),
    claim("mo-log-data-mo-log-1"),
    pod("mo-tp-cn-b", "CNSet", "mo-tp", annotations={"matrixorigin.io/store-cordon": ""}),
    pod("mo-tp-cn-a", "CNSet", "mo-tp", restarts=2),
    pod("mo-log-0", "LogSet", "mo"),
    pod("mo-dn-0", "DNSet", "mo"),
    part("ProxySet", "mo", "2/2", tls=TLS),
    part("CNSet", "mo-tp", "2/2", stores=STORES),
    part("DNSet", "mo", "1/1"),
    part("LogSet", "mo", "3/3", shards=SHARDS),
]
PROVEN = {"verification": {"result": "Passed", "completionTime": "2026-11-27T03:00:00Z"}}
BACKUPS = [
    backup("mo-old", "2026-11-20T00:00:00Z"),
    backup("mo-daily-1", "2026-11-27T02:00:00Z", **PROVEN),
    backup("of-another", "2026-11-27T05:00:00Z", source="matrixonecluster/shop/other"),
]
HELD = {
    "from": "2.2.2",
    "to": "3.0.18",
    "phase": "Held",
    "pointOfNoReturn": "Ahead",
    "message": "the upgrade from 2.2.2 to 3.0.18 is held back: Backup failed: none is younger than 1d",
    "checks": [
        {"name": "Health", "result": "Passed"},
        {"name": "Backup", "result": "Failed", "message": "none is younger than 1d"},
    ],
}
ILL = cluster(
    phase="Degraded",
    version="2.2.2",
    upgrade=HELD,
    conditions=well(
        Ready=("False", "LogServiceNotReady", "waiting for LogSet mo: 2 of 3 log stores are ready"),
        Degraded=("True", "PodNotStarting", "Pod mo-log-1: ImagePullBackOff"),
    ),
)
ILL_PARTS = [
    claim("mo-log-data-mo-log-1", "Pending"),
    pod("mo-log-1", "LogSet", "mo", ready=False, waiting="ImagePullBackOff"),
    part(
        "LogSet",
        "mo",
        "2/3",
        phase="Degraded",
        version="2.2.2",
        message="waiting for 1 of 3 log stores",
        conditions=well(
            StorageReachable=("False", "Forbidden", "the object store refuses the keys")
        ),
    ),
]
