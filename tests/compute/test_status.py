# SPDX-License-Identifier: Apache-2.0
"""What a round over compute nodes leads to: conditions, events, and when to look again."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute import status as rounds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.status import (
    terminating_status,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.stores_result import (
    CNStoresResult,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.events import (
    transitions,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.report import (
    deleting,
)

from tests.support.passes import (
    plan_of,
    report_on,
)

BUSY = {"step": "Busy", "message": "2 sessions", "finished": False, "until": 1767225900.0}
TOLD = "until 2026-01-01T00:05:00Z at most (2 sessions)"
DONE = {"step": "Done", "message": "drained", "finished": True}
GIVEN_UP = {"step": "GivenUp", "message": "gave up after 300 s with locks left", "finished": True}
GOOD = {"managed": True, "reached": True, "problem": "", "unsettled": [], "drains": {}}
NOW = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("round_", "otherwise", "time"),
    [
        ({}, "", ""),
        ({}, "10s", "10s"),
        ({**GOOD, "managed": False}, "", ""),
        (GOOD, "", "60s"),
        (GOOD, "10s", "10s"),
        ({**GOOD, "drains": {"a": BUSY}}, "10s", "5s"),
        ({**GOOD, "unsettled": ["a"]}, "", "5s"),
        ({**GOOD, "unsettled": ["a"], "reached": False}, "", "60s"),
    ],
)
def test_when_to_requeue(round_: dict[str, Any], otherwise: str, time: str) -> None:
    assert rounds.requeue(CNStoresResult.read(round_), otherwise) == time


@pytest.mark.parametrize(
    ("round_", "text"),
    [
        ({}, ""),
        ({**GOOD, "drains": {"a": DONE}}, ""),
        ({**GOOD, "drains": {"a": BUSY, "b": DONE}}, f"draining a {TOLD}"),
    ],
)
def test_what_drains(round_: dict[str, Any], text: str) -> None:
    assert rounds.draining(CNStoresResult.read(round_)) == text


@pytest.mark.parametrize(
    ("round_", "said"),
    [
        ({}, False),
        (GOOD, False),
        ({**GOOD, "managed": False, "reached": False}, False),
        ({**GOOD, "reached": False, "problem": "connection refused"}, True),
    ],
)
def test_a_hakeeper_that_is_not_heard(round_: dict[str, Any], said: bool) -> None:
    message = rounds.unreachable(CNStoresResult.read(round_))
    assert bool(message) is said
    assert not said or "connection refused" in message


def test_a_drain_that_was_given_up_is_told() -> None:
    stores = CNStoresResult.read({**GOOD, "drains": {"a": GIVEN_UP, "b": DONE}})
    told = rounds.drain_events(cn_set(1), stores, {})
    assert [(one["reason"], one["type"]) for one in told] == [("DrainTimedOut", "Warning")]
    assert "300 s" in told[0]["note"]


def test_who_resumes_is_told() -> None:
    stores = CNStoresResult.read({**GOOD, "resumed": ["a", "b"]})
    told = rounds.resume_events(stores)
    assert [(one["reason"], one["type"]) for one in told] == [("Resumed", "Normal")] * 2
    assert told[1]["note"].startswith("b: HAKeeper hears it again")
    assert CNStoresResult.read(stores.as_result()) == stores
    assert rounds.resume_events(CNStoresResult.read({})) == []


@pytest.mark.parametrize(
    ("before", "round_", "ending", "ends"),
    [
        ("Draining", {**GOOD, "drains": {"a": DONE}}, {}, True),
        ("Draining", GOOD, {}, True),
        ("Draining", {**GOOD, "drains": {"a": DONE, "b": BUSY}}, {}, False),
        ("Draining", GOOD, {"a": NOW}, False),
        ("Draining", {}, {}, False),
        ("Settled", {**GOOD, "drains": {"a": DONE}}, {}, False),
    ],
)
def test_the_end_of_all_drains_is_told_once(
    before: str, round_: dict[str, Any], ending: dict[str, str], *, ends: bool
) -> None:
    resource = cn_set(1)
    resource["status"]["conditions"] = [
        {"type": "Progressing", "status": str(before == "Draining"), "reason": before}
    ]
    told = rounds.drain_events(resource, CNStoresResult.read(round_), ending)
    assert [one["reason"] for one in told] == (["DrainEnded"] if ends else [])


UNHEARD = {**GOOD, "reached": False, "problem": "no answer in time", "drains": {"tp-cn-x": BUSY}}


@pytest.mark.parametrize(
    ("round_", "message"),
    [
        ({**GOOD, "drains": {"tp-cn-x": BUSY}}, f"draining tp-cn-x {TOLD}"),
        (
            UNHEARD,
            f"draining tp-cn-x {TOLD}; work state and labels cannot be set: no answer in time",
        ),
    ],
)
def test_a_set_that_goes_tells_what_it_drains(round_: dict[str, Any], message: str) -> None:
    resource = cn_set(1)
    pods = [{"metadata": {"name": "tp-cn-x", "namespace": "test"}, "spec": {}}]

    stores = CNStoresResult.read({**round_, "states": {"tp-cn-x": "Draining"}})
    status = terminating_status(resource, pods, stores)

    told = {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
    assert told["Ready"] == told["Synced"] == ("False", "Deleting")
    assert told["Progressing"] == ("True", "Draining")
    assert {one["message"] for one in status["conditions"]} == {message} == {status["message"]}
    assert status["phase"] == "Deleting"
    assert [one["state"] for one in status["stores"]] == ["Draining"]


def test_events_tell_of_a_drain_at_the_end_once() -> None:
    """That the deletion goes on afterwards is no news, nor is another count of sessions."""
    resource, round_ = cn_set(1), {**GOOD, "drains": {"tp-cn-x": BUSY}}
    fewer = {**GOOD, "drains": {"tp-cn-x": {**BUSY, "message": "1 sessions"}}}
    told = []
    for status in (
        deleting(resource, []),
        terminating_status(resource, [], CNStoresResult.read(round_)),
        terminating_status(resource, [], CNStoresResult.read(fewer)),
        deleting(resource, ["Pod tp-cn-x"], 600),
    ):
        told += [one["reason"] for one in transitions(resource["status"], status)]
        resource["status"] = status
    assert told == ["Deleting", "Draining"]


def cn_set(replicas: int) -> dict[str, Any]:
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "CNSet",
        "metadata": {"name": "tp", "namespace": "test", "uid": "u", "generation": 2},
        "spec": {
            "image": "matrixorigin/matrixone:1.3.0",
            "replicas": replicas,
            "scalingConfig": {"storeDrainEnabled": True},
        },
        "deps": {"logSet": {"metadata": {"name": "mo", "namespace": "test"}}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


LOG_SET = {
    "apiVersion": "core.matrixorigin.io/v1alpha1",
    "kind": "LogSet",
    "metadata": {"name": "mo", "namespace": "test", "generation": 1},
    "spec": {
        "replicas": 3,
        "sharedStorage": {"s3": {"path": "bucket/mo"}},
    },
    "status": {
        "observedGeneration": 1,
        "conditions": [
            {"type": kind, "status": "True", "observedGeneration": 1}
            for kind in ("Ready", "Synced")
        ],
    },
}


@pytest.mark.parametrize(("kept", "replicas"), [(3, 3), (None, 2)])
def test_the_workload_keeps_its_size_while_nodes_drain(kept: int | None, replicas: int) -> None:
    observed = {"logSet": LOG_SET, "workload": None, "results": {**GOOD, "replicas": kept}}
    plan = plan_of(cn_set(2), observed, "#!/bin/sh\n", {"logSet": LOG_SET})
    workload = next(one for one in plan["objects"] if one["kind"] == "Deployment")
    assert plan["invalid"] == ""
    assert workload["spec"]["replicas"] == replicas


def status_of(
    round_: dict[str, Any],
    others: Sequence[dict[str, Any]] = (),
    *,
    drains: bool = True,
    told: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    live = {
        "kind": "Deployment",
        "metadata": {"name": "tp-cn", "generation": 1},
        "spec": {"replicas": 2},
        "status": {
            "observedGeneration": 1,
            "replicas": 2,
            "readyReplicas": 2,
            "updatedReplicas": 2,
        },
    }
    pods = [{"metadata": {"name": "tp-cn-x", "namespace": "test"}, "spec": {}, "status": {}}]
    observed = {"workload": live, "pods": [*pods, *others], "results": round_}
    resource = cn_set(2)
    resource["spec"]["scalingConfig"]["storeDrainEnabled"] = drains
    resource["status"] |= told or {}
    plan = {"workload": "Deployment/tp-cn"}
    report = report_on(resource, plan, observed, {}, "", NOW)
    conditions = {one["type"]: one for one in report["status"]["conditions"]}
    return dict(report), conditions


def test_status_tells_what_a_drain_waits_for() -> None:
    states = {"tp-cn-x": "Draining"}
    report, conditions = status_of({**GOOD, "drains": {"tp-cn-x": BUSY}, "states": states})
    assert conditions["Progressing"]["reason"] == "Draining"
    assert conditions["Progressing"]["message"] == f"draining tp-cn-x {TOLD}"
    assert conditions["Ready"]["status"] == "True"
    assert report["status"]["stores"][0]["state"] == "Draining"
    assert report["requeue"] == "5s"


@pytest.mark.parametrize(
    ("drains", "end", "text"),
    [
        (True, "2026-01-01T00:05:00Z", "draining old until 2026-01-01T00:05:00Z at most"),
        # Its node is lost: nobody takes it away.
        (True, "2025-12-31T23:59:59Z", ""),
        (False, "2026-01-01T00:05:00Z", ""),
    ],
)
def test_status_tells_of_a_node_that_hakeeper_has_forgotten(
    end: str, text: str, *, drains: bool
) -> None:
    """Its Pod serves on until its clients are gone."""
    old = {"metadata": {"name": "old", "namespace": "test", "deletionTimestamp": end}, "spec": {}}
    _report, conditions = status_of(GOOD, [old], drains=drains)
    assert conditions["Progressing"]["message"].startswith(text)
    assert conditions["Progressing"]["reason"] == ("Draining" if text else "Settled")


@pytest.mark.parametrize(
    ("round_", "state"),
    [({}, "Working"), ({**GOOD, "states": {}}, "Unknown")],
)
def test_a_look_that_asks_nobody_keeps_what_was_heard(round_: dict[str, Any], state: str) -> None:
    """Else no set of compute nodes would ever be found unchanged."""
    heard = [{"podName": "tp-cn-x", "uuid": "u", "state": "Working"}]
    report, _conditions = status_of(round_, told={"stores": heard})
    assert [one["state"] for one in report["status"]["stores"]] == [state]


def test_status_tells_that_hakeeper_is_not_heard() -> None:
    report, conditions = status_of({**GOOD, "reached": False, "problem": "no answer in time"})
    assert conditions["Degraded"]["reason"] == "HAKeeperUnreachable"
    assert "no answer in time" in conditions["Degraded"]["message"]
    assert conditions["Ready"]["status"] == "True"
    assert report["status"]["stores"][0]["state"] == "Unknown"
