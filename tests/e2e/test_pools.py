# SPDX-License-Identifier: Apache-2.0
"""Two tenants on compute nodes of a pool, through one proxy: claims, moves, returns, a crash."""

import json
import signal
import time
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import DRAIN_SECONDS, Cluster, operated, tiny_cluster
from tests.e2e.tenants import Tenant
from tests.e2e.traffic import Traffic, conclude
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]

POOL = "shared"
PHASE = "pool.matrixorigin.io/phase"
CLAIMED_BY = "pool.matrixorigin.io/claimed-by"
_READY_SECONDS = 240
_BOUND_SECONDS = 30
_SERVED_SECONDS = 60


def _pool(idle: int) -> dict[str, Any]:
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
                "scaleStrategy": {"maxIdle": idle, "maxPods": 5},
                "updateStrategy": {"reclaimTimeout": "10m"},
            },
            "template": {
                "image": f"{cluster['imageRepository']}:{cluster['version']}",
                "resources": group["resources"],
                "sharedStorageCache": group["sharedStorageCache"],
                "config": "[cn.frontend]\nproxy-enabled = true\n",
                "scalingConfig": {"storeDrainTimeout": "2m", "minDelaySeconds": 2},
            },
        },
    }


def apply(cluster: Cluster, *resources: dict[str, Any]) -> None:
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


def store_of(cluster: Cluster, claim: str) -> str:
    """Return the UUID of the store that a claim has; empty while it has none."""
    status = cluster.get("cnclaim", claim).get("status", {})
    return str(status.get("store", {}).get("serviceID", "")) if status.get("phase") else ""


def bound(cluster: Cluster, claim: str) -> bool:
    """Tell whether a claim is bound."""
    return bool(cluster.get("cnclaim", claim).get("status", {}).get("phase") == "Bound")


def served_by(tenant: Tenant) -> str:
    """Return the store that answers a tenant; empty if none does."""
    try:
        return tenant.served_by()
    except pymysql.MySQLError:
        return ""


def await_service(tenant: Tenant, claim: str) -> float:
    """Wait until a new session of the tenant is on its own node; return the seconds."""
    begun = time.monotonic()
    eventually(lambda: bound(tenant, claim), _BOUND_SECONDS, f"{claim} is bound", pause=0.05)
    eventually(
        lambda: store_of(tenant, claim) == served_by(tenant) != "",
        _SERVED_SECONDS,
        f"{tenant.account} on its own node",
        pause=0.1,
    )
    return time.monotonic() - begun


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with a pool of two idle compute nodes beside its own one."""
    folder = tmp_path_factory.mktemp("operator")
    with operated(real_testbed, folder, tiny_cluster(), "pools") as made:
        apply(made, _pool(idle=2))
        made.kubectl(
            "wait", "--for=condition=Ready", f"cnpool/{POOL}", f"--timeout={_READY_SECONDS}s"
        )
        eventually(lambda: list(pods(made).values()) == ["Idle"] * 2, _READY_SECONDS, "idle nodes")
        yield made
        made.kubectl("delete", "cnclaimset,cnclaim", "--all", "--timeout=60s")
        made.kubectl("delete", "cnpool", POOL, "--timeout=240s")


@pytest.fixture(scope="module")
def red(cluster: Cluster) -> Tenant:
    return Tenant(cluster, "tenant_red")


@pytest.fixture(scope="module")
def blue(cluster: Cluster) -> Tenant:
    return Tenant(cluster, "tenant_blue")


def test_each_tenant_is_served_by_the_node_that_it_claimed(
    cluster: Cluster, red: Tenant, blue: Tenant
) -> None:
    apply(cluster, red.claim("red", POOL), blue.claim("blue", POOL))
    seconds = [await_service(tenant, name) for tenant, name in ((red, "red"), (blue, "blue"))]
    conclude(f"claims: first SQL on the own node after {seconds[0]:.1f} s and {seconds[1]:.1f} s")
    assert store_of(cluster, "red") != store_of(cluster, "blue")
    eventually(lambda: sorted(pods(cluster).values()).count("Idle") == 2, _READY_SECONDS, "others")


def test_a_claim_moves_under_traffic(cluster: Cluster, red: Tenant) -> None:
    source = cluster.get("cnclaim", "red")["spec"]["podName"]
    target = min(name for name, phase in pods(cluster).items() if phase == "Idle")
    with Traffic(red, "claim-moves") as traffic:
        time.sleep(3)
        cluster.patch(
            "cnclaim", "red", {"spec": {"podName": target, "sourcePod": {"podName": source}}}
        )
        eventually(
            lambda: "sourcePod" not in cluster.get("cnclaim", "red")["spec"],
            DRAIN_SECONDS,
            "the end of the move",
        )
        time.sleep(3)
    traffic.require_nothing_lost(longest=45.0)
    assert served_by(red) == store_of(cluster, "red")
    assert cluster.get("cnclaim", "red")["status"]["store"]["podName"] == target


def test_a_returned_node_is_idle_without_labels_and_its_owner_gets_it_again(
    cluster: Cluster, red: Tenant
) -> None:
    pod = cluster.get("cnclaim", "red")["spec"]["podName"]
    cluster.kubectl("delete", "cnclaim", "red", "--timeout=10s")
    eventually(lambda: pods(cluster).get(pod) == "Idle", 120, "the node is idle again")
    labels = cluster.get("pod", pod)["metadata"]["labels"]
    assert CLAIMED_BY not in labels
    apply(cluster, red.claim("red", POOL))
    await_service(red, "red")
    assert cluster.get("cnclaim", "red")["spec"]["podName"] == pod


def test_a_set_of_claims_follows_kubectl_scale(cluster: Cluster, blue: Tenant) -> None:
    apply(
        cluster,
        {
            "apiVersion": "core.matrixorigin.io/v1alpha1",
            "kind": "CNClaimSet",
            "metadata": {"name": "blues"},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"tenant": "blue"}},
                "template": {
                    "metadata": {"labels": {"tenant": "blue"}},
                    "spec": blue.wants(POOL),
                },
            },
        },
    )
    for wanted in (1, 2, 1):
        cluster.kubectl("scale", "cnclaimset", "blues", f"--replicas={wanted}")

        def settled(wanted: int = wanted) -> bool:
            status = cluster.get("cnclaimset", "blues").get("status", {})
            return (status.get("replicas"), status.get("readyReplicas")) == (wanted, wanted)

        eventually(settled, _READY_SECONDS, f"{wanted} bound claims")
    assert served_by(blue) != ""
    cluster.kubectl("delete", "cnclaimset", "blues", "--timeout=60s")


def test_an_operator_that_is_killed_in_a_burst_binds_nothing_twice(
    cluster: Cluster, red: Tenant
) -> None:
    names = [f"burst-{number}" for number in range(3)]
    eventually(lambda: list(pods(cluster).values()).count("Idle") >= 2, DRAIN_SECONDS, "idle nodes")
    apply(cluster, *(red.claim(name, POOL) for name in names))
    time.sleep(0.3)
    cluster.operator.end(signal.SIGKILL)
    cluster.operator.start()
    eventually(
        lambda: sum(bound(cluster, name) for name in names) >= 2, _READY_SECONDS, "bound claims"
    )
    listed = cluster.get("pods", "-l", f"pool.matrixorigin.io/pool-name={POOL}")["items"]
    holders = [
        one["metadata"]["labels"][CLAIMED_BY]
        for one in listed
        if one["metadata"]["labels"].get(PHASE) == "Bound"
    ]
    assert len(holders) == len(set(holders))
    cluster.kubectl("delete", "cnclaim", *names, "--timeout=30s")
