# SPDX-License-Identifier: Apache-2.0
"""The fence around a cluster: what it passes on, closes and reports, and the way back."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.filter.admission import admission
from ansible_collections.matrixorigin.matrixone.plugins.filter.plans import (
    deleting_of,
    held_by_fence_of,
)

from tests.support.builders import resource, serving, states
from tests.support.passes import plan_of, report_on

FENCED = "matrixorigin.io/fenced"
BEGUN, SETTLED = "2026-11-28T12:00:00Z", "2026-11-28T12:00:20Z"
CLOSED = {"state": "Closed", "since": BEGUN, "sessionsEnded": 2}


def cluster(value="true", fence=None):
    made = resource("MatrixOneCluster")
    made["metadata"]["uid"] = "1"
    if value is not None:
        made["metadata"]["annotations"] = {FENCED: value}
    made["status"] = {"fence": fence} if fence else {}
    return made


def observed(now=BEGUN, **annotations):
    """Return components that serve; a value annotates one as fenced."""

    def child(kind, name, label):
        live = serving(kind, name, "1/1")
        if value := annotations.get(label):
            live["metadata"]["annotations"] = {FENCED: value}
        return live

    return {
        "now": now,
        "credential": {"metadata": {"name": "mo-credential"}},
        "logSet": child("LogSet", "mo", "logSet"),
        "dnSet": child("DNSet", "mo", "dnSet"),
        "proxySet": child("ProxySet", "mo", "proxySet"),
        "cnSets": [child("CNSet", "mo-tp", "cnSet")],
    }


def marks(plan):
    return {
        f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["annotations"][FENCED]
        for one in plan["patches"]
        if FENCED in (one["metadata"].get("annotations") or {})
    }


def test_all_components_are_fenced_with_it_and_its_entrances_closed():
    plan = plan_of(cluster(), observed())
    ours = "with MatrixOneCluster mo"
    parts = ("LogSet/mo", "DNSet/mo", "ProxySet/mo", "CNSet/mo-tp")
    assert marks(plan) == dict.fromkeys(parts, ours)
    assert (plan["paused"], plan["objects"], plan["prune"]) == (True, [], None)
    services = ["mo-proxy", "mo-tp-cn"]
    assert plan["fence"] == {
        "wanted": True,
        "services": services,
        "endsSessions": True,
        "at": BEGUN,
    }


@pytest.mark.parametrize("value", [None, "", "false", "No"])
def test_no_fence_costs_nothing(value):
    plan = plan_of(cluster(value), observed())
    assert (plan["paused"], plan["fence"], marks(plan)) == (False, {}, {})


def test_what_a_user_has_fenced_stays_so():
    seen = observed(dnSet="true", logSet="with MatrixOneCluster mo")
    assert "DNSet/mo" not in marks(plan_of(cluster(), seen))
    assert marks(plan_of(cluster(None, CLOSED), seen)) == {"LogSet/mo": None}


@pytest.mark.parametrize(
    ("before", "now", "result", "expected", "requeue"),
    [
        (None, BEGUN, {"ended": 2}, {"state": "Closing", "since": BEGUN, "sessionsEnded": 2}, "3s"),
        (None, BEGUN, None, {"state": "Closing", "since": BEGUN, "sessionsEnded": 0}, "3s"),
        (
            {"state": "Closing", "since": BEGUN, "sessionsEnded": 1},
            SETTLED,
            {"ended": 1},
            CLOSED,
            "",
        ),
        (
            {"state": "Closing", "since": BEGUN, "sessionsEnded": 1},
            "2026-11-28T12:02:00Z",
            {"ended": 0, "problem": "no answer"},
            {"state": "Closing", "since": BEGUN, "sessionsEnded": 1, "message": "no answer"},
            "15s",
        ),
        (CLOSED, "2026-11-29T12:00:00Z", {"ended": 0}, CLOSED, ""),
    ],
    ids=["begun", "unreached", "settled", "unanswered", "closed"],
)
def test_it_is_closed_when_no_session_can_have_come_any_more(
    before, now, result, expected, requeue
):
    subject, seen = cluster(fence=before), observed(now)
    plan = plan_of(subject, seen)
    ran = {"ran": True, "problem": "", **result} if result else {}
    report = report_on(subject, plan, {**seen, "results": {"fence": ran}}, {}, "", now)
    assert report["status"]["fence"] == expected
    assert report["requeue"] == requeue
    ready = states(report["status"])["Ready"]
    assert ready[:2] == ("False", "Fenced")
    assert plan["fence"]["endsSessions"] == (before != CLOSED)


def test_sessions_that_come_after_it_was_closed_are_those_of_who_looks_into_it():
    assert plan_of(cluster(fence=CLOSED), observed(SETTLED))["fence"]["endsSessions"] is False


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"ran": True, "ended": 0, "problem": ""}, None),
        (
            {"ran": True, "ended": 0, "problem": "refused"},
            {**CLOSED, "state": "Opening", "message": "refused"},
        ),
        ({}, {**CLOSED, "state": "Opening"}),
    ],
    ids=["opened", "refused", "unreached"],
)
def test_it_is_on_record_until_its_services_are_open_again(result, expected):
    subject, seen = cluster(None, CLOSED), observed(SETTLED)
    plan = plan_of(subject, seen)
    assert (plan["paused"], plan["fence"]["wanted"]) == (False, False)
    report = report_on(subject, plan, {**seen, "results": {"fence": result}}, {}, "", SETTLED)
    assert report["status"].get("fence") == expected
    reasons = [one["reason"] for one in report["events"]]
    assert ("Unfenced" in reasons) == (expected is None)


@pytest.mark.parametrize("kind", ["MatrixOneCluster", "LogSet", "CNSet"])
def test_nothing_that_is_fenced_is_deleted(kind):
    fenced, other = resource(kind), resource(kind)
    fenced["metadata"]["annotations"] = {FENCED: "true"}
    refused = admission(fenced, {"operation": "DELETE"})["errors"]
    assert [one["field"] for one in refused] == ["metadata.annotations"]
    assert "is fenced" in refused[0]["message"]
    assert admission(other, {"operation": "DELETE"})["errors"] == []
    assert (held_by_fence_of(fenced) != "", held_by_fence_of(other)) == (True, "")
    assert "is fenced" in deleting_of(fenced)["message"]
