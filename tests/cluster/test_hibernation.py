# SPDX-License-Identifier: Apache-2.0
"""The sleep of a cluster: when, what of it is stopped in which order, and what is reported."""

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.cron import parse
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp,
    unix_time,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.admission import (
    cluster_mistakes,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.hibernation import (
    Timetable,
    decide,
    is_near,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.upgrading import (
    questions,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import conditions, resource, serving, states
from tests.support.passes import plan_of, report_on

NIGHTS = {"sleep": "0 20 * * *", "wake": "0 7 * * 1-5", "timeZone": "Europe/Berlin"}
"""Asleep on weekends: Friday evening to Monday morning."""


def cluster(hibernation=None, before=None, **spec):
    made = resource("MatrixOneCluster")
    made["spec"] = {
        "version": "2.0.1",
        "logService": {
            "replicas": 3,
            "volume": {"size": "1Gi"},
            "sharedStorage": {"fileSystem": {"path": "/shared", "claim": {"size": "1Gi"}}},
        },
        "tn": {"replicas": 1},
        "cnGroups": [{"name": "tp", "replicas": 2}],
        "proxy": {"replicas": 1},
        "webui": {"replicas": 1, "image": "ui:1"},
        **spec,
    }
    if hibernation is not None:
        made["spec"]["hibernation"] = hibernation
    made["status"] = {"hibernation": before} if before else {}
    return made


def awake():
    return {
        "logSet": serving("LogSet", "mo", "3/3"),
        "dnSet": serving("DNSet", "mo"),
        "cnSets": [serving("CNSet", "mo-tp", "2/2")],
        "proxySet": serving("ProxySet", "mo"),
        "webUI": serving("WebUI", "mo"),
        "credential": {"metadata": {"name": "mo-credential"}},
    }


def pods_of(*kinds):
    return [{"metadata": {"labels": {"matrixorigin.io/component": kind}}} for kind in kinds]


def ended(kind, name="mo", *more, replicas=0, pods="0/0"):
    """Return a child of which no Pod is left, unless something else is said."""
    child = serving(kind, name, pods)
    child["spec"]["replicas"] = replicas
    child["status"]["conditions"] += conditions(*more)
    return child


ASLEEP = {
    **awake(),
    "clusterPods": pods_of("LogSet", "DNSet"),
    "cnSets": [ended("CNSet", "mo-tp")],
    "proxySet": ended("ProxySet"),
    "webUI": ended("WebUI"),
}
DRAINING = ended("CNSet", "mo-tp", ("Progressing", "True", "Draining"), pods="0/0")
UNKNOWN = {**ended("CNSet", "mo-tp"), "status": {}}
OUTDATED = ended("CNSet", "mo-tp")
OUTDATED["metadata"] = {**OUTDATED["metadata"], "generation": 3}


def sizes(plan):
    return {one["kind"]: one["spec"]["replicas"] for one in plan["objects"]}


AS_ASKED = {"LogSet": 3, "DNSet": 1, "CNSet": 2, "ProxySet": 1, "WebUI": 1}
COMPUTE = {**AS_ASKED, "CNSet": 0, "ProxySet": 0, "WebUI": 0}


@pytest.mark.parametrize(
    ("hibernation", "observed", "expected"),
    [
        pytest.param(None, awake(), AS_ASKED, id="never"),
        pytest.param({}, awake(), AS_ASKED, id="empty"),
        pytest.param({"asleep": False}, awake(), AS_ASKED, id="awake"),
        pytest.param({"asleep": True}, awake(), COMPUTE, id="asleep"),
        pytest.param({"asleep": True}, ASLEEP, COMPUTE, id="compute nodes alone"),
        pytest.param(
            {"asleep": True, "scope": "Database"}, awake(), COMPUTE, id="compute nodes first"
        ),
        pytest.param(
            {"asleep": True, "scope": "Database"},
            ASLEEP,
            {**COMPUTE, "DNSet": 0},
            id="then the transaction node",
        ),
        pytest.param(
            {"asleep": True, "scope": "Database"},
            {**ASLEEP, "dnSet": ended("DNSet"), "clusterPods": pods_of("LogSet")},
            {**COMPUTE, "DNSet": 0, "LogSet": 0},
            id="then the log service",
        ),
        pytest.param(
            {"asleep": True, "scope": "Database"},
            {**awake(), "dnSet": ended("DNSet"), "clusterPods": []},
            COMPUTE,
            id="a compute node is there again",
        ),
        pytest.param(
            {"asleep": True, "scope": "Database"},
            {**ASLEEP, "clusterPods": pods_of("LogSet", "DNSet", "CNSet")},
            COMPUTE,
            id="a compute node terminates",
        ),
        pytest.param(
            {"asleep": True, "scope": "Database"},
            {**ASLEEP, "dnSet": ended("DNSet")},
            {**COMPUTE, "DNSet": 0},
            id="the transaction node terminates",
        ),
        pytest.param(
            {"asleep": True, "scope": "Database"},
            {**ASLEEP, "clusterPods": None},
            COMPUTE,
            id="it is unknown which Pods there are",
        ),
        *(
            pytest.param(
                {"asleep": True, "scope": "Database"},
                {**ASLEEP, "cnSets": [ended("CNSet", "mo-ap"), one]},
                COMPUTE,
                id=f"a group is {why}",
            )
            for why, one in {
                "draining": DRAINING,
                "of unknown state": UNKNOWN,
                "not at its present spec": OUTDATED,
                "asked for a Pod": ended("CNSet", "mo-tp", replicas=1),
                "left with a Pod": ended("CNSet", "mo-tp", pods="0/1"),
            }.items()
        ),
    ],
)
def test_what_is_stopped(hibernation, observed, expected):
    """No component is stopped before those that depend on it are known to have ended."""
    assert sizes(plan_of(cluster(hibernation), observed)) == expected


def patches(hibernation, replicas, annotation=None):
    """Return what is done about a group that an autoscaler scales."""
    group = serving("CNSet", "mo-tp")
    group["spec"]["replicas"] = replicas
    if annotation is not None:
        group["metadata"]["annotations"] = {"matrixorigin.io/awake-replicas": annotation}
    subject = cluster(hibernation, cnGroups=[{"name": "tp"}])
    plan = plan_of(subject, {**awake(), "cnSets": [group]})
    (applied,) = (one for one in plan["objects"] if one["kind"] == "CNSet")
    assert "replicas" not in applied["spec"], "the size stays that of whoever scales"
    return [
        (one["spec"].get("replicas"), *one["metadata"]["annotations"].values())
        for one in plan["patches"]
        if one["kind"] == "CNSet"
    ]


@pytest.mark.parametrize(
    ("hibernation", "replicas", "annotation", "expected"),
    [
        pytest.param({"asleep": True}, 4, None, [(0, "4")], id="falls asleep"),
        pytest.param({"asleep": True}, 0, "4", [], id="sleeps"),
        pytest.param({"asleep": True}, 2, "4", [(0, "2")], id="was scaled while asleep"),
        pytest.param({"asleep": True}, 0, None, [], id="had none"),
        pytest.param({"asleep": False}, 0, "4", [(4, None)], id="wakes"),
        pytest.param({"asleep": False}, 3, "4", [(None, None)], id="was scaled on waking"),
        pytest.param({"asleep": False}, 4, None, [], id="is awake"),
        pytest.param(None, 0, "4", [(4, None)], id="is no longer to sleep"),
        pytest.param(None, 0, "four", [(1, None)], id="a note that was spoiled"),
        pytest.param(None, 0, "-4", [(1, None)], id="a negative note"),
        pytest.param(None, 0, "9" * 30, [(1, None)], id="a note beyond all numbers"),
    ],
)
def test_a_group_that_somebody_else_scales(hibernation, replicas, annotation, expected):
    """It wakes with as many compute nodes as it had, and its size still belongs to whoever scales."""
    assert patches(hibernation, replicas, annotation) == expected


def test_a_playbook_stops_a_group_without_a_size_too():
    """And never what its compute nodes may still depend on."""
    subject = cluster({"asleep": True, "scope": "Database"}, cnGroups=[{"name": "tp"}])
    del subject["metadata"]["uid"]

    assert sizes(plan_of(subject, {"credential": None, "clusterPods": []})) == COMPUTE


def test_nothing_else_of_a_component_changes():
    """Waking gives each component the spec that it would have had."""
    slept = plan_of(cluster({"asleep": True}), awake())["objects"]
    woken = plan_of(cluster(), awake())["objects"]

    for one, other in zip(slept, woken, strict=True):
        assert {**one["spec"], "replicas": 0} == {**other["spec"], "replicas": 0}


@pytest.mark.parametrize("phase", ["Updating", "UpgradingCatalog"])
def test_an_upgrade_is_not_put_to_sleep(phase):
    """Its canary has to answer, and a compute node upgrades the catalog."""
    seen = {**awake(), "now": "2026-11-27T22:00:00Z"}
    found = decide(cluster({"asleep": True}), seen, {"phase": phase, "to": "3.0.18"})

    assert (found.asleep, found.stops) == (False, frozenset())
    assert found.postponed == "it sleeps when the upgrade to 3.0.18 has completed"


@pytest.mark.parametrize("phase", ["", "Held", "Completed", "Canceled"])
def test_an_upgrade_that_changes_nothing_keeps_nobody_awake(phase):
    found = decide(cluster({"asleep": True}), awake(), {"phase": phase} if phase else {})

    assert found.asleep


@pytest.mark.parametrize(
    ("now", "asleep", "change"),
    [
        ("2026-11-26T18:59:59Z", False, "2026-11-26T19:00:00Z"),
        ("2026-11-26T19:00:00Z", True, "2026-11-27T06:00:00Z"),
        ("2026-11-27T05:59:59Z", True, "2026-11-27T06:00:00Z"),
        ("2026-11-27T06:00:00Z", False, "2026-11-27T19:00:00Z"),
        # from Friday evening to Monday morning
        ("2026-11-28T12:00:00Z", True, "2026-11-30T06:00:00Z"),
        ("2026-11-29T20:00:00Z", True, "2026-11-30T06:00:00Z"),
        # In summer the same hours are others in UTC.
        ("2026-07-01T17:59:59Z", False, "2026-07-01T18:00:00Z"),
        ("2026-07-01T18:00:00Z", True, "2026-07-02T05:00:00Z"),
    ],
)
def test_a_schedule_in_its_time_zone(now, asleep, change):
    found = decide(cluster({"schedule": NIGHTS}), {**awake(), "now": now}, {})

    assert (found.asleep, found.next_change) == (asleep, change)


@pytest.mark.parametrize("asleep", [True, False])
def test_by_hand_comes_before_the_schedule(asleep):
    """At night as by day, and nothing is awaited."""
    for now in ("2026-11-26T12:00:00Z", "2026-11-26T22:00:00Z"):
        subject = cluster({"asleep": asleep, "schedule": NIGHTS})
        found = decide(subject, {**awake(), "now": now}, {})
        assert (found.asleep, found.next_change) == (asleep, "")


def test_both_in_one_minute_keep_it_awake():
    always = {"sleep": "0 * * * *", "wake": "0 * * * *"}

    found = decide(cluster({"schedule": always}), {**awake(), "now": "2026-11-26T12:30:00Z"}, {})

    assert not found.asleep


CRONS = st.builds(
    "{} {} * * {}".format,
    st.integers(0, 59),
    st.integers(0, 23),
    st.sampled_from(["*", "1-5", "0,6", "3"]),
)


@given(CRONS, CRONS, st.integers(0, 2 * 366 * 24 * 3600))
def test_nothing_changes_before_the_next_change(sleep, wake, seconds):
    """It is in one state until then, and in another one at that moment, or both are due at once."""
    timetable = Timetable(parse(sleep, "Europe/Berlin"), parse(wake, "Europe/Berlin"))
    start = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    change = timetable.next_change(start)

    assert change is not None
    assert change > start
    before = timetable.is_night(start)
    assert timetable.is_night(change - timedelta(seconds=1)) == before
    if sleep != wake:
        both = timetable.sleep.next_after(change - timedelta(seconds=1)) == change
        both &= timetable.wake.next_after(change - timedelta(seconds=1)) == change
        assert timetable.is_night(change) != before or both


@pytest.mark.parametrize(
    ("schedule", "path", "message"),
    [
        ({**NIGHTS, "sleep": "0 25 * * *"}, "schedule.sleep", "25"),
        ({**NIGHTS, "wake": "often"}, "schedule.wake", "often"),
        ({**NIGHTS, "timeZone": "Europe/Berlln"}, "schedule.timeZone", "Europe/Berlln"),
    ],
)
def test_a_schedule_that_cannot_be_read_is_refused(schedule, path, message):
    """Also while it has no effect: it would wake or stop the cluster later."""
    (found,) = cluster_mistakes(cluster({"asleep": False, "schedule": schedule}))

    assert found.field == f"spec.hibernation.{path}"
    assert message in found.message


def test_nobody_is_asked_for_the_catalog_of_a_cluster_that_sleeps():
    subject = cluster({"asleep": True}, version="3.0.18")
    subject["status"]["tn"] = {"dataVersion": "2.0.1"}

    assert questions(subject, awake()).catalog == "mo-proxy"
    assert questions(subject, ASLEEP).catalog == ""


NOW, SINCE = "2026-11-26T20:00:00Z", "2026-11-26T19:00:00Z"
FALLING = {**ASLEEP, "cnSets": [DRAINING]}
HELD = {**ASLEEP, "logSet": serving("LogSet", "mo", "3/3")}
HELD["logSet"]["status"]["conditions"] = conditions(
    ("Ready", "True", "EnoughReadyStores"), ("Synced", "False", "RollingOut")
)
STARTING = {**ASLEEP, "cnSets": [serving("CNSet", "mo-tp", "0/2")]}
STARTING["cnSets"][0]["status"]["conditions"] = conditions(
    ("Ready", "False", "NoEnoughReadyStores"), ("Synced", "True", "Applied")
)


def told(hibernation, before, seen):
    subject = cluster(hibernation, {"state": before, "since": SINCE} if before else None)
    plan = plan_of(subject, {**seen, "now": NOW})
    return report_on(subject, plan, seen, {}, "", NOW)


@pytest.mark.parametrize(
    ("hibernation", "before", "seen", "state", "event"),
    [
        ({"asleep": True}, "", ASLEEP, "Asleep", "Hibernated"),
        ({"asleep": True}, "", {**ASLEEP, "clusterPods": pods_of("CNSet")}, "FallingAsleep", ""),
        ({"asleep": True}, "", {**ASLEEP, "clusterPods": None}, "FallingAsleep", ""),
        ({"asleep": True, "scope": "Database"}, "", ASLEEP, "FallingAsleep", ""),
        ({"asleep": True}, "", FALLING, "FallingAsleep", ""),
        ({"asleep": True}, "FallingAsleep", ASLEEP, "Asleep", "Hibernated"),
        ({"asleep": True}, "Asleep", ASLEEP, "Asleep", ""),
        ({"asleep": True}, "FallingAsleep", HELD, "FallingAsleep", ""),
        ({"asleep": True}, "Asleep", HELD, "Asleep", ""),
        ({"asleep": False}, "Asleep", STARTING, "Waking", ""),
        ({"asleep": False}, "Waking", STARTING, "Waking", ""),
        ({"asleep": False}, "Waking", awake(), "Awake", "Woken"),
        ({"asleep": False}, "Awake", STARTING, "Awake", ""),
        (None, "Asleep", STARTING, "Waking", ""),
        (None, "Waking", awake(), "", "Woken"),
        (None, "", awake(), "", ""),
    ],
)
def test_the_record_of_its_state(hibernation, before, seen, state, event):
    """The state changes once, with an Event at either end; nothing is kept where it never sleeps."""
    found = told(hibernation, before, seen)

    record = found["status"].get("hibernation") or {}
    assert record.get("state", "") == state
    if state:
        assert record["since"] == (SINCE if state == before else NOW)
    reasons = {one["reason"] for one in found["events"]}
    assert reasons & {"Hibernated", "Woken"} == ({event} if event else set())


def test_a_cluster_that_sleeps_is_as_it_should_be():
    """Neither Ready nor at work, and nothing is awaited by Flux or an operator."""
    found = told({"asleep": True}, "Asleep", ASLEEP)

    assert states(found["status"]) == {
        "Ready": ("False", "Hibernated"),
        "Synced": ("True", "AllSetsSynced"),
        "Progressing": ("False", "Settled"),
        "Degraded": ("False", "AsExpected"),
    }
    assert found["status"]["message"] == ("it sleeps, as spec.hibernation asks; no SQL is answered")
    assert (found["ready"], found["requeue"]) == (True, "")


def test_the_next_change_is_waited_for():
    """To the second; and shortly before it, a check between passes finds it in any case."""
    found = told({"schedule": NIGHTS}, "Asleep", ASLEEP)

    assert found["status"]["hibernation"]["nextChange"] == "2026-11-27T06:00:00Z"
    assert "until 2026-11-27T06:00:00Z" in found["status"]["message"]
    assert found["requeue"] == "10h0m0s"
    subject = cluster({"schedule": NIGHTS}, found["status"]["hibernation"])
    change = unix_time("2026-11-27T06:00:00Z")
    near = {ahead: is_near(subject, change - ahead) for ahead in (3600, 661, 659, 0, -3600)}
    assert near == {3600: False, 661: False, 659: True, 0: True, -3600: True}, timestamp(change)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({}, "10h0m0s", id="the schedule"),
        pytest.param(
            {"maintenance": {"windows": [{"start": "0 19 * * *", "duration": "4h"}]}},
            "3h0m0s",
            id="a window that closes before",
        ),
        pytest.param({"metricReaderEnabled": True}, "15s", id="a login that is tried again"),
    ],
)
def test_the_first_of_all_that_is_waited_for_counts(more, expected):
    """What is looked at again at its own pace puts off no change of a schedule, and is not put off."""
    subject = cluster({"schedule": NIGHTS}, {"state": "Asleep", "since": SINCE}, **more)
    plan = plan_of(subject, {**ASLEEP, "now": NOW})

    assert report_on(subject, plan, ASLEEP, {}, "", NOW)["requeue"] == expected


def test_a_look_at_the_metric_user_does_not_put_off_waking():
    """It is looked at every ten minutes; the cluster wakes in two."""
    now = "2026-11-27T05:58:00Z"
    subject = cluster({"schedule": NIGHTS}, {"state": "Asleep", "since": SINCE})
    subject["spec"]["metricReaderEnabled"] = True
    subject["status"]["clusterMetrics"] = {"initialized": True}
    plan = plan_of(subject, {**ASLEEP, "now": now})

    assert report_on(subject, plan, ASLEEP, {}, "", now)["requeue"] == "0h2m0s"
