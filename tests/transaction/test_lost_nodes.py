# SPDX-License-Identifier: Apache-2.0
"""A transaction node whose machine is silent is replaced when it is known to be dead, not before."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
    TimedOut,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.transaction import lost_pods
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.transaction.lost_pods import (
    Release,
    release,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.transaction.served_shards import (
    ServedShards,
)

from tests.support import resources as r
from tests.support.builders import NOW, conditions, pod, resource, states, workload
from tests.support.passes import report_on

Json = dict[str, Any]
UUID = "00000000-0000-0000-0000-100000000000"
END, LATE = "1970-01-12T13:46:40Z", 1_000_005.0
TAINT = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


def node(ready: str, *taints: Json) -> Json:
    said = [{"type": "Ready", "status": ready}]
    return {"spec": {"taints": list(taints)}, "status": {"conditions": said}}


def going(end: str = END, on: str = "node-1") -> Json:
    metadata = {"uid": "u-7", "deletionTimestamp": end}
    made = pod("mo-dn-0", ready=False, metadata=metadata)
    made["spec"]["nodeName"] = on
    return made


@dataclass
class Kubernetes:
    """Nodes by name; what is deleted is noted, with how."""

    known: Json
    deleted: list[tuple[str, bool]] = field(default_factory=list)

    def nodes(self, selected: Any) -> Json:
        return {name: self.known[name] for name in selected if name in self.known}

    def delete(self, found: Any, *, force: bool = False) -> None:
        self.deleted.append((found["metadata"]["uid"], force))


HEARD, SILENT, NO_ANSWER = 2.0, 40.0, None


def hakeeper(monkeypatch: pytest.MonkeyPatch, silent: float | None) -> None:
    """HAKeeper knows one transaction node, heard so many seconds ago; None for no answer."""

    def details(_deadline: Deadline) -> Any:
        if silent is None:
            raise TimedOut("no answer")
        return SimpleNamespace(tn_stores=[SimpleNamespace(uuid=UUID, silent=silent)])

    @contextmanager
    def connect(**_addresses: Any) -> Any:
        yield SimpleNamespace(cluster_details=details)

    monkeypatch.setattr(lost_pods, "HAKeeper", connect)


NOT_ASKED = ServedShards()


def released(
    kubernetes: Kubernetes, found: Json, now: float = LATE, served: ServedShards = NOT_ASKED
) -> Release:
    deadline = Deadline.after(5)
    return release(kubernetes, r.dnset(), [found], served, ["10.0.0.1:32001"], deadline, now)


DEAD = {"deleted": None, "out of service": node("Unknown", UNREACHABLE, TAINT)}


@pytest.mark.parametrize("silent", [HEARD, SILENT, NO_ANSWER], ids=["heard", "silent", "no answer"])
def test_a_node_that_does_not_answer_proves_nothing(
    monkeypatch: pytest.MonkeyPatch, silent: float | None
) -> None:
    """A kubelet that hangs leaves its containers running, and who was cut off comes back."""
    hakeeper(monkeypatch, silent)
    kubernetes = Kubernetes({"node-1": node("Unknown", UNREACHABLE)})

    found = released(kubernetes, going())

    assert kubernetes.deleted == found.events == []
    assert found.blocked.startswith("mo-dn-0 is not replaced: its node node-1 does not answer")
    assert found.blocked.endswith(
        "make sure that the machine is off, then run: "
        "kubectl taint nodes node-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
    )
    assert ("HAKeeper still hears it" in found.blocked) == (silent == HEARD)


@pytest.mark.parametrize("given_up", DEAD.values(), ids=DEAD)
@pytest.mark.parametrize("silent", [SILENT, NO_ANSWER], ids=["silent", "no answer"])
def test_a_node_that_was_given_up_releases_its_pods(
    monkeypatch: pytest.MonkeyPatch, silent: float | None, given_up: Json | None
) -> None:
    hakeeper(monkeypatch, silent)
    kubernetes = Kubernetes({"node-1": given_up})

    found = released(kubernetes, going())

    assert kubernetes.deleted == [("u-7", True)]
    assert [one["reason"] for one in found.events] == ["PodReleased"]
    assert found.blocked == ""


@pytest.mark.parametrize("given_up", DEAD.values(), ids=DEAD)
def test_what_hakeeper_still_hears_is_never_force_deleted(
    monkeypatch: pytest.MonkeyPatch, given_up: Json | None
) -> None:
    hakeeper(monkeypatch, HEARD)
    kubernetes = Kubernetes({"node-1": given_up})

    found = released(kubernetes, going())

    assert kubernetes.deleted == []
    assert "was given up, but HAKeeper still hears it" in found.blocked
    assert found.blocked.endswith("switch the machine off")


@pytest.mark.parametrize(
    ("served", "is_released"),
    [
        (ServedShards(asked=True, reached=True, silent={"mo-dn-0": HEARD}), False),
        (ServedShards(asked=True, reached=True, silent={"mo-dn-0": SILENT}), True),
        (ServedShards(asked=True, reached=True), True),
        (ServedShards(asked=True, problem="no answer"), True),
    ],
    ids=["heard", "silent", "unknown", "no answer"],
)
def test_what_hakeeper_has_answered_in_the_pass_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, served: ServedShards, is_released: bool
) -> None:
    monkeypatch.setattr(lost_pods, "HAKeeper", None)
    kubernetes = Kubernetes({"node-1": None})

    released(kubernetes, going(), served=served)

    assert bool(kubernetes.deleted) is is_released


@pytest.mark.parametrize(
    ("known", "found", "now"),
    [
        ({"node-1": node("True")}, going(), LATE),
        ({"node-1": node("False")}, going(), LATE),
        ({"node-1": None}, going(), LATE - 1),
        ({"node-1": None}, pod("mo-dn-0"), LATE),
        ({}, going(on=""), LATE),
    ],
    ids=["it ends slowly", "its kubelet answers", "its time is not over", "it serves", "no node"],
)
def test_what_ends_by_itself_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch, known: Json, found: Json, now: float
) -> None:
    hakeeper(monkeypatch, SILENT)
    kubernetes = Kubernetes(known)

    assert released(kubernetes, found, now) == Release()
    assert kubernetes.deleted == []


def test_a_node_that_may_not_be_read_blocks_what_has_not_ended_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hakeeper(monkeypatch, SILENT)
    kubernetes = Kubernetes({})

    assert released(kubernetes, going(), LATE + 29) == Release()
    found = released(kubernetes, going(), LATE + 30)

    assert kubernetes.deleted == []
    assert "it has not ended in time and its node node-1 cannot be read" in found.blocked


def test_a_blocked_failover_is_degraded_and_looked_at_again() -> None:
    subject = resource("DNSet", replicas=1)
    subject["status"] = {"conditions": conditions(("Ready", "True", "EnoughReadyStores"))}
    live = workload(name="mo-dn", wanted=1, replicas=1, readyReplicas=0, updatedReplicas=1)
    seen = {"workload": live, "pods": [going()], "results": {"blocked": "mo-dn-0 is not replaced"}}
    plan = {"workload": "StatefulSet/mo-dn", "objects": [{}]}

    told = report_on(subject, plan, seen, {}, "", NOW)

    assert states(told["status"])["Degraded"] == ("True", "FailoverBlocked")
    assert states(told["status"])["Ready"][0] == "False"
    assert told["requeue"]
