# SPDX-License-Identifier: Apache-2.0
"""What a LogSet says of stores that are lost, replaced or leaving."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.digests import log_uuid
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import health
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.health import (
    Question,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.replaced_volumes import (
    ReplacedVolume,
    annotation,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.view import (
    Shard,
    View,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.gates import blocker
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.reading import (
    read_observed,
)

from tests.support.builders import NOW, conditions, pod, resource, serving, states, workload
from tests.support.passes import (
    report_on,
)

Json = dict[str, Any]

LONG_AGO = "2026-01-02T01:00:00Z"
UNIX_NOW = datetime.fromisoformat(NOW).timestamp()
SERVED = conditions(
    ("Ready", "True", "EnoughReadyStores"),
    ("Synced", "True", "Applied"),
    ("Progressing", "False", "Settled"),
)
UNWELL = conditions(("Ready", "False", "StoresFailed"), ("Progressing", "False", "Settled"))
WHOLE = [{"shard": 0, "replicas": 3, "available": 3}, {"shard": 1, "replicas": 3, "available": 3}]
SHORT = [{"shard": 0, "replicas": 3, "available": 3}, {"shard": 1, "replicas": 3, "available": 2}]


def pods(*not_ready: int, since: str = LONG_AGO, **more: Any) -> list[Json]:
    return [
        pod(f"mo-log-{n}", ready=n not in not_ready, since=since, metadata=dict(more))
        for n in range(3)
    ]


def round_(step: str = "Nothing", message: str = "", **more: Any) -> Json:
    repair = {"step": step, "pod": "mo-log-2", "message": message, "due": more.pop("due", None)}
    return {"asked": True, "reached": True, "shards": WHOLE, "repair": repair, "events": [], **more}


def report(found: Json, listed: list[Json], ready: int = 3, **status: Any) -> Any:
    subject = resource()
    subject["status"] = {"conditions": SERVED, **status}
    plan = {"workload": "StatefulSet/mo-log", "objects": [{}]}
    live = workload(readyReplicas=ready)
    observed = {"workload": live, "pods": listed, "results": found}
    return report_on(subject, plan, observed, {}, "", NOW)


@pytest.mark.parametrize(
    ("found", "not_ready", "progressing", "degraded", "requeue"),
    [
        (round_(), (), ("False", "Settled"), ("False", "AsExpected"), ""),
        (
            round_("Wait", "in 600 s", due=UNIX_NOW + 400),
            (2,),
            ("True", "RollingOut"),
            ("True", "StoresFailed"),
            "15s",
        ),
        (
            round_("Wait", "in 600 s", due=UNIX_NOW + 3.5),
            (2,),
            ("True", "RollingOut"),
            ("True", "StoresFailed"),
            "4s",
        ),
        (
            round_("Blocked", "HAKeeper does not answer"),
            (2,),
            ("True", "RollingOut"),
            ("True", "FailoverBlocked"),
            "15s",
        ),
        (
            round_("TakeAway", "mo-log-2 is replaced"),
            (2,),
            ("True", "FailingOver"),
            ("True", "StoresFailed"),
            "2s",
        ),
        (
            round_("AwaitReplicas", "HAKeeper places", shards=SHORT),
            (),
            ("True", "FailingOver"),
            ("True", "StoresFailed"),
            "5s",
        ),
        (
            round_(scaling="log store 4 is kept for now", replicas=3),
            (),
            ("True", "Scaling"),
            ("False", "AsExpected"),
            "5s",
        ),
        (
            round_(lost={"mo-log-1": "has lost its data"}),
            (),
            ("False", "Settled"),
            ("True", "StoresFailed"),
            "",
        ),
        (
            round_(reached=False, shards=None),
            (),
            ("False", "Settled"),
            ("False", "AsExpected"),
            "",
        ),
    ],
    ids=[
        "all is well",
        "a store is down",
        "its time comes",
        "it cannot be replaced",
        "it is being replaced",
        "its replicas are placed anew",
        "one leaves after the other",
        "one runs without its data",
        "HAKeeper does not answer a glance",
    ],
)
def test_conditions_tell_what_becomes_of_lost_stores(
    found: Json,
    not_ready: tuple[int, ...],
    progressing: tuple[str, str],
    degraded: tuple[str, str],
    requeue: str,
) -> None:
    told = report(found, pods(*not_ready), ready=3 - len(not_ready))

    assert states(told["status"])["Progressing"] == progressing
    assert states(told["status"])["Degraded"] == degraded
    assert told["requeue"] == requeue


@pytest.mark.parametrize(
    ("since", "requeue"),
    [
        ([], ""),
        ([0.0], ""),
        ([UNIX_NOW], ""),
        ([UNIX_NOW - 50_000], "36401s"),
        ([UNIX_NOW - 86_000, UNIX_NOW - 10], "401s"),
        ([UNIX_NOW - 86_399.5], "2s"),
        ([UNIX_NOW - 86_401], "30s"),
        ([UNIX_NOW - 86_500], "100s"),
        ([UNIX_NOW - 90_000], "600s"),
    ],
    ids=[
        "none",
        "its replacement is under way",
        "a pass comes before",
        "it does not",
        "the first",
        "at once",
        "overdue",
        "overdue for a while",
        "overdue for long",
    ],
)
def test_the_volume_of_a_replaced_store_goes_at_its_time(since: list[float], requeue: str) -> None:
    kept = [ReplacedVolume(f"pv-{moment}", "mo-log-2", moment) for moment in since]
    subject = resource()
    subject["metadata"]["annotations"] = annotation(kept)
    subject["status"] = {"conditions": SERVED}
    observed = {"workload": workload(readyReplicas=3), "pods": pods(), "results": round_()}
    plan = {"workload": "StatefulSet/mo-log", "objects": [{}]}
    assert report_on(subject, plan, observed, {}, "", NOW)["requeue"] == requeue


def test_what_becomes_of_a_store_does_not_hide_why_it_has_no_pod() -> None:
    subject = resource()
    subject["status"] = {"conditions": SERVED}
    observed = {
        "workload": workload(readyReplicas=2),
        "pods": pods()[:2],
        "results": round_("AwaitStore", "waiting for Kubernetes to create the Pod"),
        "podProblems": {"notCreated": {"mo-log-2": "exceeded quota"}},
    }
    plan = {"workload": "StatefulSet/mo-log", "objects": [{}]}
    status = report_on(subject, plan, observed, {}, "", NOW)["status"]
    assert states(status)["Degraded"] == ("True", "StoresFailed")
    by_type = {one["type"]: one["message"] for one in status["conditions"]}
    assert "waiting for Kubernetes to create the Pod" in by_type["Degraded"]
    assert "mo-log-2 (not created: exceeded quota)" in by_type["Degraded"]


def test_a_store_without_its_data_is_down_though_its_pod_is_ready() -> None:
    told = report(round_(lost={"mo-log-1": "has lost its data"}), pods())

    assert [one["podName"] for one in told["status"]["failedStores"]] == ["mo-log-1"]
    assert told["status"]["failedStores"][0]["lastTransition"] == NOW
    assert "mo-log-1 has lost its data" in told["status"]["message"]


def test_what_is_known_of_the_shards_stays_until_somebody_asks_again() -> None:
    assert report({}, pods(), shards=SHORT)["status"]["shards"] == SHORT
    assert report(round_(), pods(), shards=SHORT)["status"]["shards"] == WHOLE
    silent = round_(reached=False, shards=None)
    assert "shards" not in report(silent, pods(), shards=SHORT)["status"]


@pytest.mark.parametrize(
    ("stores", "told", "shards"),
    [
        (round_(reached=False, shards=None), SHORT, SHORT),
        (round_(shards=[]), SHORT, SHORT),
        (round_(), SHORT, WHOLE),
        ({}, SHORT, SHORT),
        (round_(reached=False, shards=None), None, None),
    ],
    ids=["it had no time", "it listed none", "it has told", "it was not asked", "it is silent"],
)
def test_what_hakeeper_tells_of_the_stores_fills_in_for_the_pass_over_them(
    stores: Json, told: Any, shards: Any
) -> None:
    subject = resource()
    subject["status"] = {"conditions": SERVED}
    plan = {"workload": "StatefulSet/mo-log", "objects": [{}]}
    seen = {"workload": workload(readyReplicas=3), "pods": pods(), "results": stores}
    answers = {"health": {"shards": told}} if told else {}
    found = report_on(subject, plan, seen | answers, {}, "", NOW)
    assert found["status"].get("shards") == shards
    assert found["requeue"] == ("15s" if shards == SHORT else "")


@pytest.mark.parametrize("listed", [[], WHOLE[:1]], ids=["none", "only its own"])
def test_a_hakeeper_that_does_not_list_the_databases_shard_yet_is_asked_again(
    listed: list[Json],
) -> None:
    """It answers before its stores have told it of their replicas; a settled set has no passes."""
    told = report(round_(shards=listed), pods())
    assert told["status"].get("shards", []) == listed
    assert told["requeue"] == "15s"

    subject = resource()
    ready = {**SERVED[0], "lastTransitionTime": NOW}
    subject["status"] = {"conditions": [ready], "shards": listed}
    assert health.question(subject, workload(), pods(), UNIX_NOW) is Question.BRIEF
    assert health.question(subject, workload(), pods(), UNIX_NOW + 120) is Question.NONE


@pytest.mark.parametrize(
    ("present", "before", "said"), [(5, None, 5), (4, 5, 4), (0, 5, 5), (0, None, None)]
)
def test_the_size_that_a_log_service_last_ran_with_is_kept(
    present: int, before: int | None, said: int | None
) -> None:
    subject = resource()
    subject["status"] = {"conditions": SERVED, **({"lastReplicas": before} if before else {})}
    seen = {"workload": workload(wanted=present), "pods": pods()}

    told = report_on(subject, {"workload": "StatefulSet/mo-log"}, seen, {}, "", NOW)

    assert told["status"].get("lastReplicas") == said


@pytest.mark.parametrize("not_ready", [(0,), (0, 1, 2)], ids=["one is down", "all are down"])
def test_shards_that_nobody_observed_are_not_reported_of_what_does_not_serve(
    not_ready: tuple[int, ...],
) -> None:
    """With no store ready HAKeeper is not asked, and what it said before opened gates."""
    told = report({}, pods(*not_ready), ready=3 - len(not_ready), shards=WHOLE)
    assert "shards" not in told["status"]
    log_set = {**serving("LogSet", "mo"), "status": told["status"]}

    assert (
        blocker(dependent(), read_observed({"logSet": log_set}))
        == "waiting for LogSet mo: not ready"
    )


def test_a_log_service_that_is_stopped_has_no_shards() -> None:
    subject = resource(replicas=0)
    subject["status"] = {"conditions": SERVED, "shards": WHOLE}
    seen = {"workload": workload(wanted=0, replicas=0, readyReplicas=0, updatedReplicas=0)}
    plan = {"workload": "StatefulSet/mo-log", "objects": [{}]}

    assert "shards" not in report_on(subject, plan, {**seen, "pods": []}, {}, "", NOW)["status"]


@pytest.mark.parametrize(
    ("listed", "changes", "asked"),
    [
        (pods(), {}, Question.NONE),
        (pods(2), {}, Question.NEEDED),
        (pods(0, 1, 2), {}, Question.NONE),
        (pods(), {"wanted": 5}, Question.NEEDED),
        (pods(), {"status": {"failedStores": [{"podName": "mo-log-1"}]}}, Question.NEEDED),
        (pods(), {"status": {"shards": SHORT}}, Question.BRIEF),
        (pods(), {"status": {"conditions": UNWELL}}, Question.BRIEF),
        (pods(since=NOW, creationTimestamp=NOW), {"made": LONG_AGO}, Question.BRIEF),
        (pods(since=NOW, creationTimestamp=NOW), {"made": NOW}, Question.NONE),
        (pods(2), {"status": {"conditions": []}}, Question.NONE),
    ],
    ids=[
        "all have been up for long",
        "one is down",
        "all are down",
        "it shrinks",
        "one was down",
        "a shard is short",
        "one gives no sign of life",
        "one has come back",
        "all have come for the first time",
        "it has never served",
    ],
)
def test_hakeeper_is_asked_when_it_can_have_news(
    listed: list[Json], changes: Json, asked: Question
) -> None:
    subject = resource()
    subject["metadata"]["creationTimestamp"] = changes.get("made", LONG_AGO)
    subject["status"] = {"conditions": SERVED, "shards": WHOLE, **changes.get("status", {})}
    live = workload(wanted=changes.get("wanted", 3))

    assert health.question(subject, live, listed, UNIX_NOW) is asked


def view(alive: int) -> View:
    members = frozenset(log_uuid(n) for n in range(3))
    silent = dict.fromkeys(members, 1.0)
    return View(True, silent, [Shard(0, members, frozenset(sorted(members)[:alive]), 3)])


def test_a_store_gets_some_time_to_take_its_replicas_up() -> None:
    assert health.lost_stores(pods(), view(2), UNIX_NOW) == {"mo-log-2": "has lost its data"}
    assert not health.lost_stores(pods(since=NOW), view(2), UNIX_NOW + 29)
    assert not health.lost_stores(pods(2), view(2), UNIX_NOW)
    assert not health.lost_stores(pods(), view(3), UNIX_NOW)
    assert not health.lost_stores(pods(), None, UNIX_NOW)


REMOVED = "was away until HAKeeper had removed its replicas, and does not report to it any more"


def without_the_last(seconds: float = 700, **fields: Any) -> View:
    """Two stores are left in the shards; HAKeeper heard the third so many seconds ago."""
    members = frozenset(log_uuid(n) for n in range(2))
    heard = dict.fromkeys(members, 1.0) | {log_uuid(2): seconds}
    return replace(View(True, heard, [Shard(0, members, members, 3)]), **fields)


@pytest.mark.parametrize(
    ("seen", "later", "lost"),
    [
        (without_the_last(700), 60, {"mo-log-2": REMOVED}),
        (without_the_last(700), 59, {}),
        (without_the_last(60), 60, {}),
        (without_the_last(running=False), 60, {}),
        (without_the_last(shards=[]), 60, {}),
        (without_the_last(silent={log_uuid(0): 1.0, log_uuid(1): 1.0}), 60, {}),
        (view(2), 60, {"mo-log-2": "has lost its data"}),
    ],
    ids=[
        "it does not come back",
        "it has only just started",
        "it was heard within the last minute, as one that gets its replicas",
        "HAKeeper was not bootstrapped",
        "HAKeeper lists no shard",
        "HAKeeper has never heard of it",
        "it is heard and lacks what it is counted on for",
    ],
)
def test_a_store_that_hakeeper_has_removed_and_never_hears_is_lost(
    seen: View, later: float, lost: dict[str, str]
) -> None:
    assert health.lost_stores(pods(since=NOW), seen, UNIX_NOW + later) == lost


@pytest.mark.parametrize(
    ("shards", "said"),
    [
        (None, "waiting for LogSet mo: not ready"),
        ([], "waiting for LogSet mo: not ready"),
        (SHORT, ""),
        ([{"shard": 0, "replicas": 3, "available": 1}], "waiting for LogSet mo: not ready"),
    ],
)
def test_a_log_service_with_a_quorum_holds_nobody_up(shards: Any, said: str) -> None:
    log_set = serving("LogSet", "mo")
    log_set["status"]["conditions"][0] |= {"status": "False"}
    if shards is not None:
        log_set["status"]["shards"] = shards
    assert blocker(dependent(), read_observed({"logSet": log_set})) == said


def dependent() -> Json:
    node = resource("CNSet", "mo-tp")
    node["deps"] = {"logSet": {"metadata": {"name": "mo", "namespace": "prod"}}}
    return node


@pytest.mark.parametrize(
    ("live", "said"),
    [
        (workload(), ""),
        (workload(readyReplicas=2), ""),
        (workload(readyReplicas=1), "1 of its 3 log stores are ready"),
        (workload(readyReplicas=0), "0 of its 3 log stores are ready"),
        (workload(wanted=4, readyReplicas=2), "2 of its 4 log stores are ready"),
        (workload(wanted=1, readyReplicas=1), ""),
        (workload(wanted=0, readyReplicas=0), ""),
        (None, "0 of its 0 log stores are ready"),
    ],
    ids=["all", "most", "few", "none", "half", "the only one", "stopped", "it is gone"],
)
def test_a_status_that_is_older_than_the_loss_opens_no_gate(live: Json | None, said: str) -> None:
    """The log service died after its status was written, maybe while no operator ran."""
    seen = {"logSet": serving("LogSet", "mo"), "logSetWorkload": live}

    assert blocker(dependent(), read_observed(seen)) == (said and f"waiting for LogSet mo: {said}")
