# SPDX-License-Identifier: Apache-2.0
"""One real database in the gate: from its resource to SQL, a scale-in and lost parts under traffic.

The wider tests of the same subjects are `test_compute_nodes.py` and `test_log_stores.py`.
"""

import time
from collections.abc import Iterator

import pymysql
import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import (
    DRAIN_SECONDS,
    LONGER_HAKEEPER_TIMEOUT,
    Cluster,
    draining,
    operated,
    replacing,
    tiny_cluster,
)
from tests.e2e.compute_nodes import pods, stores
from tests.e2e.faults import frozen
from tests.e2e.health import REPLACED_SECONDS, Watched, await_fault, await_recovery
from tests.e2e.log_stores import (
    VOLUMES,
    annotation,
    await_replacement,
    events,
    let_a_day_pass,
    old_log_stores,
    roll,
    state,
    volume,
    wreck,
)
from tests.e2e.traffic import Traffic
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.gate]

LONGEST_GAP = 45.0
"""As in `test_compute_nodes.py`: most runs stay below 3 s."""


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two compute nodes that drain, three log stores that are replaced after 10 s."""
    resource = draining(replacing(tiny_cluster(), "10s", LONGER_HAKEEPER_TIMEOUT))
    with operated(real_testbed, tmp_path_factory.mktemp("operator"), resource, "gate") as made:
        yield made


def test_sql_is_answered_through_the_proxy(cluster: Cluster) -> None:
    """Proxy and database check only every few seconds who works: at first they know nobody."""
    eventually(lambda: list(stores(cluster).values()) == ["Working"] * 2, 60, "two working nodes")
    eventually(lambda: _sum_of_stored(cluster) == 6, 60, "answer")


def _sum_of_stored(cluster: Cluster) -> int:
    try:
        with cluster.connect() as session, session.cursor() as cursor:
            for statement in (
                "drop database if exists first",
                "create database first",
                "create table first.numbers (n int primary key)",
                "insert into first.numbers values (1), (2), (3)",
                "select sum(n) from first.numbers",
            ):
                cursor.execute(statement)
            return int(cursor.fetchall()[0][0])
    except pymysql.MySQLError:
        return 0


def test_a_scale_in_loses_no_row_and_no_query(cluster: Cluster) -> None:
    with Traffic(cluster, "gate-scale-in") as traffic:
        time.sleep(2)
        cluster.change("cnGroups/0/replicas", 1)
        eventually(lambda: len(pods(cluster)) == 1, DRAIN_SECONDS, "the end of a compute node")
        time.sleep(2)
    traffic.require_nothing_lost(longest=LONGEST_GAP)
    assert list(stores(cluster).values()) == ["Working"]


def test_a_roll_of_old_log_stores_replaces_none(cluster: Cluster) -> None:
    """A store that is told to end has been ready for longer than one may be down."""
    config = '[log]\nlevel = "warn"\n' + LONGER_HAKEEPER_TIMEOUT
    with old_log_stores(cluster), Traffic(cluster, "gate-log-stores-rolled") as traffic:
        time.sleep(2)
        roll(cluster, config)
        time.sleep(2)
    traffic.require_nothing_lost(longest=90)


@pytest.mark.parametrize(
    ("kind", "frozen_pods", "named"),
    [("DNSet", ["mo-dn-0"], ["mo-dn-0"]), ("LogSet", ["mo-log-0", "mo-log-1"], [])],
    ids=["transaction-node", "log-majority"],
)
def test_ready_tells_of_processes_that_stand_still(
    cluster: Cluster, kind: str, frozen_pods: list[str], named: list[str]
) -> None:
    """The wider test of this is `test_health.py`."""
    cluster.await_ready()
    with Traffic(cluster, f"gate-frozen-{kind.lower()}") as traffic:
        time.sleep(2)
        with Watched(cluster) as watched:
            with frozen(cluster, *frozen_pods):
                await_fault(cluster, kind, named)
            await_recovery(cluster, REPLACED_SECONDS)
        watched.conclude(f"gate-frozen-{kind.lower()}")
        time.sleep(2)
    traffic.require_nothing_lost(longest=90, errors=None, at_least=20)


def test_a_lost_log_store_is_replaced_and_no_row_is_lost(cluster: Cluster) -> None:
    claim = cluster.get("pvc", "mo-data-mo-log-2")["metadata"]["uid"]
    old = volume(cluster, "mo-log-2")
    assert old["status"]["phase"] == "Bound"
    with Traffic(cluster, "gate-log-store-lost") as traffic:
        time.sleep(2)
        wreck(cluster, "mo-log-2")
        await_replacement(cluster, 2, 1)
        time.sleep(2)
    assert cluster.get("pvc", "mo-data-mo-log-2")["metadata"]["uid"] != claim
    # The pass that finds the new store at work tells of it.
    told = {"FailingOver", "FailedOver"}
    eventually(lambda: told <= set(events(cluster)), 30, "Events of the failover")
    traffic.require_nothing_lost(longest=90)
    name = old["metadata"]["name"]
    kept = cluster.get("pv", name)
    assert kept["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert kept["status"]["phase"] == "Released"
    let_a_day_pass(cluster)
    # HAKeeper may not answer at once; it is asked again after half a minute, and after a minute.
    eventually(
        lambda: name not in volumes(cluster),
        150,
        "the end of the old volume",
        otherwise=lambda: state(cluster),
    )
    assert annotation(cluster, VOLUMES) is None


def volumes(cluster: Cluster) -> set[str]:
    """The names of all PersistentVolumes."""
    return {one["metadata"]["name"] for one in cluster.get("pv")["items"]}
