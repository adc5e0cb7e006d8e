# SPDX-License-Identifier: Apache-2.0
"""A cluster that is restored, under the operator: the program's part is played by its result."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp_now,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks

from testbed.bed import TestBed
from tests.support.backup_records import backup_record
from tests.support.namespaces import Namespace
from tests.support.operator_rights import account, refusals
from tests.support.operators import running_operator
from tests.support.waiting import eventually, unchanged

from .conftest import tiny_cluster

pytestmark = pytest.mark.api

Json = dict[str, Any]
SOURCE = {"s3": {"path": "backups/one", "endpoint": "http://s3:1", "secretRef": {"name": "old"}}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "old"}}


@pytest.fixture(scope="module")
def space(installed_testbed: TestBed) -> Iterator[Namespace]:
    with installed_testbed.namespace("restoring") as name:
        yield Namespace(installed_testbed, name)


@pytest.fixture(scope="module")
def operator(space: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = account(space.bed, space.name, folder / "kubeconfig")
    known = {"WATCH_NAMESPACE": space.name, "OPERATOR_IMAGE": "operator:test"}
    with running_operator(kubeconfig, folder, **known) as log:
        yield log
    assert refusals(log) == []


def cluster(space: Namespace, name: str) -> Json:
    resource = tiny_cluster(space.name)
    resource["metadata"]["name"] = name
    resource["spec"]["restoreSource"] = SOURCE
    return resource


def report(space: Namespace, name: str, result: tasks.Result) -> None:
    """Write what the program would, when there is a Job."""
    config = f"restore-{name}-restore-result"
    eventually(lambda: space.get("job", f"restore-{name}-restore"), 60, "the Job")
    text = tasks.result_to_json(result)
    space.patch("configmap", config, {"data": {tasks.RESULT_KEY: text}})


def restored() -> tasks.Result:
    now = timestamp_now()
    record = backup_record("b-1")
    return tasks.Result(phase=tasks.Phase.SUCCEEDED, manifest=record, started_at=now, ended_at=now)


def test_components_follow_the_restore_and_it_is_never_done_again(
    space: Namespace, operator: Path
) -> None:
    space.apply(cluster(space, "back"))

    said = "Secret old does not exist"
    eventually(lambda: said in json.dumps(space.get("mo", "back").get("status")), 90, said)
    assert space.condition("mo", "back", "Ready")["reason"] == "Restoring"
    assert space.listed("logsets") == []

    space.apply({**SECRET, "metadata": {"name": "old", "namespace": space.name}})
    report(space, "back", restored())
    space.wait("Ready", name="back")

    status = space.get("mo", "back")["status"]["restore"]
    assert (status["phase"], status["id"], status["from"]) == ("Completed", "b-1", "backups/one")
    assert status["atTime"] == "2026-11-22T18:00:00Z"
    log_set = space.get("logset", "back")
    assert log_set["spec"]["initialConfig"]["restoreFrom"] == "hk_data"
    assert not space.get("pvc", "back-shared")["metadata"].get("ownerReferences")
    assert "Restored" in [one["reason"] for one in space.events()]

    space.kubectl("delete", "restorejob", "restore-back", "--timeout=60s")
    space.annotate("mo", "back", poke="1")
    unchanged(lambda: space.names("restorejobs,jobs"), 8)
    assert space.names("restorejobs,jobs") == set()
    space.kubectl("delete", "mo", "back", "--timeout=120s")
    assert space.names("pvc") == set()


def test_failed_restore_says_what_to_do_and_can_be_deleted(
    space: Namespace, operator: Path
) -> None:
    space.apply({**SECRET, "metadata": {"name": "old", "namespace": space.name}})
    space.apply(cluster(space, "taken"))
    report(
        space,
        "taken",
        tasks.Result(
            phase=tasks.Phase.FAILED,
            reason=tasks.Reason.TARGET_NOT_EMPTY,
            message="the target holds other files",
            started_at="2100-01-01T00:00:00Z",
        ),
    )

    def reason() -> Any:
        return space.condition("mo", "taken", "Ready").get("reason") == "RestoreFailed"

    eventually(reason, 60, "RestoreFailed", otherwise=lambda: json.dumps(space.get("mo", "taken")))
    message = space.get("mo", "taken")["status"]["message"]
    assert "the target holds other files" in message
    assert "delete it" in message
    assert space.listed("logsets") == []
    space.kubectl("delete", "mo", "taken", "--timeout=120s")
    assert space.names("restorejobs,jobs,pvc") == set()
