# SPDX-License-Identifier: Apache-2.0
"""Log stores, compute nodes and proxies come and go under traffic."""

import json
import time
from collections.abc import Iterator

import pymysql
import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import (
    DRAIN_SECONDS,
    HAKEEPER_TIMEOUT,
    Cluster,
    operated,
    tiny_cluster,
)
from tests.e2e.log_stores import (
    INCARNATIONS,
    annotation,
    await_replacement,
    shards,
    state,
    wreck,
)
from tests.e2e.traffic import Traffic, conclude
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.node,
    pytest.mark.scenario,
]


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose compute nodes drain before they go."""
    resource = tiny_cluster()
    resource["spec"]["logService"]["config"] = HAKEEPER_TIMEOUT
    resource["spec"]["cnGroups"][0]["scalingConfig"] = {
        "storeDrainEnabled": True,
        "minDelaySeconds": 10,
    }
    folder = tmp_path_factory.mktemp("operator")
    with operated(real_testbed, folder, resource, "scale") as made:
        yield made


FAILURE_TIMEOUT = "60s"
"""Longer than `HAKEEPER_TIMEOUT`, by the time that HAKeeper takes to place replicas anew."""


def replicas(cluster: Cluster) -> int:
    return int(cluster.get("statefulset", "mo-log")["spec"]["replicas"])


def settled(cluster: Cluster, kind: str, name: str) -> bool:
    """Whether a set is ready and synced at its present generation."""
    item = cluster.get(kind, name)
    said = {one["type"]: one for one in item.get("status", {}).get("conditions", [])}
    holds = [said.get(of, {}) for of in ("Ready", "Synced")]
    now = item["metadata"]["generation"]
    return all(one.get("status") == "True" and one["observedGeneration"] == now for one in holds)


def test_log_stores_are_added_and_leave_one_by_one(cluster: Cluster) -> None:
    """The second one leaves when the replicas of the first have been placed anew.

    Its edit changes the Pods as well: they are replaced after that, and never is more than one away.
    """
    with Traffic(cluster, "log-stores-scaled") as traffic:
        time.sleep(3)
        cluster.change("logService/replicas", 5)
        eventually(lambda: replicas(cluster) == 5, 30, "two more log stores")
        eventually(lambda: settled(cluster, "logset", "mo"), 120, "five log stores")
        move_replicas_from(cluster, "mo-log-0", "mo-log-1")
        before, seen = log_stores(cluster), [5]
        environment = {"env": [{"name": "TEMPLATE", "value": "another"}]}
        cluster.patch("mo", "mo", {"spec": {"logService": {"replicas": 3, "overlay": environment}}})

        def gone() -> bool:
            now, present = replicas(cluster), log_stores(cluster)
            ready = [pod for pod in names_of(now) if pod in present and present[pod][1]]
            assert len(ready) >= now - 1, f"of {now} log stores only {ready} are ready"
            if now > 3:
                assert all(present[pod][0] == before[pod][0] for pod in names_of(3))
            if now != seen[-1]:
                seen.append(now)
            return now == 3 and settled(cluster, "logset", "mo")

        eventually(gone, 400, "three log stores", pause=0.2, otherwise=lambda: state(cluster))
        eventually(lambda: shards(cluster) == [(3, 3)] * 2, 120, "complete shards")
        time.sleep(5)
    assert seen == [5, 4, 3]
    after = log_stores(cluster)
    assert all(after[pod][0] != before[pod][0] for pod in names_of(3))
    claims = {one["metadata"]["name"] for one in cluster.get("pvc")["items"]}
    assert not {"mo-data-mo-log-3", "mo-data-mo-log-4"} & claims
    notes = [one.get("note", "") for one in cluster.get("events.events.k8s.io")["items"]]
    assert not [note for note in notes if "somebody has deleted" in note]
    assert annotation(cluster, INCARNATIONS).keys() == {"0", "1", "3", "4"}
    # The addresses of log stores are part of the configuration: other components restart.
    traffic.require_nothing_lost(longest=90, errors=500)
    eventually(lambda: settled(cluster, "cnset", "mo-tp"), 180, "settled compute nodes")
    await_drained(cluster)


def names_of(count: int) -> set[str]:
    """The Pods of so many log stores."""
    return {f"mo-log-{ordinal}" for ordinal in range(count)}


def log_stores(cluster: Cluster) -> dict[str, tuple[str, bool]]:
    """The uid of each log store's Pod, and whether it is ready."""
    found = {}
    for name, pod in cluster.pods("LogSet").items():
        said = {one["type"]: one["status"] for one in pod["status"].get("conditions", [])}
        is_deleted = "deletionTimestamp" in pod["metadata"]
        found[name] = (pod["metadata"]["uid"], said.get("Ready") == "True" and not is_deleted)
    return found


def await_drained(cluster: Cluster) -> None:
    """Wait until no compute node of before is left; until then the cluster says that it drains."""

    def said() -> str:
        told = cluster.condition("mo", "mo", "Progressing")
        return "" if told["status"] == "False" else str(told["message"])

    eventually(lambda: not said(), DRAIN_SECONDS, "end of the drains", otherwise=said)
    eventually(lambda: nodes(cluster) == 1, 60, "end of the compute nodes of before")


def move_replicas_from(cluster: Cluster, *pods: str) -> None:
    """Have stores fail until they are replaced, so that the added ones take their places.

    HAKeeper gives the replicas of a store to others before the operator replaces its data.
    """
    timeout = {"storeFailureTimeout": FAILURE_TIMEOUT}
    before = cluster.get("logset", "mo")["spec"]["storeFailureTimeout"]
    cluster.patch("mo", "mo", {"spec": {"logService": timeout}})
    for pod in pods:
        wreck(cluster, pod)
        await_replacement(cluster, int(pod.rpartition("-")[2]), 1)
    cluster.patch("mo", "mo", {"spec": {"logService": {"storeFailureTimeout": before}}})


def test_fewer_log_stores_than_replicas_are_refused(cluster: Cluster) -> None:
    with pytest.raises(Exception, match="cannot be lowered below the number of replicas"):
        cluster.patch("logset", "mo", {"spec": {"replicas": 1}})


def test_compute_nodes_belong_to_who_scales_them(cluster: Cluster) -> None:
    """Replicas that the cluster leaves out are those of the CNSet: up, down to none, and back."""
    cluster.kubectl(
        *("patch", "mo", "mo", "--type=json", "-p"),
        json.dumps([{"op": "remove", "path": "/spec/cnGroups/0/replicas"}]),
    )
    with Traffic(cluster, "compute-nodes-scaled") as traffic:
        time.sleep(3)
        for count in (2, 1):
            cluster.kubectl("scale", "cnset", "mo-tp", f"--replicas={count}")
            await_nodes(cluster, count)
        time.sleep(3)
    traffic.require_nothing_lost(longest=15)
    cluster.kubectl("scale", "cnset", "mo-tp", "--replicas=0")
    await_nodes(cluster, 0)
    cluster.kubectl("scale", "cnset", "mo-tp", "--replicas=1")
    await_nodes(cluster, 1)
    cluster.await_ready()
    assert traffic.acknowledged <= traffic.stored()


def await_nodes(cluster: Cluster, count: int) -> None:
    """Wait until there are so many compute nodes, and no others that drain."""

    def said() -> str:
        return str(cluster.get("cnset", "mo-tp")["status"])

    # The transaction node may not give the locks of the last one free: it goes when time is over.
    seconds = DRAIN_SECONDS + 60
    eventually(lambda: nodes(cluster) == count, seconds, f"{count} compute nodes", otherwise=said)


def nodes(cluster: Cluster) -> int:
    """Compute nodes of the first group that are ready; -1 while it is on its way."""
    status = cluster.get("cnset", "mo-tp")["status"]
    exists, ready = status.get("replicas", 0), status.get("readyReplicas", 0)
    return int(ready) if exists == ready == len(cluster.pods("CNSet")) else -1


def test_a_transaction_node_is_stopped_and_goes_on_with_its_shard(cluster: Cluster) -> None:
    with Traffic(cluster, "before-the-stop") as before:
        time.sleep(5)
    shards_before = cluster.get("configmap", "mo-dn-shards")["data"]
    cluster.change("tn/replicas", 0)
    eventually(lambda: not cluster.pods("DNSet"), 60, "end of the transaction node")
    said = "stopped with replicas 0: DNSet mo"
    eventually(lambda: said in cluster.condition("mo", "mo", "Ready")["message"], 30, said)
    assert cluster.condition("mo", "mo", "Ready")["reason"] == "Stopped"
    cluster.change("tn/replicas", 1)
    eventually(lambda: settled(cluster, "dnset", "mo"), 120, "transaction node")
    cluster.await_ready()
    assert before.acknowledged <= before.stored()
    assert cluster.get("configmap", "mo-dn-shards")["data"] == shards_before
    with Traffic(cluster, "after-the-stop") as after:
        time.sleep(5)
    after.require_nothing_lost(longest=30, errors=20)


@pytest.mark.parametrize(
    "words",
    [
        ("delete", "statefulset", "mo-log", "--timeout=120s"),
        ("scale", "statefulset", "mo-log", "--replicas=0"),
        ("delete", "logset", "mo", "--cascade=foreground", "--timeout=240s"),
    ],
    ids=["stateful-set-deleted", "stateful-set-stopped", "log-set-deleted"],
)
def test_what_is_done_to_a_log_service_by_hand_takes_no_row_along(
    cluster: Cluster, words: tuple[str, ...]
) -> None:
    """All stores are away at once; their volumes are kept, although the policy is Delete."""
    assert "pvcRetentionPolicy" not in cluster.get("mo", "mo")["spec"]["logService"]
    with Traffic(cluster, f"before-{words[0]}-{words[1]}") as before:
        time.sleep(5)
    claims, running = claim_uids(cluster), {uid for uid, _ready in log_stores(cluster).values()}

    cluster.kubectl(*words)

    eventually(lambda: is_replaced(cluster, running), 300, "new log stores")
    cluster.await_ready()
    assert claim_uids(cluster) == claims
    eventually(lambda: shards(cluster) == [(3, 3)] * 2, 120, "complete shards")
    assert before.acknowledged <= before.stored()
    with Traffic(cluster, f"after-{words[0]}-{words[1]}") as after:
        time.sleep(5)
    after.require_nothing_lost(longest=60, errors=None, at_least=20)


def claim_uids(cluster: Cluster) -> dict[str, str]:
    """The uids of the claims of log stores."""
    found = [one["metadata"] for one in cluster.get("pvc")["items"]]
    return {one["name"]: one["uid"] for one in found if one["name"].startswith("mo-data-mo-log-")}


def is_replaced(cluster: Cluster, before: set[str]) -> bool:
    """Whether all log stores run in Pods that were not there before."""
    present = log_stores(cluster).values()
    return len(present) == 3 and all(ready and uid not in before for uid, ready in present)


@pytest.mark.parametrize("scope", ["Compute", "Database"])
def test_a_cluster_that_hibernates_wakes_with_every_row(cluster: Cluster, scope: str) -> None:
    """Under traffic until it sleeps; what was acknowledged by then is there when it wakes."""

    def sleeps() -> str:
        return str((cluster.get("mo", "mo")["status"].get("hibernation") or {}).get("state"))

    def asleep(is_asleep: bool) -> None:
        cluster.patch("mo", "mo", {"spec": {"hibernation": {"asleep": is_asleep, "scope": scope}}})

    with Traffic(cluster, f"before-the-sleep-{scope.lower()}") as before:
        time.sleep(5)
        asleep(True)
        began = time.monotonic()
        eventually(lambda: sleeps() == "Asleep", DRAIN_SECONDS + 120, "sleep")
        fell = time.monotonic() - began
    left = {kind: len(cluster.pods(kind)) for kind in ("LogSet", "DNSet", "CNSet", "ProxySet")}
    stays = 0 if scope == "Database" else 3
    assert left == {"LogSet": stays, "DNSet": min(stays, 1), "CNSet": 0, "ProxySet": 0}
    assert cluster.condition("mo", "mo", "Ready")["reason"] == "Hibernated"
    asleep(False)
    began = time.monotonic()
    eventually(lambda: answers(cluster), 240, "an answer to SQL")
    answered = time.monotonic() - began
    cluster.await_ready()
    woke = time.monotonic() - began
    assert before.acknowledged <= before.stored()
    with Traffic(cluster, f"after-the-sleep-{scope.lower()}") as after:
        time.sleep(5)
    after.require_nothing_lost(longest=30, errors=20)
    rows = len(before.acknowledged)
    conclude(
        f"hibernation {scope}: asleep after {fell:.1f} s, SQL {answered:.1f} s after waking, "
        f"Ready after {woke:.1f} s, {rows} rows there"
    )


def answers(cluster: Cluster) -> bool:
    try:
        cluster.connect().close()
    except (pymysql.MySQLError, OSError):
        return False
    return True


def test_groups_and_proxies_are_added_and_removed(cluster: Cluster) -> None:
    group = {**cluster.get("mo", "mo")["spec"]["cnGroups"][0], "name": "ap", "replicas": 1}
    operations = [{"op": "add", "path": "/spec/cnGroups/-", "value": group}]
    with Traffic(cluster, "groups-and-proxies") as traffic:
        time.sleep(3)
        cluster.kubectl("patch", "mo", "mo", "--type=json", "-p", json.dumps(operations))
        eventually(lambda: exists(cluster, "cnset/mo-ap"), 30, "new group")
        eventually(lambda: settled(cluster, "cnset", "mo-ap"), 90, "nodes of the new group")
        cluster.change("proxy/replicas", 2)
        eventually(lambda: ready(cluster, "mo-proxy") == 2, 60, "two proxies")
        cluster.kubectl(
            *("patch", "mo", "mo", "--type=json", "-p"),
            json.dumps([{"op": "remove", "path": "/spec/cnGroups/1"}]),
        )
        eventually(lambda: not exists(cluster, "cnset/mo-ap"), 120, "end of the group")
        time.sleep(3)
    assert not exists(cluster, "deployment/mo-ap-cn")
    # The nodes of a group that is removed go at once (terminationPolicy Delete).
    traffic.require_nothing_lost(longest=60, errors=50)
    cluster.patch("mo", "mo", {"spec": {"proxy": None}})
    eventually(lambda: not exists(cluster, "proxyset/mo"), 60, "end of the proxies")
    eventually(lambda: not exists(cluster, "service/mo-proxy"), 30, "end of their Service")
    cluster.await_ready()
    assert cluster.get("mo", "mo")["status"]["host"].startswith("mo-tp-cn.")


def ready(cluster: Cluster, deployment: str) -> int:
    return int(cluster.get("deployment", deployment)["status"].get("readyReplicas", 0))


def exists(cluster: Cluster, what: str) -> bool:
    return bool(cluster.kubectl("get", what, "--ignore-not-found", "-o", "name").strip())
