# SPDX-License-Identifier: Apache-2.0
"""An operator, and a database, with a fifth of a core: nothing is replaced, and no row is lost."""

import time
from collections.abc import Iterator

import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import Cluster, Operator, operated, tiny_cluster
from tests.e2e.faults import processes_of
from tests.e2e.health import SETS, Watched, await_recovery
from tests.e2e.log_stores import down
from tests.e2e.test_changes import await_settled, uids
from tests.e2e.throttling import pods_throttled, process_throttled
from tests.e2e.traffic import Traffic

pytestmark = [pytest.mark.node, pytest.mark.scenario, pytest.mark.timeout(1800)]

CORES = 0.2
CALM_SECONDS = 60.0


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose operator is a process here: a Pod of it would be one of many."""
    folder = tmp_path_factory.mktemp("operator")
    with operated(real_testbed, folder, tiny_cluster(), "slow", deployed=False) as made:
        yield made


def test_an_operator_with_a_fifth_of_a_core(cluster: Cluster) -> None:
    """What it cannot ask in time it does not take for broken, and changes are carried out."""
    assert isinstance(cluster.operator, Operator)
    with (
        process_throttled(cluster.operator.pid, CORES),
        Traffic(cluster, "slow-operator") as traffic,
    ):
        with Watched(cluster) as watched:
            time.sleep(CALM_SECONDS)
        assert watched.changes == []

        cluster.change("cnGroups/0/replicas", 2)
        await_settled(cluster)
        cluster.change("cnGroups/0/replicas", 1)
        await_settled(cluster)
        cluster.kubectl("delete", "pod", "mo-log-1", "--timeout=60s")
        await_recovery(cluster, 120)
    assert (down(cluster), traffic.lost()) == ([], [])


def test_a_database_with_a_fifth_of_a_core_for_each_pod(cluster: Cluster) -> None:
    """It may be too slow to serve; that is no reason to replace any of it."""
    before = uids(cluster, *SETS)
    pods = [pod for kind in SETS for pod in cluster.pods(kind)]
    with Traffic(cluster, "slow-database") as traffic:
        with pods_throttled(processes_of(cluster, pods), CORES), Watched(cluster) as watched:
            time.sleep(2 * CALM_SECONDS)
        await_recovery(cluster, 90)
        watched.conclude("slow-database")
        assert uids(cluster, *SETS) == before
    assert (down(cluster), traffic.lost()) == ([], [])
