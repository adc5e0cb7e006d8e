# SPDX-License-Identifier: Apache-2.0
"""Sessions, drains and moves of claims. What is not known is not zero."""

from typing import Any

import pytest

from kubectl_matrixone.draining import Node, drain_state, node_of
from kubectl_matrixone.errors import PluginError
from kubectl_matrixone.following import Outcome
from kubectl_matrixone.moving import move, move_state, present_pod, target
from kubectl_matrixone.sessions import counted, lists_draining

from . import objects

Json = dict[str, Any]
DRAINING = Node("id", "Draining")


@pytest.mark.parametrize(
    ("node", "sessions", "waited", "text", "outcome"),
    [
        (DRAINING, 0, 15.0, "Drained", Outcome.DONE),
        (DRAINING, 0, 14.9, "no session is left; proxies are still learning", Outcome.OPEN),
        (DRAINING, 1, 99.0, "Draining: 1 session left", Outcome.OPEN),
        (DRAINING, 2, 99.0, "Draining: 2 sessions left", Outcome.OPEN),
        (DRAINING, None, 99.0, "its sessions are not known", Outcome.OPEN),
        (Node("id", "Working"), 0, 99.0, "its work state is Working", Outcome.OPEN),
        (Node(), 0, 99.0, "its work state is not known", Outcome.OPEN),
    ],
)
def test_a_drain_is_over_when_nothing_is_left_for_sure(
    node: Node, sessions: int | None, waited: float, text: str, outcome: Outcome
) -> None:
    state = drain_state(node, sessions, waited)
    assert (text in state.text, state.outcome) == (True, outcome)


def test_the_node_of_a_pod_is_in_the_status_of_its_set() -> None:
    sets = [objects.part("CNSet", "mo-tp", "2/2", stores=objects.STORES), {}]
    assert node_of(sets, "mo-tp-cn-b") == Node("30000000-0000-0000-0000-000000000001", "Draining")
    assert node_of(sets, "other") == Node()


def test_sessions_of_users_are_counted() -> None:
    rows = [
        ("a", "sys", "10.0.0.1:6001"),
        ("a", "tenant", ""),
        ("a", "sys", ""),
        ("b", "", None),
        ("c", "tenant", "10.0.0.1:6001"),
    ]
    assert counted(rows) == {"a": 2, "c": 1}


@pytest.mark.parametrize(
    ("version", "lists"),
    [
        ("3.0.18", True),
        ("v2.0.0", True),
        ("1.2.2", False),
        ("nightly", False),
        ("", False),
        ("10.0.0-rc1", True),
    ],
)
def test_old_releases_do_not_list_sessions_of_nodes_that_drain(version: str, lists: bool) -> None:
    assert lists_draining(objects.cluster(version=version)) is lists


def claim(**spec: Any) -> Json:
    return {
        "kind": "CNClaim",
        "metadata": {"name": "tenant", "resourceVersion": "7"},
        "spec": {"poolName": "shared", "podName": "old", **spec},
        "status": {"phase": "Bound", "store": {"podName": "old"}},
    }


def idle(name: str, created: str, **how: Any) -> Json:
    one = objects.pod(name, "CNSet", "shared", ready=how.get("ready", True))
    phase = how.get("phase", "Idle")
    one["metadata"]["labels"] |= {"pool.matrixorigin.io/phase": phase}
    one["metadata"]["creationTimestamp"] = created
    if how.get("deleted"):
        one["metadata"]["deletionTimestamp"] = created
    return one


PODS = [
    idle("first", "2026-11-27T01:00:00Z"),
    idle("newest", "2026-11-27T02:00:00Z"),
    idle("not-ready", "2026-11-27T03:00:00Z", ready=False),
    idle("bound", "2026-11-27T03:00:00Z", phase="Bound"),
    idle("deleted", "2026-11-27T03:00:00Z", deleted=True),
]


def test_a_claim_moves_to_the_newest_idle_pod_or_the_one_that_is_named() -> None:
    assert target(claim(), PODS, "") == "newest"
    assert target(claim(), PODS, "first") == "first"
    assert move(claim(), "first") == {
        "metadata": {"resourceVersion": "7"},
        "spec": {"podName": "first", "sourcePod": {"podName": "old"}},
    }
    for named in ("not-ready", "bound", "deleted", "absent"):
        with pytest.raises(PluginError, match="idle ones are: first, newest"):
            target(claim(), PODS, named)
    with pytest.raises(PluginError, match="CNPool shared has no idle Pod"):
        target(claim(), PODS[2:], "")


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (claim(sourcePod={"podName": "older"}), "moves already, from older to old"),
        (claim(podName=""), "no Pod that it could leave"),
        ({**claim(), "status": {"phase": "Lost"}}, "is Lost"),
        ({**claim(), "status": {}}, "is Pending"),
    ],
)
def test_a_claim_without_a_pod_of_its_own_cannot_move(one: Json, said: str) -> None:
    with pytest.raises(PluginError, match=said):
        present_pod(one)


SOURCE = {"podName": "new", "sourcePod": {"podName": "old"}}
LEFT = {"migrate": {"source": {"connections": 3, "replicas": 0}}}


@pytest.mark.parametrize(
    ("spec", "status", "text", "outcome"),
    [
        (SOURCE, {}, "Moving: left on old: not known", Outcome.OPEN),
        (SOURCE, LEFT, "Moving: left on old: 3 connections, 0 replicas", Outcome.OPEN),
        ({"podName": "new"}, {"store": {"podName": "old"}}, "does not serve it yet", Outcome.OPEN),
        ({"podName": "new"}, {"store": {"podName": "new"}}, "Moved", Outcome.DONE),
        ({"podName": "old"}, {}, "Canceled: the claim names old", Outcome.FAILED),
    ],
)
def test_a_move_is_over_when_the_source_is_let_go(
    spec: Json, status: Json, text: str, outcome: Outcome
) -> None:
    state = move_state({"spec": spec, "status": status}, "new")
    assert (text in state.text, state.outcome) == (True, outcome)
