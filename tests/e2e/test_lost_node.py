# SPDX-License-Identifier: Apache-2.0
"""A machine falls silent: its log store is replaced, its transaction node only when it is dead."""

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

import testbed
from testbed.bed import TestBed
from testbed.errors import RequirementError
from tests.e2e.clusters import HAKEEPER_TIMEOUT, Cluster, operated, tiny_cluster
from tests.e2e.faults import hung
from tests.e2e.health import LOCK_SECONDS, SERVED_SECONDS, suffering
from tests.e2e.traffic import Traffic
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.node,
    pytest.mark.scenario,
]

LOST = "node-1"
NODE_SECONDS = 300
HUNG_SECONDS = 90.0
"""Enough for Kubernetes to miss a node and to move Pods from it."""


@pytest.fixture(scope="module")
def bed() -> Iterator[TestBed]:
    """Three real nodes."""
    name = f"pytest-nodes-{os.getpid()}"
    try:
        yield testbed.up(name, nodes="real", node_count=3, images=["matrixone"])
    except RequirementError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    finally:
        testbed.down(name)


def overlay(*preferred: str) -> dict[str, Any]:
    """Pods that prefer some nodes, and leave a node that is lost after 10 s."""
    found: dict[str, Any] = {
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{taint}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 10,
            }
            for taint in ("unreachable", "not-ready")
        ]
    }
    if preferred:
        expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [*preferred]}
        choice = {"weight": 100, "preference": {"matchExpressions": [expression]}}
        affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [choice]}
        found["affinity"] = {"nodeAffinity": affinity}
    return found


@pytest.fixture(scope="module")
def cluster(bed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One log store per node, on its disk; the transaction node where it will be lost."""
    resource = tiny_cluster()
    spec = resource["spec"]
    spec["logService"] |= {
        "storeFailureTimeout": "20s",
        "config": HAKEEPER_TIMEOUT,
        "overlay": overlay(),
        "topologySpread": ["kubernetes.io/hostname"],
    }
    spec["logService"]["volume"]["storageClassName"] = "local"
    spec["logService"]["sharedStorage"]["fileSystem"]["claim"]["storageClassName"] = "standard"
    spec["tn"]["overlay"] = overlay(LOST)
    spec["cnGroups"][0]["overlay"] = overlay("node-0", "node-2")
    spec["proxy"]["overlay"] = overlay("node-0", "node-2")
    with operated(bed, tmp_path_factory.mktemp("operator"), resource, "nodes") as made:
        yield made


def places(cluster: Cluster, kind: str) -> dict[str, str]:
    """Node by Pod, of Pods that are not going."""
    return {
        name: pod["spec"].get("nodeName", "")
        for name, pod in cluster.pods(kind).items()
        if "deletionTimestamp" not in pod["metadata"]
    }


def why_blocked(cluster: Cluster) -> str:
    """Why the transaction node is not replaced; empty while nothing is said of it."""
    said = cluster.condition("dnset", "mo", "Degraded")
    return str(said["message"]) if said.get("reason") == "FailoverBlocked" else ""


def transaction_nodes(cluster: Cluster) -> list[str]:
    """The uids of the Pods of transaction nodes, those that are going included."""
    return [pod["metadata"]["uid"] for pod in cluster.pods("DNSet").values()]


def test_a_transaction_node_that_lives_gets_no_second_one(bed: TestBed, cluster: Cluster) -> None:
    """Kubernetes takes the node for lost, while database and sessions go on."""
    only = transaction_nodes(cluster)
    assert places(cluster, "DNSet") == {"mo-dn-0": LOST}
    with Traffic(cluster, "kubelet-hangs") as traffic:
        time.sleep(5)
        with hung(bed, f"{LOST}-kubelet"):
            eventually(lambda: why_blocked(cluster), NODE_SECONDS, "a failover that is blocked")
            assert "HAKeeper still hears it" in why_blocked(cluster)
            written = len(traffic.acknowledged)
            for _look in range(30):
                assert transaction_nodes(cluster) == only
                time.sleep(1)
            assert len(traffic.acknowledged) > written
        cluster.await_ready(NODE_SECONDS)
        ready = traffic.seconds()
        time.sleep(20)
    assert why_blocked(cluster) == ""
    reasons = {one["reason"] for one in cluster.get("events.events.k8s.io")["items"]}
    assert "PodReleased" not in reasons
    traffic.require_nothing_lost(longest=NODE_SECONDS, errors=None)
    traffic.require_service_since(ready + 10)


@pytest.mark.parametrize("kind", ["LogSet", "CNSet"])
def test_a_kubelet_that_hangs_costs_no_row(bed: TestBed, cluster: Cluster, kind: str) -> None:
    """The containers of its node run on; where Kubernetes moves them, sessions go on elsewhere."""
    node = next(one for one in sorted(places(cluster, kind).values()) if one != LOST)
    fault = hung(bed, f"{node}-kubelet")
    settled = LOCK_SECONDS if kind == "CNSet" else SERVED_SECONDS
    with suffering(cluster, f"kubelet-hangs-{kind}", fault, HUNG_SECONDS, settled) as traffic:
        known = len(traffic.acknowledged)
        time.sleep(HUNG_SECONDS)
        assert len(traffic.acknowledged) > known
    assert places(cluster, "DNSet") == {"mo-dn-0": LOST}


def test_the_loss_of_a_node_is_survived(bed: TestBed, cluster: Cluster) -> None:
    """The machine is off; the message says what is left to do for a person."""
    stores = places(cluster, "LogSet")
    assert sorted(stores.values()) == ["node-0", "node-1", "node-2"]
    assert places(cluster, "DNSet") == {"mo-dn-0": LOST}
    (lost,) = [pod for pod, node in stores.items() if node == LOST]
    with Traffic(cluster, "node-lost") as traffic:
        time.sleep(5)
        testbed.stop_node(LOST, bed.name)
        eventually(
            lambda: "it may still run" in why_blocked(cluster),
            NODE_SECONDS,
            "a failover that waits for a person",
            otherwise=lambda: why_blocked(cluster),
        )
        command = why_blocked(cluster).rpartition("then run: kubectl ")[2].split()
        assert command[:3] == ["taint", "nodes", LOST]
        cluster.kubectl(*command)
        eventually(
            lambda: serves_elsewhere(cluster, "DNSet"), NODE_SECONDS, "transaction node elsewhere"
        )
        eventually(
            lambda: serves_elsewhere(cluster, "LogSet"), NODE_SECONDS, f"new store for {lost}"
        )
        cluster.await_ready(NODE_SECONDS)
        ready = traffic.seconds()
        time.sleep(20)
    reasons = {one["reason"] for one in cluster.get("events.events.k8s.io")["items"]}
    assert "FailedOver" in reasons
    traffic.require_nothing_lost(longest=NODE_SECONDS, errors=None)
    traffic.require_service_since(ready + 10)


def serves_elsewhere(cluster: Cluster, kind: str) -> bool:
    """Whether all Pods of a kind are ready, on nodes that live."""
    item = next(iter(cluster.get(kind.lower())["items"]))
    wanted = item["spec"]["replicas"]
    placed = places(cluster, kind)
    status = item["status"]
    settled = status["readyReplicas"] == wanted == len(placed)
    return settled and LOST not in placed.values() and not status.get("failedStores")
