# SPDX-License-Identifier: Apache-2.0
"""BackupSchedules on an API server, under an operator that has no other kind.

The tests play the part of the BackupJobs: they end them and record their Backups.
"""

import json
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.api import ApiError
from testbed.bed import TestBed
from tests.support.namespaces import Namespace
from tests.support.operator_rights import account, refusals
from tests.support.operators import running_operator
from tests.support.places import ROOT
from tests.support.plays import play
from tests.support.ports import free_port
from tests.support.waiting import eventually

pytestmark = pytest.mark.api

Json = dict[str, Any]
METRICS = free_port()


def schedule(name: str, **spec: Any) -> Json:
    """Return a schedule that is due once a year."""
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BackupSchedule",
        "metadata": {"name": name},
        "spec": {
            "schedule": "@yearly",
            "template": {
                "source": {"clusterRef": "mo"},
                "target": {"s3": {"path": "backups", "endpoint": "http://minio:9000"}},
            },
            **spec,
        },
    }


def complete(space: Namespace, job: Json, at: str) -> str:
    """End a BackupJob as its role and its Job would, and return the name of its Backup."""
    name, base = job["metadata"]["name"], (job["spec"].get("base") or {}).get("backupName")
    based = {"base": {"id": f"id-{base}", "name": base}} if base else {}
    backup = {
        "apiVersion": job["apiVersion"],
        "kind": "Backup",
        "metadata": {"name": f"{space.name}-{name}", "labels": job["metadata"]["labels"]},
        "meta": {
            "id": f"id-{space.name}-{name}",
            "type": job["spec"]["type"],
            "raw": "{}",
            **based,
            "location": job["spec"]["target"],
            "atTime": at,
            "completeTime": at,
            "size": "64Mi",
            "sourceRef": f"matrixonecluster/{space.name}/mo",
        },
        "deletionPolicy": "Retain",
    }
    space.api.apply(backup, "", force=True)
    set_status(space, "backup", backup["metadata"]["name"], {"phase": "Available"})
    condition = {"type": "Ended", "status": "True", "reason": "JobComplete", "message": ""}
    ended = {
        "phase": "Completed",
        "startTime": at,
        "completionTime": at,
        "conditions": [{**condition, "lastTransitionTime": at}],
    }
    backup_name: str = backup["metadata"]["name"]
    set_status(space, "backupjob", name, {**ended, "backup": backup_name, "size": "64Mi"})
    return backup_name


def set_status(space: Namespace, kind: str, name: str, status: Json) -> None:
    body = json.dumps({"status": status})
    space.kubectl("patch", kind, name, "--subresource=status", "--type=merge", "-p", body)


@pytest.fixture(scope="module")
def space(installed_testbed: TestBed) -> Iterator[Namespace]:
    with installed_testbed.namespace("schedules") as name:
        found = Namespace(installed_testbed, name)
        yield found
        chosen = f"matrixorigin.io/namespace={name}"
        found.kubectl("delete", "backup", "-l", chosen, "--wait=false")


@pytest.fixture(scope="module")
def operator(space: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("operator")
    watches = yaml.safe_load((ROOT / "watches.yaml").read_text())
    chosen = [one for one in watches if one["kind"] == "BackupSchedule"]
    (folder / "watches.yaml").write_text(yaml.safe_dump(chosen))
    kubeconfig = account(space.bed, space.name, folder / "kubeconfig", everywhere=True)
    flags = (f"--watches-file={folder}/watches.yaml", f"--metrics-bind-address=127.0.0.1:{METRICS}")
    with running_operator(kubeconfig, folder, *flags, WATCH_NAMESPACE=space.name) as log:
        yield log
    assert refusals(log) == []


def metrics_of(name: str) -> dict[str, float]:
    """Return the metrics of a schedule by name."""
    with urllib.request.urlopen(f"http://127.0.0.1:{METRICS}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    found = (line.rpartition(" ") for line in lines if f'schedule="{name}"' in line)
    return {series.partition("{")[0]: float(value) for series, _, value in found}


def jobs_of(space: Namespace, name: str) -> list[Json]:
    found = space.listed("backupjob", f"matrixorigin.io/backup-schedule={name}")
    return sorted(found, key=lambda one: str(one["metadata"]["name"]))


def test_the_first_backup_is_made_reported_and_shown(space, operator):
    space.apply(schedule("first", immediate=True, retention={"keepLast": 3}))
    [job] = eventually(lambda: jobs_of(space, "first"))
    [owner] = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("BackupSchedule", "first", True)
    assert job["spec"]["deletionPolicy"] == "Delete"
    assert job["spec"]["target"]["s3"]["path"].startswith(f"backups/{space.name}/first/20")

    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    backup = complete(space, job, now)
    status = eventually(
        lambda: (
            (found := space.get("backupschedule", "first")["status"]).get("lastBackup") and found
        )
    )
    assert (status["lastBackup"], status["lastBackupTime"]) == (backup, now)
    assert status["history"][0]["phase"] == "Completed"
    assert status["backups"] == {
        "total": 1,
        "restorable": 1,
        "broken": 0,
        "unchained": 0,
        "unknown": 0,
    }
    space.wait("Ready", "backupschedule", "first")

    shown = eventually(lambda: (found := metrics_of("first")).get("matrixone_backups") and found)
    assert shown["matrixone_backup_last_size_bytes"] == 64 << 20
    assert shown["matrixone_backup_failures"] == 0
    reasons = {one["reason"] for one in space.events() if one["regarding"]["name"] == "first"}
    assert {"BackupStarted", "BackupCompleted"} <= reasons
    row = space.kubectl("get", "mobs", "first", "--no-headers").split()
    assert row[:5] == ["first", "@yearly", "false", "True", "Ready"]
    assert backup in row
    assert len(jobs_of(space, "first")) == 1

    space.kubectl("delete", "backupschedule", "first", "--timeout=60s")
    eventually(lambda: not metrics_of("first"))
    eventually(lambda: not jobs_of(space, "first"))
    assert space.kubectl("get", "backup", backup, "-o", "name")


def test_a_spec_that_cannot_be_used_says_so(space, operator):
    space.apply(schedule("wrong", timeZone="Mars/Olympus"))
    found = eventually(
        lambda: (
            (said := space.condition("backupschedule", "wrong", "Ready")).get("message") and said
        )
    )
    assert (found["status"], found["reason"]) == ("False", "InvalidSpec")
    assert "spec.timeZone: must be a time zone" in found["message"]
    space.apply(schedule("wrong", timeZone="Europe/Berlin"))
    space.wait("Ready", "backupschedule", "wrong")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"schedule": None}, "spec.schedule"),
        ({"fullEvery": 0}, "spec.fullEvery"),
        ({"concurrencyPolicy": "Replace"}, "spec.concurrencyPolicy"),
        ({"retention": {"keepLast": -1}}, "spec.retention.keepLast"),
        ({"template": {"source": {"clusterRef": "mo"}}}, "spec.template.target"),
        (
            {"template": {"source": {"clusterRef": "mo"}, "target": {}}},
            "exactly one of s3 and fileSystem",
        ),
    ],
)
def test_a_spec_that_does_not_fit_the_schema_is_refused(space, spec, said):
    with pytest.raises(ApiError) as refused:
        space.apply(schedule("refused", **spec))
    assert said in str(refused.value)


def test_a_chain_grows_and_goes_as_the_clock_goes_on(space, tmp_path):
    """Plays the role at given times, without the operator; nothing waits."""
    clock = datetime(2030, 1, 1, tzinfo=UTC)
    with space.bed.namespace("clock") as name:
        place = Namespace(space.bed, name)
        spec = {"schedule": "@daily", "fullEvery": 2, "retention": {"keepLast": 1}}
        place.apply(schedule("daily", **spec))
        types = []
        for day in range(1, 6):
            moment = clock + timedelta(days=day, seconds=30)
            resource = place.get("backupschedule", "daily")
            played = play_at(resource, moment, place, tmp_path)
            assert played.code == 0, played.output
            job = jobs_of(place, "daily")[-1]
            types.append(job["spec"]["type"])
            complete(place, job, moment.strftime("%Y-%m-%dT%H:%M:%SZ"))
        chosen = f"matrixorigin.io/namespace={name}"
        left = place.kubectl("get", "backup", "-l", chosen, "-o", "name").split()
        assert types == ["full", "incremental", "full", "incremental", "full"]
        assert [one.rpartition("-")[2] for one in left] == [
            *("203001040000", "203001050000", "203001060000")
        ]
        place.kubectl("delete", "backup", "-l", chosen, "--wait=false")


def play_at(resource: Json, moment: datetime, place: Namespace, folder: Path) -> Any:
    given = {
        "backupschedule_resource": resource,
        "backupschedule_now": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    included = {"ansible.builtin.include_role": {"name": "matrixorigin.matrixone.backupschedule"}}
    task = {**included, "vars": given}
    playbook = folder / "role.yml"
    playbook.write_text(
        json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}])
    )
    return play(str(playbook), place.bed.kubeconfig, folder / "ansible")


def test_an_operator_of_one_namespace_makes_full_backups(
    fake_testbed: TestBed, tmp_path: Path
) -> None:
    """It may not read Backups: it follows the BackupJobs, and says what needs more."""
    with fake_testbed.namespace("narrow") as name:
        space = Namespace(fake_testbed, name)
        watches = yaml.safe_load((ROOT / "watches.yaml").read_text())
        chosen = [one for one in watches if one["kind"] == "BackupSchedule"]
        (tmp_path / "watches.yaml").write_text(yaml.safe_dump(chosen))
        kubeconfig = account(fake_testbed, name, tmp_path / "kubeconfig")
        flags = (f"--watches-file={tmp_path}/watches.yaml", "--metrics-bind-address=0")
        with running_operator(kubeconfig, tmp_path, *flags, WATCH_NAMESPACE=name):
            space.apply(schedule("kept", immediate=True, retention={"keepLast": 3}))
            space.apply(schedule("plain", immediate=True))
            [job] = eventually(lambda: jobs_of(space, "plain"))
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            ended = {"phase": "Completed", "startTime": now, "completionTime": now}
            set_status(space, "backupjob", job["metadata"]["name"], ended)
            status = eventually(
                lambda: (
                    (found := space.get("backupschedule", "plain")["status"]).get("lastBackupTime")
                    and found
                )
            )
            assert (status["lastBackupTime"], "backups" in status) == (now, False)
            space.wait("Ready", "backupschedule", "plain")
            said = eventually(
                lambda: space.condition("backupschedule", "kept", "Synced").get("message")
            )
            assert "spec.retention" in said
            assert jobs_of(space, "kept") == []
