# SPDX-License-Identifier: Apache-2.0
"""Tasks and results: written by one side, read by the other."""

import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import manifest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.errors import (
    InvalidTask,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    Amount,
    BaseBackup,
    Login,
    Phase,
    Reason,
    Report,
    Result,
    Step,
    Task,
    Verb,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.verification.checks import (
    Check,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.locations import (
    FolderLocation,
    S3Location,
)

from .test_manifest import FULL

PLACE = S3Location("b", "x/2", "http://s3:9000", "us-west-2", "minio", "target")
BACKUP = Task(
    verb=Verb.BACKUP,
    id="b2",
    target=PLACE,
    login=Login("mo-tp-cn.ns.svc", 6001),
    origin=manifest.Origin("MatrixOneCluster", "ns", "mo"),
    forbidden=(replace(PLACE, prefix="mo"),),
    report=Report("ns", "b2-result"),
    deadline_seconds=60,
    parallelism=2,
)
CONTINUED = replace(BACKUP, type="incremental", base=BaseBackup(replace(PLACE, prefix="x/1"), "b1"))
RESTORE = Task(
    Verb.RESTORE,
    "r1",
    source=PLACE,
    target=FolderLocation("/v/mo", "/v/mo"),
    expected_id="b2",
    runs="3.0.4",
    checksums=False,
)
READ = Task(
    Verb.READ,
    "r2",
    login=Login("mo-tp-cn.ns.svc", 6001),
    checks=(Check("a", "select 1", (("1", None),)), Check("b", "select 2"), Check("c", "x", ())),
)
PURGE = Task(Verb.PURGE, "p1", target=PLACE, expected_id="c1")
TASKS = [
    READ,
    PURGE,
    BACKUP,
    CONTINUED,
    replace(BACKUP, login=Login("mo-proxy.ns.svc", 6001, tls=True)),
    RESTORE,
    Task(Verb.VERIFY, "v1", source=PLACE),
    Task(Verb.DELETE, "d1", target=PLACE),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.verb}-{task.type}")
def test_a_task_is_read_as_it_was_written(task: Task) -> None:
    assert tasks.task_from_json(tasks.task_to_json(task)) == task


def test_what_a_task_leaves_out_has_defaults() -> None:
    text = '{"verb":"verify","id":"v","source":{"fileSystem":{"path":"/b/1"}}}'
    task = tasks.task_from_json(text)
    assert (task.parallelism, task.deadline_seconds, task.report) == (8, 86400, None)
    assert task.source == FolderLocation("/b/1", "/b/1")


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        (BACKUP, {"verb": "copy"}, "verb: must be one of backup, verify, restore, delete"),
        (BACKUP, {"id": ""}, "id: must be set"),
        (BACKUP, {"target": None}, "needs target"),
        (BACKUP, {"login": None}, "needs login"),
        (BACKUP, {"type": "incremental"}, "base must be set"),
        (CONTINUED, {"type": "full"}, "base must be set"),
        (CONTINUED, {"base": {"id": "b1"}}, "base.location: must be set"),
        (RESTORE, {"source": None}, "needs source"),
        (READ, {"login": None}, "needs login"),
        (PURGE, {"expects": {}}, "needs expected_id"),
        (RESTORE, {"target": {"s3": {"bucket": "b"}}}, "needs bucket, endpoint, region"),
        (RESTORE, {"parallelism": 0}, "parallelism: must be at least 1"),
        (RESTORE, {"deadlineSeconds": "1h"}, "deadlineSeconds: must be an integer"),
    ],
)
def test_tasks_that_cannot_be_done(task: Task, change: dict[str, Any], message: str) -> None:
    document = json.loads(tasks.task_to_json(task)) | change
    with pytest.raises(InvalidTask, match=message):
        tasks.task_from_json(json.dumps(document))


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '"x"'])
def test_what_is_no_task_or_result(text: str) -> None:
    with pytest.raises(InvalidTask):
        tasks.task_from_json(text)
    with pytest.raises(InvalidTask):
        tasks.result_from_json(text)


RESULTS = [
    Result(Phase.SUCCEEDED, reading=tasks.Reading(40, 12345, 2048)),
    Result(Phase.FAILED, reason=Reason.TABLE_UNREADABLE, reading=tasks.Reading(1, 0, 0)),
    Result(Phase.FAILED, reason=Reason.CATALOG_NOT_UPGRADED, reading=tasks.Reading(1, 0, 0)),
    Result(Phase.RUNNING),
    Result(
        Phase.RUNNING, Step.COPY, Amount(1, 10), Amount(3, 30), started_at="2026-11-22T18:10:00Z"
    ),
    Result(Phase.FAILED, Step.BACKUP, reason=Reason.OUT_OF_SPACE, message="the bucket b is full"),
    Result(Phase.SUCCEEDED, Step.RECORD, manifest=manifest.from_document(FULL), retryable=True),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.phase)
def test_a_result_is_read_as_it_was_written(result: Result) -> None:
    assert tasks.result_from_json(tasks.result_to_json(result)) == result


def test_a_long_message_is_cut() -> None:
    text = tasks.result_to_json(Result(Phase.FAILED, message="x" * 5000))
    assert len(tasks.result_from_json(text).message) == tasks.LONGEST_MESSAGE


@pytest.mark.parametrize(
    "document",
    [
        {"phase": "Over"},
        {"phase": "Failed", "reason": "Whatever"},
        {"phase": "Running", "step": "Dance"},
        {"phase": "Running", "done": {"files": -1}},
        {"phase": "Succeeded", "manifest": {"formatVersion": 1}},
    ],
)
def test_malformed_results(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidTask):
        tasks.result_from_json(json.dumps(document))
