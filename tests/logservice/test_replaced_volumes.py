# SPDX-License-Identifier: Apache-2.0
"""The old store of a failover: looked at again before it goes, and its volume outlives it a day."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.digests import log_uuid
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    Refused,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
    Unreachable,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import (
    health,
    reconciler,
    replaced_volumes,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.failover import Step
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.health import (
    Question,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.log_set_objects import (
    LogSetObjects,
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
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.volume_keeper import (
    VolumeKeeper,
)

from tests.support.answers import Answers
from tests.support.builders import conditions, pod, resource, workload

Json = dict[str, Any]
REPAIR, VOLUMES = "logset.matrixorigin.io/repair", "logset.matrixorigin.io/replaced-volumes"
MARK = "logset.matrixorigin.io/replaced-store"
LONG_AGO = "2026-01-02T01:00:00Z"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()
DAY = replaced_volumes.KEPT_SECONDS
ALL = frozenset(map(log_uuid, range(3)))
LOST = View(
    True,
    {log_uuid(0): 1.0, log_uuid(1): 1.0, log_uuid(2): 900.0},
    [Shard(1, ALL, ALL - {log_uuid(2)}, 3)],
)
WHOLE = View(True, dict.fromkeys(ALL, 1.0), [Shard(1, ALL, ALL, 3)])


def log_pod(ordinal: int, *, ready: bool, uid: str = "") -> Json:
    metadata = {
        "uid": uid or f"p-{ordinal}",
        "labels": {"matrixorigin.io/component": "LogSet"},
        "creationTimestamp": LONG_AGO,
    }
    made = pod(f"mo-log-{ordinal}", ready=ready, since=LONG_AGO, metadata=metadata)
    made["status"]["podIP"] = f"10.0.0.{ordinal}"
    return made


def volume(policy: str = "Delete", *, claim: str = "c-2", phase: str = "Bound") -> Json:
    return {
        "metadata": {"name": "pv-2", "uid": "v-2", "resourceVersion": "7"},
        "spec": {
            "persistentVolumeReclaimPolicy": policy,
            "claimRef": {"uid": claim, "namespace": "prod", "name": "mo-data-mo-log-2"},
        },
        "status": {"phase": phase},
    }


@dataclass
class Kubernetes:
    """One LogSet, its Pods, the claim of store 2 and its volume, as the API server has them."""

    annotations: Json = field(default_factory=dict)
    pods: list[Json] = field(default_factory=lambda: [log_pod(n, ready=n != 2) for n in range(3)])
    volume_: Json | None = field(default_factory=volume)
    spec: Json = field(default_factory=dict)
    is_there: bool = True
    may_write: bool = True
    may_read: bool = True
    done: list[str] = field(default_factory=list)

    def log_set(self, **metadata: Any) -> Json:
        made = resource(spec={"replicas": 3, "storeFailureTimeout": "1m", **self.spec})
        made["metadata"] |= {"uid": "l-1", "annotations": dict(self.annotations), **metadata}
        made["status"] = {"conditions": conditions(("Ready", "True", "EnoughReadyStores"))}
        return made

    def latest(self, _api_version: str, kind: str, name: str) -> Json | None:
        if kind == "LogSet":
            return self.log_set() if self.is_there else None
        return next((one for one in self.pods if one["metadata"]["name"] == name), None)

    def nodes(self, _selected: Any) -> Json:
        return {}

    def claims(self) -> list[Json]:
        metadata = {"name": "mo-data-mo-log-2", "namespace": "prod", "uid": "c-2"}
        claim = {"kind": "PersistentVolumeClaim", "metadata": metadata}
        gone = "delete mo-data-mo-log-2" in self.done
        return [] if gone else [{**claim, "spec": {"volumeName": "pv-2"}}]

    def volumes(self, claims: Any) -> list[Json]:
        return [self.volume_] if claims and self.volume_ and self.may_read else []

    def volume(self, _name: str) -> Json | None:
        return self.volume_

    def gossip(self) -> str:
        return "2 1"

    def annotate(self, annotations: Any) -> None:
        for name, value in annotations.items():
            self.annotations.pop(name, None)
            if value is not None:
                self.annotations[name] = value

    def keep(self, found: Any, name: str, annotations: Any) -> str:
        if not self.may_write:
            return "patch PersistentVolume pv-2: forbidden"
        self._change(found, "Retain", {MARK: name}, annotations)
        return ""

    def give_back(self, found: Any, policy: str, *, in_use: bool) -> None:
        gone = {MARK: None} if in_use else {}
        self._change(found, policy, gone, gone)

    def _change(self, found: Json, policy: str, labels: Json, annotations: Json) -> None:
        self.done.append(policy)
        found["spec"]["persistentVolumeReclaimPolicy"] = policy
        for name, added in (("labels", labels), ("annotations", annotations)):
            whole = {**found["metadata"].get(name, {}), **added}
            found["metadata"][name] = {key: text for key, text in whole.items() if text is not None}

    def delete(self, found: Any, *, force: bool = False) -> None:
        del force
        self.done.append(f"delete {found['metadata']['name']}")


def one_pass(
    kubernetes: Kubernetes,
    monkeypatch: pytest.MonkeyPatch,
    *answers: View | None,
    now: float = NOW,
) -> PassResult:
    """A pass; HAKeeper answers its questions in turn, the last answer for good."""
    left = list(answers)

    def ask(*_how: Any) -> View:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if answer is None:
            raise Unreachable("no answer")
        return answer

    monkeypatch.setattr(reconciler, "ask", ask)
    pass_input = PassInput(kubernetes.log_set(), _workload(), list(kubernetes.pods), now)
    return reconciler.LogServiceReconciler(pass_input, kubernetes, Deadline.after(5)).run()


def _workload() -> Json:
    live = workload()
    live["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "mo-data"}}]
    return live


def decided(monkeypatch: pytest.MonkeyPatch, **how: Any) -> Kubernetes:
    """A LogSet on which it is recorded that store 2 is replaced."""
    kubernetes = Kubernetes(**how)
    assert one_pass(kubernetes, monkeypatch, LOST).verdict.step is Step.RECORD
    return kubernetes


def test_the_volume_is_kept_before_its_claim_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    kubernetes = decided(monkeypatch)

    result = one_pass(kubernetes, monkeypatch, LOST)

    assert kubernetes.done == ["Retain", "delete mo-data-mo-log-2", "delete mo-log-2"]
    assert [one["reason"] for one in result.events] == ["VolumeKept"]
    assert json.loads(kubernetes.annotations[VOLUMES]) == [
        {"name": "pv-2", "pod": "mo-log-2", "since": 0.0}
    ]
    assert kubernetes.volume_ is not None
    assert kubernetes.volume_["metadata"]["labels"] == {MARK: "mo-log-2"}
    assert json.loads(kubernetes.volume_["metadata"]["annotations"][MARK]) == {
        "owner": "l-1",
        "pod": "mo-log-2",
        "claim": "c-2",
        "policy": "Delete",
    }


@pytest.mark.parametrize(
    ("answers", "step"),
    [
        ((LOST, None), Step.BLOCKED),
        ((LOST, WHOLE), Step.BLOCKED),
        ((LOST, View(True, {**LOST.silent, log_uuid(2): 30.0}, LOST.shards)), Step.CALL_OFF),
        (
            (LOST, View(True, LOST.silent, [Shard(1, ALL, frozenset({log_uuid(0)}), 3)])),
            Step.BLOCKED,
        ),
    ],
    ids=["it does not answer", "it hears the store", "it heard it lately", "there is no quorum"],
)
def test_hakeeper_is_asked_again_before_anything_is_deleted(
    monkeypatch: pytest.MonkeyPatch, answers: tuple[View | None, ...], step: Step
) -> None:
    kubernetes = decided(monkeypatch)

    assert one_pass(kubernetes, monkeypatch, *answers).verdict.step is step
    assert kubernetes.done == ["Retain"]


def ready_again(kubernetes: Kubernetes) -> None:
    kubernetes.pods[2] = log_pod(2, ready=True)


def went_down_later(kubernetes: Kubernetes) -> None:
    """It was ready in between, and no status says so."""
    conditions_ = kubernetes.pods[2]["status"]["conditions"]
    conditions_[0] = {**conditions_[0], "lastTransitionTime": "2026-01-02T03:04:00Z"}


def forgotten(kubernetes: Kubernetes) -> None:
    del kubernetes.annotations[REPAIR]


def paused(kubernetes: Kubernetes) -> None:
    kubernetes.annotations["matrixorigin.io/paused"] = "true"


def removed(kubernetes: Kubernetes) -> None:
    kubernetes.is_there = False


@pytest.mark.parametrize("happens", [ready_again, went_down_later])
def test_the_pod_is_read_again_before_anything_is_deleted(
    monkeypatch: pytest.MonkeyPatch, happens: Callable[[Kubernetes], None]
) -> None:
    """What the pass began with came from a cache, or is seconds old."""
    kubernetes = decided(monkeypatch)
    pods = [log_pod(n, ready=n != 2) for n in range(3)]
    pass_input = PassInput(kubernetes.log_set(), _workload(), pods, NOW)
    happens(kubernetes)
    monkeypatch.setattr(reconciler, "ask", lambda *_how: LOST)

    result = reconciler.LogServiceReconciler(pass_input, kubernetes, Deadline.after(5)).run()

    assert result.verdict.step is Step.CALL_OFF
    assert kubernetes.done == ["Retain"]


@pytest.mark.parametrize("happens", [forgotten, paused, removed])
def test_the_log_set_is_read_again_before_anything_is_deleted(
    monkeypatch: pytest.MonkeyPatch, happens: Callable[[Kubernetes], None]
) -> None:
    kubernetes = decided(monkeypatch)
    pass_input = PassInput(kubernetes.log_set(), _workload(), list(kubernetes.pods), NOW)
    happens(kubernetes)
    monkeypatch.setattr(reconciler, "ask", lambda *_how: LOST)

    result = reconciler.LogServiceReconciler(pass_input, kubernetes, Deadline.after(5)).run()

    assert result.verdict.step is Step.BLOCKED
    assert "changed" in result.verdict.message
    assert kubernetes.done == ["Retain"]


def test_a_failover_that_is_called_off_gives_the_volume_its_policy_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kubernetes = decided(monkeypatch)
    one_pass(kubernetes, monkeypatch, LOST, None)
    ready_again(kubernetes)

    result = one_pass(kubernetes, monkeypatch, WHOLE)

    assert result.verdict.step is Step.CALL_OFF
    assert kubernetes.done == ["Retain", "Delete"]
    assert kubernetes.annotations.keys() & {REPAIR, VOLUMES} == set()
    assert kubernetes.volume_ is not None
    assert not any(kubernetes.volume_["metadata"][name] for name in ("labels", "annotations"))


@pytest.mark.parametrize(
    ("spec", "may_write", "done", "reasons"),
    [
        ({"failedPodStrategy": "Orphan"}, True, ["Retain", "claim", "pod"], ["VolumeKept"]),
        ({"failedPodStrategy": "Orphan"}, False, [], []),
        ({}, False, ["claim", "pod"], ["VolumeNotKept"]),
    ],
    ids=["for good", "for good, and must not be", "for a while, and must not be"],
)
def test_what_must_not_be_kept_is_said(
    monkeypatch: pytest.MonkeyPatch,
    spec: Json,
    may_write: bool,
    done: list[str],
    reasons: list[str],
) -> None:
    kubernetes = decided(monkeypatch, spec=spec, may_write=may_write)

    result = one_pass(kubernetes, monkeypatch, LOST)

    spoken = {"delete mo-data-mo-log-2": "claim", "delete mo-log-2": "pod"}
    assert [spoken.get(one, one) for one in kubernetes.done] == done
    assert [one["reason"] for one in result.events] == reasons
    assert VOLUMES not in kubernetes.annotations


@pytest.mark.parametrize(
    ("spec", "may_read", "is_announced"),
    [({}, False, True), ({}, True, False), ({"failedPodStrategy": "Orphan"}, False, False)],
    ids=["it is deleted", "it is kept for a while", "it is kept for good or not replaced"],
)
def test_that_a_volume_will_be_deleted_is_announced(
    monkeypatch: pytest.MonkeyPatch, spec: Json, may_read: bool, is_announced: bool
) -> None:
    """An operator of single namespaces may not read PersistentVolumes."""
    kubernetes = Kubernetes(spec={"storeFailureTimeout": "99h", **spec}, may_read=may_read)

    waiting = one_pass(kubernetes, monkeypatch, LOST).verdict

    assert waiting.step is Step.WAIT
    assert ("its volume is deleted" in waiting.message) == is_announced
    assert kubernetes.done == []


def kept(
    since: float = NOW - DAY, *, policy: str = "Retain", phase: str = "Released", **changes: Any
) -> Kubernetes:
    """All stores are up; the volume of one of before is kept."""
    found = volume(policy, phase=phase, claim=changes.pop("bound", "c-2"))
    mark = {"owner": "l-1", "pod": "mo-log-2", "claim": "c-2", "policy": "Delete", **changes}
    found["metadata"]["annotations"] = {MARK: json.dumps(mark)}
    entry = {"name": "pv-2", "pod": "mo-log-2", "since": since}
    pods = [log_pod(n, ready=True) for n in range(3)]
    return Kubernetes({VOLUMES: json.dumps([entry])}, pods, found)


@pytest.mark.parametrize(
    ("kubernetes", "answer", "done", "remembered"),
    [
        (kept(), WHOLE, ["Delete"], False),
        (kept(NOW - DAY + 1), WHOLE, [], True),
        (kept(0.0), WHOLE, [], True),
        (kept(), None, [], True),
        (kept(), LOST, [], True),
        (kept(), View(True, WHOLE.silent, []), [], True),
        (kept(phase="Bound"), WHOLE, [], True),
        (kept(bound="c-3", phase="Bound"), WHOLE, [], False),
        (kept(policy="Delete"), WHOLE, [], False),
        (kept(owner="l-2"), WHOLE, [], False),
        (kept(owner=""), WHOLE, [], False),
        (kept(claim=["c-2"]), WHOLE, [], False),
    ],
    ids=[
        "a day is over",
        "not quite",
        "the log service was not complete yet",
        "HAKeeper does not answer",
        "a replica is missing",
        "nothing is known of the shards",
        "its claim has not gone yet",
        "somebody uses it",
        "somebody has changed its policy",
        "it is another LogSet's",
        "it is nobody's",
        "its mark is nonsense",
    ],
)
def test_a_volume_is_released_when_nothing_depends_on_it(
    monkeypatch: pytest.MonkeyPatch,
    kubernetes: Kubernetes,
    answer: View | None,
    done: list[str],
    remembered: bool,
) -> None:
    result = one_pass(kubernetes, monkeypatch, answer)

    assert kubernetes.done == done
    assert [one["reason"] for one in result.events] == ["VolumeReleased"] * len(done)
    assert (VOLUMES in kubernetes.annotations) == remembered


@pytest.mark.parametrize(
    ("since", "asked"), [(NOW - DAY, Question.BRIEF), (NOW - DAY + 1, Question.NONE)]
)
def test_hakeeper_is_asked_when_a_volume_is_due(since: float, asked: Question) -> None:
    kubernetes = kept(since)
    log_set = kubernetes.log_set(creationTimestamp=LONG_AGO)
    log_set["status"]["shards"] = [{"shard": 1, "replicas": 3, "available": 3}]
    for one in kubernetes.pods:
        one["metadata"]["creationTimestamp"] = LONG_AGO

    assert health.question(log_set, workload(), kubernetes.pods, NOW) is asked


def test_the_day_begins_when_the_log_service_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    kubernetes = decided(monkeypatch)
    one_pass(kubernetes, monkeypatch, LOST)
    kubernetes.pods[2] = log_pod(2, ready=True, uid="new")

    assert one_pass(kubernetes, monkeypatch, LOST).verdict.step is Step.AWAIT_REPLICAS
    assert json.loads(kubernetes.annotations[VOLUMES])[0]["since"] == 0.0
    assert one_pass(kubernetes, monkeypatch, WHOLE).verdict.step is Step.FINISH
    assert json.loads(kubernetes.annotations[VOLUMES])[0]["since"] == NOW


def test_the_volume_of_one_that_is_replaced_in_its_turn_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was never complete; volumes would pile up where no new store comes up."""
    kubernetes = decided(monkeypatch)
    one_pass(kubernetes, monkeypatch, LOST)
    kubernetes.done.clear()
    kubernetes.pods[2] = log_pod(2, ready=False, uid="new")
    kubernetes.claims = list  # type: ignore[method-assign]

    result = one_pass(kubernetes, monkeypatch, LOST, now=NOW + 60)

    assert result.verdict.step is Step.RECORD
    assert json.loads(kubernetes.annotations[REPAIR])["hold"] is False
    assert [one["name"] for one in json.loads(kubernetes.annotations[VOLUMES])] == ["pv-2"]


@pytest.mark.parametrize(
    ("kubernetes", "done"),
    [
        (kept(), ["Delete"]),
        (kept(0.0, phase="Bound"), ["Delete"]),
        (kept(owner="l-2"), []),
        (kept(bound="c-3"), []),
    ],
    ids=["kept", "its claim is about to go", "it is another LogSet's", "somebody uses it"],
)
def test_the_volumes_go_with_the_data_of_the_log_set(
    kubernetes: Kubernetes, done: list[str]
) -> None:
    VolumeKeeper(kubernetes.log_set(), kubernetes).release_all()

    assert kubernetes.done == done


@pytest.mark.parametrize(
    "text", ["", "nonsense", "{}", "[1]", '[{"name": 1}]', '{"name": "pv-2"}', "[" * 100_000]
)
def test_what_a_tenant_writes_into_the_annotation_names_nothing(text: str) -> None:
    log_set = resource()
    log_set["metadata"]["annotations"] = {VOLUMES: text}
    assert replaced_volumes.remembered(log_set) == []


def test_a_volume_that_cannot_be_read_is_neither_gone_nor_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kubernetes = kept()

    def refuse(_name: str) -> Json:
        raise Refused("forbidden", 403, "Forbidden", [])

    kubernetes.volume = refuse  # type: ignore[method-assign]
    one_pass(kubernetes, monkeypatch, WHOLE)

    assert VOLUMES in kubernetes.annotations


def test_a_policy_is_changed_on_the_very_volume_that_was_looked_at() -> None:
    live = {"apiVersion": "v1", "kind": "PersistentVolume", **volume()}
    session = Answers(live)

    LogSetObjects(session, resource()).keep(live, "mo-log-2", {MARK: "{}"})  # type: ignore[arg-type]

    ((method, path, body),) = session.written
    assert (method, path) == ("PATCH", "/api/v1/persistentvolumes/pv-2")
    assert (body["metadata"]["uid"], body["metadata"]["resourceVersion"]) == ("v-2", "7")
    assert body["spec"] == {"persistentVolumeReclaimPolicy": "Retain"}


def test_a_read_that_decides_passes_caches_by() -> None:
    live = {"apiVersion": "v1", "kind": "Pod", **log_pod(2, ready=True)}
    session = Answers(live)
    objects = LogSetObjects(session, resource())  # type: ignore[arg-type]

    found = objects.latest("v1", "Pod", "mo-log-2")

    assert found is not None
    assert found["metadata"]["uid"] == "p-2"
    assert session.asked == ["/api/v1/namespaces/prod/pods"]
    assert objects.latest("v1", "Pod", "mo-log-1") is None
