# SPDX-License-Identifier: Apache-2.0
"""Ready means that SQL answers: faults that Kubernetes does not see, under traffic.

Each scenario records the rows lost, what clients saw, and how long the cluster's status was wrong.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import pymysql
import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import Cluster, Json, operated, tiny_cluster
from tests.e2e.compute_nodes import stores
from tests.e2e.faults import cut_from, cut_off, frozen
from tests.e2e.health import (
    LOCK_SECONDS,
    LONGEST_GAP,
    REPLACED_SECONDS,
    SERVED_SECONDS,
    STATUS_SECONDS,
    Watched,
    await_fault,
    await_recovery,
    suffering,
)
from tests.e2e.traffic import Traffic
from tests.support.examples import reaches
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]

RESUMES = reaches(2, 1, 1)
"""Whether compute nodes resume by themselves (docs/health.md)."""
REPLACED = frozenset({"log-majority", "transaction-node", "compute-node", "compute-nodes"})
"""Parts after whose silence Pods are replaced: who finds HAKeeper later than others may be, too."""
Chosen = Callable[[Cluster], list[str]]


def log_store(_cluster: Cluster) -> list[str]:
    return ["mo-log-1"]


def majority(_cluster: Cluster) -> list[str]:
    return ["mo-log-0", "mo-log-1"]


def transaction_node(_cluster: Cluster) -> list[str]:
    return ["mo-dn-0"]


def compute_node(cluster: Cluster) -> list[str]:
    return sorted(cluster.pods("CNSet"))[:1]


def compute_nodes(cluster: Cluster) -> list[str]:
    return sorted(cluster.pods("CNSet"))


def proxy(cluster: Cluster) -> list[str]:
    return sorted(cluster.pods("ProxySet"))


PARTS: dict[str, tuple[Chosen, str]] = {
    "log-store": (log_store, "LogSet"),
    "log-majority": (majority, "LogSet"),
    "transaction-node": (transaction_node, "DNSet"),
    "compute-node": (compute_node, "CNSet"),
    "compute-nodes": (compute_nodes, "CNSet"),
    "proxy": (proxy, "ProxySet"),
}


def freeze(cluster: Cluster, pods: list[str]) -> AbstractContextManager[None]:
    return frozen(cluster, *pods)


def cut(cluster: Cluster, pods: list[str]) -> AbstractContextManager[None]:
    return cut_off(cluster, *pods)


def cut_one_way(cluster: Cluster, pods: list[str]) -> AbstractContextManager[None]:
    return cut_off(cluster, *pods, one_way=True)


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two compute nodes; log stores are given time to come back."""
    resource = tiny_cluster()
    resource["spec"]["cnGroups"][0]["replicas"] = 2
    with operated(real_testbed, tmp_path_factory.mktemp("operator"), resource, "health") as made:
        eventually(lambda: list(stores(made).values()) == ["Working"] * 2, 60, "two nodes")
        yield made


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("fault", [freeze, cut, cut_one_way], ids=["frozen", "cut", "one-way"])
def test_status_tells_of_a_fault_and_of_its_end(
    cluster: Cluster,
    part: str,
    fault: Callable[[Cluster, list[str]], AbstractContextManager[None]],
) -> None:
    """Within 30 s each, no acknowledged row is lost, and Ready means that rows are taken again."""
    choose, kind = PARTS[part]
    pods = choose(cluster)
    replaced = part in REPLACED
    with suffering(
        cluster,
        f"health-{part}-{fault.__name__}",
        fault(cluster, pods),
        settled=LOCK_SECONDS if replaced else SERVED_SECONDS,
        within=REPLACED_SECONDS if replaced else STATUS_SECONDS,
    ):
        await_fault(cluster, kind, pods if part != "log-majority" else [])


def test_a_compute_node_that_was_cut_off_resumes_or_is_replaced(cluster: Cluster) -> None:
    """That depends on its version. Either way, each compute node takes commits afterwards.

    A transaction that was open is committed or not, as its client is told.
    """
    cluster.await_ready()
    node = min(cluster.pods("CNSet"))
    before = cluster.pods("CNSet")[node]
    with connected_to(cluster, before) as session, session.cursor() as cursor:
        cursor.execute("create database if not exists resumed")
        cursor.execute("create table if not exists resumed.entries (id varchar(80) primary key)")
        session.begin()
        cursor.execute("insert into resumed.entries values ('open')")
        with suffering(
            cluster,
            "health-resumed",
            cut_off(cluster, node),
            settled=LOCK_SECONDS,
            within=REPLACED_SECONDS,
        ):
            await_fault(cluster, "CNSet", [node])
        committed = is_done(session.commit)
    after = cluster.pods("CNSet").get(node)
    assert (after is not None and uid_of(after) == uid_of(before)) is RESUMES
    for name, pod in cluster.pods("CNSet").items():
        with connected_to(cluster, pod) as session, session.cursor() as cursor:
            cursor.execute("insert into resumed.entries values (%s)", (name,))
            session.commit()
            cursor.execute("select count(*) from resumed.entries where id = 'open'")
            assert cursor.fetchone() == (int(committed),)
    reasons = {one["reason"] for one in cluster.get("events.events.k8s.io")["items"]}
    assert ("Resumed" in reasons) is RESUMES


def uid_of(pod: Json) -> str:
    return str(pod["metadata"]["uid"])


def is_done(call: Callable[[], object]) -> bool:
    """Return whether a statement was acknowledged."""
    try:
        call()
    except pymysql.MySQLError:
        return False
    return True


@contextmanager
def connected_to(
    cluster: Cluster, pod: Json
) -> Iterator["pymysql.connections.Connection[pymysql.cursors.Cursor]"]:
    """Open a session at one compute node, past the proxy."""
    login = {
        **cluster.entrance,
        "connect_timeout": 15,
        "read_timeout": 60,
        "host": pod["status"]["podIP"],
        "autocommit": False,
    }
    session = pymysql.connect(**login)
    try:
        yield session
    finally:
        with suppress(pymysql.MySQLError):
            session.close()


def test_a_transaction_node_cut_off_with_a_log_store_refuses_nothing_later(
    cluster: Cluster,
) -> None:
    """As with the machine of both: it takes compute nodes for dead, so it is restarted after it."""
    (before,) = cluster.pods("DNSet").values()
    with suffering(
        cluster,
        "health-machine-cut",
        cut_off(cluster, "mo-dn-0", "mo-log-1"),
        settled=LOCK_SECONDS,
        within=REPLACED_SECONDS,
    ):
        await_fault(cluster, "LogSet", ["mo-log-1"])
    (after,) = cluster.pods("DNSet").values()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


def test_a_compute_node_that_does_not_find_a_restarted_transaction_node_is_replaced(
    cluster: Cluster,
) -> None:
    """HAKeeper hears it and it greets clients, but it hangs at each login."""
    cluster.await_ready()
    lost, other = sorted(cluster.pods("CNSet"))
    (before,) = cluster.pods("DNSet").values()
    with Traffic(cluster, "health-lost-compute-node") as traffic, Watched(cluster) as watched:
        time.sleep(3)
        cluster.kubectl("delete", "pod", "mo-dn-0", "--wait=false")
        address = eventually(
            lambda: new_address(cluster, before), SERVED_SECONDS * 6, "a new transaction node"
        )
        with cut_from(cluster, lost, address):
            await_fault(cluster, "CNSet", [lost], within=REPLACED_SECONDS)
            eventually(
                lambda: lost not in cluster.pods("CNSet"), REPLACED_SECONDS, f"{lost} replaced"
            )
        await_recovery(cluster, REPLACED_SECONDS)
        watched.conclude("health-lost-compute-node")
        ready = traffic.seconds()
        time.sleep(LOCK_SECONDS + 5)
    assert other in cluster.pods("CNSet")
    traffic.require_nothing_lost(longest=LONGEST_GAP, errors=None)
    traffic.require_service_since(ready + LOCK_SECONDS)


def new_address(cluster: Cluster, before: Json) -> str:
    """Return the address of the Pod that follows that of a transaction node; empty without one."""
    for pod in cluster.pods("DNSet").values():
        if pod["metadata"]["uid"] != before["metadata"]["uid"]:
            return str(pod["status"].get("podIP") or "")
    return ""


def test_a_short_fault_does_not_flap(cluster: Cluster) -> None:
    """Processes that stand still for four seconds change no condition."""
    cluster.await_ready()
    before = cluster.get("mo", "mo")["status"]["conditions"]
    with frozen(cluster, "mo-log-0", "mo-log-1", "mo-dn-0"):
        time.sleep(4)
    time.sleep(20)
    assert cluster.get("mo", "mo")["status"]["conditions"] == before
