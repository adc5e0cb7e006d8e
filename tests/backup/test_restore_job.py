# SPDX-License-Identifier: Apache-2.0
"""What a pass over a RestoreJob decides and reports, by what it finds."""

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    task_from_json,
)

from tests.backup import worlds as w
from tests.backup.test_backup_job import conditions, planned, reported
from tests.support.passes import references_of, removal_of

Json = dict[str, Any]
TARGET = {"path": "data/new", "endpoint": "http://minio:9000", "secretRef": {"name": "own"}}
OWNER = {"kind": "MatrixOneCluster", "name": "new", "uid": "c-1", "controller": True}


def restore_job(status: Json | None = None, owned: bool = False, **spec: Any) -> Json:
    made = w.backup_job("new", status=status)
    made["kind"] = "RestoreJob"
    made["spec"] = {"backupName": "earlier", "target": {"s3": TARGET}, **spec}
    if owned:
        made["metadata"]["ownerReferences"] = [OWNER]
    return made


def around(**more: Any) -> Json:
    secret = {"kind": "Secret", "metadata": {"name": "any"}}
    found = {"backup": w.backup(), "sourceSecret": secret, "targetSecret": secret}
    return {**found, "job": None, "task": None, "result": None, "pods": [], **more}


EXTERNAL = {"backupName": None, "externalSource": {"s3": w.S3}}
NOT_APART = {"s3": {**TARGET, "path": "backups/mo/earlier/new"}}
UNSCHEDULABLE = w.pod("Pending", unschedulable="0/3 nodes are available")

GOING = {"name": "earlier", "deletionTimestamp": w.NOW}
GOING_WITH_DATA = {**w.backup(), "metadata": GOING, "deletionPolicy": "Delete"}
IN_USE = {"conditions": [{"type": "Degraded", "status": "True", "reason": "InUse"}]}


def claim(state: str, path: str = "data/new", user: str = "x", **metadata: Any) -> Json:
    s3 = {"path": path, "endpoint": "http://minio:9000", "s3RetentionPolicy": "Delete"}
    return {
        "metadata": {"name": "c", "namespace": "prod", **metadata},
        "spec": {"s3": s3, "logSetRef": {"name": user}},
        "status": {"state": state},
    }


GONE = {"deletionTimestamp": w.NOW}

#: what is special, what is found, the phase, the reason of Degraded (empty: as expected)
CASES: dict[str, tuple[Json, Json, str, str]] = {
    "begins": ({}, {}, "Running", ""),
    "an address alone": (EXTERNAL, {"backup": None}, "Running", ""),
    "no Backup": ({}, {"backup": None}, "Pending", ""),
    "no Secret": ({}, {"targetSecret": None}, "Pending", "SecretMissing"),
    "no Secret of the source": ({}, {"sourceSecret": None}, "Pending", "SecretMissing"),
    "inside the backup": ({"target": NOT_APART}, {}, "Failed", "TargetIsSource"),
    "its data go": ({}, {"backup": GOING_WITH_DATA}, "Pending", ""),
    "its data wait": ({}, {"backup": {**GOING_WITH_DATA, "status": IN_USE}}, "Running", ""),
    "its data stay": ({}, {"backup": {**w.backup(), "metadata": GOING}}, "Running", ""),
    "a path in use": ({}, {"claims": [claim("InUse")]}, "Pending", ""),
    "a path around": ({}, {"claims": [claim("InUse", "data")]}, "Pending", ""),
    "a path that is deleted": ({}, {"claims": [claim("Deleting")]}, "Pending", ""),
    "soon deleted": ({}, {"claims": [claim("Released", **GONE)]}, "Pending", ""),
    "a path of the past": ({}, {"claims": [claim("Released")]}, "Running", ""),
    "another path": ({}, {"claims": [claim("InUse", "data/newer")]}, "Running", ""),
    "its own path": ({"owned": True}, {"claims": [claim("InUse", user="new")]}, "Running", ""),
    "its own old data": (
        {"owned": True},
        {"claims": [claim("Deleting", user="new")]},
        "Pending",
        "",
    ),
    "suspended": ({"suspend": True}, {}, "Pending", ""),
    "starts": ({}, {"job": w.job(), "pods": [w.pod("Pending")]}, "Running", ""),
    "no room": ({}, {"job": w.job(), "pods": [UNSCHEDULABLE]}, "Running", "PodUnschedulable"),
    "no Pod may be created": (
        {},
        {"job": w.job(), "podProblems": {"notCreated": {"": "exceeded quota"}}},
        "Running",
        "PodNotStarting",
    ),
    "copies": (
        {},
        {"job": w.job(), "pods": [w.pod()], "result": w.result()},
        "Running",
        "",
    ),
    "copied": (
        {},
        {"job": w.job(), "result": w.result("Succeeded", manifest=w.record())},
        "Completed",
        "",
    ),
    "copied, and the Job is gone": ({}, {"result": w.result("Succeeded")}, "Completed", ""),
    "taken": (
        {},
        {"job": w.job(), "result": w.result("Failed", "TargetNotEmpty")},
        "Failed",
        "TargetNotEmpty",
    ),
    "no result": (
        {},
        {"job": w.job(w.ended("Failed", "BackoffLimitExceeded"))},
        "Failed",
        "NoResult",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_pass(case: str) -> None:
    spec, observed, phase, degraded = CASES[case]
    subject, seen = restore_job(**spec), around(**observed)

    plan = planned(subject, seen)
    status = reported(subject, plan, seen)

    assert status["phase"] == phase
    reason = conditions(status)["Degraded"][1]
    assert reason == (degraded or "AsExpected")
    assert status["from"] == ("backups/mo/full" if spec is EXTERNAL else "earlier")
    assert ("completionTime" in status) == (phase in {"Completed", "Failed"})


def task_of(plan: Json) -> Any:
    [config] = [one for one in plan["objects"] if one["metadata"]["name"].endswith("-task")]
    return task_from_json(config["data"]["task.json"])


def test_task() -> None:
    plan = planned(restore_job(parallelism=3), around())
    task = task_of(plan)

    assert (task.verb, task.id, task.parallelism) == ("restore", w.UID, 3)
    assert (task.source.address, task.target.address) == ("backups/mo/earlier", "data/new")
    assert (task.source.credentials, task.target.credentials) == ("source", "target")
    assert task.expected_id == "id-earlier"
    [job] = [one for one in plan["objects"] if one["kind"] == "Job"]
    volumes = {one["name"]: one for one in job["spec"]["template"]["spec"]["volumes"]}
    assert volumes["source"]["secret"]["secretName"] == "store"
    assert volumes["target"]["secret"]["secretName"] == "own"
    assert "store" not in json.dumps(job["spec"]["template"]["spec"]["containers"])


def test_the_task_knows_the_version_that_is_to_run() -> None:
    subject = restore_job()
    assert task_of(planned(subject, around())).runs == ""
    subject["metadata"]["annotations"] = {"matrixorigin.io/runs-version": "3.0.4"}
    assert task_of(planned(subject, around())).runs == "3.0.4"


def test_a_cluster_goes_on_where_its_earlier_job_stopped() -> None:
    """Its RestoreJobs have one id, by which the program recognizes what it has copied."""
    first, second = restore_job(owned=True), restore_job(owned=True)
    second["metadata"]["uid"] = "0195abcd-6e1c-7000-8000-000000000002"

    assert task_of(planned(first, around())).id == task_of(planned(second, around())).id == "c-1"


def test_secret_of_another_namespace_is_named_and_not_copied() -> None:
    elsewhere = w.backup(secretNamespace="old")
    seen = around(backup=elsewhere, sourceSecret=None)

    plan = planned(restore_job(), seen)

    assert plan["objects"] == []
    for part in ("Secret store does not exist in namespace prod", "namespace old", "copy it"):
        assert part in plan["message"]


def test_overlay_beside_the_spec() -> None:
    """Where the reference had it; the one in the spec wins."""
    beside = {**restore_job(), "overlay": {"priorityClassName": "low"}}
    both = {**beside, "spec": {**beside["spec"], "overlay": {"priorityClassName": "high"}}}

    for subject, expected in ((beside, "low"), (both, "high")):
        [job] = [one for one in planned(subject, around())["objects"] if one["kind"] == "Job"]
        assert job["spec"]["template"]["spec"]["priorityClassName"] == expected


def test_a_mistake_names_the_overlay_that_was_written() -> None:
    wrong = {"tolerations": "x"}
    beside, inside = {**restore_job(), "overlay": wrong}, restore_job(overlay=wrong)
    for subject, field in ((beside, "overlay."), (inside, "spec.overlay.")):
        found = planned(subject, around())["invalid"]
        assert found.startswith(field), found


ENDED: Json = {
    "phase": "Completed",
    "message": "",
    "completionTime": w.BEGAN,
    "conditions": [{"type": "Ended", "status": "True", "reason": "JobComplete"}],
}


@pytest.mark.parametrize(
    ("owned", "record", "goes"),
    [
        (False, None, True),
        (True, {}, False),
        (True, {"phase": "Running"}, False),
        (True, {"phase": "Failed"}, False),
        (True, {"phase": "Completed"}, True),
        (True, {"phase": "Skipped"}, True),
    ],
)
def test_time_to_live_waits_for_the_record_of_the_cluster(
    owned: bool, record: Json | None, goes: bool
) -> None:
    """Without its job, a cluster that has nothing on record would be restored again."""
    cluster = None if record is None else {**w.cluster(), "status": {"restore": record}}

    plan = planned(restore_job(ENDED, owned=owned), around(cluster=cluster), now=w.LATER)

    assert bool(plan["expired"]) == goes
    assert plan["objects"] == []
    assert goes or plan["requeue"]


def test_what_is_observed() -> None:
    subject = restore_job(owned=True)

    before = references_of(subject)
    after = references_of(subject, [w.backup()])

    assert before["backup"]["name"] == "earlier"
    assert before["cluster"]["name"] == "new"
    assert "sourceSecret" not in before
    assert after["sourceSecret"]["name"] == "store"
    assert after["sourceSecret"]["namespace"] == "prod"
    assert after["targetSecret"]["name"] == "own"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"externalSource": {"s3": w.S3}}, "either backupName or externalSource"),
        ({"backupName": None}, "either backupName or externalSource"),
        ({"target": {}}, "spec.target"),
        ({"target": {"fileSystem": {"path": "relative"}}}, "absolute path"),
        ({"overlay": {"tolerations": "x"}}, "tolerations"),
        (
            {"target": {"fileSystem": {"path": "/x", "volume": {"hostPath": {"path": "/"}}}}},
            "spec.target.fileSystem.volume",
        ),
    ],
)
def test_refusals(spec: Json, expected: str) -> None:
    subject = restore_job(**spec)

    found = [str(one) for one in kinds.refusals(subject, None)]

    assert any(expected in one for one in found), found
    assert planned(subject, around())["invalid"]


def test_removal() -> None:
    [step] = removal_of(restore_job())

    assert {one["kind"] for one in step["prune"]["kinds"]} >= {"Job", "ConfigMap"}
    assert step["gone"]["labels"]["matrixorigin.io/component"] == "RestoreJob"
