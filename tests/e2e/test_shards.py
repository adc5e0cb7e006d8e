# SPDX-License-Identifier: Apache-2.0
"""Three operators share the objects of a cluster: changes, a kill, and no row lost."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import Cluster, Operator, tiny_cluster
from tests.e2e.health import await_recovery
from tests.e2e.log_stores import down
from tests.e2e.test_changes import await_settled, uids
from tests.e2e.traffic import Traffic
from tests.support.operator_rights import account, refusals
from tests.support.operators import Operator as Process
from tests.support.operators import launch
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario, pytest.mark.timeout(1800)]

SHARDS = 8
SETS = ("LogSet", "DNSet", "CNSet", "ProxySet")


class Sharing(Operator):
    """Operators of one version that share the objects of a namespace.

    Attributes:
        replicas: those that were added and not killed.
    """

    def __init__(self, bed: TestBed, namespace: str, folder: Path) -> None:
        super().__init__(bed, namespace, folder)
        self._rights = account(bed, namespace, folder / "kubeconfig", everywhere=True, shards=True)
        self.replicas: list[Process] = []

    @property
    def logs(self) -> list[Path]:
        return sorted(self._folder.glob("*/log"))

    def add(self) -> None:
        """Start one more."""
        folder = self._folder / str(len(self.logs))
        folder.mkdir()
        flags = (
            "--leader-elect",
            "--leader-election-id=sharing",
            f"--leader-election-namespace={self._namespace}",
            f"--shards={SHARDS}",
        )
        self.replicas.append(launch(self._rights, folder, *flags, variables=self._variables))

    def kill(self, replica: Process) -> None:
        """Kill one; it releases nothing."""
        replica.kill()
        self.replicas.remove(replica)

    def remove(self) -> None:
        for replica in self.replicas:
            replica.stop()


@pytest.fixture
def sharing(
    real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Cluster, Sharing]]:
    folder = tmp_path_factory.mktemp("operators")
    real_testbed.kubectl("apply", "--server-side", "--force-conflicts", "-f", "crds")
    with real_testbed.namespace("sharing") as namespace:
        operators = Sharing(real_testbed, namespace, folder)
        try:
            yield Cluster(real_testbed, namespace, operators), operators
            assert [line for log in operators.logs for line in refusals(log)] == []
        finally:
            operators.remove()


def shares(cluster: Cluster) -> list[int]:
    """How many shards each operator has."""
    leases = cluster.get("leases", "-l", "ansible-operator/election-part=shard")["items"]
    holders = (lease["spec"].get("holderIdentity") for lease in leases)
    return sorted(Counter(filter(None, holders)).values())


def test_operators_share_a_cluster_and_one_is_killed(sharing: tuple[Cluster, Sharing]) -> None:
    cluster, operators = sharing
    for _ in range(3):
        operators.add()
    eventually(lambda: shares(cluster) == [2, 3, 3])
    cluster.kubectl("apply", "-f", "-", input=json.dumps(tiny_cluster()))
    cluster.await_ready()
    before = uids(cluster, *SETS)
    deleted = cluster.get("pod", "mo-log-1")["metadata"]["uid"]
    with Traffic(cluster, "shared-operators") as traffic:
        cluster.change("cnGroups/0/replicas", 2)
        operators.kill(max(operators.replicas, key=lambda one: len(one.lines("Reconciling"))))
        await_settled(cluster)
        eventually(lambda: shares(cluster) == [4, 4])
        operators.add()
        cluster.change("cnGroups/0/replicas", 1)
        await_settled(cluster)
        cluster.kubectl("delete", "pod", "mo-log-1", "--timeout=60s")
        eventually(lambda: down(cluster) == ["mo-log-1"], 60)
        await_recovery(cluster, 120)
    assert (down(cluster), traffic.lost()) == ([], [])
    assert before - uids(cluster, *SETS) == {deleted}
    cluster.kubectl("delete", "mo", "--all", "--timeout=240s")
