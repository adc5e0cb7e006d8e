# SPDX-License-Identifier: Apache-2.0
"""An upgrade to a newer release: held back, begun, past the point of no return, completed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.filter.admission import admission
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster import upgrading
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.data_version import (
    asked_by,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.rendering import (
    render_matrixonecluster,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.upgrading import (
    questions,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.transaction.data_version import (
    asked_version,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.upgrade.catalog import Catalog

from tests.crds.manifests import changed, minimal
from tests.support.builders import serving, states
from tests.support.passes import plan_of, references_of, report_on

Json = dict[str, Any]

NOW = "2026-11-26T12:00:00Z"
LATER = "2026-11-26T12:20:00Z"
OLD, NEW = "2.0.5", "2.1.0"
READY = Catalog(version="2.0.5", state=2).as_result()
RAISED = Catalog(version="2.1.0", state=2).as_result()
RAISING = Catalog(version="2.1.0", state=0, steps=2, step="2.0.5 to 2.1.0").as_result()
SILENT = Catalog(problem="SQL at 10.0.0.1:6001 cannot be reached", serves=False).as_result()
BACKUP = {
    "metadata": {"name": "b"},
    "meta": {
        "atTime": "2026-11-26T10:00:00Z",
        "sourceRef": "matrixonecluster/prod/mo",
        "sourceUid": "u-1",
    },
    "status": {
        "phase": "Available",
        "conditions": [{"type": "Restorable", "status": "True"}],
    },
}
WAIVER = {"spec.upgrade": {"waive": {"to": NEW, "checks": ["Backup", "Catalog"]}}}


def cluster(
    version: str = NEW, written: str = OLD, record: Json | None = None, **more: Any
) -> Json:
    made = changed(minimal("MatrixOneCluster", "mo"), {"spec.version": version, **more})
    made["metadata"] |= {"namespace": "prod", "uid": "u-1", "generation": 2}
    made["status"] = {"tn": {"dataVersion": written}}
    if record:
        made["status"]["upgrade"] = record
    return made


def part(kind: str, name: str, version: str, pods: str = "1/1", **how: Any) -> Json:
    child = serving(kind, name, pods, **how)
    child["spec"]["image"] = f"matrixorigin/matrixone:{version}"
    child["metadata"]["uid"] = f"uid-{name}"
    return child


def canary(version: str = NEW, name: str = "mo-canary", **how: Any) -> Json:
    """Return the CNSet of the canary, created at `NOW`."""
    made = part("CNSet", name, version, **how)
    made["metadata"]["labels"] = {"matrixorigin.io/canary": "true"}
    made["metadata"]["creationTimestamp"] = NOW
    return made


def observed(version: str = OLD, written: str = OLD, **more: Any) -> Json:
    """Return what is observed; before an upgrade, there is room for one more compute node."""
    room = [canary(OLD)] if version == OLD else []
    dn_set = part("DNSet", "mo", version)
    dn_set["status"]["dataVersion"] = written
    return {
        "now": NOW,
        "credential": None,
        "logSet": part("LogSet", "mo", version, "3/3"),
        "dnSet": dn_set,
        "cnSets": [part("CNSet", "mo-tp", version), *room],
        "backups": [BACKUP],
        "catalog": READY,
        **more,
    }


def told(resource: Json, seen: Json) -> tuple[Json, Json]:
    """Return the plan of a pass, and its report."""
    plan = plan_of(resource, seen)
    live = {f"{one['kind']}/{one['metadata']['name']}": one for one in plan["objects"]}
    found = {
        f"{one['kind']}/{one['metadata']['name']}": one
        for one in [seen["logSet"], seen["dnSet"], *seen["cnSets"]]
    }
    applied = {"objects": {name: found[name] for name in live if name in found}}
    return plan, report_on(resource, plan, seen, applied, "", NOW)


def images(plan: Json) -> list[tuple[str, str]]:
    """Return the names of the components that a pass applies, with their tags."""
    return [
        (one["metadata"]["name"], one["spec"]["image"].rpartition(":")[2])
        for one in plan["objects"]
    ]


KEPT = [("mo-canary", OLD)]
"""What keeps room for the canary."""


def reasons(report: Json) -> list[str]:
    return [one["reason"] for one in report["events"]]


def updating(ahead: str = "Ahead", phase: str = "Updating", **more: Any) -> Json:
    return {
        "from": OLD,
        "to": NEW,
        "phase": phase,
        "pointOfNoReturn": ahead,
        "backup": "b",
        "startedAt": NOW,
        **more,
    }


@pytest.mark.parametrize(
    ("version", "written"),
    [
        ("2.0.5", "2.0.5"),
        ("2.0.9", "2.0.5"),
        ("2.0.1", "2.0.5"),
        ("nightly", "2.0.5"),
        ("2.1.0", ""),
    ],
)
def test_within_a_release_and_of_unknown_versions_nothing_is_checked(
    version: str, written: str
) -> None:
    resource = cluster(version, written)
    seen = observed(written=written, backups=None, catalog={})
    if not written:
        del seen["dnSet"]["status"]["dataVersion"]
    plan, report = told(resource, seen)
    assert (plan["upgrade"], plan["held"]) == ({}, [])
    assert [one["kind"] for one in plan["objects"]] == ["LogSet", "DNSet", "CNSet"]
    assert "upgrade" not in report["status"]
    assert "backups" not in references_of(resource)
    assert questions(resource, seen).catalog == ""


def test_backups_and_the_catalog_are_asked_for_before_an_upgrade() -> None:
    assert references_of(cluster())["backups"]["if_allowed"]
    assert questions(cluster(), observed()).catalog == "mo-tp-cn"
    paused = cluster()
    paused["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    assert questions(paused, observed()).catalog == ""


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"spec.version": "nightly"},
        {"spec.version": "nightly", "spec.semanticVersion": "3.0.0"},
        {"spec.semanticVersion": "3.0.0", "spec.tn.semanticVersion": "2.2.0"},
        {"spec.semanticVersion": "3.0.0", "spec.tn.image": "a:3.1.0"},
        {"spec.tn.image": "host:5000/a:3.1.0@sha256:00"},
        {"spec.imageRepository": "host:5000/a"},
        {"spec.tn": None, "spec.dn": {"replicas": 1, "image": "a:3.1.0"}},
    ],
)
def test_which_version_is_asked_for_is_known_without_rendering(changes: Json) -> None:
    resource = cluster(**changes)
    (dn_set,) = (one for one in render_matrixonecluster(resource) if one["kind"] == "DNSet")
    assert asked_by(resource) == asked_version(dn_set["spec"])


def test_no_cluster_is_rendered_to_learn_that_no_upgrade_is_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(upgrading, "render_matrixonecluster")
    assert questions(cluster(OLD), observed()).catalog == ""
    assert (
        questions(cluster(NEW, NEW, updating(phase="Completed")), observed(NEW, NEW)).catalog == ""
    )


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({"backups": []}, "Backup failed: there is no Backup"),
        ({"backups": None}, "Backup unknown: Backups cannot be listed"),
        ({"catalog": {}}, "Catalog unknown: the database has not been asked"),
        ({"catalog": RAISING}, "Catalog failed: "),
        ({"logSet": part("LogSet", "mo", OLD, "2/3")}, "Health failed: LogSet mo: 2/3 Pods"),
    ],
)
def test_while_a_check_fails_nothing_is_changed(changes: Json, failing: str) -> None:
    plan, report = told(cluster(), observed(**changes))
    assert (images(plan), plan["prune"], plan["held"]) == (KEPT, None, ["spec.version"])
    record = report["status"]["upgrade"]
    assert (record["phase"], record["pointOfNoReturn"]) == ("Held", "Ahead")
    assert (record["from"], record["to"], record["runs"]) == (OLD, NEW, OLD)
    assert failing in record["message"]
    assert record["message"].endswith(f"to cancel, set {OLD} again")
    found = {one["type"]: one for one in report["status"]["conditions"]}
    assert (found["Synced"]["status"], found["Synced"]["reason"]) == ("False", "UpgradeHeld")
    assert failing in found["Synced"]["message"]
    assert (found["Ready"]["status"], found["Ready"]["observedGeneration"]) == ("True", 1)
    assert found["Progressing"]["status"] == "False"
    assert report["requeue"] == "15s"


def test_a_path_that_is_known_to_fail_is_held_back() -> None:
    resource = cluster("2.0.1", "1.3.0")
    plan, report = told(resource, observed("1.3.0", "1.3.0"))
    assert plan["objects"] == []
    assert "Path failed: the upgrade from 1.3.0 to 2.0.1" in report["status"]["message"]


def test_components_are_still_scaled_while_an_upgrade_is_held_back() -> None:
    resource = cluster(**{"spec.cnGroups": [{"name": "tp", "replicas": 4}]})
    seen = observed(backups=[])
    for one in (seen["logSet"], seen["dnSet"]):
        one["spec"]["replicas"] = 3 if one["kind"] == "LogSet" else 1
    plan, _report = told(resource, seen)
    scaled = [one for one in plan["patches"] if one["kind"] != "Secret"]
    assert [(one["kind"], one["spec"]) for one in scaled] == [("CNSet", {"replicas": 4})]


def test_a_database_that_answers_nothing_is_not_ready_meanwhile() -> None:
    _plan, report = told(cluster(), observed(catalog=SILENT))
    assert states(report["status"])["Ready"] == ("False", "SQLNotAnswered")


def test_an_upgrade_begins_when_all_checks_pass_and_that_is_on_record_first() -> None:
    plan, report = told(cluster(), observed())
    assert (plan["objects"], plan["prune"], report["requeue"]) == ([], None, "1s")
    assert states(report["status"])["Synced"] == ("False", "RollingOut")
    assert states(report["status"])["Progressing"] == ("True", "RollingOut")
    record = report["status"]["upgrade"]
    assert (record["phase"], record["pointOfNoReturn"]) == ("Updating", "Ahead")
    assert {one["result"] for one in record["checks"]} == {"Passed"}
    assert (record["backup"], record["startedAt"]) == ("b", NOW)
    assert "is the point of no return, set 2.0.5 again to cancel before" in record["message"]
    assert reasons(report) == ["CredentialCreated", "UpgradeStarted"]
    plan, report = told(cluster(record=record), observed())
    assert [one["kind"] for one in plan["objects"]] == ["LogSet"]
    assert reasons(report) == ["CredentialCreated"]


NONE = {"cnSets": [part("CNSet", "mo-tp", OLD)]}
"""Without one more compute node."""


@pytest.mark.parametrize(
    ("changes", "seen", "applied", "result", "message"),
    [
        ({}, NONE, KEPT, "Unknown", "starting CNSet mo-canary, one more compute node"),
        ({}, {**NONE, "backups": []}, [], "Unknown", "when all other checks pass"),
        (
            {},
            {"cnSets": [part("CNSet", "mo-tp", OLD), canary(OLD, generation=3)]},
            KEPT,
            "Unknown",
            "CNSet mo-canary, one more compute node, is not ready: ",
        ),
        ({}, {}, [], "Passed", "CNSet mo-canary, one more compute node, has room"),
        ({"spec.upgrade": {"waive": {"to": NEW, "checks": ["Room"]}}}, NONE, [], None, ""),
        ({"spec.upgrade": {"waive": {"to": NEW, "checks": ["Canary"]}}}, NONE, [], None, ""),
        ({"spec.cnGroups": [{"name": "tp", "replicas": 0}]}, NONE, [], None, ""),
    ],
)
def test_one_more_compute_node_has_to_have_room(
    changes: Json, seen: Json, applied: Any, result: str | None, message: str
) -> None:
    plan, report = told(cluster(**changes), observed(**seen))
    record = report["status"]["upgrade"]
    found = {one["name"]: one for one in record["checks"]}.get("Room", {})
    assert found.get("result") == result
    assert message in found.get("message", "")
    assert images(plan) == applied
    assert record["phase"] == ("Held" if result == "Unknown" else "Updating")
    made = [one for one in plan["objects"] if one["metadata"]["name"] == "mo-canary"]
    assert all(one["spec"]["replicas"] == 1 for one in made)


def test_waived_checks_do_not_hold_it_back() -> None:
    _plan, report = told(cluster(**WAIVER), observed(backups=[], catalog={}))
    assert report["status"]["upgrade"]["phase"] == "Updating"
    results = {one["name"]: one["result"] for one in report["status"]["upgrade"]["checks"]}
    assert results == {
        "Health": "Passed",
        "Backup": "Waived",
        "Catalog": "Waived",
        "Path": "Passed",
        "Configuration": "Passed",
        "Room": "Passed",
    }


@pytest.mark.parametrize("record", [updating(), None])
def test_once_begun_it_is_not_checked_again(record: Json | None) -> None:
    """The record was lost with an operator, or log stores restart: the DNSet tells it."""
    seen = observed(NEW if record is None else OLD, backups=[], catalog={})
    seen["logSet"] = part("LogSet", "mo", NEW, "2/3")
    assert questions(cluster(record=record), seen).catalog == ""
    plan, report = told(cluster(record=record), seen)
    assert plan["objects"]
    assert report["status"]["upgrade"]["phase"] == "Updating"
    assert reasons(report)[1:] == ([] if record else ["UpgradeStarted"])


ROLLING = part("LogSet", "mo", NEW, "3/3", generation=3)
ROLLED = part("LogSet", "mo", NEW, "3/3")


@pytest.mark.parametrize(
    ("log_set", "kinds"),
    [
        (part("LogSet", "mo", OLD, "3/3"), ["LogSet"]),
        (ROLLING, ["LogSet"]),
        (ROLLED, ["LogSet", "DNSet"]),
    ],
)
def test_the_transaction_node_is_changed_when_the_log_stores_are(
    log_set: Json, kinds: list[str]
) -> None:
    plan, report = told(cluster(record=updating()), observed(logSet=log_set))
    assert [one["kind"] for one in plan["objects"]] == kinds
    assert plan["prune"] is None
    assert report["status"]["upgrade"]["phase"] == "Updating"


PAUSED = {"spec.upgrade": {"paused": True}}


def require_paused(report: Json, phase: str) -> None:
    record, found = report["status"]["upgrade"], states(report["status"])
    assert (record["phase"], record["pointOfNoReturn"], record["paused"]) == (phase, "Ahead", True)
    assert record["message"].startswith("paused by spec.upgrade.paused before the point of no")
    assert record["message"].endswith("set it to false to go on, or 2.0.5 again to cancel")
    assert found["Synced"] == ("False", "UpgradePaused")
    assert found["Progressing"] == ("False", "Settled")
    assert found["Ready"][0] in {"True", "Unknown"}
    assert list(report["status"]["readable"]) == ["log", "tn", "cn", "dn"]
    assert "Reconciling" not in found
    assert "Stalled" not in found


def test_a_pause_before_the_upgrade_begins_holds_it_although_all_checks_pass() -> None:
    plan, report = told(cluster(**PAUSED), observed())
    assert (images(plan), plan["prune"]) == (KEPT, None)
    require_paused(report, "Held")
    assert "all checks pass" in report["status"]["message"]
    assert report["status"]["upgrade"]["runs"] == OLD

    _plan, report = told(cluster(**PAUSED), observed(backups=[]))
    assert states(report["status"])["Synced"] == ("False", "UpgradeHeld")
    assert "paused" not in report["status"]["upgrade"]


@pytest.mark.parametrize(
    ("log_set", "what", "partitions"),
    [
        (part("LogSet", "mo", OLD, "3/3"), "nothing is changed", []),
        (ROLLING, "log stores that have the new version keep it", [3]),
        (ROLLED, "log stores that have the new version keep it", [3]),
    ],
)
def test_a_pause_stops_the_log_stores_and_leaves_all_others(
    log_set: Json, what: str, partitions: list[int]
) -> None:
    seen = observed(logSet=log_set)
    plan, report = told(cluster(record=updating(), **PAUSED), seen)
    applied = [(one["kind"], one["spec"]["updateStrategy"]) for one in plan["objects"]]
    assert applied == [("LogSet", {"partition": one}) for one in partitions]
    require_paused(report, "Updating")
    assert what in report["status"]["message"]

    record = report["status"]["upgrade"]
    plan, report = told(cluster(record=record), seen)
    assert plan["objects"]
    assert "partition" not in str(plan["objects"][0]["spec"])
    assert "paused" not in report["status"]["upgrade"]
    assert report["status"]["upgrade"]["startedAt"] == NOW

    plan, report = told(cluster(OLD, record=record, **PAUSED), seen)
    assert [one["kind"] for one in plan["objects"]] == ["LogSet", "DNSet", "CNSet"]
    assert report["status"]["upgrade"]["phase"] == "Canceled"
    assert "paused" not in report["status"]["upgrade"]


def test_a_pause_keeps_a_partition_of_the_user_and_sizes_follow() -> None:
    more = {
        "spec.logService.updateStrategy": {"partition": 7},
        "spec.cnGroups": [{"name": "tp", "replicas": 4}],
    }
    seen = observed(logSet=ROLLING)
    seen["dnSet"]["spec"]["replicas"] = 1
    plan, _report = told(cluster(record=updating(), **PAUSED, **more), seen)
    assert plan["objects"][0]["spec"]["updateStrategy"] == {"partition": 7}
    scaled = [one for one in plan["patches"] if one["kind"] != "Secret"]
    assert [(one["kind"], one["spec"]) for one in scaled] == [("CNSet", {"replicas": 4})]


def test_a_pause_comes_too_late_for_a_transaction_node_that_is_being_replaced() -> None:
    seen = observed(logSet=ROLLED)
    seen["dnSet"]["spec"]["image"] = f"matrixorigin/matrixone:{NEW}"
    plan, report = told(cluster(record=updating(), **PAUSED), seen)
    assert [one["kind"] for one in plan["objects"]] == ["LogSet", "DNSet"]
    assert "paused" not in report["status"]["upgrade"]
    assert "spec.upgrade.paused comes too late" in report["status"]["upgrade"]["message"]


@pytest.mark.parametrize("phase", ["Held", "Updating"])
def test_until_the_point_of_no_return_it_is_canceled_by_the_previous_version(phase: str) -> None:
    resource = cluster(OLD, record=updating(phase=phase))
    plan, report = told(resource, observed(OLD, backups=None, catalog={}))
    assert plan["objects"]
    assert report["status"]["upgrade"]["phase"] == "Canceled"
    assert reasons(report)[1:] == ["UpgradeCanceled"]
    again = cluster(OLD, record=report["status"]["upgrade"])
    assert reasons(told(again, observed())[1])[1:] == []


def past(**how: Any) -> tuple[Json, Json]:
    """Return plan and report of a pass after the new transaction node has started."""
    resource = cluster(NEW, NEW, how.pop("record", updating()), **how.pop("changes", {}))
    return told(resource, observed(NEW, NEW, **how))


def test_past_the_point_of_no_return_the_catalog_is_followed() -> None:
    assert questions(cluster(NEW, NEW, updating()), observed(NEW, NEW)).catalog == "mo-tp-cn"
    _plan, report = past(catalog=RAISING)
    record = report["status"]["upgrade"]
    assert (record["phase"], record["pointOfNoReturn"]) == ("UpgradingCatalog", "Passed")
    assert record["catalog"] == {
        "version": "2.1.0",
        "state": 0,
        "stepsLeft": 2,
        "tenantsLeft": 0,
        "step": "2.0.5 to 2.1.0",
        "changedAt": NOW,
        "since": NOW,
        "message": record["catalog"]["message"],
    }
    found = states(report["status"])
    assert found["Synced"] == ("False", "UpgradingCatalog")
    assert found["Progressing"] == ("True", "UpgradingCatalog")
    assert found["Ready"][0] == "True"
    assert reasons(report)[1:] == ["PointOfNoReturnPassed"]
    assert report["requeue"] == "5s"


def test_a_pause_past_the_point_of_no_return_has_no_effect_and_the_status_says_so() -> None:
    plan, report = past(catalog=RAISING, changes=PAUSED)
    assert [one["kind"] for one in plan["objects"]] == ["LogSet", "DNSet", "CNSet"]
    assert states(report["status"])["Synced"] == ("False", "UpgradingCatalog")
    assert "spec.upgrade.paused has no effect any more" in report["status"]["upgrade"]["message"]


def test_components_are_updated_before_the_catalog_counts() -> None:
    late = part("CNSet", "mo-tp", NEW, generation=3)
    _plan, report = past(cnSets=[late], catalog=READY)
    assert report["status"]["upgrade"]["phase"] == "Updating"
    assert report["status"]["upgrade"]["pointOfNoReturn"] == "Passed"


FOLLOWED = updating("Passed", "UpgradingCatalog")


def followed(since: str, **catalog: Any) -> Json:
    return {**FOLLOWED, "catalog": {"since": since, "changedAt": since, **catalog}}


def test_it_completes_with_the_catalog_of_the_release() -> None:
    _plan, report = past(catalog=RAISED, record=followed(NOW))
    record = report["status"]["upgrade"]
    assert (record["phase"], record["completedAt"]) == ("Completed", NOW)
    assert states(report["status"])["Synced"] == ("True", "AllSetsSynced")
    assert reasons(report)[1:] == ["UpgradeCompleted"]
    again = cluster(NEW, NEW, record)
    assert questions(again, observed(NEW, NEW)).catalog == ""
    assert told(again, observed(NEW, NEW, catalog={}))[1]["status"]["upgrade"] == record


@pytest.mark.parametrize(
    ("now", "phase"),
    [("2026-11-26T12:00:59Z", "UpgradingCatalog"), ("2026-11-26T12:01:00Z", "Completed")],
)
def test_a_catalog_of_another_name_is_final_when_it_stands_still(now: str, phase: str) -> None:
    seen = {"version": "2.0.5", "state": 2, "stepsLeft": 0, "tenantsLeft": 0}
    _plan, report = past(catalog=READY, record=followed(NOW, **seen), now=now)
    assert report["status"]["upgrade"]["phase"] == phase


def test_where_compute_nodes_leave_the_catalog_alone_it_is_waited_for() -> None:
    """The settling of `READY` alone would end the upgrade before anybody has upgraded it."""
    stood = {"since": NOW, "changedAt": NOW, "version": "2.0.5", "state": 2}
    record = updating("Passed", phase="UpgradingCatalog", canary="Passed", catalog=stood)
    manual = {"spec.cnGroups": [{"name": "tp", "config": "[cn]\nauto-upgrade = false\n"}]}
    given = cluster(NEW, NEW, record, **manual)
    _plan, report = told(given, observed(NEW, NEW, now=LATER, catalog=READY))
    ended = report["status"]["upgrade"]
    assert ended["phase"] == "UpgradingCatalog"
    assert "run UPGRADE ACCOUNT ALL as root" in ended["message"]
    _plan, report = told(given, observed(NEW, NEW, now=LATER, catalog=RAISED))
    assert report["status"]["upgrade"]["phase"] == "Completed"


def test_a_catalog_that_does_not_move_is_degraded() -> None:
    seen = {"version": "2.1.0", "state": 0, "stepsLeft": 2, "tenantsLeft": 0}
    stays = {**seen, "step": "2.0.5 to 2.1.0"}
    _plan, report = past(catalog=RAISING, record=followed(NOW, **stays), now=LATER)
    assert states(report["status"])["Degraded"] == ("True", "CatalogUpgradeStuck")
    message = report["status"]["upgrade"]["message"]
    assert (
        "the way back is a new cluster with spec.version: 2.0.5 and spec.restoreFrom: b" in message
    )

    longer = {"spec.upgrade": {"catalogTimeout": "1h"}}
    _plan, report = past(catalog=RAISING, record=followed(NOW, **stays), now=LATER, changes=longer)
    assert states(report["status"])["Degraded"][0] == "False"

    moved = followed(NOW, **{**stays, "stepsLeft": 3})
    _plan, report = past(catalog=RAISING, record=moved, now=LATER)
    assert states(report["status"])["Degraded"][0] == "False"
    assert report["status"]["upgrade"]["catalog"]["changedAt"] == LATER


def test_a_database_that_died_of_it_is_neither_ready_nor_silent() -> None:
    _plan, report = past(catalog=SILENT, record=followed(NOW), now=LATER)
    found = states(report["status"])
    assert found["Ready"] == ("False", "SQLNotAnswered")
    assert found["Degraded"] == ("True", "CatalogUpgradeStuck")
    assert "SQL at 10.0.0.1:6001 cannot be reached" in report["status"]["upgrade"]["message"]


def test_where_the_catalog_is_waived_it_is_not_waited_for() -> None:
    _plan, report = past(catalog={}, changes=WAIVER)
    assert report["status"]["upgrade"]["phase"] == "Completed"
    assert "not waited for" in report["status"]["upgrade"]["message"]


@pytest.mark.parametrize(
    ("record", "version", "advice"),
    [
        (updating(), "3.0.18", "set 2.0.5 again to cancel that one"),
        (FOLLOWED, "3.0.18", "wait until status.upgrade.phase is Completed"),
        (FOLLOWED, "2.1.9", ""),
        (updating(phase="Held"), "3.0.18", ""),
        (updating(phase="Completed"), "3.0.18", ""),
        (updating(phase="Canceled"), "3.0.18", ""),
    ],
)
def test_a_second_upgrade_is_refused_while_one_is_unfinished(
    record: Json, version: str, advice: str
) -> None:
    stored = cluster(NEW, NEW, record)
    raised = copy.deepcopy(stored)
    raised["spec"]["version"] = version
    plan = plan_of(raised, observed(NEW, NEW))
    reviewed = admission(raised, {"operation": "UPDATE", "old": stored})["errors"]
    if not advice:
        assert plan["invalid"] == ""
        assert reviewed == []
        return
    message = f"the upgrade from 2.0.5 to 2.1.0 has not completed; {advice}"
    assert plan["invalid"] == f"spec.version: {message}"
    assert [(one["field"], one["message"]) for one in reviewed] == [("spec.version", message)]

    waived = copy.deepcopy(raised)
    waived["spec"]["upgrade"] = {"waive": {"to": version, "checks": ["PreviousUpgrade"]}}
    assert plan_of(waived, observed(NEW, NEW))["invalid"] == ""


def test_the_newest_record_counts_not_the_one_that_a_pass_was_given() -> None:
    stale, newest = cluster(NEW, NEW, updating()), cluster("3.0.18", NEW, FOLLOWED)
    stale["spec"]["version"] = "3.0.18"
    plan = plan_of(stale, observed(NEW, NEW, self=newest))
    assert "wait until status.upgrade.phase is Completed" in plan["invalid"]


def test_a_pass_that_leaves_a_cluster_alone_keeps_the_record() -> None:
    paused = cluster(NEW, NEW, FOLLOWED)
    paused["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    assert told(paused, observed(NEW, NEW))[1]["status"]["upgrade"] == FOLLOWED


@pytest.mark.parametrize(
    ("nodes", "since"),
    [
        ([part("CNSet", "mo-tp", OLD)], OLD),
        ([part("CNSet", "mo-tp", NEW)], None),
        ([part("CNSet", "mo-tp", "nightly-20261101")], None),
        ([part("CNSet", "mo-old", OLD)], None),
    ],
)
def test_a_record_that_was_lost_is_found_again_while_compute_nodes_are_behind(
    nodes: list[Json], since: str | None
) -> None:
    plan, report = told(cluster(NEW, NEW), observed(NEW, NEW, cnSets=nodes))
    record = report["status"].get("upgrade") or {}
    assert record.get("from") == since
    if since:
        assert (record["pointOfNoReturn"], record["canary"]) == ("Passed", "Waiting")
        assert ("mo-tp", NEW) not in images(plan)
