# SPDX-License-Identifier: Apache-2.0
"""What a pass over a RestoreJob decides and reports that proves a backup by restoring it."""

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks

from tests.backup import worlds as w
from tests.backup.test_backup_job import conditions, planned, reported
from tests.support.passes import references_of

Json = dict[str, Any]
NAME = f"verify-{w.UID[:8]}"
COUNT = {"name": "orders", "sql": "select count(*) from shop.orders", "rows": [[3]]}
CLAIM = {"fileSystem": {"path": "/shared", "claim": {"size": "1Gi"}}}


def verifying(status: Json | None = None, **spec: Any) -> Json:
    """Return a RestoreJob that verifies the Backup ``earlier``."""
    made = w.backup_job("proof", status=status)
    made["kind"] = "RestoreJob"
    made["spec"] = {"backupName": "earlier", "verify": {"checks": [COUNT]}, **spec}
    return made


def source(**spec: Any) -> Json:
    """Return the cluster that was backed up."""
    made = w.cluster()
    made["spec"] |= {
        "version": "1.3.0",
        "tn": {"replicas": 1, "resources": {"requests": {"memory": "64Gi"}}},
        "cnGroups": [{"name": "a", "replicas": 9, "serviceType": "LoadBalancer"}],
        **spec,
    }
    return made


def backup(**more: Any) -> Json:
    made = w.backup(secretNamespace="prod")
    return {**made, "status": {"phase": "Available", "conditions": []}, **more}


def verification_cluster(ready: bool = True, restore: str = "Completed", **metadata: Any) -> Json:
    """Return the throw-away cluster of `verifying` as the operator has it."""
    [made] = planned(verifying(), around())["objects"]
    state = {"type": "Ready", "status": str(ready)}
    return {
        **made,
        "metadata": {**made["metadata"], "uid": "c-1", **metadata},
        "status": {
            "host": f"{NAME}-tp-cn.prod",
            "port": 6001,
            "restore": {"phase": restore, "message": "bucket is locked"},
            "conditions": [state],
            "message": "0/1 log stores are ready",
        },
    }


def around(**more: Any) -> Json:
    secret = {"kind": "Secret", "metadata": {"name": "store"}}
    one = backup()
    found = {"backup": one, "backups": [one], "restoreJobs": [], "source": source()}
    return {**found, "sourceSecret": secret, "throwAway": None, "copy": None, "pods": [], **more}


def reading(phase: str, reason: str = "", tables: int = 40, **more: Any) -> Json:
    result = w.result(phase, reason, reading=tasks.Reading(tables, 12345, 2048), **more)
    return {"readJob": w.job(), "readResult": result}


STARTED = {"startTime": w.BEGAN, "phase": "Running"}
KNOWN = {**STARTED, "cluster": {"name": NAME, "uid": "c-1"}}
COPY_FAILED = {
    "status": {"conditions": [{"type": "Degraded", "status": "True", "reason": "ObjectMissing"}]}
}
UNREADABLE = "table d.large cannot be read: object is not found"
ENDED_JOB = w.job(w.ended("Failed", "BackoffLimitExceeded"))

#: status so far, what is found, the result, its reason, a part of message or result's message
CASES: dict[str, tuple[Json | None, Json, str, str, str]] = {
    "begins": (None, {}, "", "", f"{NAME} is being created"),
    "no Backup": (None, {"backup": None}, "", "", "waiting for Backup earlier"),
    "no Secret": (None, {"sourceSecret": None}, "", "", "Secret store does not exist"),
    "no source": (None, {"source": None}, "Incomplete", "InvalidTask", "matrixonecluster/prod/mo"),
    "copies": (
        STARTED,
        {"throwAway": verification_cluster(False, "Running")},
        "",
        "",
        "0/1 log stores",
    ),
    "copy is damaged": (
        KNOWN,
        {"throwAway": verification_cluster(False, "Failed"), "copy": COPY_FAILED},
        "Failed",
        "ObjectMissing",
        "bucket is locked",
    ),
    "copy is refused": (
        KNOWN,
        {"throwAway": verification_cluster(False, "Failed")},
        "Incomplete",
        "RestoreFailed",
        "bucket is locked",
    ),
    "serves": (
        KNOWN,
        {"throwAway": verification_cluster()},
        "",
        "",
        "the Job that reads is being created",
    ),
    "reads": (
        KNOWN,
        {"throwAway": verification_cluster(), **reading("Running")},
        "",
        "",
        "has no Pod",
    ),
    "was read": (
        KNOWN,
        {"throwAway": verification_cluster(), **reading("Succeeded")},
        "Passed",
        "",
        "",
    ),
    "a table is missing, first attempt": (
        KNOWN,
        {
            "throwAway": verification_cluster(),
            **reading("Failed", "TableUnreadable", message=UNREADABLE, retryable=True),
        },
        "",
        "",
        "d.large",
    ),
    "a table is missing": (
        KNOWN,
        {
            "throwAway": verification_cluster(),
            **reading("Failed", "TableUnreadable", message=UNREADABLE, retryable=True),
            "readJob": ENDED_JOB,
        },
        "Failed",
        "TableUnreadable",
        "d.large",
    ),
    "a check differs": (
        KNOWN,
        {
            "throwAway": verification_cluster(),
            **reading("Failed", "CheckFailed", message="check orders: (2) instead of (3)"),
        },
        "Failed",
        "CheckFailed",
        "(2) instead of (3)",
    ),
    "another password": (
        KNOWN,
        {"throwAway": verification_cluster(), **reading("Failed", "LoginFailed", message="denied")},
        "Incomplete",
        "LoginFailed",
        "denied",
    ),
    "cluster deleted": (KNOWN, {}, "Incomplete", "Interrupted", "deleted by somebody else"),
    "cluster is going": (
        KNOWN,
        {"throwAway": verification_cluster(deletionTimestamp=w.NOW)},
        "Incomplete",
        "Interrupted",
        "deleted by somebody else",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_pass(case: str) -> None:
    status, observed, result, why, said = CASES[case]
    subject, seen = verifying(status), around(**observed)

    plan = planned(subject, seen)
    came = reported(subject, plan, seen)

    record = came.get("verification") or {}
    assert (record.get("result", ""), record.get("reason", "")) == (result, why)
    assert said in (record.get("message") or came["message"])
    assert plan["stop"] == [], "nothing is deleted before the result is recorded"
    assert came["phase"] in {"Pending", "Running"}
    assert plan["requeue"]
    restorable = conditions(plan["verified"]) if plan["verified"] else {}
    expected = {"Passed": "True", "Failed": "False", "Incomplete": "Unknown"}
    # What cannot be carried out says nothing about the Backup.
    assert bool(restorable) == (bool(result) and why != "InvalidTask")
    if restorable:
        assert restorable["Restorable"][0] == expected[result]
        assert plan["verified"]["phase"] == "Available"


def test_passed_counts() -> None:
    seen = around(throwAway=verification_cluster(), **reading("Succeeded"))

    record = planned(verifying(KNOWN), seen)["verified"]["verification"]

    assert (record["tables"], record["rows"], record["size"]) == (40, 12345, "2Ki")
    assert (record["seconds"], record["restoreJob"]) == (30, "proof")


def test_deadline() -> None:
    """Whatever it waits for; the message says what that was."""
    seen = around(throwAway=verification_cluster(False))

    plan = planned(verifying(KNOWN, activeDeadlineSeconds=600), seen, now=w.LATER)

    record = plan["facts"]["verification"]
    assert (record["result"], record["reason"]) == ("Incomplete", "DeadlineExceeded")
    assert "0/1 log stores are ready" in record["message"]


def test_throw_away_cluster() -> None:
    """Small, with the version of the source, reachable from inside only, in a place of its own."""
    labels = {"podLabels": {"app": "shop"}, "priorityClassName": "low"}
    seen = around(source=source(nodeSelector={"disk": "ssd"}, tn={"overlay": labels}))

    [made] = planned(verifying(), seen)["objects"]

    spec = made["spec"]
    assert made["metadata"]["name"] == NAME
    assert (spec["version"], spec["nodeSelector"]) == ("1.3.0", {"disk": "ssd"})
    assert (spec["restoreFrom"], spec["credentialSecretRef"]) == (
        "earlier",
        {"name": "mo-credential"},
    )
    assert "proxy" not in spec
    assert "LoadBalancer" not in json.dumps(spec)
    assert spec["tn"]["overlay"] == {"priorityClassName": "low"}
    assert "64Gi" not in json.dumps(spec)
    assert [spec[of]["replicas"] for of in ("logService", "tn")] == [1, 1]
    assert spec["logService"]["sharedStorage"]["s3"] == {
        **w.S3,
        "path": f"backups/mo/earlier-{NAME}",
    }
    assert kinds.refusals(made, None) == []


@pytest.mark.parametrize(
    ("given", "in_source", "expected"),
    [
        ({"s3": {"path": "other/x"}}, None, {"s3": {"path": f"other/x/{NAME}"}}),
        (
            {"fileSystem": {"claim": {"size": "2Gi"}}},
            None,
            {"fileSystem": {"path": "/var/lib/matrixone-shared", "claim": {"size": "2Gi"}}},
        ),
        (None, CLAIM, CLAIM),
    ],
)
def test_place_of_the_data(given: Json | None, in_source: Json | None, expected: Json) -> None:
    verify: Json = {"sharedStorage": given} if given else {}
    folder = backup(**w.backup(location={"fileSystem": {"path": "/b/1"}}))
    live = source(**({"logService": {"sharedStorage": in_source}} if in_source else {}))

    [made] = planned(verifying(verify=verify), around(backup=folder, source=live))["objects"]

    assert made["spec"]["logService"]["sharedStorage"] == expected
    assert kinds.refusals(made, None) == []


def test_folders_that_nobody_claims() -> None:
    folder = backup(**w.backup(location={"fileSystem": {"path": "/b/1"}}))

    record = planned(verifying(), around(backup=folder))["facts"]["verification"]

    assert record["result"] == "Incomplete"
    assert "sharedStorage" in record["message"]


def task_in(objects: list[Json], base: str) -> tasks.Task:
    [config] = [one for one in objects if one["metadata"]["name"] == f"{base}-task"]
    return tasks.task_from_json(config["data"]["task.json"])


def test_jobs() -> None:
    """What deletes the data is there, suspended, before what reads; it knows whose they are."""
    live = verification_cluster()
    before = planned(verifying(STARTED), around(throwAway=verification_cluster(False)))["objects"]
    plan = planned(verifying(KNOWN), around(throwAway=live))

    purge, read = task_in(before, "proof-purge"), task_in(plan["objects"], "proof-read")
    assert (purge.verb, purge.expected_id) == ("purge", "c-1")
    assert purge.target is not None
    assert purge.target.address == f"backups/mo/earlier-{NAME}"
    assert [one.document for one in read.checks] == [{**COUNT, "rows": [["3"]]}]
    assert read.login == tasks.Login(f"{NAME}-tp-cn.prod", 6001)
    found = {one["metadata"]["name"]: one for one in plan["objects"] if one["kind"] == "Job"}
    assert found["proof-purge"]["spec"]["suspend"] is True
    assert found["proof-read"]["spec"]["suspend"] is False
    assert found["proof-read"]["spec"]["backoffLimit"] == 4
    text = json.dumps(found["proof-read"]["spec"]["template"]["spec"]["volumes"])
    assert "mo-credential" in text
    assert set(plan["createOnly"]) >= {"Job/proof-purge", "Job/proof-read"}


PASSED = {"result": "Passed", "completionTime": w.BEGAN, "tables": 1, "rows": 2}
FAILED = {**PASSED, "result": "Failed", "reason": "TableUnreadable", "message": UNREADABLE}
HELD = w.job(suspend=True)
GONE = {"purgeJob": w.job(), "purgeResult": w.result("Succeeded")}

#: record, what is left, kinds that are deleted, whether the data are, phase, reason of Degraded
ENDS: dict[str, tuple[Json, Json, set[str], bool, str, str]] = {
    "cluster": (
        PASSED,
        {"throwAway": verification_cluster(), "purgeJob": HELD, "readJob": w.job()},
        {"MatrixOneCluster", "Job"},
        False,
        "Running",
        "",
    ),
    "data": (PASSED, {"purgeJob": HELD}, set(), True, "Running", ""),
    "data are going": (PASSED, {"purgeJob": w.job()}, set(), False, "Running", ""),
    "nothing": (PASSED, GONE, set(), False, "Completed", ""),
    "nothing of a volume": (PASSED, {}, set(), False, "Completed", ""),
    "nothing after a failure": (FAILED, GONE, set(), False, "Failed", "TableUnreadable"),
    "data that cannot be deleted": (
        PASSED,
        {"purgeJob": w.job(), "purgeResult": w.result("Failed", "AccessDenied")},
        set(),
        False,
        "Completed",
        "NotRemoved",
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_end(case: str) -> None:
    record, left, deleted, purged, phase, degraded = ENDS[case]
    subject, seen = verifying({**KNOWN, "verification": record}), around(**left)

    plan = planned(subject, seen)
    status = reported(subject, plan, seen)

    assert {one["kind"] for one in plan["stop"]} == deleted
    assert bool(plan["patches"]) == purged
    assert status["phase"] == phase
    assert conditions(status)["Degraded"][1] == (degraded or "AsExpected")
    assert status["verification"] == record
    assert plan["verified"]["verification"] == record


def test_end_is_bounded() -> None:
    """A cluster that does not go keeps no RestoreJob for ever; its name is reported."""
    left = around(throwAway=verification_cluster(deletionTimestamp=w.NOW), purgeJob=HELD)

    plan = planned(verifying({**KNOWN, "verification": PASSED}), left, now=w.LATER)

    assert plan["phase"] == "Completed"
    assert plan["problem"]["reason"] == "NotRemoved"
    assert NAME in plan["problem"]["message"]


@pytest.mark.parametrize(
    "left",
    [
        {"throwAway": verification_cluster(), "purgeJob": HELD},
        {"throwAway": None, "purgeJob": HELD},
        {"throwAway": None, "purgeJob": {**w.job(), "status": {"startTime": w.LATER}}},
    ],
    ids=["asked by nobody", "not begun", "just begun"],
)
def test_end_is_tried_however_late(left: Json) -> None:
    """The operator may have been away since the result was recorded."""
    subject = verifying({**KNOWN, "verification": PASSED})
    assert planned(subject, around(**left), now=w.LATER)["phase"] == "Running"


def deleted(status: Json | None) -> Json:
    subject = verifying(status)
    subject["metadata"]["deletionTimestamp"] = w.NOW
    return subject


def test_deletion_in_the_middle() -> None:
    """Even where the Job for the data was not created yet."""
    first = planned(deleted(STARTED), around(throwAway=verification_cluster(False)))
    second = planned(deleted(STARTED), around(throwAway=verification_cluster(False), purgeJob=HELD))
    last = planned(deleted(STARTED), around(**GONE))

    assert [one["kind"] for one in first["objects"] if one["kind"] == "Job"] == ["Job"]
    assert first["stop"] == []
    assert [one["kind"] for one in second["stop"]] == ["MatrixOneCluster"]
    assert last["phase"] == "Failed"
    assert planned(deleted(None), around())["phase"] == "Failed"


def rival(uid: str, created: str, **status: Any) -> Json:
    other = verifying({"phase": "Running", **status} if status else None)
    other["metadata"] |= {"name": f"r-{uid}", "uid": uid, "creationTimestamp": created}
    return other


BEFORE, AFTER = "2026-11-22T17:00:00Z", "2026-11-22T18:00:10Z"
OVER = [{"type": "Ended", "status": "True"}]


@pytest.mark.parametrize(
    ("other", "waits"),
    [
        (rival("2", BEFORE), True),
        (rival("2", AFTER), False),
        (rival("2", AFTER, startTime=w.BEGAN), True),
        (rival("2", BEFORE, startTime=w.BEGAN, conditions=OVER), False),
        ({**rival("2", BEFORE), "spec": {"backupName": "other", "verify": {}}}, False),
        ({**rival("2", BEFORE), "spec": {"backupName": "earlier", "target": {}}}, False),
        ({**rival("2", BEFORE), "spec": {**verifying()["spec"], "suspend": True}}, False),
    ],
)
def test_one_at_a_time_of_a_database(other: Json, waits: bool) -> None:
    elsewhere = w.backup("other", sourceRef="matrixonecluster/prod/another")
    seen = around(restoreJobs=[verifying(), other], backups=[backup(), elsewhere])

    plan = planned(verifying(), seen)

    assert (plan["objects"] == []) == waits
    assert bool(plan["begun"]) != waits, "what waits has no deadline yet"


def test_what_is_observed() -> None:
    before, after = references_of(verifying()), references_of(verifying(), [backup()])

    assert "source" not in before
    assert after["source"]["name"] == "mo"
    assert after["throwAway"]["owner_uid"] == w.UID
    assert after["readJob"]["name"] == "proof-read"
    assert after["purgeResult"]["name"] == "proof-purge-result"
    assert after["sourceSecret"]["name"] == "store"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"target": {"s3": w.S3}}, "either target or verify"),
        ({"backupName": None, "externalSource": {"s3": w.S3}}, "must be given with verify"),
        ({"verify": {"checks": [{"name": "x"}]}}, "checks[0].sql"),
        ({"verify": {"sharedStorage": {"s3": {"path": "b/../c"}}}}, "path"),
    ],
)
def test_refusals(spec: Json, expected: str) -> None:
    subject = verifying(**spec)

    found = [str(one) for one in kinds.refusals(subject, None)]

    assert any(expected in one for one in found), found
    assert planned(subject, around())["invalid"]


def test_a_backup_keeps_its_verdict() -> None:
    """Its own passes write the status, too."""
    seen = around(throwAway=verification_cluster(), **reading("Succeeded"))
    status = planned(verifying(KNOWN), seen)["verified"]
    one = backup(status=status, apiVersion="core.matrixorigin.io/v1alpha1")

    after = reported(one, planned(one, {}), {})

    assert conditions(after)["Restorable"] == conditions(status)["Restorable"]
    assert after["verification"] == status["verification"]
    shown = {m["name"]: m["gauge"] for m in kinds.kind_of(one).metrics(one, after)}
    assert shown["matrixone_backup_verification_passed"] == {"set": 1.0}
    assert shown["matrixone_backup_verification_duration_seconds"] == {"set": 30.0}
    gone = kinds.kind_of(one).metrics(one, None)
    assert {json.dumps(m["gauge"]) for m in gone} == {'{"remove": true}'}


def test_unknown_is_neither_passed_nor_failed() -> None:
    record = {**PASSED, "result": "Incomplete", "reason": "LoginFailed"}
    one = backup(apiVersion="core.matrixorigin.io/v1alpha1")

    shown = {
        m["name"]: m["gauge"] for m in kinds.kind_of(one).metrics(one, {"verification": record})
    }

    assert shown["matrixone_backup_verification_passed"] == {"remove": True}
    assert shown["matrixone_backup_verification_incomplete"] == {"set": 1.0}


def test_a_backup_that_was_applied_again_in_between_gets_no_result() -> None:
    """What was restored may have been another backup of this name."""
    failed = {**KNOWN, "verification": FAILED}
    for created, written in ((w.BEGAN, True), (w.LATER, False)):
        one = backup()
        one["metadata"]["creationTimestamp"] = created
        plan = planned(verifying(failed), around(backup=one, backups=[one]))
        assert bool(plan["verified"]) is written


REHEARSAL = {"verify": {"version": "2.1.0"}}


def test_a_rehearsal_has_the_version_that_is_given() -> None:
    own = source(
        semanticVersion="1.3.0",
        tn={"replicas": 1, "image": "a:1.3.0"},
        cnGroups=[{"name": "a", "image": "a:1.3.0", "nodeSelector": {"disk": "ssd"}}],
    )

    [made] = planned(verifying(**REHEARSAL), around(source=own))["objects"]

    spec = made["spec"]
    assert spec["version"] == "2.1.0"
    assert "semanticVersion" not in spec
    assert not any("image" in one for one in (spec["tn"], *spec["cnGroups"]))
    assert spec["cnGroups"][0]["nodeSelector"] == {"disk": "ssd"}


@pytest.mark.parametrize(
    ("upgrade", "version"),
    [
        ({"phase": "Held", "pointOfNoReturn": "Ahead", "runs": "v1.3.0-a"}, "v1.3.0-a"),
        ({"phase": "Held", "pointOfNoReturn": "Ahead"}, "2.0.1"),
        ({"phase": "Updating", "pointOfNoReturn": "Ahead", "runs": "1.3.0"}, "1.3.0"),
        ({"phase": "Updating", "pointOfNoReturn": "Passed", "runs": "1.3.0"}, "2.0.1"),
        ({"phase": "Canceled", "runs": "1.3.0"}, "2.0.1"),
        ({"phase": "Completed"}, "2.0.1"),
    ],
)
def test_a_version_that_is_only_asked_for_is_not_the_one_that_made_a_backup(
    upgrade: Json, version: str
) -> None:
    own = source(version="2.0.1")
    own["status"]["upgrade"] = upgrade

    [made] = planned(verifying(), around(source=own))["objects"]

    assert made["spec"]["version"] == version


def test_a_rehearsal_says_nothing_about_the_backup() -> None:
    """What a newer version does not read, the present one may: it stays proven."""
    proven = backup(status={"phase": "Available", "conditions": [], "verification": PASSED})
    seen = around(
        throwAway=verification_cluster(), backup=proven, **reading("Failed", "LoginFailed")
    )

    status = planned(verifying(KNOWN, **REHEARSAL), seen)["verified"]

    assert (status["rehearsal"]["result"], status["rehearsal"]["version"]) == (
        "Incomplete",
        "2.1.0",
    )
    assert {key: status[key] for key in ("verification", "conditions")} == {
        "verification": PASSED,
        "conditions": [],
    }
