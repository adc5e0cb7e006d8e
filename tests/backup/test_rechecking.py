# SPDX-License-Identifier: Apache-2.0
"""A Backup of which nothing is known is looked for in its store, and is neither good nor bad."""

import copy
import json
import re
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import links
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    task_from_json,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import kind_of
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import (
    PassEnd,
    Play,
)

from tests.backup import worlds as w

Json = dict[str, Any]
NAME, SECRET = f"full-{w.UID[:8]}", {"kind": "Secret", "metadata": {"name": "store"}}


def backup(status: Json | None = None, generation: int = 1, **meta: Any) -> Json:
    """Return the Backup of the BackupJob ``full``, or one that was applied again."""
    given = {"id": w.UID, "secretNamespace": "prod", "completeTime": w.NOW, **meta}
    found = w.backup(NAME, **given)
    found |= {"apiVersion": "core.matrixorigin.io/v1alpha1"}
    found["metadata"] |= {"uid": "b-1", "generation": generation, "creationTimestamp": w.LATER}
    return {**found, "status": status} if status else found


def passed(resource: Json, **observed: Any) -> tuple[Any, Json]:
    """Return the plan of a pass, and the status that it writes."""
    kind = kind_of(resource)
    seen = {"sourceSecret": SECRET, "pods": [], **observed, "now": w.LATER}
    plan = kind.plan(resource, seen, Play(image="operator:1"))
    plan = kind.plan_type.read(plan.variables())
    return plan, dict(kind.reporter.report(PassEnd(resource, plan, seen)).status)


AVAILABLE = {"phase": "Available", "observedGeneration": 1, "id": w.UID}
DONE = w.job(w.ended("Complete"))
FAILED = w.job(w.ended("Failed", "PodFailurePolicy"))


def result(phase: str, reason: str = "", **more: Any) -> Json:
    metadata = {"name": "r", "namespace": "prod", "uid": "r-1", "creationTimestamp": w.LATER}
    return {**w.result(phase, reason, **more), "metadata": metadata}


def test_what_is_known_needs_no_request() -> None:
    known = backup(AVAILABLE)
    assert kind_of(known).references(known) == {}
    plan, status = passed(known)
    assert (plan.objects, plan.requeue, status["phase"]) == ((), "", "Available")


def test_the_backup_of_a_job_that_has_just_recorded_it_is_available() -> None:
    for status in ({}, {"completionTime": w.LATER}):
        plan, written = passed(backup(), madeBy=w.backup_job("full", status=status))
        assert (plan.objects, written["phase"], written["id"]) == ((), "Available", w.UID)
        assert written["lastVerified"] == w.NOW
    old = w.backup_job("full", status={"completionTime": w.BEGAN})
    another = w.backup_job("full", uid="another")
    for job in (None, old, another):
        assert passed(backup(), madeBy=job)[1]["phase"] == "Pending"


@pytest.mark.parametrize(
    "status",
    [
        None,
        {"phase": "Pending"},
        {**AVAILABLE, "id": "of-another"},
        {**AVAILABLE, "observedGeneration": 0},
    ],
)
def test_what_is_not_known_is_looked_for(status: Json | None) -> None:
    unknown = backup(status)
    wanted = kind_of(unknown).references(unknown)
    assert {"madeBy", "job", "result", "pods", "sourceSecret"} <= set(wanted)
    assert wanted["madeBy"]["name"] == "full"
    plan, written = passed(unknown)
    task = task_from_json(plan.objects[0]["data"]["task.json"])
    assert (task.verb, task.expected_id, task.checksums) == ("verify", w.UID, False)
    assert task.source is not None
    assert task.source.address == f"backups/mo/{NAME}"
    assert plan.objects[-1]["kind"] == "Job"
    assert re.fullmatch(f"{NAME}-check-[0-9a-z]{{7}}", plan.objects[-1]["metadata"]["name"])
    assert (written["phase"], written["message"]) == ("Pending", "its files are being looked for")
    assert links.state_of({**unknown, "status": written}).known is False


@pytest.mark.parametrize(
    ("job", "found", "phase", "known"),
    [
        (DONE, result("Succeeded", manifest=w.record()), "Available", True),
        (None, result("Succeeded", manifest=w.record()), "Available", True),
        (DONE, result("Succeeded", manifest=w.record("another")), "Pending", False),
        (FAILED, result("Failed", "ObjectMissing"), "Broken", True),
        (FAILED, result("Failed", "ChainBroken"), "Broken", True),
        (FAILED, result("Failed", "TargetMissing"), "Pending", False),
        (FAILED, result("Failed", "AccessDenied"), "Pending", False),
        (FAILED, result("Failed", "Unreachable"), "Pending", False),
        (FAILED, None, "Pending", False),
        (w.job(), None, "Pending", False),
    ],
)
def test_what_the_job_has_found(job: Json | None, found: Json, phase: str, known: bool) -> None:
    plan, written = passed(backup(), job=job, result=found)
    assert (written["phase"], links.state_of(backup(written)).known) == (phase, known)
    assert bool(plan.requeue) is not known
    left = [*(["Job"] if job else []), "ConfigMap"]
    assert [one["kind"] for one in plan.stop if known] == (left if known else [])
    if phase == "Available":
        assert written["lastVerified"] == w.LATER


def test_what_says_nothing_of_the_files_leads_to_the_same_job() -> None:
    """A policy, or a label of the source, that changes and changes back leaves no second Job."""
    first = passed(backup())[0].objects[-1]["metadata"]["name"]
    for more, same in (
        ({"generation": 7}, True),
        ({"sourceUid": "another"}, True),
        ({"id": "another"}, False),
        (
            {"location": {"s3": {"type": "minio", "endpoint": "http://other:9000", "path": "b/x"}}},
            False,
        ),
    ):
        objects = passed(backup(**more))[0].objects
        assert not objects or (objects[-1]["metadata"]["name"] == first) is same, more


def test_a_change_that_says_nothing_of_the_files_leads_to_no_job() -> None:
    """A status of an earlier release tells by the generation alone."""
    _plan, known = passed(backup(AVAILABLE))
    for more, is_known in (
        ({"generation": 7}, True),
        ({"generation": 7, "sourceUid": "another"}, True),
        ({"secretNamespace": "another"}, False),
        ({"location": {"s3": {"path": "b/x"}}}, False),
    ):
        changed = backup(known, **more)
        plan, written = passed(changed)
        assert (not plan.objects, written["phase"] == "Available") == (is_known, is_known), more
        assert links.state_of(changed).known is is_known
    assert passed(backup(AVAILABLE, generation=7))[0].objects


def test_a_pass_over_a_paused_backup_finds_out_nothing() -> None:
    changed = backup(passed(backup(AVAILABLE))[1], secretNamespace="another")
    changed["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    written = passed(changed)[1]
    assert not links.is_about({**changed, "status": written})


def test_the_verification_of_another_backup_is_forgotten() -> None:
    restorable = {"type": "Restorable", "status": "False", "reason": "VerificationFailed"}
    refuted = {"verification": {"result": "Failed"}, "conditions": [restorable]}
    for identity, kept in (("of-another", False), (w.UID, True)):
        _plan, written = passed(backup({**AVAILABLE, **refuted, "id": identity}, generation=2))
        assert ("verification" in written) is kept
        types = [one["type"] for one in written["conditions"]]
        assert ("Restorable" in types) is kept


@pytest.mark.parametrize(
    ("resource", "observed", "reason"),
    [
        (backup(), {"sourceSecret": None}, "SecretMissing"),
        (backup(secretNamespace=None), {}, "InvalidSpec"),
        (backup(location={"s3": {"path": "x"}, "fileSystem": {"path": "/x"}}), {}, "InvalidSpec"),
    ],
)
def test_what_keeps_it_from_being_looked_for_is_said(
    resource: Json, observed: Json, reason: str
) -> None:
    plan, written = passed(copy.deepcopy(resource), **observed)
    assert (plan.problem["reason"], written["phase"], plan.requeue) == (reason, "Pending", "60s")
    degraded = {one["type"]: one for one in written["conditions"]}["Degraded"]
    assert (degraded["status"], degraded["reason"]) == ("True", reason)


def test_a_pause_tells_nothing() -> None:
    paused = backup()
    paused["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    assert json.loads(json.dumps(passed(paused)[1]))["phase"] == "Pending"
