# SPDX-License-Identifier: Apache-2.0
"""Maintenance windows: what waits for them, what does not, and what is reported."""

import copy

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.admission import (
    cluster_mistakes,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.maintenance import (
    decide,
)

from tests.support.builders import resource, serving, states
from tests.support.passes import plan_of, report_on

SATURDAYS = {
    "windows": [{"start": "0 2 * * 6", "duration": "3h"}],
    "timeZone": "Europe/Berlin",
}
CLOSED, OPEN = "2026-11-26T12:00:00Z", "2026-11-28T02:00:00Z"
OPENS, CLOSES = "2026-11-28T01:00:00Z", "2026-11-28T04:00:00Z"


def cluster(maintenance=None, **spec):
    made = resource("MatrixOneCluster")
    made["spec"] = {
        "version": "3.0.18",
        "logService": {
            "replicas": 3,
            "volume": {"size": "1Gi"},
            "sharedStorage": {"fileSystem": {"path": "/shared", "claim": {"size": "1Gi"}}},
        },
        "tn": {"replicas": 1},
        "cnGroups": [{"name": "tp", "replicas": 2, "nodeSelector": {"disk": "fast"}}],
        "proxy": {"replicas": 1},
        **spec,
    }
    if maintenance is not None:
        made["spec"]["maintenance"] = maintenance
    made["status"] = {}
    return made


LABELS = {"LogSet": "logSet", "DNSet": "dnSet", "ProxySet": "proxySet"}


def applied(subject, now):
    """Return what is observed once the components are as a pass renders them, and serve."""
    seen = {"cnSets": [], "credential": {"metadata": {"name": "mo-credential"}}, "now": now}
    for one in plan_of(subject, {"credential": None})["objects"]:
        pods = f"{one['spec']['replicas']}/{one['spec']['replicas']}"
        live = {**serving(one["kind"], one["metadata"]["name"], pods), "spec": one["spec"]}
        if one["kind"] == "CNSet":
            seen["cnSets"].append(live)
        else:
            seen[LABELS[one["kind"]]] = live
    return copy.deepcopy(seen)


def after(subject, seen):
    """Return a cluster whose status is that of a pass."""
    plan = plan_of(subject, seen)
    report = report_on(subject, plan, seen, {}, "", seen["now"])
    return {**subject, "status": report["status"]}, plan, report


def changed(now, **spec):
    """Return plan and report of a change to a cluster that has served since before."""
    before = cluster(SATURDAYS)
    seen = applied(before, now)
    known, _plan, _report = after(before, seen)
    subject = {**cluster(SATURDAYS, **spec), "status": known["status"]}
    _subject, plan, report = after(subject, seen)
    return plan, report


def touched(plan):
    return [f"{one['kind']}/{one['metadata']['name']}" for one in plan["objects"]]


ALL = ["LogSet/mo", "DNSet/mo", "CNSet/mo-tp", "ProxySet/mo"]


@pytest.mark.parametrize(
    ("now", "opens", "closes"),
    [
        (CLOSED, OPENS, ""),
        ("2026-11-28T00:59:59Z", OPENS, ""),
        ("2026-11-28T01:00:00Z", "", CLOSES),
        ("2026-11-28T03:59:59Z", "", CLOSES),
        ("2026-11-28T04:00:00Z", "2026-12-05T01:00:00Z", ""),
    ],
)
def test_when_a_window_is_open(now, opens, closes):
    found = decide(cluster(SATURDAYS), {"now": now})

    assert (found.opens, found.closes, found.is_closed) == (opens, closes, not closes)


def test_of_windows_that_overlap_the_last_to_close_counts():
    """And of those that are closed, the first to open."""
    more = {"windows": [*SATURDAYS["windows"], {"start": "0 3 * * 6", "duration": "10h"}]}

    assert decide(cluster(more), {"now": "2026-11-28T03:30:00Z"}).closes == "2026-11-28T13:00:00Z"
    assert decide(cluster(more), {"now": CLOSED}).opens == "2026-11-28T02:00:00Z"


@pytest.mark.parametrize("now", [CLOSED, OPEN, ""])
def test_a_cluster_without_windows_changes_at_any_time(now):
    assert not decide(cluster(), {"now": now}).is_closed
    assert touched(plan_of(cluster(), {"now": now, "credential": None})) == ALL


CHANGES = {
    "a patch release": {"version": "3.0.19"},
    "another node": {"cnGroups": [{"name": "tp", "replicas": 2, "nodeSelector": {"disk": "slow"}}]},
    "a field is removed": {"cnGroups": [{"name": "tp", "replicas": 2}]},
    "a group is removed": {"cnGroups": []},
}


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in CHANGES.items()])
def test_a_change_waits_for_the_window(spec):
    """Nothing is applied or deleted before it opens; then everything is."""
    plan, report = changed(CLOSED, **spec)

    assert touched(plan) == []
    assert plan["prune"] is None
    told = states(report["status"])
    assert told["Synced"] == ("False", "WaitingForWindow")
    assert told["Ready"] == ("True", "WaitingForWindow")
    assert told["Progressing"] == ("False", "Settled")
    assert not {"Reconciling", "Stalled"} & told.keys()
    assert f"the maintenance window that opens at {OPENS}" in report["status"]["message"]
    assert report["requeue"] != ""

    plan, report = changed(OPEN, **spec)
    assert set(touched(plan)) >= {"LogSet/mo", "DNSet/mo"}
    assert plan["prune"] is not None
    assert report["status"]["maintenance"]["open"] is True


def test_the_proxies_removed_wait_too():
    before = cluster(SATURDAYS)
    seen = applied(before, CLOSED)
    known, _plan, _report = after(before, seen)
    subject = {**cluster(SATURDAYS), "status": known["status"]}
    del subject["spec"]["proxy"]

    _subject, plan, report = after(subject, seen)

    assert touched(plan) == []
    assert states(report["status"])["Synced"] == ("False", "WaitingForWindow")


def test_sizes_do_not_wait():
    groups = [{"name": "tp", "replicas": 5, "nodeSelector": {"disk": "fast"}}]
    plan, report = changed(CLOSED, cnGroups=groups)

    assert touched(plan) == ALL
    assert "message" not in report["status"]["maintenance"]


def test_sizes_do_not_wait_for_a_change_that_does():
    groups = [{"name": "tp", "replicas": 5, "nodeSelector": {"disk": "slow"}}]
    plan, _report = changed(CLOSED, cnGroups=groups)

    assert touched(plan) == []
    sizes = [one["spec"] for one in plan["patches"] if one["kind"] == "CNSet"]
    assert sizes == [{"replicas": 5}]


def test_a_new_group_does_not_wait():
    """It replaces no Pod, not even while a change of another one waits."""
    new = {"name": "ap", "replicas": 1}
    groups = [{"name": "tp", "replicas": 2, "nodeSelector": {"disk": "slow"}}, new]

    plan, _report = changed(CLOSED, cnGroups=groups)

    assert touched(plan) == ["CNSet/mo-ap"]


def test_a_new_cluster_does_not_wait():
    plan = plan_of(cluster(SATURDAYS), {"credential": None, "now": CLOSED, "cnSets": []})

    assert touched(plan) == ALL


def test_a_cluster_that_gets_windows_keeps_what_it_has():
    """Without a record, what is there is compared."""
    seen = applied(cluster(), CLOSED)

    assert touched(plan_of(cluster(SATURDAYS), seen)) == ALL
    assert touched(plan_of(cluster(SATURDAYS, version="3.0.19"), seen)) == []


def test_what_is_taken_back_waits_no_longer():
    before = cluster(SATURDAYS)
    seen = applied(before, CLOSED)
    known, _plan, _report = after(before, seen)
    waits, _plan, report = after(
        {**cluster(SATURDAYS, version="3.0.19"), "status": known["status"]}, seen
    )
    digest = known["status"]["maintenance"]["appliedDigest"]
    assert report["status"]["maintenance"]["appliedDigest"] == digest

    _subject, plan, report = after({**cluster(SATURDAYS), "status": waits["status"]}, seen)

    assert touched(plan) == ALL
    assert states(report["status"])["Synced"] == ("True", "AllSetsSynced")


def test_without_windows_what_waited_is_applied():
    before = cluster(SATURDAYS)
    seen = applied(before, CLOSED)
    known, _plan, _report = after(before, seen)

    _subject, plan, report = after({**cluster(version="3.0.19"), "status": known["status"]}, seen)

    assert touched(plan) == ALL
    assert "maintenance" not in report["status"]


UPGRADED = {"phase": "Updating", "from": "3.0.18", "to": "3.1.0", "pointOfNoReturn": "Ahead"}


def upgraded(now, phase=None):
    """Return the plan for a raise to the next minor release, all of whose checks are waived."""
    checks = ["Health", "Backup", "Catalog", "Path", "Configuration", "Room", "Canary"]
    waived = {"waive": {"to": "3.1.0", "checks": checks}}
    before = cluster(SATURDAYS)
    seen = applied(before, now)
    seen["dnSet"]["status"]["dataVersion"] = "3.0.18"
    known, _plan, _report = after(before, seen)
    subject = cluster(SATURDAYS, version="3.1.0", upgrade=waived)
    subject["status"] = {**known["status"], **({"upgrade": UPGRADED} if phase else {})}
    return plan_of(subject, seen)


def test_an_upgrade_begins_in_a_window():
    closed, opened = upgraded(CLOSED), upgraded(OPEN)

    assert closed["upgrade"]["phase"] == "Held"
    assert f"begins in the maintenance window that opens at {OPENS}" in closed["upgrade"]["message"]
    assert touched(closed) == []
    assert opened["upgrade"]["phase"] == "Updating"


def test_an_upgrade_that_has_begun_is_completed_after_the_window():
    """Half of it would be worse than a Pod that is replaced by day."""
    plan = upgraded(CLOSED, phase="Updating")

    assert plan["upgrade"]["phase"] == "Updating"
    assert touched(plan) != []


@pytest.mark.parametrize(
    ("maintenance", "field", "message"),
    [
        ({**SATURDAYS, "timeZone": "Europe/Berlln"}, "timeZone", "Europe/Berlln"),
        ({"windows": [{"start": "at night", "duration": "1h"}]}, "windows[0].start", "at night"),
        ({"windows": [{"start": "0 2 * * 6", "duration": "3x"}]}, "windows[0].duration", "3x"),
        ({"windows": [{"start": "0 2 * * 6", "duration": "0s"}]}, "windows[0].duration", "1m"),
        (
            {"windows": [{"start": "0 2 * * 6", "duration": "9000h"}]},
            "windows[0].duration",
            "8784h",
        ),
    ],
)
def test_windows_that_cannot_be_read_are_refused(maintenance, field, message):
    (found,) = cluster_mistakes(cluster(maintenance))

    assert found.field == f"spec.maintenance.{field}"
    assert message in found.message
