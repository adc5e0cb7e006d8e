# SPDX-License-Identifier: Apache-2.0
"""Several replicas that all reconcile: each object by one of them at a time, through kills."""

import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from ansible_operator.loop.queueing.queue import Key
from ansible_operator.loop.queueing.shards import Shards
from tests.runner.operator.conftest import Cluster, Start
from tests.support.operators import Operator
from tests.support.waiting import eventually

pytestmark = pytest.mark.api

PROJECT = Path(__file__).with_name("sharded")
PROBES, SLOWS = "probes.runner.example.com", "slows.runner.example.com"
SHARDS, OF_EACH = 8, 2


@dataclass(frozen=True)
class Record:
    """What the runs of all replicas have written: when each began and ended."""

    path: Path

    def lines(self) -> list[list[str]]:
        if not self.path.exists():
            return []
        return [line.split() for line in self.path.read_text().splitlines()]

    def sizes(self, name: str) -> list[int]:
        """Sizes that runs of an object have been ended with."""
        return [int(line[3]) for line in self.lines() if line[0] == "end" and line[2] == name]

    def overlaps(self, column: int) -> list[str]:
        """Names of what was begun while a run of it had not ended.

        A run that was killed has no end. It is known by the replica whose run came after it.
        """
        running: dict[str, int] = {}
        found = []
        for line in self.lines():
            what = line[column]
            if line[0] == "begin":
                if running.get(what):
                    found.append(what)
                running[what] = running.get(what, 0) + 1
            else:
                running[what] -= 1
        return found


class Group:
    """Replicas of one operator."""

    def __init__(self, start: Start, namespace: str, record: Path) -> None:
        self._start, self._namespace = start, namespace
        self.record = Record(record)

    def replica(self, *flags: str) -> Operator:
        return self._start(
            self._namespace,
            "--leader-elect",
            "--leader-election-id=sharded",
            f"--leader-election-namespace={self._namespace}",
            "--leader-elect-lease-duration=10s",
            "--leader-elect-renew-deadline=7s",
            f"--shards={SHARDS}",
            *flags,
            project=PROJECT,
            RECORD=str(self.record.path),
        )


@pytest.fixture
def group(start: Start, cluster: Cluster, tmp_path: Path) -> Group:
    return Group(start, cluster.name, tmp_path / "record")


def holders(cluster: Cluster) -> Counter[str]:
    """How many shards each replica has."""
    shards = [
        lease
        for lease in cluster.listed("leases")
        if lease["metadata"].get("labels", {}).get("ansible-operator/election-part") == "shard"
    ]
    return Counter(filter(None, (lease["spec"].get("holderIdentity") for lease in shards)))


def objects(cluster: Cluster) -> list[str]:
    """Name two objects of each shard, on which the name of their namespace has a say."""
    shards, found = Shards(SHARDS), [list[str]() for _ in range(SHARDS)]
    for number in range(1000):
        name = f"one-{number}"
        shard = found[shards.number(Key("probes", cluster.name, name))]
        if len(shard) < OF_EACH:
            shard.append(name)
    return [name for shard in found for name in shard]


def resize(cluster: Cluster, size: int) -> None:
    for name in objects(cluster):
        cluster.create("Probe", name, {"size": size})


def all_sized(cluster: Cluster, size: int) -> bool:
    found = {one["metadata"]["name"]: one.get("data", {}) for one in cluster.listed("configmaps")}
    return all(found.get(f"of-{name}", {}).get("size") == str(size) for name in objects(cluster))


def test_replicas_share_objects_and_take_over_what_others_leave(
    cluster: Cluster, group: Group
) -> None:
    first, second, third = (group.replica() for _ in range(3))
    eventually(lambda: sorted(holders(cluster).values()) == [2, 3, 3], what="an equal share")
    resize(cluster, 1)
    eventually(lambda: all_sized(cluster, 1))
    ran = [sum(one.runs_of(name) for name in objects(cluster)) for one in (first, second, third)]
    assert all(ran), "each of them runs some"

    resize(cluster, 2)
    assert second.stop(seconds=40) == 0
    resize(cluster, 3)
    eventually(lambda: all_sized(cluster, 3), seconds=20, what="without the one that has ended")
    assert not group.record.overlaps(column=2), "no object is run twice at once"

    third.process.send_signal(signal.SIGSTOP)
    resize(cluster, 4)
    eventually(lambda: all_sized(cluster, 4), seconds=40, what="without the one that is silent")
    eventually(lambda: set(holders(cluster).values()) == {SHARDS})
    third.process.send_signal(signal.SIGCONT)
    assert third.process.wait(30) == 1
    assert "leader election lost" in third.text()
    assert not group.record.overlaps(column=2)

    fourth = group.replica()
    eventually(lambda: sorted(holders(cluster).values()) == [4, 4])
    first.kill()
    resize(cluster, 5)
    eventually(lambda: all_sized(cluster, 5), seconds=40, what="without the one that was killed")
    cluster.kubectl("delete", PROBES, "--all", "--wait=false")
    eventually(lambda: not cluster.listed(PROBES), what="the finalizers removed by what is left")
    assert fourth.stop() == 0
    leases = [lease["metadata"]["name"] for lease in cluster.listed("leases")]
    assert not [name for name in leases if "-member-" in name]


def test_a_kind_with_one_run_at_a_time_has_one_in_all_replicas(
    cluster: Cluster, group: Group
) -> None:
    replicas = [group.replica(), group.replica()]
    eventually(lambda: sorted(holders(cluster).values()) == [4, 4])
    for number in range(6):
        cluster.create("Slow", f"slow-{number}", {"size": 1})
    eventually(lambda: all(group.record.sizes(f"slow-{number}") for number in range(6)))
    assert not group.record.overlaps(column=1)
    assert sorted(bool(sum(one.runs_of(f"slow-{n}") for n in range(6))) for one in replicas) == [
        False,
        True,
    ]


def test_files_of_an_object_that_another_replica_runs_now_are_removed_with_it(
    cluster: Cluster, group: Group
) -> None:
    """They hold what its spec says."""
    first = group.replica()
    names = [f"moved-{number}" for number in range(12)]
    for name in names:
        cluster.create("Probe", name, {"size": 1})
    eventually(lambda: all(group.record.sizes(name) for name in names))
    folder = first.runs / "runner.example.com" / "v1alpha1" / "Probe" / cluster.name
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    other = group.replica()
    eventually(lambda: sorted(holders(cluster).values()) == [4, 4])
    moved = eventually(lambda: [name for name in names if other.runs_of(name)])
    cluster.kubectl("delete", PROBES, *moved, "--timeout=40s")
    left = sorted(set(names) - set(moved))
    eventually(lambda: sorted(path.name for path in folder.iterdir()) == left)


def test_shards_need_an_election(cluster: Cluster, start: Start) -> None:
    refused = start(cluster.name, "--shards=4")
    assert refused.process.wait(60) == 1
    assert "--shards needs --leader-elect" in refused.text()
