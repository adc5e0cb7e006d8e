# SPDX-License-Identifier: Apache-2.0
"""One compute node of a new version has to answer before all others get that version."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp,
    unix_time,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.sql import (
    LIVENESS,
    Entrance,
    SqlError,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster import catalog_query
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.canary import (
    canary_checks,
    canary_of,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.rendering import (
    render_matrixonecluster,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.upgrading import (
    questions,
)

from tests.support.builders import states

from .test_upgrading import (
    LATER,
    NEW,
    NOW,
    OLD,
    PAUSED,
    RAISED,
    RAISING,
    canary,
    cluster,
    observed,
    part,
    told,
    updating,
)

Json = dict[str, Any]

DONE = updating("Passed")
ANSWERS = {"problem": ""}
FAILS = {"problem": "refused"}


def seen(*more: Json, **how: Any) -> Json:
    """Return what is observed after the new transaction node has started."""
    found = observed(NEW, NEW, **{"catalog": {}, **how})
    found["cnSets"] = [part("CNSet", "mo-tp", OLD), *more]
    return found


def passed(*more: Json, record: Json = DONE, changes: Json | None = None, **how: Any) -> Any:
    """Return the names of the components that a pass changes, its plan and its report."""
    plan, report = told(cluster(NEW, NEW, record, **(changes or {})), seen(*more, **how))
    named = [f"{one['kind']}/{one['metadata']['name']}" for one in plan["objects"]]
    return named, plan, report


FIRST = ["LogSet/mo", "DNSet/mo"]
WITH_CANARY = [*FIRST, "CNSet/mo-canary"]
ALL = [*FIRST, "CNSet/mo-tp"]
STARTING = canary(generation=3)


@pytest.mark.parametrize(
    ("how", "changed", "said"),
    [
        ({"dnSet": part("DNSet", "mo", NEW, generation=3)}, FIRST, "waiting for DNSet mo"),
        ({"logSet": part("LogSet", "mo", OLD, "3/3")}, FIRST, "waiting for LogSet mo"),
        ({}, WITH_CANARY, "creating CNSet mo-canary"),
        ({"more": STARTING}, WITH_CANARY, "waiting for CNSet mo-canary, the canary: "),
        ({"more": canary(OLD)}, WITH_CANARY, "waiting for CNSet mo-canary, the canary: "),
        ({"more": canary()}, WITH_CANARY, "waiting for an answer of CNSet mo-canary"),
        (
            {"more": canary(), "canaryAnswer": {"problem": "SQL at 10.0.0.9:6001 refused"}},
            WITH_CANARY,
            "does not answer: SQL at 10.0.0.9:6001 refused; all other compute nodes keep",
        ),
    ],
)
def test_compute_nodes_keep_their_version_until_the_canary_answers(
    how: Json, changed: list[str], said: str
) -> None:
    more = [how.pop("more")] if "more" in how else []
    found, plan, report = passed(*more, **how)
    assert (found, plan["prune"], plan["held"]) == (changed, None, ["spec.version"])
    record = report["status"]["upgrade"]
    assert (record["canary"], record["phase"], record["pointOfNoReturn"]) == (
        "Waiting", "Updating", "Passed",
    )  # fmt: skip
    assert said in record["message"]
    assert states(report["status"])["Synced"][0] == "False"
    assert [one["name"] for one in report["status"]["cnGroups"]["groups"]] == ["mo-tp"]
    assert report["status"]["readable"]["cn"] == "1/1"


SINCE = "2026-11-26T11:59:00Z"
"""A minute before `NOW`."""
LONG_SINCE = "2026-11-26T11:50:00Z"
ANSWERED = {
    **DONE,
    "canary": "Answering",
    "canarySince": LONG_SINCE,
    "canaryAnswersSince": SINCE,
}
IN_VAIN = {**DONE, "canary": "Waiting", "canarySince": SINCE}


@pytest.mark.parametrize(
    ("record", "how", "changed", "state", "since", "answers"),
    [
        (DONE, {"canaryAnswer": ANSWERS}, WITH_CANARY, "Answering", NOW, NOW),
        (IN_VAIN, {"canaryAnswer": ANSWERS}, WITH_CANARY, "Answering", SINCE, NOW),
        (ANSWERED, {"canaryAnswer": ANSWERS}, ALL, "Passed", None, None),
        (ANSWERED, {"canaryAnswer": {}}, WITH_CANARY, "Answering", LONG_SINCE, SINCE),
        (ANSWERED, {"canaryAnswer": FAILS}, WITH_CANARY, "Waiting", LONG_SINCE, None),
        (ANSWERED, {"more": STARTING}, WITH_CANARY, "Waiting", LONG_SINCE, None),
        (IN_VAIN, {"canaryAnswer": FAILS}, WITH_CANARY, "Waiting", SINCE, None),
        (IN_VAIN, {"canaryAnswer": {}}, WITH_CANARY, "Waiting", SINCE, None),
        (DONE, {"canaryAnswer": ANSWERS, "catalog": RAISED}, ALL, "Passed", None, None),
        (DONE, {"canaryAnswer": FAILS, "catalog": RAISED}, WITH_CANARY, "Waiting", NOW, None),
        (DONE, {"canaryAnswer": ANSWERS, "catalog": RAISING}, WITH_CANARY, "Answering", NOW, NOW),
    ],
)
def test_it_has_to_answer_for_a_minute_or_with_the_catalog_complete(
    record: Json, how: Json, changed: list[str], state: str, since: str | None, answers: str | None
) -> None:
    more = how.get("more", canary())
    rest = {key: value for key, value in how.items() if key != "more"}
    found, _plan, report = passed(more, record=record, now=NOW, **rest)
    assert found == changed
    after = report["status"]["upgrade"]
    times = (after.get("canarySince"), after.get("canaryAnswersSince"))
    assert (after["canary"], *times) == (state, since, answers)
    assert states(report["status"])["Degraded"][0] == "False"


def test_all_follow_when_it_has_answered_and_it_is_deleted() -> None:
    found, plan, report = passed(canary(), record=ANSWERED, canaryAnswer={"problem": ""})
    assert found == ALL
    assert {"api_version": "core.matrixorigin.io/v1alpha1", "kind": "CNSet"} in plan["prune"][
        "kinds"
    ]
    assert report["status"]["upgrade"]["canary"] == "Passed"
    assert "CanaryPassed" in [one["reason"] for one in report["events"]]
    again, _plan, report = passed(canary(), record=report["status"]["upgrade"], canaryAnswer={})
    assert again == ALL
    assert "CanaryPassed" not in [one["reason"] for one in report["events"]]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"spec.upgrade": {"waive": {"to": NEW, "checks": ["Canary"]}}}, ALL),
        ({"spec.cnGroups": [{"name": "tp", "replicas": 0}]}, ALL),
        ({"spec.cnGroups": [{"name": "tp", "image": f"matrixorigin/matrixone:{OLD}"}]}, ALL),
        ({"spec.cnGroups": [{"name": "tp", "replicas": 4}]}, WITH_CANARY),
    ],
)
def test_where_no_compute_node_changes_or_it_is_waived_there_is_none(
    changes: Json, named: list[str]
) -> None:
    found, _plan, report = passed(changes=changes, record={**DONE, "canary": "Waiting"})
    assert found == named
    assert ("canary" in report["status"]["upgrade"]) is (named == WITH_CANARY)


@pytest.mark.parametrize("answer", [{"problem": "refused"}, {}])
def test_one_that_gives_no_answer_for_long_is_reported_with_the_way_back(answer: Json) -> None:
    """An operator that does not observe health never asks it."""
    tried = {"record": {**IN_VAIN, "canarySince": NOW}, "canaryAnswer": answer}
    _found, _plan, report = passed(canary(), now=LATER, **tried)
    assert states(report["status"])["Degraded"] == ("True", "CanaryFailed")
    assert "spec.restoreFrom: b" in report["status"]["upgrade"]["message"]
    _found, _plan, report = passed(canary(), now=NOW, **tried)
    assert states(report["status"])["Degraded"][0] == "False"
    patient = {"spec.upgrade": {"catalogTimeout": "1h"}}
    _found, _plan, report = passed(canary(), now=LATER, changes=patient, **tried)
    assert states(report["status"])["Degraded"][0] == "False"


def test_one_that_answers_and_fails_in_turn_is_reported() -> None:
    """Each for less than a minute, so that it neither passes nor fails for long."""
    record: Json = DONE
    start = unix_time(NOW)
    for number in range(31):
        now = timestamp(start + 30 * number)
        answer = FAILS if number % 2 else ANSWERS
        _found, _plan, report = passed(canary(), now=now, record=record, canaryAnswer=answer)
        record = report["status"]["upgrade"]
        assert record["canary"] == ("Waiting" if number % 2 else "Answering")
        degraded = states(report["status"])["Degraded"]
        assert (degraded == ("True", "CanaryFailed")) is (number == 30), (number, degraded)


def test_the_time_of_the_log_stores_does_not_count() -> None:
    """It has been there since before the upgrade, to keep its room."""
    begun_long_ago = {**DONE, "startedAt": "2026-11-26T08:00:00Z"}
    _found, _plan, report = passed(
        canary(), now=NOW, record=begun_long_ago, canaryAnswer={"problem": "refused"}
    )
    assert states(report["status"])["Degraded"][0] == "False"


def test_components_are_scaled_meanwhile_and_a_pause_has_no_effect() -> None:
    changes = {"spec.cnGroups": [{"name": "tp", "replicas": 4}], **PAUSED}
    found, plan, report = passed(canary(), changes=changes)
    assert found == WITH_CANARY
    scaled = [one for one in plan["patches"] if one["kind"] == "CNSet"]
    assert [(one["metadata"]["name"], one["spec"]) for one in scaled] == [
        ("mo-tp", {"replicas": 4})
    ]
    assert "has no effect any more" in report["status"]["upgrade"]["message"]


def test_it_runs_what_its_group_runs_and_gets_no_client() -> None:
    group = {
        "name": "tp",
        "replicas": 4,
        "config": "[cn.frontend]\nport = 6001\n",
        "resources": {"requests": {"cpu": "2"}},
        "cnLabels": [{"key": "account", "values": ["a"]}],
        "scalingConfig": {"storeDrainEnabled": False},
        "serviceType": "LoadBalancer",
        "serviceAnnotations": {"a": "b"},
        "updateStrategy": {"maxSurge": 2},
    }
    changes = {"spec.cnGroups": [group]}
    (made,) = passed(changes=changes)[1]["objects"][2:]
    waived = {**changes, "spec.upgrade": {"waive": {"to": NEW, "checks": ["Canary"]}}}
    (of_group,) = passed(changes=waived)[1]["objects"][2:]
    labels = {**of_group["metadata"]["labels"], "matrixorigin.io/canary": "true"}
    assert (made["metadata"]["labels"], made["deps"]) == (labels, of_group["deps"])
    spec, kept = made["spec"], dict(of_group["spec"])
    for name in ("cnLabels", "serviceType", "serviceAnnotations", "updateStrategy"):
        del kept[name]
    over = {**kept["overlay"], "podAnnotations": {"matrixorigin.io/store-cordon": ""}}
    drained = {"storeDrainEnabled": True, "storeDrainTimeout": "1m"}
    in_place = {"maxSurge": 0, "maxUnavailable": 1}
    made_of = {"scalingConfig": drained, "overlay": over, "updateStrategy": in_place}
    assert spec == {**kept, "replicas": 1, **made_of}


@pytest.mark.parametrize(
    ("name", "groups", "expected"),
    [
        ("mo", ["tp", "canary"], "mo-c0"),
        ("mo", ["canary", "c0", "c1"], "mo-c2"),
        ("m" * 46, ["tp"], f"{'m' * 46}-c0"),
    ],
)
def test_its_name_is_free_and_short_enough(name: str, groups: list[str], expected: str) -> None:
    resource = cluster(**{"spec.cnGroups": [{"name": one} for one in groups]})
    resource["metadata"]["name"] = name
    children = render_matrixonecluster(resource)
    outdated = [one for one in children if one["kind"] == "CNSet"]
    assert canary_of(outdated, children)["metadata"]["name"] == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([], ""),
        ([STARTING], ""),
        ([canary(OLD)], ""),
        ([canary()], "mo-canary-cn"),
    ],
)
def test_it_is_asked_when_it_serves_with_the_new_version(more: list[Json], expected: str) -> None:
    found = questions(cluster(NEW, NEW, DONE), seen(*more))
    assert (found.catalog, found.canary) == ("mo-tp-cn", expected)


@pytest.mark.parametrize(
    ("failing", "problem"),
    [
        (None, ""),
        (0, "SQL at 10.0.0.9:6001 refused: no such table"),
        (2, "spec.upgrade.canaryStatements[1]: SQL at 10.0.0.9:6001 refused: no such table"),
    ],
)
def test_the_statements_of_the_user_run_as_they_are_and_it_is_said_which_fails(
    monkeypatch: pytest.MonkeyPatch, failing: int | None, problem: str
) -> None:
    ran: list[str] = []

    def ask_all(_place: Entrance, asked: Any, _seconds: float) -> None:
        for number, (text, values) in enumerate(asked):
            if number == failing:
                error = SqlError("SQL at 10.0.0.9:6001 refused")
                error.words, error.answered = "no such table", number
                raise error
            ran.append(text % values)

    monkeypatch.setattr(catalog_query, "ask_all", ask_all)
    monkeypatch.setattr(catalog_query, "root_login", lambda *_: None)
    place = Entrance("10.0.0.9", 6001, "dump", "secret")
    monkeypatch.setattr(catalog_query, "entrance", lambda *_: place)
    statements = ["select 'a%' like '%s'", "select 2"]
    resource = {"metadata": {}, "spec": {"upgrade": {"canaryStatements": statements}}}
    wanted = canary_checks(resource)
    found = catalog_query.ask_canary(None, resource, "mo-canary-cn", wanted, 6.0)
    assert found == problem
    assert ran == [LIVENESS[0], *statements][:failing]
