# SPDX-License-Identifier: Apache-2.0
"""The API server is away for two minutes: the database serves, and nothing is done to it after."""

import json
import time
from collections.abc import Iterator

import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import Cluster, operating, tiny_cluster
from tests.e2e.faults import without_api_server
from tests.e2e.health import suffering

pytestmark = [pytest.mark.node, pytest.mark.scenario]

AWAY_SECONDS = 120.0
KINDS = ("LogSet", "DNSet", "CNSet", "ProxySet")


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("operator")
    with operating(real_testbed, folder, "away", may_be_refused=True) as made:
        made.kubectl("apply", "-f", "-", input=json.dumps(tiny_cluster()))
        made.await_ready()
        yield made
        made.kubectl("delete", "mo", "--all", "--timeout=240s")


def uids(cluster: Cluster) -> set[str]:
    """Return the identities of all Pods of the database."""
    return {pod["metadata"]["uid"] for kind in KINDS for pod in cluster.pods(kind).values()}


def restarts(cluster: Cluster) -> int:
    """Return how many times containers of the database were restarted."""
    pods = (pod for kind in KINDS for pod in cluster.pods(kind).values())
    return sum(one["restartCount"] for pod in pods for one in pod["status"]["containerStatuses"])


def test_an_absent_api_server_costs_no_row_and_no_pod(
    real_testbed: TestBed, cluster: Cluster
) -> None:
    """What was not heard during the outage is not taken for dead after it."""
    pods, before = uids(cluster), restarts(cluster)
    fault = without_api_server(real_testbed)
    with suffering(cluster, "api-server-away", fault, AWAY_SECONDS) as traffic:
        time.sleep(5)
        known = len(traffic.acknowledged)
        time.sleep(AWAY_SECONDS - 10)
        assert len(traffic.acknowledged) > known
    assert (uids(cluster), restarts(cluster)) == (pods, before)
    assert not traffic.errors
