# SPDX-License-Identifier: Apache-2.0
"""BackupJobs and Backups under the operator, on an API server: the test plays the program's part.

The fake nodes end a Job's Pod at once, so these Pods ask for a node that there is not, and stay
unscheduled until the test has written the program's result.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import manifest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks

from tests.support.backup_records import backup_record
from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

from .conftest import namespace_alone, operated_everywhere

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]

Json = dict[str, Any]
S3 = {"type": "minio", "path": "backups/mo/1", "endpoint": "http://minio:9000"}
WAITING = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "nowhere", "operator": "Exists"}]}
                ]
            }
        }
    }
}


@pytest.fixture(scope="module")
def space() -> Iterator[Namespace]:
    with namespace_alone("backups") as namespace:
        yield namespace


@pytest.fixture(scope="module")
def operator(space: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with operated_everywhere(space, tmp_path_factory.mktemp("operator")) as log:
        yield log


@pytest.fixture(scope="module")
def source(space: Namespace, operator: Path) -> None:
    """A CNSet that another operator seems to run: it has an address, and Secrets are there."""
    space.apply(
        {
            "apiVersion": "core.matrixorigin.io/v1alpha1",
            "kind": "CNSet",
            "metadata": {
                "name": "tp",
                "annotations": {"matrixorigin.io/paused": "true"},
            },
            "spec": {"image": "matrixorigin/matrixone:1.3.0", "replicas": 1},
            "deps": {
                "externalLogSet": {
                    "haKeeperEndpoint": "log:32001",
                    "sharedStorage": {"s3": {**S3, "path": "data/mo"}},
                }
            },
        }
    )
    status = json.dumps({"status": {"host": "tp-cn.prod", "port": 6001}})
    space.kubectl("patch", "cnset", "tp", "--subresource=status", "--type=merge", "-p", status)
    space.kubectl("create", "secret", "generic", "login", "--from-literal=username=dump")


def backup_job(name: str, overlay: Json | None = None, **spec: Any) -> Json:
    """Return a BackupJob whose Pod finds no node."""
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BackupJob",
        "metadata": {"name": name},
        "spec": {
            "source": {"cnSetRef": "tp", "secretRef": "login"},
            "target": {"s3": {**S3, "path": f"backups/mo/{name}"}},
            "overlay": WAITING if overlay is None else overlay,
            **spec,
        },
    }


def exists(space: Namespace, kind: str, name: str) -> bool:
    return bool(space.get(kind, name))


def status_of(space: Namespace, name: str) -> Json:
    status: Json = space.get("backupjob", name).get("status") or {}
    return status


def reason(space: Namespace, name: str, kind: str = "Degraded") -> str:
    found = {one["type"]: one["reason"] for one in status_of(space, name).get("conditions") or []}
    return str(found.get(kind) or "")


def has_phase(space: Namespace, name: str, phase: str) -> None:
    eventually(lambda: status_of(space, name).get("phase") == phase, 90, f"{name} is {phase}")


def report(space: Namespace, name: str, result: tasks.Result) -> None:
    """Write a result as the program does."""
    data = json.dumps({"data": {"result.json": tasks.result_to_json(result)}})
    space.kubectl("patch", "configmap", f"{name}-result", "--type=merge", "-p", data)


def succeed(space: Namespace, name: str) -> Json:
    """Let the program of a BackupJob report success; the BackupJob."""
    resource: Json = space.get("backupjob", name)
    base = (resource["status"].get("base") or {}).get("id")
    record = backup_record(
        resource["metadata"]["uid"],
        type=resource["spec"]["type"],
        base=manifest.Base("backups/mo/full", base) if base else None,
        source=manifest.Origin("CNSet", space.name, "tp"),
        started_at="2099-01-01T00:00:00Z",
        completed_at="2099-01-01T00:00:02Z",
    )
    done = tasks.Result(tasks.Phase.SUCCEEDED, tasks.Step.RECORD, manifest=record)
    report(space, f"{name}-backup", done)
    return resource


@pytest.mark.usefixtures("source")
def test_a_backup_from_its_resource_to_its_data_and_back(space: Namespace) -> None:
    """Pod without a node, success, record, columns, increment, deletion of record and data."""
    space.apply(backup_job("full", deletionPolicy="Delete"))
    eventually(lambda: reason(space, "full") == "PodUnschedulable", 90)
    assert status_of(space, "full")["phase"] == "Running"
    role = space.get("role", "full-backup")
    assert role["rules"][0]["resourceNames"] == ["full-backup-result"]
    job = space.get("job", "full-backup")["spec"]["template"]["spec"]
    assert job["containers"][0]["image"] == "operator:test"

    space.apply(backup_job("second", type="incremental", base={"latest": True}))
    eventually(lambda: "BackupJob full" in status_of(space, "second").get("message", ""), 90)
    space.apply(backup_job("third", concurrencyPolicy="Forbid"))
    has_phase(space, "third", "Failed")
    assert reason(space, "third") == "AnotherIsRunning"

    resource = succeed(space, "full")
    has_phase(space, "full", "Completed")
    name = f"full-{resource['metadata']['uid'][:8]}"
    assert status_of(space, "full")["backup"] == name
    columns = space.kubectl("get", "backupjob", "full", "--no-headers").split()
    assert columns[:6] == ["full", "Completed", "full", "Record", "2Ki", name]
    found = json.loads(space.kubectl("get", "backup", name, "-o", "json"))
    assert found["meta"]["secretNamespace"] == space.name
    assert found["deletionPolicy"] == "Delete"
    eventually(
        lambda: (
            space.kubectl("get", "backup", name, "-o", "jsonpath={.status.phase}") == "Available"
        ),
        60,
    )

    # The increment has its turn, on the backup that has just been made.
    has_phase(space, "second", "Running")
    assert status_of(space, "second")["base"]["name"] == name
    succeed(space, "second")
    has_phase(space, "second", "Completed")
    increment = status_of(space, "second")["backup"]

    # Data go with the record, but not before those that are based on them.
    space.kubectl("delete", "backup", name, "--wait=false")
    message = ("get", "backup", name, "-o", "jsonpath={.status.message}")
    eventually(lambda: f"Backup {increment} is based on it" in space.kubectl(*message), 60)
    space.kubectl("delete", "backup", increment, "--timeout=90s")
    job_name = f"{name}-delete"
    eventually(lambda: exists(space, "job", job_name), 120, "the Job that deletes")
    report(space, job_name, tasks.Result(tasks.Phase.SUCCEEDED, tasks.Step.DELETE))
    space.kubectl("delete", "backup", name, "--ignore-not-found", "--timeout=120s")


@pytest.mark.usefixtures("source")
def test_a_backup_that_is_applied_again_is_looked_for(space: Namespace) -> None:
    """Nothing is known of it until a Job has seen its record and its files."""
    name = f"{space.name}-again"
    record = backup_record("the-id", source=manifest.Origin("CNSet", space.name, "tp"))
    meta = {
        "location": {"s3": {**S3, "path": "backups/mo/again"}},
        "id": record.id,
        "atTime": record.started_at,
        "completeTime": record.completed_at,
        "sourceRef": f"cnset/{space.name}/tp",
        "secretNamespace": space.name,
        "raw": "{}",
    }
    again = {"apiVersion": "core.matrixorigin.io/v1alpha1", "kind": "Backup"}
    space.api.apply({**again, "metadata": {"name": name}, "meta": meta}, "", force=True)
    phase = ("get", "backup", name, "-o", "jsonpath={.status.phase}")
    eventually(lambda: space.kubectl(*phase) == "Pending", 60)
    job = eventually(
        lambda: next((one for one in _jobs(space) if one.startswith(f"{name}-check-")), ""),
        60,
        "the Job that looks for the files",
    )
    report(space, job, tasks.Result(tasks.Phase.SUCCEEDED, tasks.Step.VERIFY, manifest=record))
    eventually(lambda: space.kubectl(*phase) == "Available", 120)
    eventually(lambda: not exists(space, "job", job), 60, "the Job goes")
    space.kubectl("delete", "backup", name, "--timeout=60s")


def _jobs(space: Namespace) -> list[str]:
    return [name.rpartition("/")[2] for name in space.names("jobs")]


@pytest.mark.usefixtures("source")
def test_a_job_that_ends_without_a_result_fails(space: Namespace) -> None:
    """The Pods of fake nodes succeed at once and write nothing; the object goes by its ttl."""
    space.apply(backup_job("mute", overlay={}, ttl="5s"))
    has_phase(space, "mute", "Failed")
    assert reason(space, "mute") == "NoResult"
    eventually(lambda: not exists(space, "backupjob", "mute"), 60, "it is gone")


@pytest.mark.usefixtures("source")
def test_what_is_missing_is_named_until_the_deadline(space: Namespace) -> None:
    target = {"s3": {**S3, "path": "backups/x", "secretRef": {"name": "store"}}}
    space.apply(backup_job("lost", target=target, activeDeadlineSeconds=15))
    eventually(lambda: reason(space, "lost") == "SecretMissing", 60)
    has_phase(space, "lost", "Failed")
    assert reason(space, "lost") == "DeadlineExceeded"
    assert "Secret store" in status_of(space, "lost")["message"]


@pytest.mark.usefixtures("source")
def test_the_place_of_the_database_is_refused(space: Namespace) -> None:
    space.apply(backup_job("self", target={"s3": {**S3, "path": "data/mo/backup"}}))
    has_phase(space, "self", "Failed")
    assert reason(space, "self") == "TargetIsSource"


@pytest.mark.usefixtures("source")
def test_suspended_resumed_and_deleted(space: Namespace) -> None:
    """Deleting it ends the Job, and nothing is left of it."""
    space.apply(backup_job("pausing", suspend=True))
    eventually(lambda: reason(space, "pausing", "Progressing") == "Suspended", 60)
    assert not exists(space, "job", "pausing-backup")
    patch = ("patch", "backupjob", "pausing", "--type=merge", "-p")
    space.kubectl(*patch, '{"spec": {"suspend": false}}')
    eventually(lambda: exists(space, "job", "pausing-backup"), 60)
    space.kubectl(*patch, '{"spec": {"suspend": true}}')
    eventually(lambda: space.get("job", "pausing-backup")["spec"]["suspend"] is True, 60)
    eventually(lambda: status_of(space, "pausing")["phase"] == "Pending", 60)
    space.kubectl("delete", "backupjob", "pausing", "--timeout=120s")

    def is_clean() -> bool:
        left = space.names("job,configmap,serviceaccount,role,rolebinding")
        return not [name for name in left if "pausing" in name]

    eventually(is_clean, 60, "the garbage collector has taken what it owned")


@pytest.mark.usefixtures("source")
def test_a_job_that_is_deleted_when_its_backup_is_complete_leaves_its_backup(
    space: Namespace,
) -> None:
    """No pass has seen that it is complete; the Backup needs no Job that looks for it."""
    space.apply(backup_job("hasty"))
    eventually(lambda: exists(space, "job", "hasty-backup"), 60)
    eventually(lambda: status_of(space, "hasty").get("phase") == "Running", 60)
    space.kubectl("annotate", "backupjob", "hasty", "matrixorigin.io/paused=true")
    name = f"hasty-{succeed(space, 'hasty')['metadata']['uid'][:8]}"
    assert not exists(space, "backup", name)
    space.kubectl("delete", "backupjob", "hasty", "--timeout=120s")
    assert space.get("backup", name)["status"]["phase"] == "Available"
    assert not [one for one in space.names("job,configmap") if "hasty" in one]


@pytest.mark.usefixtures("source")
def test_a_backup_tells_why_its_pod_is_refused(space: Namespace) -> None:
    """Until the cause is gone; a Job tries again by itself."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team"}}
    space.apply({**quota, "spec": {"hard": {"pods": "0"}}})
    eventually(lambda: (space.get("resourcequota", "team").get("status") or {}).get("hard"))
    space.apply(backup_job("refused"))
    eventually(lambda: "exceeded quota: team" in status_of(space, "refused").get("message", ""), 90)
    assert reason(space, "refused") == "PodNotStarting"
    space.kubectl("delete", "resourcequota", "team")
    eventually(lambda: reason(space, "refused") == "PodUnschedulable", 120)
    space.kubectl("delete", "backupjob", "refused")
