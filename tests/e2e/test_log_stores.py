# SPDX-License-Identifier: Apache-2.0
"""Log stores are lost for good under traffic; new ones take their place and no row is missing."""

import json
import shutil
import signal
import time
from collections.abc import Iterator

import pymysql
import pytest

from testbed.bed import KubectlError, TestBed
from tests.e2e.clusters import Cluster, operated, replacing, tiny_cluster
from tests.e2e.faults import frozen
from tests.e2e.log_stores import (
    INCARNATIONS,
    REPAIR,
    REPAIR_SECONDS,
    annotation,
    await_replacement,
    down,
    events,
    folder_of,
    mend,
    shards,
    state,
    volume,
    wreck,
)
from tests.e2e.traffic import Traffic
from tests.support.waiting import eventually

pytestmark = pytest.mark.node

FAILURE_TIMEOUT = 20
RECLAIM = "persistentVolumeReclaimPolicy"


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three log stores that are replaced after 20 s."""
    resource = replacing(tiny_cluster(), f"{FAILURE_TIMEOUT}s")
    folder = tmp_path_factory.mktemp("operator")
    with operated(real_testbed, folder, resource, "log") as made:
        yield made


def test_a_plain_set_says_how_its_nodes_are(cluster: Cluster) -> None:
    """Nothing has to be told to HAKeeper about it, but it can be asked."""

    def shown() -> list[str]:
        listed = cluster.get("cnset", "mo-tp")["status"].get("stores", [])
        return [one["state"] for one in listed]

    eventually(lambda: shown() == ["Working"], 60, "a working node")


def test_a_wrecked_store_is_replaced(cluster: Cluster) -> None:
    uid = cluster.get("pvc", "mo-data-mo-log-2")["metadata"]["uid"]
    with Traffic(cluster, "log-store-wrecked") as traffic:
        time.sleep(3)
        wreck(cluster, "mo-log-2")
        await_replacement(cluster, 2, 1)
        time.sleep(5)
    assert cluster.get("pvc", "mo-data-mo-log-2")["metadata"]["uid"] != uid
    assert {"FailingOver", "FailedOver"} <= set(events(cluster))
    traffic.require_nothing_lost(longest=90)


def test_volumes_of_replaced_stores_are_kept_if_asked_for(cluster: Cluster) -> None:
    """The operator crashes in the middle; the next one goes on from there."""
    cluster.change("logService/failedPodStrategy", "Orphan")
    cluster.kubectl("wait", "--for=condition=Synced", "logset/mo", "--timeout=60s")
    kept = volume(cluster, "mo-log-2")
    before = annotation(cluster, INCARNATIONS)["2"]
    with Traffic(cluster, "log-store-orphaned") as traffic:
        time.sleep(3)
        wreck(cluster, "mo-log-2")
        eventually(lambda: annotation(cluster, REPAIR) is not None, 90, "record", pause=0.1)
        cluster.operator.end(signal.SIGKILL)
        time.sleep(2)
        cluster.operator.start()
        await_replacement(cluster, 2, before + 1)
        time.sleep(5)
    now = cluster.get("pv", kept["metadata"]["name"])
    assert now["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert now["status"]["phase"] == "Released"
    assert (folder_of(now) / "lost").is_dir()
    assert "VolumeKept" in events(cluster)
    traffic.require_nothing_lost(longest=90)
    cluster.kubectl("delete", "pv", kept["metadata"]["name"])
    shutil.rmtree(folder_of(now))


def test_a_store_that_comes_back_empty_gets_its_replicas_again(cluster: Cluster) -> None:
    """Who removes a claim finds a store under its old name that lacks what it is counted on for.

    That is told before, and the volume of before is kept.
    """
    kept = volume(cluster, "mo-log-1")
    with Traffic(cluster, "log-store-wiped") as traffic:
        time.sleep(3)
        cluster.kubectl("delete", "pvc", "mo-data-mo-log-1", "--wait=false")
        eventually(
            lambda: cluster.condition("logset", "mo", "Degraded")["reason"] == "VolumeDeleted",
            60,
            "word of the deleted claim",
        )
        eventually(
            lambda: volume(cluster, "mo-log-1")["spec"][RECLAIM] == "Retain", 15, "a kept volume"
        )
        cluster.kubectl("delete", "pod", "mo-log-1", "--force", "--grace-period=0")
        eventually(lambda: "mo-log-1" in down(cluster), 30, "a store that is down")
        eventually(
            lambda: not down(cluster) and annotation(cluster, REPAIR) is None,
            REPAIR_SECONDS,
            "all stores",
            otherwise=lambda: state(cluster),
        )
        eventually(lambda: shards(cluster) == [(3, 3)] * 2, 90, "complete shards")
        assert cluster.condition("logset", "mo", "Degraded")["status"] == "False"
        time.sleep(5)
    now = cluster.get("pv", kept["metadata"]["name"])
    assert now["status"]["phase"] == "Released"
    traffic.require_nothing_lost(longest=90)
    cluster.kubectl("delete", "pv", kept["metadata"]["name"])
    shutil.rmtree(folder_of(now))


def test_a_lost_store_holds_nothing_else_up(cluster: Cluster) -> None:
    """Compute nodes are added and changed while a log store is down."""
    cluster.change("logService/storeFailureTimeout", "10m")
    with Traffic(cluster, "log-store-down-scale-out") as traffic:
        time.sleep(3)
        wreck(cluster, "mo-log-0")
        eventually(lambda: "mo-log-0" in down(cluster), 30, "a store that is down")
        config = '[log]\nlevel = "warn"\n'
        group = {"name": "tp", "replicas": 2, "config": config}
        spec = cluster.get("mo", "mo")["spec"]["cnGroups"][0]
        cluster.change("cnGroups/0", {**spec, **group})
        eventually(lambda: changed_nodes(cluster) == 2, 90, "new compute nodes")
        assert "mo-log-0" in down(cluster)
        mend(cluster, "mo-log-0")
        await_return(cluster)
        time.sleep(5)
    # Clients of a compute node that is replaced have to connect again: the set does not drain.
    traffic.require_nothing_lost(longest=90, errors=50)


def await_return(cluster: Cluster) -> None:
    """Wait until a store takes part again that HAKeeper may have removed while it was away.

    Then it joins by itself on 1.3 only; from 2.0 on it is never heard again, and is replaced.
    """
    cluster.change("logService/storeFailureTimeout", f"{FAILURE_TIMEOUT}s")
    eventually(
        lambda: (
            shards(cluster) == [(3, 3)] * 2
            and not down(cluster)
            and annotation(cluster, REPAIR) is None
        ),
        REPAIR_SECONDS,
        "three stores that take part",
        otherwise=lambda: state(cluster),
    )
    cluster.await_ready(60)


def test_a_store_that_returns_after_hakeeper_removed_it_takes_part_again(cluster: Cluster) -> None:
    """As after the reboot of a node that took longer than `log-store-timeout`, here 20 s.

    Its Pod is ready at once; until its store takes part, no other node may be drained.
    """
    cluster.change("logService/storeFailureTimeout", "10m")
    cluster.await_ready()
    assert evictions_allowed(cluster) == 1
    with Traffic(cluster, "log-store-returns") as traffic:
        time.sleep(3)
        wreck(cluster, "mo-log-1")
        time.sleep(2 * FAILURE_TIMEOUT)
        mend(cluster, "mo-log-1")
        # The Pod that `mend` has deleted may not have a successor yet.
        for event in ("create", "condition=Ready"):
            cluster.kubectl("wait", f"--for={event}", "pod/mo-log-1", "--timeout=60s")
        with pytest.raises(KubectlError, match="disruption budget"):
            evict(cluster, "mo-log-0")
        await_return(cluster)
        time.sleep(3)
    traffic.require_nothing_lost(longest=90)
    eventually(lambda: evictions_allowed(cluster) == 1, 30, "a budget as before")


def evictions_allowed(cluster: Cluster) -> int:
    return int(cluster.get("pdb", "mo-log")["status"]["disruptionsAllowed"])


def evict(cluster: Cluster, pod: str) -> None:
    """Ask for a Pod to be evicted, as a drain of its node does."""
    path = f"/api/v1/namespaces/{cluster.namespace}/pods/{pod}/eviction"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    cluster.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(eviction))


def test_a_store_that_stood_still_until_hakeeper_removed_it_takes_part_again(
    cluster: Cluster,
) -> None:
    cluster.change("logService/storeFailureTimeout", "10m")
    cluster.await_ready()
    with Traffic(cluster, "log-store-stands-still") as traffic:
        time.sleep(3)
        with frozen(cluster, "mo-log-1"):
            time.sleep(2 * FAILURE_TIMEOUT)
        await_return(cluster)
        time.sleep(3)
    traffic.require_nothing_lost(longest=90)


def changed_nodes(cluster: Cluster) -> int:
    """Compute nodes of the newest template that are ready."""
    status = cluster.get("cnset", "mo-tp")["status"]
    return int(min(status["updatedReplicas"], status["readyReplicas"]))


def test_nothing_is_replaced_while_a_majority_is_at_risk(cluster: Cluster) -> None:
    """Without a quorum there is no SQL, and no data may be given up. One store back is enough."""
    cluster.change("logService/storeFailureTimeout", f"{FAILURE_TIMEOUT}s")
    claims = {pod: cluster.get("pvc", f"mo-data-{pod}") for pod in ("mo-log-0", "mo-log-1")}
    before = annotation(cluster, INCARNATIONS)
    with Traffic(cluster, "log-stores-majority-down") as traffic:
        time.sleep(3)
        wreck(cluster, "mo-log-0")
        wreck(cluster, "mo-log-1")
        eventually(
            lambda: cluster.condition("logset", "mo", "Degraded")["reason"] == "FailoverBlocked",
            FAILURE_TIMEOUT + 40,
            "blocked failover",
        )
        time.sleep(FAILURE_TIMEOUT)
        for claim in claims.values():
            name, uid = claim["metadata"]["name"], claim["metadata"]["uid"]
            assert cluster.get("pvc", name)["metadata"]["uid"] == uid
        assert annotation(cluster, INCARNATIONS) == before
        mend(cluster, "mo-log-1")
        await_replacement(cluster, 0, 1)
        repaired = traffic.seconds()
        time.sleep(15)
    traffic.require_nothing_lost(longest=REPAIR_SECONDS, errors=None)
    traffic.require_service_since(repaired + 10)  # sessions from before may fail once more


@pytest.mark.scenario
def test_kept_volumes_bring_a_cluster_back_that_had_failovers(cluster: Cluster) -> None:
    """The stores come back as those that their volumes hold; no second HAKeeper is founded."""
    before = annotation(cluster, INCARNATIONS)
    assert max(before.values()) >= 1, "needs a test before it that replaces a store"
    with cluster.connect() as session, session.cursor() as cursor:
        cursor.execute("create database if not exists kept")
        cursor.execute("create table kept.rows_seen (n int primary key)")
        cursor.execute("insert into kept.rows_seen values (1), (2), (3)")
    cluster.patch("mo", "mo", {"spec": {"logService": {"pvcRetentionPolicy": "Retain"}}})
    manifest = cluster.get("mo", "mo")
    volumes = {pod: volume(cluster, pod)["metadata"]["uid"] for pod in cluster.pods("LogSet")}

    cluster.kubectl("delete", "mo", "mo", "--timeout=240s")
    manifest = {**manifest, "metadata": {"name": "mo"}, "status": {}}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(manifest))
    cluster.await_ready()
    cluster.forget_entrance()

    assert annotation(cluster, INCARNATIONS) == before
    assert {pod: volume(cluster, pod)["metadata"]["uid"] for pod in volumes} == volumes
    eventually(lambda: shards(cluster) == [(3, 3)] * 2, 60, "complete shards")
    eventually(lambda: rows(cluster) == 3, 60, "the rows of before")


def rows(cluster: Cluster) -> int:
    """Count the rows that were there before; 0 while the proxy knows no compute node yet."""
    try:
        with cluster.connect() as session, session.cursor() as cursor:
            cursor.execute("select count(*) from kept.rows_seen")
            return int(cursor.fetchall()[0][0])
    except pymysql.MySQLError:
        return 0


def test_a_log_service_that_has_never_been_up_replaces_nothing(cluster: Cluster) -> None:
    """Who founds HAKeeper is fixed: a store of another identity could not take part."""
    spec = cluster.get("logset", "mo")["spec"]
    selector = {"matchLabels": {"matrixorigin.io/instance": "lone"}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    lone = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "LogSet",
        "metadata": {"name": "lone"},
        "spec": {**spec, "storeFailureTimeout": "5s", "overlay": {"affinity": apart}},
    }
    cluster.kubectl("apply", "-f", "-", input=json.dumps(lone))

    def blocked() -> bool:
        said = cluster.condition("logset", "lone", "Degraded")
        return said.get("reason") == "FailoverBlocked" and "never been up" in said["message"]

    eventually(blocked, 60, "blocked failover")
    time.sleep(10)
    annotations = cluster.get("logset", "lone")["metadata"]["annotations"]
    assert not {INCARNATIONS, REPAIR} & annotations.keys()
    cluster.kubectl("delete", "logset", "lone", "--timeout=120s")
