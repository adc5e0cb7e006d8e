# SPDX-License-Identifier: Apache-2.0
"""What the status of a Database says, when the database is asked, and what Events tell."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.admission.pod_security import (
    Level,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp,
    timestamp_now,
    unix_time,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.sql import (
    Entrance,
    LoginRefused,
    SqlError,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.database import reconciler
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.database.kind import DATABASE
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.database.results import (
    DatabaseResults,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.database_objects import (
    root_session,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.report import Report
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import PassEnd

from tests.support import resources as r
from tests.support.answers import Answers

from .worlds import NAME, Catalog, database

Json = dict[str, Any]
SERVING = {"conditions": [{"type": "Ready", "status": "True", "reason": "AllSetsReady"}]}


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    made = Catalog()
    monkeypatch.setattr(root_session, "entrance", lambda *_: Entrance("h", 6001, "root", "r"))
    monkeypatch.setattr(root_session, "root_login", lambda *_: None)
    monkeypatch.setattr(reconciler, "converse", lambda _entrance, spoken, _s: made.talk(spoken))
    return made


def asking(resource: Json) -> reconciler.Reconciler:
    return reconciler.Reconciler(Writer(Answers(), owner=resource), resource, r.cluster(), "p", 5.0)


def passed(resource: Json, results: DatabaseResults | None = None, **cluster: Any) -> Report:
    """Report a pass over a resource with a cluster that serves."""
    found = {**r.cluster(), "status": SERVING, **cluster}
    plan = DATABASE.plan(resource, {"cluster": found, "others": [resource]})
    observed = {"results": results.as_variable() if results else {}}
    return DATABASE.reporter.report(PassEnd(resource, plan, observed))


def after(resource: Json, results: DatabaseResults) -> Json:
    """Return a resource with the status that a pass wrote, as the API server has it."""
    status = dict(passed(resource, results).status)
    moved = {"lastTransitionTime": timestamp_now()}
    status["conditions"] = [{**one, **moved} for one in status["conditions"]]
    return {**resource, "status": status}


def conditions(report: Report) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in report.status["conditions"]}


def test_one_that_is_created_is_told_once_and_not_asked_for_again(catalog: Catalog) -> None:
    resource = database()
    done = asking(resource).keep()
    report = passed(resource, done)
    assert conditions(report)["Ready"] == ("True", "Available")
    assert conditions(report)["Synced"] == ("True", "Applied")
    assert (report.status["database"], report.status["id"]) == (NAME, catalog.number())
    assert [one["reason"] for one in report.events] == ["DatabaseCreated"]
    assert report.requeue == ""
    later = after(resource, done)
    assert asking(later).keep() == DatabaseResults(unchanged=True)
    assert passed(later, DatabaseResults(unchanged=True)).status == later["status"]


@pytest.mark.parametrize("change", ["spec", "time"])
def test_one_is_asked_for_again_after_a_change_or_a_period(catalog: Catalog, change: str) -> None:
    resource = after(database(), asking(database()).keep())
    if change == "spec":
        resource["metadata"]["generation"] += 1
    else:
        past = unix_time(timestamp_now()) - 600
        resource["status"]["lastChecked"] = timestamp(past)
    assert not asking(resource).keep().unchanged


def test_one_that_was_lost_is_no_new_one(catalog: Catalog) -> None:
    resource = after(database(), asking(database()).keep())
    number = resource["status"]["id"]
    resource["status"]["lastChecked"] = ""
    del catalog.databases[NAME]
    report = passed(resource, asking(resource).keep())
    assert conditions(report)["Ready"] == ("False", "DatabaseLost")
    assert "restore it from a snapshot or a Backup" in report.status["message"]
    assert (report.status["id"], catalog.said[1:]) == (number, [])
    assert report.requeue == "0h1m0s"


@pytest.mark.parametrize(
    ("spec", "is_taken"),
    [
        ({}, True),
        ({"deletionPolicy": "Delete"}, False),
        ({"deletionPolicy": "Delete", "adopt": True}, True),
    ],
    ids=["kept", "dropped", "adopted"],
)
def test_one_that_was_restored_is_taken_over_unless_it_would_be_dropped(
    catalog: Catalog, spec: Json, is_taken: bool
) -> None:
    resource = after(database(**spec), asking(database(**spec)).keep())
    resource["status"]["lastChecked"] = ""
    before = catalog.number()
    restored = catalog.create(NAME, "CREATE DATABASE IF NOT EXISTS `shop`")
    report = passed(resource, asking(resource).keep())
    if is_taken:
        assert conditions(report)["Ready"] == ("True", "Available")
        assert report.status["id"] == restored
        assert [one["reason"] for one in report.events] == ["DatabaseReplaced"]
    else:
        assert conditions(report)["Ready"] == ("False", "DatabaseExists")
        assert f"(number {restored}) than that of this resource" in report.status["message"]
        assert report.status["id"] == before


def test_one_of_somebody_else(catalog: Catalog) -> None:
    catalog.create(NAME, "create database shop")
    report = passed(database(), asking(database()).keep())
    assert conditions(report)["Ready"] == ("False", "DatabaseExists")
    assert "id" not in report.status
    adopting = database(adopt=True)
    adopted = passed(adopting, asking(adopting).keep())
    assert (adopted.status["id"], list(adopted.events)) == (catalog.number(), [])


def failing(error: SqlError) -> Any:
    def converse(*_: Any) -> Any:
        raise error

    return converse


def refusal(words: str) -> SqlError:
    error = SqlError("SQL at h:6001 refused (error 20101)")
    error.refused, error.words = True, words
    return error


@pytest.mark.parametrize(
    ("error", "ready", "said"),
    [
        (SqlError("SQL at h:6001 cannot be reached"), ("Unknown", "SQLNotAnswered"), "reached"),
        (refusal("no space"), ("Unknown", "StatementRefused"), "(error 20101): no space"),
        (LoginRefused("SQL at h:6001 refused"), ("False", "DependencyNotReady"), "as root, SQL"),
    ],
)
def test_a_database_that_refuses_or_is_silent(
    catalog: Catalog,
    monkeypatch: pytest.MonkeyPatch,
    error: SqlError,
    ready: tuple[str, str],
    said: str,
) -> None:
    monkeypatch.setattr(reconciler, "converse", failing(error))
    report = passed(database(), asking(database()).keep())
    assert conditions(report)["Ready"] == ready
    assert said in report.status["message"]
    assert report.requeue == "0h0m15s"


def test_a_cluster_that_sleeps_undoes_nothing(catalog: Catalog) -> None:
    resource = after(database(), asking(database()).keep())
    asleep = {"conditions": [{"type": "Ready", "status": "False", "reason": "Hibernated"}]}
    report = passed(resource, status=asleep)
    assert conditions(report)["Ready"] == ("False", "DependencyNotReady")
    assert conditions(report)["Synced"] == ("True", "Applied")
    assert report.status["id"] == resource["status"]["id"]


@pytest.mark.parametrize(
    ("spec", "is_done"),
    [({}, True), ({"deletionPolicy": "Delete"}, False)],
    ids=["kept", "dropped"],
)
def test_what_becomes_of_it_with_the_resource(catalog: Catalog, spec: Json, is_done: bool) -> None:
    resource = after(database(**spec), asking(database(**spec)).keep())
    resource["metadata"]["deletionTimestamp"] = "2026-11-22T18:00:10Z"
    cluster = {**r.cluster(), "status": SERVING}
    plan = DATABASE.plan(resource, {"cluster": cluster, "others": [resource]})
    assert plan.done is is_done
    if is_done:
        return
    report = passed(resource, asking(resource).drop())
    assert [one["reason"] for one in report.events] == ["DatabaseDropped"]
    assert NAME not in catalog.databases


def test_another_one_of_its_name_is_spared(catalog: Catalog) -> None:
    resource = after(
        database(deletionPolicy="Delete"), asking(database(deletionPolicy="Delete")).keep()
    )
    catalog.create(NAME, "create database shop")
    resource["metadata"]["deletionTimestamp"] = "2026-11-22T18:00:10Z"
    report = passed(resource, asking(resource).drop())
    assert [one["reason"] for one in report.events] == ["DatabaseKept"]
    assert NAME in catalog.databases


@pytest.mark.parametrize("name", ["Shop", "9shop", "a" * 64, "sh`op", "mysql", "mo_catalog"])
def test_names_that_no_database_can_have(name: str) -> None:
    assert [one.field for one in DATABASE.judge.refuses(database(name=name), Level.RESTRICTED)] == [
        "spec.name"
    ]
    assert conditions(passed(database(name=name)))["Synced"] == ("False", "InvalidSpec")


@pytest.mark.parametrize(
    ("spec", "warned"),
    [({}, []), ({"deletionPolicy": "Delete"}, ["drop"]), ({"name": "Shop"}, [])],
    ids=["kept", "dropped", "invalid"],
)
def test_whoever_deletes_one_is_told_what_goes(spec: Json, warned: list[str]) -> None:
    told = DATABASE.judge.warns_of_deletion(database(**spec))
    assert [
        "drop" for one in told if "database shop is dropped with all its tables" in one
    ] == warned
    assert len(told) == len(warned)
