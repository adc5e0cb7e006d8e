# SPDX-License-Identifier: Apache-2.0
"""Rounds over the compute nodes of a set, against the database's own HAKeeper and RPC servers."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
    HAKeeper,
    Reach,
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute import (
    pods as cn_pods,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute import (
    reconciler,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.drain import (
    Policy,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.load import (
    Load,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.load_query import (
    load_of,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pass_input import (
    PassInput,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pass_result import (
    PassResult,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.reconciler import (
    ComputeReconciler,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.work_states import (
    ANNOTATION_CORDON,
)

from tests.clients.matrixone.conftest import Peers, simulated

pytestmark = pytest.mark.rpc

UNHEARD = "matrixorigin.io/store-unheard"
GATE = "matrixorigin.io/cn-store"
PLAIN, DRAINS = Policy(False, 15, 0), Policy(True, 15, 300)
BEGIN = 1_800_000_000.0
STARTED = "2027-01-01T00:00:00Z"


def pod(name: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": "test",
            "uid": f"uid-{name}",
            "creationTimestamp": f"2027-01-01T00:00:0{ord(name[-1]) - ord('a')}Z",
            "annotations": {},
        },
        "spec": {"subdomain": "tp-cn-headless"},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "main", "state": {"running": {"startedAt": STARTED}}}],
        },
    }


@dataclass
class Kubernetes:
    """Pods, changed as an API server would change them."""

    pods: dict[str, dict[str, Any]]
    deleted: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    writes: int = 0

    def annotate(self, one: Any, annotations: Any) -> None:
        self.writes += 1
        stored = self.pods[one["metadata"]["name"]]["metadata"]["annotations"]
        for name, value in annotations.items():
            stored.pop(name, None)
            if value is not None:
                stored[name] = value

    def open_gate(self, one: Any) -> None:
        self.opened.append(one["metadata"]["name"])
        one["status"]["conditions"].append({"type": GATE, "status": "True"})

    def delete(self, one: Any) -> None:
        self.deleted.append(one["metadata"]["name"])

    def notes(self, name: str) -> dict[str, str]:
        return dict(self.pods[name]["metadata"]["annotations"])


@dataclass
class Set:
    """A set of three compute nodes and its HAKeeper."""

    sim: Peers
    cluster: Kubernetes
    now: float = BEGIN

    def round(
        self, policy: Policy = DRAINS, wanted: int = 3, present: int = 3, seconds: float = 10
    ) -> PassResult:
        pass_input = PassInput(
            policy=policy,
            desired=wanted,
            present=present,
            pods=list(self.cluster.pods.values()),
            others=[],
            addresses=self.sim.stores,
            now=self.now,
        )
        return ComputeReconciler(
            pass_input, self.cluster, Deadline.after(seconds), Reach.MACHINE
        ).run()

    def uuid(self, name: str) -> str:
        return cn_pods.uuid_of(self.cluster.pods[name])

    def stored(self, name: str) -> tuple[int, dict[str, list[str]]]:
        store = self.sim.state()["CNState"]["Stores"][self.uuid(name)]
        labels = store.get("Labels") or {}
        return store.get("WorkState", 0), {key: one["Labels"] for key, one in labels.items()}

    def label(self, name: str, **labels: list[str]) -> None:
        entries = [{"key": key, "values": values} for key, values in labels.items()]
        annotations = self.cluster.pods[name]["metadata"]["annotations"]
        annotations["matrixone.cloud/cn-label"] = json.dumps(entries) if entries else "null"


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., Set]]:
    contexts = []

    def make(*options: str) -> Set:
        pods = {name: pod(name) for name in ("cn-a", "cn-b", "cn-c")}
        uuids = ",".join(cn_pods.uuid_of(one) for one in pods.values())
        context = simulated(tmp_path, "-freeze", "-cn-uuids", uuids, *options)
        contexts.append(context)
        return Set(context.__enter__(), Kubernetes(pods))

    yield make
    for context in contexts:
        context.__exit__(None, None, None)


def test_new_nodes_work_under_their_labels_and_are_then_left_alone(
    made: Callable[..., Set],
) -> None:
    nodes = made("-init-work-state", "draining")
    for name in nodes.cluster.pods:
        nodes.label(name, account=["acc-1", "acc-2"])
    assert nodes.stored("cn-a") == (2, {})
    result = nodes.round()
    assert (result.reached, result.managed, result.problem) == (True, True, "")
    assert set(result.states.values()) == {"Working"}
    assert result.changed
    assert result.unsettled == []
    assert nodes.stored("cn-c") == (1, {"account": ["acc-1", "acc-2"]})
    assert nodes.cluster.notes("cn-a")["matrixorigin.io/cn-state"] == "Working"
    writes, before = nodes.cluster.writes, nodes.sim.state()
    assert not nodes.round().changed
    assert (nodes.cluster.writes, nodes.sim.state()) == (writes, before)


def test_labels_are_replaced_and_cleared(made: Callable[..., Set]) -> None:
    nodes = made()
    nodes.label("cn-a", role=["tp"])
    for labels in ({"account": ["a"]}, {"role": ["tp"]}, {}):
        nodes.label("cn-b", **labels)
        nodes.round(PLAIN)
        assert nodes.stored("cn-b") == (1, labels)


def test_a_node_that_lost_its_labels_gets_them_back(made: Callable[..., Set]) -> None:
    nodes = made("-init-work-state", "draining")
    nodes.label("cn-a", account=["a"])
    nodes.round()
    with HAKeeper(addresses=nodes.sim.stores, reach=Reach.MACHINE) as hakeeper:
        hakeeper.delete_store(nodes.uuid("cn-a"), Deadline.after(10))
    assert nodes.round().unsettled == ["cn-a"]
    nodes.sim.do("heartbeat")
    assert nodes.stored("cn-a") == (2, {})
    assert nodes.round().unsettled == []
    assert nodes.stored("cn-a") == (1, {"account": ["a"]})


def test_a_set_without_labels_and_drain_is_left_alone(made: Callable[..., Set]) -> None:
    nodes = made()
    with HAKeeper(addresses=nodes.sim.stores, reach=Reach.MACHINE) as hakeeper:
        somebody = WorkState.DRAINING
        hakeeper.set_work_state(nodes.uuid("cn-b"), somebody, Deadline.after(10))
    result = nodes.round(PLAIN)
    assert nodes.stored("cn-b")[0] == 2
    assert not result.managed
    assert not result.changed
    assert nodes.cluster.writes == 0


@pytest.mark.parametrize("policy", [PLAIN, DRAINS])
def test_pooled_nodes_are_ready_once_hakeeper_knows_them(
    made: Callable[..., Set], policy: Policy
) -> None:
    nodes = made("-init-work-state", "draining")
    for name in ("cn-a", "cn-b"):
        one = nodes.cluster.pods[name]
        one["spec"]["readinessGates"] = [{"conditionType": GATE}]
        one["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    with HAKeeper(addresses=nodes.sim.stores, reach=Reach.MACHINE) as hakeeper:
        hakeeper.delete_store(nodes.uuid("cn-b"), Deadline.after(10))
    assert nodes.round(policy).changed
    assert nodes.cluster.opened == ["cn-a"]
    nodes.sim.do("heartbeat")
    nodes.round(policy)
    nodes.round(policy)
    assert nodes.cluster.opened == ["cn-a", "cn-b"]


@pytest.mark.parametrize("policy", [PLAIN, DRAINS])
def test_cordon_and_its_removal(made: Callable[..., Set], policy: Policy) -> None:
    nodes = made()
    nodes.label("cn-b", account=["a"])
    nodes.round(policy)
    nodes.cluster.annotate(nodes.cluster.pods["cn-b"], {ANNOTATION_CORDON: ""})
    result = nodes.round(policy)
    assert result.states == {"cn-a": "Working", "cn-b": "Draining", "cn-c": "Working"}
    assert nodes.stored("cn-b") == (2, {"account": ["a"]})
    assert result.drains == {}
    assert not nodes.round(policy).changed
    nodes.cluster.annotate(nodes.cluster.pods["cn-b"], {ANNOTATION_CORDON: None})
    assert nodes.round(policy).states["cn-b"] == "Working"
    assert nodes.stored("cn-b") == (1, {"account": ["a"]})


def test_shrinking_waits_for_delay_sessions_and_locks(made: Callable[..., Set]) -> None:
    """The youngest goes; the workload shrinks when its node is drained, and no round before."""
    nodes = made()
    nodes.sim.do("cn", uuid=nodes.uuid("cn-c"), proxy_sessions=2, sys_sessions=3)
    steps: list[tuple[float, str, int | None]] = []

    def after(seconds: float) -> PassResult:
        nodes.now = BEGIN + seconds
        result = nodes.round(wanted=2)
        assert list(result.drains) == ["cn-c"]
        steps.append((seconds, result.drains["cn-c"].step.value, result.replicas))
        return result

    after(0)
    assert nodes.stored("cn-c")[0] == 2
    notes = nodes.cluster.notes("cn-c")
    assert notes[cn_pods.ANNOTATION_COST] == "-1000"
    assert notes[cn_pods.ANNOTATION_DRAINING] == "2027-01-15T08:00:00Z"
    after(10)
    assert after(20).drains["cn-c"].message == "2 sessions"
    nodes.sim.do("cn", uuid=nodes.uuid("cn-c"), proxy_sessions=0, lock_txns=1)
    after(25)
    assert nodes.cluster.notes("cn-c")[cn_pods.ANNOTATION_LOCKS] == STARTED
    after(30)
    nodes.sim.do("cn", uuid=nodes.uuid("cn-c"), lock_txns=0)
    nodes.sim.do("heartbeat")
    after(35)
    assert steps == [
        (0, "Spreading", 3),
        (10, "Spreading", 3),
        (20, "Busy", 3),
        (25, "AskForLocks", 3),
        (30, "WaitForLocks", 3),
        (35, "Done", None),
    ]
    assert nodes.stored("cn-a")[0] == nodes.stored("cn-b")[0] == 1


def test_the_last_nodes_do_not_wait_for_locks_that_nobody_needs(made: Callable[..., Set]) -> None:
    """As long as one of them has sessions, it may need the locks of the others."""
    nodes = made()
    nodes.sim.do("cn", uuid=nodes.uuid("cn-a"), proxy_sessions=1)
    nodes.sim.do("cn", uuid=nodes.uuid("cn-c"), lock_txns=1)
    steps = {}
    for age in (0, 20, 50, 55):
        nodes.now = BEGIN + age
        drains = nodes.round(wanted=0).drains
        steps[age] = [drains[name].step.value for name in ("cn-a", "cn-b", "cn-c")]
        nodes.sim.do("heartbeat")
        if age == 50:
            nodes.sim.do("cn", uuid=nodes.uuid("cn-a"), proxy_sessions=0)
    assert steps[20] == ["Busy", "AskForLocks", "AskForLocks"]
    assert steps[50] == ["Busy", "Done", "WaitForLocks"]
    assert steps[55] == ["AskForLocks", "Done", "Done"]


def test_a_drain_that_is_called_off(made: Callable[..., Set]) -> None:
    nodes = made()
    nodes.round(wanted=2)
    assert nodes.stored("cn-c")[0] == 2
    result = nodes.round(wanted=3)
    assert (result.drains, result.replicas) == ({}, None)
    assert nodes.stored("cn-c")[0] == 1
    assert nodes.cluster.notes("cn-c") == {"matrixorigin.io/cn-state": "Working"}


def test_called_off_too_late_the_pod_is_replaced(made: Callable[..., Set]) -> None:
    """A node whose locks were taken refuses transactions for the rest of its life."""
    nodes = made()
    nodes.round(wanted=2)
    nodes.now += 20
    assert nodes.round(wanted=2).drains["cn-c"].step.value == "AskForLocks"
    result = nodes.round(wanted=3)
    assert result.drains["cn-c"].step.value == "WaitForLocks"
    assert nodes.stored("cn-c")[0] == 2
    assert nodes.cluster.deleted == []
    nodes.sim.do("heartbeat")
    result = nodes.round(wanted=3)
    assert result.replicas is None
    assert nodes.cluster.deleted == ["cn-c"]


def test_a_pod_that_is_being_deleted_gets_no_new_sessions(made: Callable[..., Set]) -> None:
    nodes = made()
    nodes.cluster.pods["cn-a"]["metadata"]["deletionTimestamp"] = STARTED
    result = nodes.round()
    assert result.states["cn-a"] == "Draining"
    assert result.drains == {}


def test_a_pod_that_is_being_deleted_hands_its_locks_over(made: Callable[..., Set]) -> None:
    """The deletion began at BEGIN and may take 330 s; nobody waits for it but its own hook."""
    nodes = made()
    metadata = nodes.cluster.pods["cn-a"]["metadata"]
    metadata["deletionTimestamp"] = "2027-01-15T08:05:30Z"
    metadata["deletionGracePeriodSeconds"] = 330
    steps = []
    for age in (1, 16, 21):
        nodes.now = BEGIN + age
        result = nodes.round()
        steps.append(result.drains["cn-a"].step.value if result.drains else "")
        assert result.replicas is None
        nodes.sim.do("heartbeat")
    assert steps == ["Spreading", "AskForLocks", ""]
    notes = nodes.cluster.notes("cn-a")
    assert notes[cn_pods.ANNOTATION_LOCKS] == STARTED
    assert cn_pods.ANNOTATION_COST not in notes
    assert nodes.cluster.deleted == []


def test_what_cannot_be_asked_is_busy_until_its_time_is_over(made: Callable[..., Set]) -> None:
    nodes = made()
    nodes.round(wanted=2)
    nodes.sim.process.kill()
    nodes.sim.process.wait(10)
    for age, step, replicas in ((20, "Busy", 3), (299, "Busy", 3), (300, "GivenUp", None)):
        nodes.now = BEGIN + age
        begun = time.monotonic()
        result = nodes.round(wanted=2, seconds=2)
        assert time.monotonic() - begun < 3
        assert (result.drains["cn-c"].step.value, result.replicas) == (step, replicas)
        assert not result.reached
        assert "refused" in result.problem
        assert set(result.states.values()) == {"Unknown"}


def test_hakeeper_that_never_answers_holds_a_round_up_for_its_deadline_only(
    made: Callable[..., Set],
) -> None:
    nodes = made()
    nodes.sim.do("fault", method="*", mute=1, count=-1)
    begun = time.monotonic()
    result = nodes.round(wanted=2, seconds=2)
    assert time.monotonic() - begun < 3
    assert (result.reached, result.replicas) == (False, 3)
    assert result.problem


@pytest.mark.parametrize("resumes", [True, False])
def test_who_was_not_heard_is_asked_before_it_is_replaced(
    made: Callable[..., Set], monkeypatch: pytest.MonkeyPatch, *, resumes: bool
) -> None:
    """One that resumes by itself stays as it is; nobody else is asked."""
    nodes = made()
    nodes.round(PLAIN)
    nodes.cluster.pods["cn-b"]["metadata"]["annotations"][UNHEARD] = STARTED
    asked: list[str] = []

    def that_resume(addresses: dict[str, str], *_: Any) -> frozenset[str]:
        asked.extend(addresses)
        return frozenset(addresses if resumes else ())

    monkeypatch.setattr(reconciler, "that_resume", that_resume)
    result = nodes.round(PLAIN)
    assert asked == ["cn-b"]
    assert result.resumed == (["cn-b"] if resumes else [])
    assert nodes.cluster.deleted == ([] if resumes else ["cn-b"])
    assert (UNHEARD in nodes.cluster.notes("cn-b")) is not resumes
    asked.clear()
    if resumes:
        result = nodes.round(PLAIN)
        assert (asked, result.resumed, nodes.cluster.deleted) == ([], [], [])


def test_a_compute_node_that_does_not_answer_is_not_idle(made: Callable[..., Set]) -> None:
    nodes = made()
    with HAKeeper(addresses=nodes.sim.stores, reach=Reach.MACHINE) as hakeeper:
        record = hakeeper.cluster_details(Deadline.after(10)).cn_store(nodes.uuid("cn-a"))
    assert load_of(record, Deadline.after(5), Reach.MACHINE) == Load(0, 0, 0)
    nodes.sim.process.kill()
    nodes.sim.process.wait(10)
    assert load_of(record, Deadline.after(5), Reach.MACHINE) == Load()
    assert load_of(None, Deadline.after(5)) == Load()


def test_no_transaction_node_keeps_the_locks_unknown(made: Callable[..., Set]) -> None:
    nodes = made("-no-tn")
    nodes.round(wanted=2)
    nodes.now += 20
    result = nodes.round(wanted=2)
    assert result.drains["cn-c"].step.value == "WaitForLocks"
    assert result.drains["cn-c"].message == "unknown locks"
    assert result.replicas == 3
