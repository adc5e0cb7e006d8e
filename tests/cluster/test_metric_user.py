# SPDX-License-Identifier: Apache-2.0
"""The metric user: when it is asked for, what is said of it, when somebody looks again."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.action import metric_user as action
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.sql import (
    Entrance,
    SqlError,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster import metric_user

from tests.support import resources as r
from tests.support.builders import NOW, serving
from tests.support.passes import (
    plan_of,
    report_on,
)

Json = dict[str, Any]
DONE = {"secretRef": {"name": "mo-metric"}, "secretVersion": "7", "initialized": True}
FAILED = {**DONE, "initialized": False, "message": "SQL at 10.0.0.1:6001 cannot be reached"}


def cluster(**spec: Any) -> Json:
    made: Json = r.cluster(metricReaderEnabled=True, **spec)
    made["metadata"] |= {"uid": "u-1", "generation": 2}
    return made


def seen(**changes: Any) -> Json:
    return {
        "logSet": serving("LogSet", "mo", "3/3"),
        "dnSet": serving("DNSet", "mo"),
        "cnSets": [serving("CNSet", "mo-tp")],
        "proxySet": serving("ProxySet", "mo"),
        "credential": {"metadata": {"name": "mo-credential"}},
        **changes,
    }


@pytest.mark.parametrize(
    ("resource", "observed", "service"),
    [
        (cluster(), seen(), "mo-tp-cn"),
        (cluster(proxy={"replicas": 1}), seen(), "mo-proxy"),
        (cluster(proxy={"replicas": 1}), seen(proxySet=None), ""),
        (cluster(), seen(cnSets=[]), ""),
        ({**cluster(), "spec": {**cluster()["spec"], "metricReaderEnabled": False}}, seen(), ""),
    ],
)
def test_the_user_is_made_where_sql_is_answered(resource, observed, service):
    assert plan_of(resource, observed)["metrics"] == service


@pytest.mark.parametrize(
    ("before", "result", "said", "events", "requeue"),
    [
        ({}, {"metrics": DONE, "made": True}, DONE, ["MetricUserReady"], "10m"),
        (DONE, {"metrics": DONE, "made": False}, DONE, [], "10m"),
        ({}, {"metrics": FAILED, "made": False}, FAILED, ["MetricUserFailed"], "15s"),
        (FAILED, {"metrics": FAILED, "made": False}, FAILED, [], "15s"),
        (FAILED, {"metrics": FAILED, "made": False, "retry": "0h1m0s"}, FAILED, [], "0h1m0s"),
        (FAILED, {"metrics": DONE, "made": True}, DONE, ["MetricUserReady"], "10m"),
        (DONE, {}, DONE, [], "10m"),
        ({}, {}, None, [], "15s"),
    ],
)
def test_what_is_said_of_it(before, result, said, events, requeue):
    resource = cluster()
    resource["status"] = {"clusterMetrics": before} if before else {}
    observed = {**seen(), "results": result}
    plan = plan_of(resource, observed)

    told = report_on(resource, plan, observed, {}, "", NOW)

    assert told["status"].get("clusterMetrics") == said
    assert [one["reason"] for one in told["events"]] == events
    assert told["requeue"] == requeue


@pytest.mark.parametrize(
    ("seconds", "after"),
    [(0, "0h0m15s"), (15, "0h0m15s"), (40, "0h0m40s"), (300, "0h5m0s"), (99_999, "0h10m0s")],
)
def test_what_fails_for_long_is_tried_less_often(monkeypatch, seconds, after):
    """Each attempt asks the database; the status is written once, and not by each of them."""
    begin = 1_800_000_000.0
    secret = {"metadata": {"name": "mo-metric", "resourceVersion": "7"}}
    monkeypatch.setattr(action, "find_secret", lambda *_: secret)
    monkeypatch.setattr(action, "_made", lambda *_: "SQL at 10.0.0.1:6001 refused the login")
    monkeypatch.setattr(action.ActionModule, "dry_run", False)
    user = object.__new__(action.ActionModule)
    resource = cluster()

    def attempt(now: float) -> Json:
        monkeypatch.setattr(action.time, "time", lambda: now)
        return user.act(None, {"resource": resource, "service": "mo-tp-cn", "timeout": 1.0})

    first = attempt(begin)
    resource["status"] = {"clusterMetrics": first["metrics"]}
    later = attempt(begin + seconds)
    secret["metadata"]["resourceVersion"] = "8"
    another = attempt(begin + seconds)

    assert first["retry"] == "0h0m15s"
    assert later["metrics"] == first["metrics"]
    assert later["retry"] == after
    assert another["retry"] == "0h0m15s"


def test_passwords_are_values_of_statements_and_not_their_text():
    found = metric_user.statements("pass'word")

    assert not any("pass" in text for text, _values in found)
    assert {values for _text, values in found if values} == {("pass'word",)}


@pytest.mark.parametrize(
    ("users", "altered"),
    [
        ({}, []),
        ({"mo_operator": "new"}, []),
        ({"mo_operator": "old"}, ["new"]),
    ],
    ids=["it is created", "it has the password", "it has another one"],
)
def test_a_password_that_the_user_has_is_not_set_again(monkeypatch, users, altered):
    """With password_history, MatrixOne refuses that, even right after the user was created."""
    done = []

    def run(_entrance: Any, statements: Any, _seconds: float, **_how: Any) -> None:
        for text, values in statements:
            if text.startswith("create user"):
                users.setdefault("mo_operator", values[0])
            if text.startswith("alter user"):
                done.append(values[0])
                users["mo_operator"] = values[0]

    def accepts(entrance: Any, _seconds: float, **_how: Any) -> bool:
        return users.get(entrance.user) == entrance.password

    root = Entrance("10.0.0.1", 6001, "dump", "secret")
    monkeypatch.setattr(action, "run", run)
    monkeypatch.setattr(action, "accepts", accepts)
    monkeypatch.setattr(action, "root_login", lambda *_: None)
    monkeypatch.setattr(action, "entrance", lambda *_: root)
    arguments = {"resource": cluster(), "service": "mo-tp-cn", "timeout": 1.0}
    assert action._made(None, arguments, {"data": {"password": "bmV3"}}) == ""
    assert users == {"mo_operator": "new"}
    assert done == altered


def test_a_password_that_breaks_a_rule_is_reported_without_it(monkeypatch):
    def run(*_: Any, **_how: Any) -> None:
        error = SqlError("SQL at 10.0.0.1:6001 refused (error 20301)")
        error.words = "Password 'new' does not meet the Special Char requirements"
        raise error

    monkeypatch.setattr(action, "run", run)
    monkeypatch.setattr(action, "root_login", lambda *_: None)
    monkeypatch.setattr(action, "entrance", lambda *_: None)
    arguments = {"resource": cluster(), "service": "mo-tp-cn", "timeout": 1.0}
    problem = action._made(None, arguments, {"data": {"password": "bmV3"}})
    assert "validate_password.special_char_count" in problem
    assert "'new'" not in problem
