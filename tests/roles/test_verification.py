# SPDX-License-Identifier: Apache-2.0
"""A backup that is proven by restoring it, under the operator: results play the program's part."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks

from tests.support.backup_records import backup_record
from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

from .conftest import namespace_alone, operated_everywhere, tiny_cluster
from .test_restoring import restored

pytestmark = [pytest.mark.api, pytest.mark.timeout(900)]

Json = dict[str, Any]
API = "core.matrixorigin.io/v1alpha1"
S3 = {"type": "minio", "path": "backups/mo/one", "endpoint": "http://s3:1"}
NEVER = "2100-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def space() -> Iterator[Namespace]:
    with namespace_alone("verifying") as namespace:
        yield namespace


@pytest.fixture(scope="module")
def operator(space: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with operated_everywhere(space, tmp_path_factory.mktemp("operator")) as log:
        yield log


@pytest.fixture(scope="module")
def backup(space: Namespace, operator: Path) -> str:
    """A cluster that serves, and a Backup of it; the name of the Backup."""
    space.apply(tiny_cluster(space.name))
    source = tiny_cluster(space.name)["metadata"]["name"]
    space.wait("Ready", name=source)
    record(space, "one", f"matrixonecluster/{space.name}/{source}")
    return "one"


def record(space: Namespace, name: str, source: str, **labels: str) -> None:
    """Create a Backup, and wait until the operator knows it."""
    resource = {
        "apiVersion": API,
        "kind": "Backup",
        "metadata": {"name": name, "labels": labels},
        "meta": {
            "location": {"s3": {**S3, "path": f"backups/mo/{name}"}},
            "id": f"b-{name}",
            "type": "full",
            "atTime": "2026-11-22T18:00:00Z",
            "completeTime": "2026-11-22T18:00:05Z",
            "secretNamespace": space.name,
            "sourceRef": source,
            "raw": "{}",
        },
    }
    space.kubectl("apply", "-f", "-", input=json.dumps(resource))
    found = tasks.Result(
        tasks.Phase.SUCCEEDED, tasks.Step.VERIFY, manifest=backup_record(f"b-{name}")
    )
    report(space, eventually(lambda: job_that_looks_for(space, name), 60), found)
    eventually(lambda: of_backup(space, name).get("phase") == "Available", 120)


def job_that_looks_for(space: Namespace, backup: str) -> str:
    """Return the Job that looks for the files of a Backup of which nothing is known."""
    named = (name.rpartition("/")[2] for name in space.names("jobs"))
    return next((name for name in named if name.startswith(f"{backup}-check-")), "")


def of_backup(space: Namespace, name: str = "one") -> Json:
    found: Json = json.loads(space.kubectl("get", "backup", name, "-o", "json"))
    return found.get("status") or {}


def restorable(space: Namespace) -> Json:
    states = {one["type"]: one for one in of_backup(space).get("conditions") or []}
    return states.get("Restorable") or {}


def begin(space: Namespace, name: str, backup: str) -> str:
    """Create a RestoreJob that verifies; the name of its throw-away cluster, when that exists."""
    check = {"sql": "select count(*) from shop.orders", "rows": [[3]]}
    spec = {"backupName": backup, "verify": {"checks": [check]}}
    space.apply({"apiVersion": API, "kind": "RestoreJob", "metadata": {"name": name}, "spec": spec})
    cluster = f"verify-{space.get('restorejob', name)['metadata']['uid'][:8]}"
    eventually(lambda: space.get("mo", cluster), 90, "the throw-away cluster")
    return cluster


def report(space: Namespace, job: str, result: tasks.Result) -> None:
    """Write what the program would, when its Job runs."""

    def runs() -> bool:
        found = space.get("job", job)
        return bool(found) and not found["spec"].get("suspend")

    eventually(runs, 120, f"Job {job}", otherwise=lambda: json.dumps(space.listed("restorejobs")))
    text = tasks.result_to_json(result)
    space.patch("configmap", f"{job}-result", {"data": {tasks.RESULT_KEY: text}})


def serve(space: Namespace, cluster: str) -> None:
    """Let the copy of a throw-away cluster be complete, so that its components come up."""
    report(space, f"restore-{cluster}-restore", restored())


def is_gone(space: Namespace, cluster: str) -> bool:
    return not space.get("mo", cluster) and f"restore-{cluster}" not in space.names("restorejobs")


def ends(space: Namespace, name: str, phase: str) -> Json:
    def status() -> Json:
        found: Json = space.get("restorejob", name).get("status") or {}
        return found

    eventually(lambda: status().get("phase") == phase, 120, phase, otherwise=lambda: str(status()))
    return status()


def test_restored_read_recorded_and_removed(space: Namespace, backup: str) -> None:
    cluster = begin(space, "proof", backup)
    serve(space, cluster)
    live = space.get("mo", cluster)
    assert {one["kind"] for one in live["metadata"]["ownerReferences"]} == {"RestoreJob"}
    assert live["spec"]["logService"]["sharedStorage"]["s3"]["path"] == f"backups/mo/one-{cluster}"
    purge = eventually(
        lambda: space.get("job", "proof-purge").get("spec"), 60, "the Job that purges"
    )
    assert purge["suspend"] is True

    read = tasks.Result(tasks.Phase.SUCCEEDED, reading=tasks.Reading(40, 12345, 2048))
    report(space, "proof-read", read)
    eventually(lambda: restorable(space).get("status") == "True", 60, "the result on the Backup")
    services = [one for one in space.listed("services") if cluster in one["metadata"]["name"]]
    assert {one["spec"]["type"] for one in services} <= {"ClusterIP"}
    assert space.get("job", "proof-purge")["spec"]["suspend"] is True or is_gone(space, cluster)
    report(space, "proof-purge", tasks.Result(tasks.Phase.SUCCEEDED))

    status = ends(space, "proof", "Completed")
    assert is_gone(space, cluster)
    record = of_backup(space)["verification"]
    assert (record["result"], record["tables"], record["rows"]) == ("Passed", 40, 12345)
    assert status["verification"] == record
    columns = space.kubectl("get", "backup", backup, "--no-headers").split()
    assert "True" in columns
    everywhere = space.bed.kubectl("get", "events", "-A", "-o", "json")
    reasons = {one["reason"] for one in json.loads(everywhere)["items"]}
    assert "RestoreVerified" in reasons


def test_a_table_that_cannot_be_read_is_named(space: Namespace, backup: str) -> None:
    cluster = begin(space, "doubt", backup)
    serve(space, cluster)
    missing = tasks.Result(
        tasks.Phase.FAILED,
        reason=tasks.Reason.TABLE_UNREADABLE,
        message="table shop.orders cannot be read: object is not found",
        started_at=NEVER,
        reading=tasks.Reading(39, 12000, 2000),
    )
    report(space, "doubt-read", missing)
    report(space, "doubt-purge", tasks.Result(tasks.Phase.SUCCEEDED))
    ends(space, "doubt", "Failed")
    found = restorable(space)
    assert (found["status"], found["reason"]) == ("False", "VerificationFailed")
    assert "shop.orders" in found["message"]
    assert is_gone(space, cluster)


def test_deletion_in_the_middle_leaves_nothing(space: Namespace, backup: str) -> None:
    before = of_backup(space).get("verification")
    cluster = begin(space, "stopped", backup)
    space.kubectl("delete", "restorejob", "stopped", "--wait=false")
    report(space, "stopped-purge", tasks.Result(tasks.Phase.SUCCEEDED))
    eventually(lambda: not space.get("restorejob", "stopped"), 120, "the end of the RestoreJob")
    assert is_gone(space, cluster)
    after = of_backup(space)["verification"]
    assert after == before or after["result"] == "Incomplete"
    eventually(lambda: not [n for n in space.names("jobs") if "stopped" in n], 60, "no Job")


def test_a_backup_job_has_its_backup_verified(space: Namespace, backup: str) -> None:
    """It has ended meanwhile, and its RestoreJob belongs to nobody."""
    source = {"clusterRef": tiny_cluster(space.name)["metadata"]["name"]}
    target = {"s3": {**S3, "path": "backups/mo/made"}}
    spec = {"source": source, "target": target, "ttl": "0", "verify": {}}
    job = {"apiVersion": API, "kind": "BackupJob", "metadata": {"name": "made"}, "spec": spec}
    space.apply(job)
    uid = space.get("backupjob", "made")["metadata"]["uid"]
    eventually(lambda: space.get("job", "made-backup"), 90, "the Job")
    result = restored()
    assert result.manifest
    whole = replace(result, manifest=replace(result.manifest, id=uid))
    report(space, "made-backup", whole)

    name = f"made-{uid[:8]}"
    eventually(lambda: space.get("restorejob", name), 60, "the RestoreJob")
    eventually(lambda: not space.get("backupjob", "made"), 60, "the end of the BackupJob")
    order = space.get("restorejob", name)
    assert order["spec"]["backupName"] == name
    assert not order["metadata"].get("ownerReferences")
    space.kubectl("delete", "restorejob", name, "--wait=false")
    cluster = f"verify-{order['metadata']['uid'][:8]}"
    if space.get("mo", cluster):
        report(space, f"{name}-purge", tasks.Result(tasks.Phase.SUCCEEDED))
    eventually(lambda: not space.get("restorejob", name), 120, "the end of the RestoreJob")
    assert is_gone(space, cluster)


def test_a_schedule_has_its_newest_backup_verified(space: Namespace, backup: str) -> None:
    source = tiny_cluster(space.name)["metadata"]["name"]
    labels = {
        "matrixorigin.io/namespace": space.name,
        "matrixorigin.io/backup-schedule": "weekly",
    }
    record(space, "two", f"matrixonecluster/{space.name}/{source}", **labels)
    template = {"source": {"clusterRef": source}, "target": {"s3": S3}}
    spec = {"schedule": "0 0 29 2 *", "template": template, "verify": {"schedule": "* * * * *"}}
    schedule = {"apiVersion": API, "kind": "BackupSchedule", "metadata": {"name": "weekly"}}
    space.apply({**schedule, "spec": spec})

    def orders() -> list[Json]:
        return [one for one in space.listed("restorejobs") if "weekly-v" in one["metadata"]["name"]]

    eventually(orders, 120, "a verification", otherwise=lambda: str(space.get("mobs", "weekly")))
    [order] = orders()
    assert order["spec"]["backupName"] == "two"
    assert [one["kind"] for one in order["metadata"]["ownerReferences"]] == ["BackupSchedule"]
    space.patch("mobs", "weekly", {"spec": {"suspend": True}})

    name = order["metadata"]["name"]
    cluster = f"verify-{order['metadata']['uid'][:8]}"
    serve(space, cluster)
    reading = tasks.Reading(3, 4, 5)
    report(space, f"{name}-read", tasks.Result(tasks.Phase.SUCCEEDED, reading=reading))
    report(space, f"{name}-purge", tasks.Result(tasks.Phase.SUCCEEDED))
    ends(space, name, "Completed")

    def known() -> Any:
        return (space.get("mobs", "weekly").get("status") or {}).get("verification") or {}

    eventually(lambda: known().get("result") == "Passed", 60, "the result", otherwise=known)
    assert (known()["backup"], known()["tables"]) == ("two", 3)
    assert orders() == [space.get("restorejob", name)]
