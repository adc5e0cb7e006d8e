# SPDX-License-Identifier: Apache-2.0
"""Processes that share shards by Leases of a real API server, with a loop that only counts runs."""

import asyncio
import contextlib
import json
from collections import Counter
from dataclasses import dataclass, field

import pytest
import yaml

from ansible_operator.errors import ConfigError, LeadershipLostError
from ansible_operator.kube.access import from_kubeconfig
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.lease import LeaderElection, LeaseSettings
from ansible_operator.manager.sharding import ShardedElection, election
from tests.support.places import ROOT
from tests.support.waiting import eventually_async

pytestmark = pytest.mark.api

COUNT = 12
QUICK = {"duration": 4.0, "renew_deadline": 3.0, "retry_period": 0.3}


@dataclass
class Loop:
    """Runs that last as long as the test wants; :attr:`open` counts for nothing else."""

    open: set[int] = field(default_factory=set)
    runs: Counter[int] = field(default_factory=Counter)

    @property
    def open_shards(self) -> frozenset[int]:
        return frozenset(self.open)

    def open_shard(self, number: int) -> None:
        self.open.add(number)

    def close_shard(self, number: int) -> None:
        self.open.discard(number)

    def runs_of_shards(self) -> Counter[int]:
        return self.runs


class Process:
    """One process of the group."""

    def __init__(self, client, namespace, name, group="v1", count=COUNT) -> None:
        self.loop = Loop()
        settings = LeaseSettings(name="op", namespace=namespace, identity=f"{name}_{name}", **QUICK)
        self.election = ShardedElection(client, settings, group, count, self.loop)
        self.task = asyncio.create_task(self.run(), name=name)

    async def run(self) -> None:
        await self.election.acquire()
        await self.election.hold()

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})

    async def stop(self) -> None:
        """End as a process does that has no runs left."""
        self.election.leave()
        await self.end()
        await self.election.release()


@pytest.fixture
async def start(client, fake_namespace):
    started: list[Process] = []

    def one(name, **settings) -> Process:
        started.append(Process(client, fake_namespace, name, **settings))
        return started[-1]

    yield one
    for process in started:
        await process.end()


def shared(*processes: Process, each: int):
    """Whether all shards have just one process, and the processes have equally many."""

    def look() -> bool:
        held = Counter(number for process in processes for number in process.loop.open)
        assert max(held.values(), default=0) <= 1, "a shard has two processes"
        return len(held) == COUNT and all(len(one.loop.open) == each for one in processes)

    return look


async def test_processes_share_and_one_that_stops_leaves_its_shards_at_once(start) -> None:
    first = start("first")
    await eventually_async(shared(first, each=12))
    second, third = start("second"), start("third")
    await eventually_async(shared(first, second, third, each=4))
    await second.stop()
    await eventually_async(shared(first, third, each=6), seconds=QUICK["duration"] - 1)
    assert not second.loop.open


async def test_the_leases_tell_who_has_what_and_none_of_a_process_that_stopped_is_left(
    start, client, fake_namespace
) -> None:
    first, second = start("first"), start("second")
    await eventually_async(shared(first, second, each=6))
    await second.stop()
    await eventually_async(shared(first, each=12))
    path = f"/apis/coordination.k8s.io/v1/namespaces/{fake_namespace}/leases"
    leases = {one["metadata"]["name"]: one for one in (await client.request("GET", path))["items"]}
    shards = {f"op-shard-{number}" for number in range(COUNT)}
    assert leases.keys() == {"op", "op-member-first", *shards}
    assert leases["op"]["spec"]["holderIdentity"] == "12 shards of v1"
    assert {leases[name]["spec"]["holderIdentity"] for name in shards} == {"first_first"}
    moved = sum(leases[name]["spec"]["leaseTransitions"] for name in shards)
    assert moved == 12, "six to the second, six back"


async def test_shards_of_a_killed_process_are_taken_when_its_time_is_over_and_it_cannot_return(
    start,
) -> None:
    first, second = start("first"), start("second")
    await eventually_async(shared(first, second, each=6))
    await second.end()  # nothing is released
    await asyncio.sleep(QUICK["duration"] / 2)
    assert shared(first, second, each=6)(), "it may still live"
    second_before = second.loop.open.copy()
    second.loop.open.clear()  # it is dead
    await eventually_async(shared(first, each=12))
    second.loop.open |= second_before  # it was only stopped for a while
    with pytest.raises(LeadershipLostError):
        await asyncio.wait_for(second.election.hold(), 5)


async def test_a_process_with_runs_keeps_their_shards_until_they_have_ended(start) -> None:
    first = start("first")
    await eventually_async(shared(first, each=12))
    first.loop.runs.update(range(8))
    second = start("second")
    await eventually_async(lambda: second.loop.open == {8, 9, 10, 11})
    await asyncio.sleep(1)
    assert first.loop.open == set(range(8)), "none of them is idle"
    del first.loop.runs[5], first.loop.runs[6]
    await eventually_async(shared(first, second, each=6))
    assert second.loop.open == {5, 6, 8, 9, 10, 11}


async def test_a_process_that_ends_gives_each_shard_away_when_its_runs_have_ended(start) -> None:
    first, second = start("first"), start("second")
    await eventually_async(shared(first, second, each=6))
    busy = min(second.loop.open)
    second.loop.runs[busy] += 1
    second.election.leave()
    await eventually_async(lambda: len(first.loop.open) == 11, seconds=2)
    assert second.loop.open == {busy}
    await asyncio.sleep(QUICK["duration"])
    assert second.loop.open == {busy}
    del second.loop.runs[busy]
    await eventually_async(shared(first, each=12), seconds=2)


async def test_a_shard_that_is_never_idle_is_closed_for_a_time(start, monkeypatch) -> None:
    monkeypatch.setattr(election, "PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(election, "CLOSED_SECONDS", 1.5)
    first = start("first", count=2)
    await eventually_async(lambda: first.loop.open == {0, 1})
    first.loop.runs.update({0: 3, 1: 1})
    second = start("second", count=2)
    await eventually_async(lambda: first.loop.open == {0})
    await eventually_async(lambda: first.loop.open == {0, 1}, what="given up for now")
    await eventually_async(lambda: first.loop.open == {0})
    assert not second.loop.open
    del first.loop.runs[1]
    await eventually_async(lambda: second.loop.open == {1})
    assert first.loop.open == {0}


async def test_a_shard_is_kept_when_the_process_that_was_to_get_it_stops(
    start, monkeypatch
) -> None:
    monkeypatch.setattr(election, "PATIENCE_SECONDS", 0.5)
    first = start("first", count=2)
    await eventually_async(lambda: first.loop.open == {0, 1})
    first.loop.runs.update({0: 3, 1: 1})
    second = start("second", count=2)
    await eventually_async(lambda: first.loop.open == {0})
    await second.stop()
    await eventually_async(lambda: first.loop.open == {0, 1})


@pytest.mark.parametrize("change", [{"group": "v2"}, {"count": 6}], ids=["version", "count"])
async def test_another_group_waits_for_the_end_of_the_last_process(start, change) -> None:
    first, second = start("first"), start("second")
    await eventually_async(shared(first, second, each=6))
    third = start("third", **change)
    await first.stop()
    await eventually_async(shared(second, each=12))
    await asyncio.sleep(QUICK["duration"] + 1)
    assert not third.loop.open
    await second.stop()
    count = change.get("count", COUNT)
    await eventually_async(lambda: len(third.loop.open) == count, seconds=3)


async def test_a_single_leader_and_a_group_wait_for_each_other(
    start, client, fake_namespace
) -> None:
    settings = LeaseSettings(name="op", namespace=fake_namespace, **QUICK)
    leader = LeaderElection(client, settings)
    await leader.acquire()
    holding = asyncio.create_task(leader.hold())
    group = start("group")
    await asyncio.sleep(QUICK["duration"] + 1)
    assert not group.loop.open
    holding.cancel()
    await leader.release()
    await eventually_async(shared(group, each=12))
    waiting = asyncio.create_task(leader.acquire())
    await asyncio.sleep(QUICK["duration"] + 1)
    assert not waiting.done()
    await group.stop()
    await asyncio.wait_for(waiting, 3)


async def test_a_thief_of_a_shard_ends_the_process(start, client, fake_namespace) -> None:
    first = start("first")
    await eventually_async(shared(first, each=12))
    path = f"/apis/coordination.k8s.io/v1/namespaces/{fake_namespace}/leases/op-shard-3"
    theft = {"spec": {"holderIdentity": "thief"}}
    await client.request("PATCH", path, body=theft, content_type="application/merge-patch+json")
    with pytest.raises(LeadershipLostError):
        await asyncio.wait_for(first.task, 5)


async def test_a_name_that_is_no_label_is_refused(client) -> None:
    settings = LeaseSettings(name="n" * 64, namespace="ns")
    with pytest.raises(ConfigError, match="at most 63 characters"):
        ShardedElection(client, settings, "v1", 2, Loop())


@pytest.fixture
async def limited(fake_testbed, fake_namespace, tmp_path):
    """Give a function that opens a session as a ServiceAccount with some verbs on Leases."""
    rbac = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": "limited", "namespace": fake_namespace}

    @contextlib.asynccontextmanager
    async def session(verbs):
        rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs}
        role = {"apiGroup": rbac, "kind": "Role", "name": "limited"}
        items = [
            {"apiVersion": "v1", "kind": "ServiceAccount"},
            {"apiVersion": f"{rbac}/v1", "kind": "Role", "rules": [rule]},
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "RoleBinding",
                "roleRef": role,
                "subjects": [subject],
            },
        ]
        named = [{**one, "metadata": {"name": "limited"}} for one in items]
        listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": named})
        fake_testbed.kubectl("-n", fake_namespace, "apply", "-f", "-", input=listed)
        account = fake_testbed.account(fake_namespace, "limited", tmp_path / "kubeconfig")
        async with HttpClient(from_kubeconfig([account])) as client:
            yield client

    return session


def verbs_on_leases(*parts: str) -> list[str]:
    """What the operator may do with Leases, by its file of rights."""
    return [
        verb
        for right in yaml.safe_load((ROOT / "deploy" / "rights.yaml").read_text())
        if right["resources"] == ["leases"] and right.get("part", "operator") in parts
        for verb in right["verbs"]
    ]


async def test_a_missing_permission_is_named(limited, fake_namespace) -> None:
    async with limited(verbs_on_leases("operator")) as client:
        process = Process(client, fake_namespace, "first")
        with pytest.raises(ConfigError, match="--shards needs the permission to get, list"):
            await asyncio.wait_for(process.task, 10)


async def test_the_permissions_of_the_chart_suffice(limited, fake_namespace) -> None:
    async with limited(verbs_on_leases("operator", "shards")) as client:
        first, second, third = (
            Process(client, fake_namespace, name) for name in ("first", "second", "third")
        )
        await eventually_async(shared(first, second, third, each=4))
        busy = min(second.loop.open)
        second.loop.runs[busy] = 1
        second.election.leave()
        await eventually_async(lambda: second.loop.open == {busy}, seconds=5)
        await third.end()
        third.loop.open.clear()
        await eventually_async(
            lambda: len(first.loop.open) == COUNT - 1, what="the silent expelled"
        )
        await second.end()
        await second.election.release()
        await eventually_async(shared(first, each=COUNT), seconds=2)
        await first.stop()
