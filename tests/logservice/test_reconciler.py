# SPDX-License-Identifier: Apache-2.0
"""Passes over log stores of which one is lost, and comes back before anything was deleted."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.digests import log_uuid
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import (
    reconciler,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.failover import (
    Step,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.pass_input import (
    PassInput,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.pass_result import (
    PassResult,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.view import (
    Shard,
    View,
)

from tests.support.builders import conditions, pod, resource, workload

Json = dict[str, Any]
INCARNATIONS, REPAIR = "logset.matrixorigin.io/incarnations", "logset.matrixorigin.io/repair"
LONG_AGO = "2026-01-02T01:00:00Z"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()
ALL = frozenset(map(log_uuid, range(3)))


@dataclass
class Kubernetes:
    """One LogSet with its claims; what is deleted is noted."""

    annotations: dict[str, str]
    going: bool = False
    stores: int = 0
    now: Json = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)

    def nodes(self, _selected: Any) -> Json:
        return {}

    def claims(self) -> list[Json]:
        metadata = {"name": "mo-data-mo-log-2", "namespace": "prod", "uid": "c-2"}
        ends = {"deletionTimestamp": LONG_AGO} if self.going else {}
        found = [{"kind": "PersistentVolumeClaim", "metadata": {**metadata, **ends}}]
        for number in range(3, self.stores):
            other = {"name": f"mo-data-mo-log-{number}", "uid": f"c-{number}"}
            found.append({"kind": "PersistentVolumeClaim", "metadata": {**metadata, **other}})
        return found

    def volumes(self, _claims: Any) -> list[Json]:
        return []

    def gossip(self) -> str:
        return ""

    def latest(self, _api_version: str, kind: str, _name: str) -> Json | None:
        return self.now.get(kind)

    def annotate(self, annotations: Any) -> None:
        for name, value in annotations.items():
            self.annotations.pop(name, None)
            if value is not None:
                self.annotations[name] = value

    def keep(self, _volume: Any) -> str:
        return ""

    def delete(self, found: Any, *, force: bool = False) -> None:
        del force
        self.deleted.append(found["metadata"]["name"])


def log_set_of(kubernetes: Kubernetes, **status: Any) -> Json:
    """Three log stores, as the LogSet shows them."""
    made = resource(spec={"replicas": 3, "storeFailureTimeout": "1m"})
    made["metadata"]["annotations"] = dict(kubernetes.annotations)
    made["status"] = {"conditions": conditions(("Ready", "True", "EnoughReadyStores")), **status}
    return made


def pods_of(*down: int) -> list[Json]:
    """The Pods of three log stores, of which some are down for long."""
    return [log_pod(n, ready=n not in down) for n in range(3)]


def log_pod(ordinal: int, *, ready: bool = True, **metadata: str) -> Json:
    labels = {"matrixorigin.io/component": "LogSet"}
    identity = {"uid": f"p-{ordinal}", "labels": labels, **metadata}
    made = pod(f"mo-log-{ordinal}", ready=ready, since=LONG_AGO, metadata=identity)
    made["status"]["podIP"] = f"10.0.0.{ordinal}"
    return made


def seen_without(*missed: int) -> View:
    """What HAKeeper says when it has missed some stores for 900 s."""
    alive = ALL - set(map(log_uuid, missed))
    return View(
        True, {one: 1.0 if one in alive else 900.0 for one in ALL}, [Shard(1, ALL, alive, 3)]
    )


def make_pass(
    kubernetes: Kubernetes,
    monkeypatch: pytest.MonkeyPatch,
    log_set: Json,
    pods: list[Json],
    seen: View,
) -> PassResult:
    monkeypatch.setattr(reconciler, "ask", lambda *_how: seen)
    live = workload()
    live["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "mo-data"}}]
    pass_input = PassInput(log_set, live, pods, NOW)
    return reconciler.LogServiceReconciler(pass_input, kubernetes, Deadline.after(5)).run()


def run(kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch, *, lost: bool) -> PassResult:
    """A pass that finds store 2 lost, or back."""
    missing = (2,) if lost else ()
    log_set, pods = log_set_of(kubernetes), pods_of(*missing)
    return make_pass(kubernetes, monkeypatch, log_set, pods, seen_without(*missing))


UP = [{"podName": f"mo-log-{n}", "phase": "Up", "lastTransition": LONG_AGO} for n in range(3)]
JUST_NOW = "2026-01-02T03:04:00Z"


@pytest.mark.parametrize(
    ("replaced", "step"),
    [
        ([log_pod(2, deletionTimestamp=JUST_NOW, creationTimestamp=LONG_AGO)], Step.WAIT),
        ([], Step.NOTHING),
        ([log_pod(2, ready=False, creationTimestamp=JUST_NOW)], Step.WAIT),
    ],
    ids=["it is told to end", "it is gone", "its successor starts"],
)
@pytest.mark.parametrize("answer", [seen_without(), seen_without(2)], ids=["heard", "missed"])
def test_a_restart_of_a_store_that_is_hours_old_replaces_nothing(
    monkeypatch: pytest.MonkeyPatch, replaced: list[Json], step: Step, answer: View
) -> None:
    """Whatever HAKeeper says: a store that went down a moment ago is not due."""
    kubernetes = Kubernetes({})
    log_set = log_set_of(kubernetes, availableStores=UP)

    result = make_pass(kubernetes, monkeypatch, log_set, [*pods_of()[:2], *replaced], answer)

    assert result.verdict.step is step
    assert (result.events, kubernetes.annotations, kubernetes.deleted) == ([], {}, [])


@pytest.mark.parametrize("before", [{}, {"2": 3}, {"1": 1}], ids=["first", "fourth", "another"])
def test_a_failover_that_is_called_off_leaves_no_trace(
    monkeypatch: pytest.MonkeyPatch, before: dict[str, int]
) -> None:
    """The store that came back is the one that it was; nobody looks for another one there."""
    kubernetes = Kubernetes({INCARNATIONS: json.dumps(before)} if before else {})
    run(kubernetes, monkeypatch, lost=True)
    assert json.loads(kubernetes.annotations[INCARNATIONS])["2"] == before.get("2", 0) + 1
    assert REPAIR in kubernetes.annotations

    called_off = run(kubernetes, monkeypatch, lost=False)

    assert [one["reason"] for one in called_off.events] == ["FailoverCalledOff"]
    assert json.loads(kubernetes.annotations[INCARNATIONS]) == before == called_off.incarnations
    assert REPAIR not in kubernetes.annotations
    assert kubernetes.deleted == []


def test_a_store_that_loses_its_volume_all_the_same_is_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its claim goes with its Pod: an empty store under the old identity would break the quorum."""
    kubernetes = Kubernetes({})
    run(kubernetes, monkeypatch, lost=True)
    kubernetes.going = True

    called_off = run(kubernetes, monkeypatch, lost=False)

    assert called_off.incarnations == {"2": 1}
    assert json.loads(kubernetes.annotations[INCARNATIONS]) == {"2": 1}


def test_a_record_of_an_earlier_operator_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not say which incarnation was there before, so none is taken back."""
    kubernetes = Kubernetes({})
    run(kubernetes, monkeypatch, lost=True)
    recorded = json.loads(kubernetes.annotations[REPAIR])
    del recorded["before"]
    kubernetes.annotations[REPAIR] = json.dumps(recorded)

    assert run(kubernetes, monkeypatch, lost=False).incarnations == {"2": 1}
    assert REPAIR not in kubernetes.annotations


def leaving(kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch, incarnation: int) -> None:
    """A pass over four stores of which the last one leaves; it runs as some incarnation."""
    log_set = log_set_of(kubernetes)
    uuids = [log_uuid(0), log_uuid(1), log_uuid(2), log_uuid(3, incarnation)]
    seen = View(True, dict.fromkeys(uuids, 1.0), [Shard(1, ALL, ALL, 3)])
    monkeypatch.setattr(reconciler, "ask", lambda *_how: seen)
    live = workload(wanted=4)
    live["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "mo-data"}}]
    pass_input = PassInput(log_set, live, [log_pod(n) for n in range(4)], NOW)
    reconciler.LogServiceReconciler(pass_input, kubernetes, Deadline.after(5)).run()


def test_a_store_that_leaves_gets_one_new_incarnation_however_long_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A quota or a webhook may keep the workload from being scaled; each pass decides anew."""
    kubernetes = Kubernetes({})
    for _ in range(3):
        leaving(kubernetes, monkeypatch, 0)
        assert json.loads(kubernetes.annotations[INCARNATIONS]) == {"3": 1}
    # It left, came back as 1 when the set grew, and leaves again.
    leaving(kubernetes, monkeypatch, 1)
    assert json.loads(kubernetes.annotations[INCARNATIONS]) == {"3": 2}


LEFT = "logset.matrixorigin.io/left-stores"


def test_the_claim_of_a_store_that_left_is_deleted_when_its_pod_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is recorded before the StatefulSet is told; both are read anew before it is deleted."""
    kubernetes = Kubernetes({}, stores=4)
    leaving(kubernetes, monkeypatch, 0)
    recorded = [{"claims": {"mo-data-mo-log-3": "c-3"}, "pod": "mo-log-3"}]
    assert json.loads(kubernetes.annotations[LEFT]) == recorded
    assert kubernetes.deleted == []

    log_set, pods = log_set_of(kubernetes), pods_of()
    stateful_set = workload()
    stateful_set["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "mo-data"}}]
    ends = {**stateful_set, "metadata": {**stateful_set["metadata"], "deletionTimestamp": NOW}}
    another = {**log_set, "metadata": {**log_set["metadata"], "uid": "another"}}
    changed = {**log_set, "metadata": {**log_set["metadata"], "annotations": {}}}
    paused = {"matrixorigin.io/paused": "true", **log_set["metadata"]["annotations"]}
    held = {**log_set, "metadata": {**log_set["metadata"], "annotations": paused}}
    refused = [
        {},
        {"LogSet": log_set},
        {"StatefulSet": stateful_set},
        {"LogSet": log_set, "StatefulSet": ends},
        {"LogSet": another, "StatefulSet": stateful_set},
        {"LogSet": changed, "StatefulSet": stateful_set},
        {"LogSet": held, "StatefulSet": stateful_set},
    ]
    for found in refused:
        kubernetes.now = found
        result = make_pass(kubernetes, monkeypatch, log_set, pods, seen_without())
        assert kubernetes.deleted == []
        assert result.stores().leaving
        assert LEFT in kubernetes.annotations

    kubernetes.now = {"LogSet": log_set, "StatefulSet": stateful_set}
    result = make_pass(kubernetes, monkeypatch, log_set, pods, seen_without())

    assert kubernetes.deleted == ["mo-data-mo-log-3"]
    assert not result.stores().leaving
    assert LEFT not in kubernetes.annotations
