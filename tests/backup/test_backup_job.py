# SPDX-License-Identifier: Apache-2.0
"""What a pass over a BackupJob decides and reports, by what it finds."""

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.plain import plain
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    REMOVED,
    Step,
    task_from_json,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.conditions import (
    completed,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.kstatus import (
    with_kstatus,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import (
    PassEnd,
    Play,
)

from tests.backup import worlds as w
from tests.support.passes import references_of
from tests.support.resources import merged

Json = dict[str, Any]

RUNNING = {"phase": "Running", "startTime": w.BEGAN}
FORBID = {"concurrencyPolicy": "Forbid"}
AVAILABLE = {**w.backup("a"), "status": {"phase": "Available"}}
REFUTED = merged(
    AVAILABLE, {"status": {"verification": {"result": "Failed", "reason": "TableUnreadable"}}}
)
INCREMENT = {"type": "incremental", "base": {"latest": True}}


def planned(resource: Json, observed: Json, now: str = w.NOW, image: str = "operator:1") -> Json:
    """Return the plan as the role has it."""
    play = Play(image=image)
    found: Json = plain(
        kinds.kind_of(resource).plan(resource, {**observed, "now": now}, play).variables()
    )
    return found


def reported(resource: Json, plan: Json, observed: Json, failure: str = "") -> Json:
    """Return the status that a pass writes."""
    kind = kinds.kind_of(resource)
    read = kind.plan_type.read(plan)
    return plain(
        kind.reporter.report(
            PassEnd(resource, read, {**observed, "now": w.NOW}, failure=failure)
        ).status
    )


def conditions(status: Json) -> dict[str, tuple[str, str]]:
    """Return status and reason of each condition."""
    return {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}


UNSCHEDULABLE = w.pod("Pending", unschedulable="0/3 nodes are available")
STARTS = w.pod("Pending", waiting="ContainerCreating")
REFUSED_POD: Json = {"podProblems": {"notCreated": {"": "exceeded quota: team"}}}
UNBOUND: Json = {"podProblems": {"notStarted": {STARTS["metadata"]["name"]: "claim c is pending"}}}
UNPULLED = w.pod("Pending", waiting="ImagePullBackOff")
UNCONFIGURED = w.pod("Pending", waiting="CreateContainerConfigError")
COMPLETE, FAILED = w.ended("Complete"), w.ended("Failed", "BackoffLimitExceeded")
LATE = w.ended("Failed", "DeadlineExceeded")
MORE = "2026-11-22T18:00:00Z"


def claim(path: str, state: str = "InUse") -> Json:
    """Return the claim of a database of another namespace, on the server of the target."""
    s3 = {"path": path, "endpoint": "http://minio.prod:9000"}
    metadata = {"name": "bucket-other", "namespace": "test"}
    return {"metadata": metadata, "spec": {"s3": s3}, "status": {"state": state}}


#: what is special, what is found, the phase, the reason of Degraded (empty: as expected)
CASES: dict[str, tuple[Json, Json, str, str]] = {
    "begins": ({}, {}, "Running", ""),
    "no source": ({}, {"source": None}, "Pending", ""),
    "no address": ({}, {"source": {**w.cluster(), "status": {}}}, "Pending", ""),
    "no Secret": ({}, {"targetSecret": None}, "Pending", "SecretMissing"),
    "no login": (
        {"source": {"clusterRef": "mo", "secretRef": "login"}},
        {"loginSecret": None},
        "Pending",
        "SecretMissing",
    ),
    "suspended": ({"suspend": True}, {}, "Pending", ""),
    "another": ({}, {"jobs": [w.backup_job("a", "0000", RUNNING)]}, "Pending", ""),
    "another, forbidden": (
        FORBID,
        {"jobs": [w.backup_job("a", "0000", RUNNING)]},
        "Failed",
        "AnotherIsRunning",
    ),
    "own prefix": ({"target": {"s3": {**w.S3, "path": "data/mo"}}}, {}, "Failed", "TargetIsSource"),
    "inside": ({"target": {"s3": {**w.S3, "path": "data/mo/b"}}}, {}, "Failed", "TargetIsSource"),
    "around": ({"target": {"s3": {**w.S3, "path": "data"}}}, {}, "Failed", "TargetIsSource"),
    "of another database": ({}, {"claims": [claim("backups/mo/full")]}, "Failed", "TargetIsSource"),
    "inside another": ({}, {"claims": [claim("backups/mo")]}, "Failed", "TargetIsSource"),
    "around another": ({}, {"claims": [claim("backups/mo/full/x")]}, "Failed", "TargetIsSource"),
    "kept data": ({}, {"claims": [claim("backups", "Released")]}, "Failed", "TargetIsSource"),
    "data that go": ({}, {"claims": [claim("backups", "Deleting")]}, "Failed", "TargetIsSource"),
    "no data yet": ({}, {"claims": [claim("backups", "Pending")]}, "Running", ""),
    "beside another": ({}, {"claims": [claim("backups/mo/full2")]}, "Running", ""),
    "no path": ({}, {"claims": [claim("backups/../..")]}, "Running", ""),
    "beside": ({"target": {"s3": {**w.S3, "path": "data/mo2"}}}, {}, "Running", ""),
    "no base": (INCREMENT, {"backups": []}, "Failed", "BaseMissing"),
    "a base": (INCREMENT, {"backups": [w.backup()]}, "Running", ""),
    "no Pod for long": ({}, {"job": w.job()}, "Running", "PodNotStarting"),
    "no Pod may be created": ({}, {"job": w.job(), **REFUSED_POD}, "Running", "PodNotStarting"),
    "a claim without a volume": (
        {},
        {"job": w.job(), "pods": [STARTS], **UNBOUND},
        "Running",
        "PodNotStarting",
    ),
    "unschedulable": ({}, {"job": w.job(), "pods": [UNSCHEDULABLE]}, "Running", "PodUnschedulable"),
    "no image": ({}, {"job": w.job(), "pods": [UNPULLED]}, "Running", "ImageNotAvailable"),
    "no start": ({}, {"job": w.job(), "pods": [UNCONFIGURED]}, "Running", "PodNotStarting"),
    "runs": ({}, {"job": w.job(), "pods": [w.pod()], "result": w.result()}, "Running", ""),
    "tried again": (
        {},
        {"job": w.job(), "result": w.result("Failed", "Unreachable", retryable=True)},
        "Running",
        "Unreachable",
    ),
    "denied": (
        {},
        {"job": w.job(), "result": w.result("Failed", "AccessDenied")},
        "Failed",
        "AccessDenied",
    ),
    "denied, Job gone": (
        {},
        {"result": w.result("Failed", "AccessDenied")},
        "Failed",
        "AccessDenied",
    ),
    "tries are over": (
        {},
        {"job": w.job(FAILED), "result": w.result("Failed", "Unreachable", retryable=True)},
        "Failed",
        "Unreachable",
    ),
    "no result": ({}, {"job": w.job(COMPLETE)}, "Failed", "NoResult"),
    "no result of a failed Job": ({}, {"job": w.job(FAILED)}, "Failed", "NoResult"),
    "result still runs": (
        {},
        {"job": w.job(COMPLETE), "result": w.result()},
        "Failed",
        "NoResult",
    ),
    "result comes late": (
        {},
        {"job": w.job(w.ended("Complete", at="2026-11-22T18:00:25Z"))},
        "Running",
        "",
    ),
    "result of an earlier Job": (
        {},
        {
            "job": w.job(),
            "result": w.result("Failed", "AccessDenied", started_at="2026-11-22T17:00:00Z"),
        },
        "Running",
        "PodNotStarting",
    ),
    "malformed result": (
        {},
        {"job": w.job(COMPLETE), "result": {"data": {"result.json": "{"}}},
        "Failed",
        "NoResult",
    ),
    "Job was deleted": ({}, {"result": w.result()}, "Running", ""),
    "Kubernetes' deadline": ({}, {"job": w.job(LATE)}, "Failed", "DeadlineExceeded"),
    "done": (
        {},
        {"job": w.job(), "result": w.result("Succeeded", manifest=w.record())},
        "Completed",
        "NotRecorded",
    ),
    "done, Job gone": (
        {},
        {"result": w.result("Succeeded", manifest=w.record())},
        "Completed",
        "NotRecorded",
    ),
    "another's success": (
        {},
        {"job": w.job(), "result": w.result("Succeeded", manifest=w.record("other"))},
        "Failed",
        "NoResult",
    ),
    "suspended while it runs": (
        {"suspend": True},
        {"job": w.job(), "pods": [w.pod()], "result": w.result()},
        "Pending",
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_found_decides(name: str) -> None:
    spec, found, phase, problem = CASES[name]
    resource, observed = w.backup_job(**spec), w.around(**found)
    plan = planned(resource, observed)
    assert plan["invalid"] == ""
    status = reported(resource, plan, observed)
    says = conditions(status)
    assert (status["phase"], plan["phase"]) == (phase, phase)
    assert says["Degraded"] == (("True", problem) if problem else ("False", "AsExpected"))
    assert says["Ended"][0] == str(phase in {"Completed", "Failed"})
    assert says["Ready"][0] == str(phase == "Completed")
    assert bool(plan["objects"]) == (phase == "Running" and "job" not in found)
    assert status["message"] or phase == "Completed"
    follows = {one["type"] for one in with_kstatus(status["conditions"])}
    assert ("Stalled" in follows) == (phase == "Failed")
    assert ("completionTime" in status) == (phase in {"Completed", "Failed"})
    assert bool(plan["requeue"]) != bool(spec.get("suspend"))


@pytest.mark.parametrize(
    ("result", "left"),
    [
        (w.result(), None),
        (w.result("Failed", "AccessDenied", step=Step.CHECK_TARGET), False),
        (w.result("Failed", "AccessDenied", step=Step.COPY), True),
        (w.result("Failed", "AccessDenied", step=Step.COPY, message=f"no{REMOVED}"), False),
    ],
    ids=["it runs", "it wrote nothing", "it wrote", "it has deleted that"],
)
def test_what_a_failed_backup_left_is_a_metric(result: Json, left: bool | None) -> None:
    resource, observed = w.backup_job(), w.around(job=w.job(), pods=[w.pod()], result=result)
    status = reported(resource, planned(resource, observed), observed)
    kind = kinds.kind_of(resource)
    [shown] = kind.metrics(resource, status)
    assert shown["gauge"] == {"set": float(bool(left))}
    assert ("may still be in" in status["message"]) == bool(left)
    [gone] = kind.metrics(resource, None)
    assert (gone["labels"], gone["gauge"]) == (shown["labels"], {"remove": True})


@pytest.mark.parametrize("late", [False, True], ids=["at first", "at the deadline"])
@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"pods": [], **REFUSED_POD}, "exceeded quota: team"),
        ({"pods": [STARTS], **UNBOUND}, "ContainerCreating; claim c is pending"),
        ({"pods": [UNSCHEDULABLE]}, "0/3 nodes are available"),
    ],
    ids=["refused", "unbound", "unschedulable"],
)
def test_what_keeps_the_pod_away_is_said(found: Json, said: str, late: bool) -> None:
    """At once: what Kubernetes says needs no patience. And after the Job has ended for it."""
    job = w.job(LATE) if late else {**w.job(), "metadata": {**w.job()["metadata"]}}
    resource, observed = w.backup_job(), w.around(job=job, **found)
    status = reported(resource, planned(resource, observed, now=w.BEGAN), observed)
    assert status["phase"] == ("Failed" if late else "Running")
    assert said in status["message"]


@pytest.mark.parametrize(
    "found",
    [
        {"source": None},
        {"targetSecret": None},
        {"job": w.job(), "pods": [UNSCHEDULABLE]},
        {"job": w.job(), "pods": [UNPULLED]},
        {"job": w.job(), "pods": [w.pod()], "result": w.result()},
        {"source": {**w.cluster(), "status": {}}},
    ],
)
def test_nothing_is_waited_for_beyond_the_deadline(found: Json) -> None:
    """Also where Kubernetes does not end the Job, or there is none."""
    resource, observed = w.backup_job(status=RUNNING), w.around(**found)
    assert planned(resource, observed)["phase"] != "Failed"
    plan = planned(resource, observed, now=w.LATER)
    assert (plan["phase"], plan["problem"]["reason"]) == ("Failed", "DeadlineExceeded")
    assert [one["kind"] for one in plan["stop"]] == (["Job"] if "job" in found else [])


def test_a_turn_that_has_not_come_has_no_deadline() -> None:
    other = w.backup_job("a", "0000", RUNNING)
    plan = planned(w.backup_job(), w.around(jobs=[other]), now=w.LATER)
    assert (plan["phase"], plan["begun"]) == ("Pending", "")


def test_one_whose_spec_is_refused_has_no_turn() -> None:
    """It waits for its author, and the others of its database would wait for ever."""
    other = w.backup_job("a", "0000", verify={"sharedStorage": {"s3": {"path": ".."}}})
    observed = w.around()
    other["status"] = completed(reported(other, planned(other, observed), observed), {}, w.NOW)
    assert conditions(other["status"])["Stalled"] == ("True", "InvalidSpec")
    resource = w.backup_job()
    assert "BackupJob a" not in planned(resource, w.around(jobs=[other]))["message"]
    other["metadata"]["generation"] += 1
    assert "BackupJob a" in planned(resource, w.around(jobs=[other]))["message"]


@pytest.mark.parametrize(
    "lack",
    [{"targetSecret": None}, {"source": {**w.cluster(), "status": {}}}],
    ids=["no Secret", "no address"],
)
def test_nobody_waits_for_one_that_waits_for_what_does_not_exist(lack: Json) -> None:
    """It would hold up all others of its database until its deadline, which is a day."""
    other, observed = w.backup_job("a", "0000"), w.around(**lack)
    other["status"] = completed(reported(other, planned(other, observed), observed), {}, w.NOW)
    assert other["status"]["startTime"]
    resource = w.backup_job()
    plan = planned(resource, w.around(jobs=[other]))
    assert plan["phase"] == "Running"
    resource["status"] = completed(reported(resource, plan, w.around()), {}, w.NOW)
    found = planned(other, w.around(jobs=[resource]))
    assert (found["phase"], found["begun"]) == ("Pending", w.NOW)
    assert "waiting: BackupJob full of the same database" in found["message"]
    late = planned(other, w.around(jobs=[resource]), now=w.LATER)
    assert late["problem"]["reason"] == "DeadlineExceeded"


def deleted(status: Json | None = None, **spec: Any) -> Json:
    """Return a BackupJob that somebody deletes."""
    resource = w.backup_job(status=RUNNING if status is None else status, **spec)
    return merged(resource, {"metadata": {"deletionTimestamp": w.NOW}})


PAUSED = {"metadata": {"annotations": {"matrixorigin.io/paused": "true"}}}


@pytest.mark.parametrize("how", [{}, PAUSED, {"spec": {"parallelism": 0}}], ids=["", "paused", "x"])
def test_a_complete_backup_is_recorded_when_its_job_is_deleted(how: Json) -> None:
    """Also where no pass has seen that it is complete: its files would be of nobody."""
    observed = w.around(result=w.result("Succeeded", manifest=w.record()))
    resource = merged(deleted(verify={}), how)
    plan = planned(resource, observed)
    assert [one["kind"] for one in plan["record"]] == ["Backup", "RestoreJob"]
    assert plan["record"][0]["meta"]["id"] == w.UID
    assert (plan["verified"]["phase"], plan["verified"]["id"]) == ("Available", w.UID)
    made = {**plan["record"][0], "status": plan["verified"]}
    assert kinds.kind_of(made).references(made) == {}
    live = {"objects": dict(zip(plan["recordOnce"], plan["record"], strict=True))}
    status = reported(resource, plan, {**observed, "recorded": live})
    assert (status["phase"], status["backup"]) == ("Completed", f"full-{w.UID[:8]}")


@pytest.mark.parametrize(
    ("status", "result", "left"),
    [
        (RUNNING, w.result(step=Step.COPY), True),
        (RUNNING, w.result("Failed", "Interrupted", step=Step.COPY, retryable=True), True),
        (RUNNING, None, True),
        (RUNNING, {"kind": "ConfigMap"}, False),
        (RUNNING, w.result(step=Step.CHECK_TARGET), False),
        (RUNNING, w.result("Failed", "AccessDenied", step=Step.COPY, message=REMOVED), False),
        ({}, None, False),
    ],
    ids=["it writes", "interrupted", "not known", "not begun", "looks", "removed", "no Job"],
)
def test_what_a_deleted_job_has_left_is_said(status: Json, result: Json | None, left: bool) -> None:
    """Nobody else knows of these files once it is gone."""
    resource, observed = deleted(status), w.around(result=result)
    plan = planned(resource, observed)
    assert plan["record"] == plan["objects"] == plan["stop"] == []
    assert bool(plan["problem"]) == left
    if left:
        written = reported(resource, plan, observed)
        assert conditions(written)["Ended"] == ("True", "JobFailed")
        assert "may still be in backups/mo/full" in written["message"]


def test_what_has_ended_is_not_recorded_again_when_its_job_is_deleted() -> None:
    """Its Backup may have been deleted since."""
    observed = w.around(result=w.result("Succeeded", manifest=w.record()))
    resource = w.backup_job()
    ended = completed(reported(resource, planned(resource, observed), observed), {}, w.NOW)
    plan = planned(deleted(ended), observed)
    assert (plan["record"], plan["problem"], plan["expired"]) == ([], {}, [])


def test_a_deleted_job_ends_before_its_result_is_read_and_deleted() -> None:
    """And the result is read from the API server: the Pod has just written it."""
    resource = deleted()
    kind = kinds.kind_of(resource)
    first, last = (plain(one.prune)["kinds"] for one in kind.removal(resource, {}))
    assert [one["kind"] for one in (*first, *last)] == ["Job", "ConfigMap"]
    references = references_of(resource)
    assert references["result"]["latest"] is True
    assert "targetSecret" not in references


def test_a_suspended_backup_has_no_deadline() -> None:
    resource = w.backup_job(status=RUNNING, suspend=True)
    plan = planned(resource, w.around(job=w.job(suspend=True)), now=w.LATER)
    assert (plan["phase"], plan["progress"]) == ("Pending", "Suspended")
    assert plan["patches"][0]["spec"]["suspend"] is True


def test_a_job_that_goes_on_is_resumed() -> None:
    resource = w.backup_job(status=RUNNING)
    plan = planned(resource, w.around(job=w.job(suspend=True)))
    assert plan["patches"][0]["spec"] == {
        "suspend": False,
        "activeDeadlineSeconds": 86400,
        "backoffLimit": 3,
    }


@pytest.mark.parametrize(
    ("job", "phase"),
    [
        (w.job(suspend=True), "Running"),
        (w.job({"type": "Suspended", "status": "True"}), "Running"),
        (w.job({"type": "Suspended", "status": "False"}), "Failed"),
    ],
    ids=["not told yet", "told", "resumed"],
)
def test_a_job_that_is_resumed_has_its_whole_deadline(job: dict[str, Any], phase: str) -> None:
    """Until the Job controller resumes it, it has the time of its start before it was suspended."""
    plan = planned(w.backup_job(status=RUNNING), w.around(job=job), now=w.LATER)
    assert plan["phase"] == phase


def test_the_pass_that_ends_a_job_asks_for_the_one_that_deletes_it() -> None:
    """Nothing else leads to a pass when the time to live is over."""
    plan = planned(w.backup_job(ttl="90s"), w.around(job=w.job(COMPLETE)))
    assert (plan["phase"], plan["requeue"]) == ("Failed", "91s")
    plan = planned(w.backup_job(ttl="9h"), w.around(job=w.job(COMPLETE)))
    assert plan["requeue"] == "3600s"


def test_what_ended_stays_and_goes_when_its_time_is_over() -> None:
    ended = w.backup_job(ttl="90s")
    observed = w.around(result=w.result("Failed", "AccessDenied"))
    ended["status"] = reported(ended, planned(ended, observed), observed)
    plan = planned(ended, w.around(), now="2026-11-22T18:01:00Z")
    assert (plan["requeue"], plan["expired"], plan["objects"]) == ("61s", [], [])
    assert reported(ended, plan, {}) == ended["status"]
    [gone] = planned(ended, w.around(), now="2026-11-22T18:02:00Z")["expired"]
    assert gone["metadata"] == {"name": "full", "namespace": "prod", "uid": w.UID}


def test_what_ended_is_reported_for_a_later_generation() -> None:
    """`kubectl wait` and kstatus compare generations."""
    ended, observed = w.backup_job(), w.around(result=w.result("Failed", "AccessDenied"))
    ended["status"] = reported(ended, planned(ended, observed), observed)
    ended["metadata"]["generation"] = 2
    status = reported(ended, planned(ended, w.around()), {})
    assert {one["observedGeneration"] for one in status["conditions"]} == {2}
    assert status["observedGeneration"] == 2


def test_a_success_is_recorded_as_a_backup() -> None:
    resource = w.backup_job(deletionPolicy="Delete", serviceAccountName="robot")
    resource["metadata"]["labels"] = {"matrixorigin.io/backup-schedule": "daily", "a": "b"}
    observed = w.around(result=w.result("Succeeded", manifest=w.record()))
    plan = planned(resource, observed)
    [record] = plan["record"]
    assert record["metadata"]["name"] == "full-0195abcd"
    assert record["metadata"]["labels"]["matrixorigin.io/backup-schedule"] == "daily"
    assert record["metadata"]["labels"]["matrixorigin.io/namespace"] == "prod"
    assert record["deletionPolicy"] == "Delete"
    meta = record["meta"]
    assert meta["location"] == {"s3": w.S3}
    assert (meta["id"], meta["size"], meta["atTime"]) == (w.UID, "12Mi", w.BEGAN)
    assert (meta["secretNamespace"], meta["serviceAccountName"]) == ("prod", "robot")
    assert meta["sourceRef"] == "matrixonecluster/prod/mo"
    assert "\n" not in meta["raw"]
    seen = {**observed, "recorded": {"objects": {"Backup/full-0195abcd": record}}}
    status = reported(resource, plan, seen)
    assert status["backup"] == "full-0195abcd"
    assert conditions(status)["Degraded"] == ("False", "AsExpected")
    assert (status["size"], status["atTime"], status["id"]) == ("12Mi", w.BEGAN, w.UID)


PVC = {"persistentVolumeClaim": {"claimName": "backups"}}
MOUNT = {"name": "b", "mountPath": "/backups"}
RECORDED = {"volume": PVC, "mountPath": "/backups"}


@pytest.mark.parametrize(
    ("files", "overlay", "recorded"),
    [
        ({}, {"volumes": [{"name": "b", **PVC}], "volumeMounts": [MOUNT]}, RECORDED),
        ({}, {"volumes": [{"name": "b", **PVC}],
              "volumeMounts": [{**MOUNT, "mountPath": "/back"}]}, {}),
        ({}, {"volumes": [{"name": "b", **PVC}], "volumeMounts": [{**MOUNT, "subPath": "x"}]}, {}),
        ({}, {}, {}),
        (RECORDED, {}, RECORDED),
    ],
)  # fmt: skip
def test_the_volume_of_a_folder_is_recorded(files: Json, overlay: Json, recorded: Json) -> None:
    """Who deletes the Backup has neither the BackupJob nor its overlay."""
    folder = {"path": "/backups/mo/full", **files}
    resource = w.backup_job(target={"fileSystem": folder}, overlay=overlay)
    found = w.around(result=w.result("Succeeded", manifest=w.record()))
    [record] = planned(resource, found)["record"]
    assert record["meta"]["location"]["fileSystem"] == {"path": "/backups/mo/full", **recorded}
    record |= {"deletionPolicy": "Delete"}
    record["metadata"] |= {"deletionTimestamp": w.NOW, "uid": "b-1"}
    nobody = {
        key: [] for key in ("everyBackup", "everyBackupJob", "everyRestoreJob", "everyCluster")
    }
    plan = planned(record, {**w.around(), **nobody})
    jobs = [one for one in plan["objects"] if one["kind"] == "Job"]
    if not recorded:
        assert (jobs, plan["done"], plan["problem"]["reason"]) == ([], False, "InvalidSpec")
        assert "fileSystem.volume" in plan["message"]
        return
    [mounted] = [
        one
        for one in jobs[0]["spec"]["template"]["spec"]["volumes"]
        if one["name"] == "target-files"
    ]
    assert mounted == {"name": "target-files", **PVC}


@pytest.mark.parametrize(
    ("step", "message", "says"),
    [
        ("Backup", "no space", "may still be in backups/mo/full"),
        ("Record", f"no space; {REMOVED}", ""),
        ("CheckTarget", "it is not empty", ""),
    ],
)
def test_what_a_failed_backup_has_left_is_said(step: str, message: str, says: str) -> None:
    result = {"phase": "Failed", "reason": "OutOfSpace", "message": message, "step": step}
    found = w.around(result={"data": {"result.json": json.dumps({**result, "startedAt": w.BEGAN})}})
    resource = w.backup_job()
    plan = planned(resource, found)
    status = reported(resource, plan, found)
    degraded = next(one for one in status["conditions"] if one["type"] == "Degraded")
    for text in (status["message"], degraded["message"]):
        assert says in text if says else text == message


@pytest.mark.parametrize(
    ("recorded", "reason"),
    [
        ({"failed": True, "status": 403, "msg": "create Backup: forbidden"}, "NotRecorded"),
        ({"objects": {"Backup/full-0195abcd": {"meta": {"id": "other"}}}}, "NameTaken"),
    ],
)
def test_a_backup_without_its_object_is_complete_all_the_same(recorded: Json, reason: str) -> None:
    """An operator of one namespace has no right to it; the record beside the data is there."""
    resource, observed = w.backup_job(), w.around(result=w.result("Succeeded", manifest=w.record()))
    status = reported(resource, planned(resource, observed), {**observed, "recorded": recorded})
    assert status["phase"] == "Completed"
    assert conditions(status)["Degraded"] == ("True", reason)
    assert "backup" not in status


def test_a_failed_pass_changes_no_phase() -> None:
    resource, observed = w.backup_job(status=RUNNING), w.around()
    status = reported(resource, planned(resource, observed), observed, "apply Job: refused")
    assert (status["phase"], status["message"]) == ("Running", "apply Job: refused")
    assert conditions(status)["Synced"] == ("False", "ApplyFailed")


def test_the_task_says_what_was_decided() -> None:
    resource = w.backup_job(**INCREMENT, parallelism=3, activeDeadlineSeconds=99)
    plan = planned(resource, w.around(backups=[w.backup()]))
    task = task_from_json(plan["objects"][0]["data"]["task.json"])
    assert task.base is not None
    assert (task.base.id, task.base.location.address) == ("id-earlier", "backups/mo/earlier")
    assert task.base.location.credentials == "target"
    assert (task.id, task.type, task.parallelism) == (w.UID, "incremental", 3)
    assert [one.address for one in task.forbidden] == ["data/mo"]
    assert task.deadline_seconds == 99
    assert plan["facts"] == {"base": {"name": "earlier", "id": "id-earlier"}}


def test_without_a_right_to_backups_there_is_no_base() -> None:
    """An operator of single namespaces is refused; that is an answer, not a failure of the pass."""
    resource = w.backup_job(**INCREMENT)
    reference = kinds.kind_of(resource).references(resource)["backups"]
    assert reference.get("if_allowed") is True
    plan = planned(resource, w.around(backups=None))
    assert (plan["phase"], plan["problem"]["reason"]) == ("Failed", "BaseMissing")
    assert "has no right to Backups" in plan["message"]


def test_the_base_stays_the_one_of_the_task() -> None:
    """A Backup that comes later changes nothing; an operator that was killed goes on."""
    resource = w.backup_job(**INCREMENT)
    made = planned(resource, w.around(backups=[w.backup()]))["objects"][0]
    newer = w.backup("newer", atTime="2026-11-22T18:00:20Z")
    observed = w.around(task=made, job=w.job(), backups=[w.backup(), newer])
    assert planned(resource, observed)["facts"]["base"] == {"name": "earlier", "id": "id-earlier"}


@pytest.mark.parametrize(
    ("backups", "named", "expected"),
    [
        ([w.backup("a"), w.backup("b", atTime="2026-11-22T18:00:20Z")], "", "b"),
        ([w.backup("a"), w.backup("b", sourceRef="matrixonecluster/prod/other")], "", "a"),
        ([w.backup("a"), w.backup("b", atTime="2026-11-21T00:00:00Z")], "b", "of another database"),
        ([w.backup("a")], "b", "Backup b does not exist"),
        ([w.backup("a", sourceRef="cnset/prod/mo-tp")], "a", "is of cnset/prod/mo-tp"),
        ([{**w.backup("a"), "status": {"phase": "Broken"}}], "a", "Backup a is broken"),
        ([REFUTED], "a", "Backup a is broken"),
        ([REFUTED, w.backup("b", atTime=w.BEGAN)], "", "b"),
        ([REFUTED, w.backup("b", base={"id": "id-a"})], "b", "based on Backup a, which cannot be"),
        ([REFUTED, w.backup("b", base={"id": "id-a"})], "", "no available Backup"),
        ([w.backup("b", base={"id": "gone"})], "b", "based on a Backup that does not exist"),
        ([w.backup("a"), w.backup("b", base={"id": "id-b"})], "", "a"),
        ([w.backup("a"), w.backup("b", base={"id": "id-a"}, atTime=w.NOW)], "", "b"),
        ([AVAILABLE, w.backup("b", atTime=w.NOW)], "", "a"),
        ([w.backup("a", sourceUid="u-2")], "a", "is of an earlier matrixonecluster/prod/mo"),
        ([w.backup("a", location={"fileSystem": {"path": "/b"}})], "a", "on another server"),
        ([w.backup("a", location={})], "a", "cannot be read"),
        ([w.backup("a", atTime="soon")], "a", "cannot be read"),
    ],
)
def test_the_base_fits(backups: list[Json], named: str, expected: str) -> None:
    base = {"backupName": named} if named else {"latest": True}
    resource = w.backup_job(type="incremental", base=base)
    plan = planned(resource, w.around(backups=backups))
    assert expected in (plan["message"] if plan["problem"] else plan["facts"]["base"]["name"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"target": {}}, "spec.target: one of s3 or fileSystem must be set"),
        ({"engine": "mo_br"}, "spec.engine: mo_br is not supported"),
        ({"type": "incremental"}, "spec.base: must be given"),
        (
            {
                "overlay": {
                    "hostNetwork": True,
                    "volumes": [{"name": "a", "hostPath": {"path": "/"}}],
                }
            },
            "hostPath",
        ),
        (
            {
                "target": {
                    "fileSystem": {
                        "path": "/b",
                        "mountPath": "/b",
                        "volume": {"hostPath": {"path": "/"}},
                    }
                }
            },
            "spec.target.fileSystem.volume.hostPath",
        ),
        ({"overlay": {"securityContext": {"runAsUser": 0}}}, "runAsUser"),
    ],
)
def test_what_cannot_be_used_is_refused(spec: Json, message: str) -> None:
    """At admission and in the role, which creates nothing then."""
    resource = w.backup_job(**spec)
    plan = planned(resource, w.around())
    assert message in plan["invalid"]
    assert plan["objects"] == []
    assert message in "; ".join(map(str, kinds.refusals(resource, None)))
    status = reported(resource, plan, w.around())
    assert conditions(status)["Synced"] == ("False", "InvalidSpec")


def test_without_an_image_nothing_is_created() -> None:
    plan = planned(w.backup_job(), w.around(), image="")
    assert "OPERATOR_IMAGE" in plan["invalid"]


TLS = {"tls": {"secretRef": {"name": "mo-tls"}}}


@pytest.mark.parametrize(
    ("host", "spec", "mounted"),
    [
        ("mo-proxy.prod", TLS, ["mo-tls"]),
        ("mo-proxy.prod", {}, []),
        ("mo-tp-cn.prod", TLS, []),
    ],
    ids=["a proxy with TLS", "without TLS", "a compute node"],
)
def test_a_proxy_with_tls_has_to_prove_what_it_is(
    host: str, spec: Json, mounted: list[str]
) -> None:
    source = w.cluster()
    source["spec"] |= spec
    source["status"]["host"] = host
    made = planned(w.backup_job(), w.around(source=source))["objects"]
    [job] = [one for one in made if one["kind"] == "Job"]
    volumes = job["spec"]["template"]["spec"]["volumes"]
    shown = [one["secret"] for one in volumes if one["name"] == "tls"]
    assert [one["secretName"] for one in shown] == mounted
    assert all({item["key"] for item in one["items"]} == {"tls.crt", "ca.crt"} for one in shown)
    [text] = [one["data"]["task.json"] for one in made if one.get("data")]
    assert json.loads(text)["login"].get("tls", False) is bool(mounted)


def test_a_paused_backup_is_left_alone() -> None:
    resource = w.backup_job(status={**RUNNING, "conditions": [], "message": ""})
    resource["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    plan = planned(resource, w.around(job=w.job()))
    assert (plan["paused"], plan["objects"], plan["patches"]) == (True, [], [])
    assert conditions(reported(resource, plan, {}))["Paused"] == ("True", "PausedByAnnotation")


VERIFY = {"checks": [{"sql": "select 1", "rows": [[1]]}]}


def test_a_backup_is_verified_by_a_restore_job_of_its_own() -> None:
    """Nobody owns it, so that it outlives the BackupJob; the Jobs have the same settings."""
    observed = around_success()
    overlay = {"priorityClassName": "low"}
    resource = w.backup_job(verify=VERIFY, overlay=overlay, activeDeadlineSeconds=60)

    plan = planned(resource, observed)

    record, order = plan["record"]
    assert order["kind"] == "RestoreJob"
    assert order["metadata"]["name"] == record["metadata"]["name"] == "full-0195abcd"
    assert order["metadata"]["annotations"] == {"matrixorigin.io/keep": "true"}
    assert order["spec"] == {
        "backupName": "full-0195abcd",
        "verify": VERIFY,
        "overlay": overlay,
        "activeDeadlineSeconds": 60,
    }
    assert plan["recordOnce"] == ["Backup/full-0195abcd", "RestoreJob/full-0195abcd"]
    assert kinds.refusals({**order, "kind": "RestoreJob"}, None) == []

    both = {"Backup/full-0195abcd": record, "RestoreJob/full-0195abcd": order}
    done = reported(resource, plan, {**observed, "recorded": {"objects": both}})
    assert (done["phase"], done["backup"]) == ("Completed", "full-0195abcd")
    assert conditions(done)["Degraded"][1] == "AsExpected"
    del both["RestoreJob/full-0195abcd"]
    half = reported(resource, plan, {**observed, "recorded": {"objects": both, "msg": "no"}})
    assert conditions(half)["Degraded"][1] == "NotRecorded"
    assert half["backup"] == "full-0195abcd"


def around_success() -> Json:
    return w.around(job=w.job(), result=w.result("Succeeded", manifest=w.record()))


@pytest.mark.parametrize("length", [1, 45, 52])
def test_name_of_a_verification_fits(length: int) -> None:
    resource = w.backup_job("x" * length, verify={})

    _record, order = planned(resource, around_success())["record"]

    assert len(order["metadata"]["name"]) <= 54
    assert order["metadata"]["name"].endswith("-0195abcd")


def test_verification_needs_a_cluster() -> None:
    source = {"cnSetRef": "tp", "secretRef": "login"}

    found = [str(one) for one in kinds.refusals(w.backup_job(source=source, verify={}), None)]

    assert any("spec.verify" in one for one in found), found


def test_a_job_of_which_it_is_not_known_when_it_ended_stays() -> None:
    ended = {"phase": "Completed", "conditions": [{"type": "Ended", "status": "True"}]}
    for ttl in ("1h", "0"):
        resource = w.backup_job(status=ended, ttl=ttl)
        assert planned(resource, w.around(), w.LATER)["expired"] == []
    dated = w.backup_job(status={**ended, "completionTime": w.BEGAN}, ttl="1h")
    assert len(planned(dated, w.around(), w.LATER)["expired"]) == 1


def test_a_source_that_is_not_named_is_refused() -> None:
    """An API server with an earlier schema has stored it; no reference is made of it."""
    subject = w.backup_job(source={"clusterRef": ""})
    assert "source" not in references_of(subject)
    plan = planned(subject, w.around(source=None))
    assert "spec.source.clusterRef" in plan["invalid"]
    assert conditions(reported(subject, plan, w.around(source=None)))["Synced"][1] == "InvalidSpec"
