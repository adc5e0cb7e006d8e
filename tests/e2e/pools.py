# SPDX-License-Identifier: Apache-2.0
"""A pool of compute nodes beside a cluster on the real node, and the tenants that it serves."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    MatrixOneError,
)

from testbed.bed import TestBed
from tests.e2e.clusters import Cluster, Json, operated, tiny_cluster
from tests.e2e.tenants import Tenant
from tests.support.waiting import eventually

POOL = "shared"
PHASE = "pool.matrixorigin.io/phase"
CLAIMED_BY = "pool.matrixorigin.io/claimed-by"
READY_SECONDS = 240
_BOUND_SECONDS = 30
_SERVED_SECONDS = 60


def pool(idle: int, most: int = 5, **template: Any) -> Json:
    """Return a pool whose Pods are as small as those of the cluster."""
    cluster = tiny_cluster()["spec"]
    group = cluster["cnGroups"][0]
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "CNPool",
        "metadata": {"name": POOL},
        "spec": {
            "podLabels": {"pool": POOL},
            "deps": {"logSet": {"metadata": {"name": "mo"}}, "dnSet": {"metadata": {"name": "mo"}}},
            "strategy": {
                "scaleStrategy": {"maxIdle": idle, "maxPods": most},
                "updateStrategy": {"reclaimTimeout": "10m"},
            },
            "template": {
                "image": f"{cluster['imageRepository']}:{cluster['version']}",
                "resources": group["resources"],
                "sharedStorageCache": group["sharedStorageCache"],
                "config": "[cn.frontend]\nproxy-enabled = true\n",
                "scalingConfig": {"storeDrainTimeout": "2m", "minDelaySeconds": 2},
                **template,
            },
        },
    }


@contextmanager
def pooled(bed: TestBed, folder: Path, idle: int, most: int = 5) -> Iterator[Cluster]:
    """Run a cluster with a pool of idle compute nodes beside its own one."""
    with operated(bed, folder, tiny_cluster(), "pools") as made:
        apply(made, pool(idle, most))
        await_idle(made, idle)
        yield made
        made.kubectl("delete", "cnclaimset,cnclaim", "--all", "--timeout=60s")
        made.kubectl("delete", "cnpool", POOL, "--timeout=240s")


def apply(cluster: Cluster, *resources: Json) -> None:
    """Apply resources."""
    listed = {"apiVersion": "v1", "kind": "List", "items": list(resources)}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(listed))


def pods(cluster: Cluster) -> dict[str, str]:
    """Return the phase of each Pod of the pool that is not being deleted."""
    listed = cluster.get("pods", "-l", f"pool.matrixorigin.io/pool-name={POOL}")["items"]
    return {
        one["metadata"]["name"]: one["metadata"]["labels"][PHASE]
        for one in listed
        if "deletionTimestamp" not in one["metadata"]
    }


def await_idle(cluster: Cluster, count: int) -> None:
    """Wait until so many Pods of the pool are idle, at least."""
    eventually(
        lambda: list(pods(cluster).values()).count("Idle") >= count,
        READY_SECONDS,
        f"{count} idle nodes",
        otherwise=lambda: (pods(cluster), cluster.get("cnpool", POOL).get("status")),
    )


def await_gone(cluster: Cluster) -> None:
    """Wait until no Pod of the pool drains or is being deleted: locks that it kept would be missed."""

    def left() -> list[str]:
        listed = cluster.get("pods", "-l", f"pool.matrixorigin.io/pool-name={POOL}")["items"]
        deleted = [one for one in listed if "deletionTimestamp" in one["metadata"]]
        drains = [name for name, phase in pods(cluster).items() if phase == "Draining"]
        return [*drains, *(one["metadata"]["name"] for one in deleted)]

    eventually(lambda: not left(), 2 * READY_SECONDS, "no Pod that leaves", otherwise=left)


def store_of(cluster: Cluster, claim: str) -> Json:
    """Return the store that a claim has, as its status has it; empty while it has none."""
    status = cluster.get("cnclaim", claim).get("status", {})
    return dict(status.get("store", {})) if status.get("phase") else {}


def bound(cluster: Cluster, claim: str) -> bool:
    """Tell whether a claim is bound."""
    return bool(cluster.get("cnclaim", claim).get("status", {}).get("phase") == "Bound")


def served_by(tenant: Tenant, stores: Iterable[Json]) -> str:
    """Return which of some stores answers a tenant; empty if none does."""
    try:
        return tenant.served_by(stores)
    except (pymysql.MySQLError, MatrixOneError):
        return ""


def await_service(tenant: Tenant, claim: str) -> float:
    """Wait until a new session of the tenant is on its own node; return the seconds."""
    begun = time.monotonic()
    eventually(lambda: bound(tenant, claim), _BOUND_SECONDS, f"{claim} is bound", pause=0.05)
    eventually(
        lambda: served_by(tenant, filter(None, [store_of(tenant, claim)])),
        _SERVED_SECONDS,
        f"{tenant.account} on its own node",
        pause=0.1,
    )
    return time.monotonic() - begun


def claim_set(name: str, tenant: Tenant, replicas: int) -> Json:
    """Return a set of claims of a tenant."""
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "CNClaimSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"set": name}},
            "template": {"metadata": {"labels": {"set": name}}, "spec": tenant.wants(POOL)},
        },
    }


def await_claims(cluster: Cluster, name: str, wanted: int, seconds: float = READY_SECONDS) -> None:
    """Wait until a set of claims has just so many, all bound to present Pods."""

    def settled() -> bool:
        status = cluster.get("cnclaimset", name).get("status", {})
        phases = [one["phase"] for one in status.get("claims", [])]
        return phases == ["Bound"] * wanted and status.get("readyReplicas") == wanted

    eventually(
        settled,
        seconds,
        f"{wanted} bound claims of {name}",
        otherwise=lambda: (cluster.get("cnclaimset", name).get("status"), pods(cluster)),
    )
