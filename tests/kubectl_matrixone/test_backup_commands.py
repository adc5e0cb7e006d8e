# SPDX-License-Identifier: Apache-2.0
"""Commands about backups on an API server; what an operator would do, the tests write."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from testbed.bed import TestBed
from tests.support.namespaces import install
from tests.support.plugin import Plugin
from tests.support.waiting import eventually

from . import objects
from .space import Space, tiny_cluster

pytestmark = pytest.mark.api

Json = dict[str, Any]
VERSION = "core.matrixorigin.io/v1alpha1"
STORE = {
    "s3": {
        "type": "minio",
        "path": "backups",
        "endpoint": "http://object-store:7070",
        "secretRef": {"name": "backup-store"},
    }
}
STATUS = {"version": "3.0.18", "credentialRef": {"name": "mo-credential"}}


def schedule(name: str, cluster: str) -> Json:
    template = {"source": {"clusterRef": cluster}, "target": STORE}
    return {
        "apiVersion": VERSION,
        "kind": "BackupSchedule",
        "metadata": {"name": name},
        "spec": {"schedule": "0 3 * * *", "template": template},
    }


@pytest.fixture(scope="module")
def space(fake_testbed: TestBed) -> Iterator[Space]:
    install(fake_testbed)
    with fake_testbed.namespace("plugin-backups") as namespace:
        made = Space(fake_testbed, namespace)
        cluster = tiny_cluster("mo")
        s3 = {**STORE["s3"], "path": "databases/mo"}
        cluster["spec"]["logService"]["sharedStorage"] = {"s3": s3}
        made.apply(cluster, STATUS)
        made.apply(tiny_cluster("bare"))
        made.apply(schedule("daily", "mo"))
        yield made


@pytest.fixture(scope="module")
def backup(space: Space) -> Iterator[str]:
    """Return the name of a Backup of the cluster; Backups are in no namespace."""
    name = f"{space.name}-full"
    uid = space.get("mo", "mo")["metadata"]["uid"]
    meta = {
        "location": {"s3": {**STORE["s3"], "path": "backups/mo/full"}},
        "id": "1",
        "type": "full",
        "size": "12Mi",
        "atTime": "2026-11-27T02:00:00Z",
        "completeTime": "2026-11-27T02:01:00Z",
        "sourceRef": f"matrixonecluster/{space.name}/mo",
        "sourceUid": uid,
        "secretNamespace": space.name,
        "raw": '{"matrixoneVersion":"3.0.18"}',
    }
    status = {"phase": "Available", **objects.PROVEN}
    one = {"apiVersion": VERSION, "kind": "Backup", "metadata": {"name": name}, "meta": meta}
    space.apply(one, status)
    yield name
    space.kubectl("delete", "backup", name, "--wait=false")


def while_waiting(space: Space, kind: str, run: Callable[[], Any], status: Json) -> Any:
    """Return what a command ends with that waits for an object of a kind, given its last status."""

    def names() -> set[str]:
        return set(space.kubectl("get", kind, "-o", "name").split())

    before, ended = names(), []
    thread = threading.Thread(target=lambda: ended.append(run()))
    thread.start()
    try:
        [name] = eventually(lambda: names() - before, what=f"a new {kind}")
        patch = json.dumps({"status": status})
        space.kubectl("patch", name, "--subresource=status", "--type=merge", "-p", patch)
    finally:
        thread.join()
    return ended[0]


def test_a_backup_goes_into_a_folder_of_the_schedule(space: Space, plugin: Plugin) -> None:
    here = ("-n", space.name)
    shown = plugin("backup", "mo", *here, "-o", "yaml", "--name", "mo-now")
    assert shown.returncode == 0, shown.stderr
    assert "destination as of BackupSchedule daily" in shown.stderr
    one = yaml.safe_load(shown.stdout)
    path = f"backups/{space.name}/mo/mo-now"
    assert one["spec"]["target"] == {"s3": {**STORE["s3"], "path": path}}
    assert "mo-now" not in space.kubectl("get", "backupjobs", "-o", "name")
    checked = plugin("backup", "mo", *here, "--dry-run=server", "--name", "mo-now")
    assert checked.stdout == "backupjob.core.matrixorigin.io/mo-now created (server dry run)\n"
    assert "mo-now" not in space.kubectl("get", "backupjobs", "-o", "name")
    made = plugin("backup", "mo", *here, "--name", "mo-now")
    assert made.stdout.startswith("backupjob.core.matrixorigin.io/mo-now created\n"), made
    assert space.get("backupjob", "mo-now")["spec"]["target"]["s3"]["path"] == path
    again = plugin("backup", "mo", *here, "--name", "mo-now")
    assert (again.returncode, "already exists" in again.stderr) == (1, True)


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        ({"phase": "Completed", "backup": "mo-1a2b", "size": "12Mi"}, 0, "Backup mo-1a2b  12Mi\n"),
        ({"phase": "Failed", "message": "AccessDenied: no"}, 1, "failed: AccessDenied: no"),
    ],
    ids=["completed", "failed"],
)
def test_a_backup_is_waited_for(
    space: Space, plugin: Plugin, status: Json, code: int, said: str
) -> None:
    def run() -> Any:
        return plugin("backup", "mo", "-n", space.name, "--name", f"mo-{code}", "--wait")

    ended = while_waiting(space, "backupjobs", run, status)
    assert ended.returncode == code, ended
    assert said in ended.stdout + ended.stderr


def test_waiting_ends_at_the_deadline(space: Space, plugin: Plugin) -> None:
    late = plugin("backup", "mo", "-n", space.name, "--name", "mo-late", "--wait", "--timeout=3s")
    assert (late.returncode, "mo-late has not ended within 3 s" in late.stderr) == (1, True)
    assert "backupjob.core.matrixorigin.io/mo-late created" in late.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("backup", "bare"), 1, "it is not known where backups of MatrixOneCluster bare go"),
        (("backup", "mo", "--schedule", "weekly"), 1, "no BackupSchedule weekly"),
        (("backup", "mo", "--endpoint", "http://m"), 2, "--path BUCKET/PREFIX"),
        (("backup", "mo", "--base", "x"), 2, "add --type incremental"),
        (("backup", "mo", "--path", "a", "--dry-run=maybe"), 2, "invalid"),
        (("backup", "bare", "--path", "no//path", "--dry-run=server"), 1, "spec.target"),
        (("backup", "absent"), 1, '"absent" not found'),
        (("verify", "absent"), 1, '"absent" not found'),
        (("verify",), 2, "BACKUP"),
        (("restore", "mo", "--from", "absent"), 1, "mo exists: a backup is only restored into a"),
        (("restore", "new", "--from", "absent"), 1, '"absent" not found'),
        (("restore", "new"), 2, "--from"),
    ],
)
def test_what_cannot_be_done_is_said(
    space: Space, plugin: Plugin, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ended = plugin(*arguments, "-n", space.name)
    assert (ended.returncode, said in ended.stderr) == (code, True), ended
    assert "Traceback" not in ended.stderr


def test_a_user_who_may_not_look_for_a_destination_learns_that(
    space: Space, plugin: Plugin
) -> None:
    space.kubectl("create", "role", "seer", "--verb=get,list", "--resource=matrixoneclusters")
    space.kubectl("create", "rolebinding", "seer", "--role=seer", "--user=eve")
    here = ("-n", space.name, "--as", "eve")
    ended = plugin("backup", "mo", *here)
    assert (ended.returncode, 'cannot list resource "backupschedules"' in ended.stderr) == (1, True)
    ended = plugin("backup", "mo", *here, "--path", "b/x", "--secret", "keys")
    assert (ended.returncode, 'cannot create resource "backupjobs"' in ended.stderr) == (1, True)


def test_backups_are_listed(space: Space, plugin: Plugin, backup: str) -> None:
    shown = plugin("backups", "mo", "-n", space.name)
    assert shown.returncode == 0, shown.stderr
    [head, line] = shown.stdout.splitlines()
    assert head.split() == ["NAME", "SOURCE", "AGE", "TYPE", "SIZE", "PHASE", "PROVEN", "PROBLEM"]
    assert line.startswith(f"{backup}  {space.name}/mo  ")
    assert "full  12Mi  Available  Passed " in line
    [fact] = yaml.safe_load(plugin("backups", "mo", "-n", space.name, "-o", "yaml").stdout)
    assert (fact["name"], fact["proof"]["result"], fact["size"]) == (backup, "Passed", "12Mi")
    assert plugin("backups", "-n", space.name, "-o", "name").stdout == f"backup/{backup}\n"
    assert f"backup/{backup}\n" in plugin("backups", "-A", "-o", "name").stdout
    assert plugin("backups", "other", "-n", space.name).stdout == "no Backup is known\n"


def test_a_cluster_is_restored_beside_the_old_one(
    space: Space, plugin: Plugin, backup: str
) -> None:
    here = ("-n", space.name)
    shown = plugin("restore", "new", "--from", backup, *here, "-o", "yaml")
    assert shown.returncode == 0, shown.stderr
    assert "its data will be in databases/new, which must be empty" in shown.stderr
    assert "matrixoneclusters/new" not in space.kubectl("get", "mo", "-o", "name")

    def run() -> Any:
        return plugin("restore", "new", "--from", backup, *here, "--wait")

    ready = [objects.condition("Ready", "True")]
    restore = {"phase": "Completed", "atTime": "2026-11-27T02:00:00Z"}
    ended = while_waiting(space, "mo", run, {"restore": restore, "conditions": ready})
    assert ended.returncode == 0, ended
    assert "MatrixOneCluster new is Ready, with the data up to 2026-11-27T02:00:00Z" in ended.stdout
    made, old = (space.get("mo", name)["spec"] for name in ("new", "mo"))
    assert yaml.safe_load(shown.stdout)["spec"].items() <= made.items()
    assert made["logService"]["sharedStorage"]["s3"]["path"] == "databases/new"
    changed = {"restoreFrom", "credentialSecretRef", "logService"}
    assert {key for key in made if made[key] != old.get(key)} == changed
    again = plugin("restore", "new", "--from", backup, *here)
    assert (again.returncode, "exists: a backup is only" in again.stderr) == (1, True)


def test_the_manifest_of_a_lost_cluster_is_enough(
    space: Space, plugin: Plugin, backup: str
) -> None:
    lost = yaml.safe_dump({**tiny_cluster("lost"), "metadata": {"name": "lost"}})
    arguments = ("restore", "again", "--from", backup, "-n", space.name, "-f", "-")
    refused = plugin(*arguments, given=lost)
    assert (refused.returncode, "by --credential" in refused.stderr) == (1, True)
    shown = plugin(*arguments, "--credential", "root", "--dry-run=server", given=lost)
    assert shown.stdout == "matrixonecluster.core.matrixorigin.io/again created (server dry run)\n"
    assert plugin(*arguments, given="a: 1").returncode == 2


@pytest.mark.parametrize(
    ("verification", "code", "said"),
    [
        ({"result": "Passed", "tables": 97, "rows": 51234}, 0, "Passed: 97 tables with 51234 rows"),
        ({"result": "Failed", "message": "shop.orders"}, 1, "error: Failed: shop.orders"),
        ({"result": "Incomplete", "reason": "LoginFailed"}, 1, "error: Incomplete: LoginFailed"),
    ],
    ids=["passed", "failed", "incomplete"],
)
def test_a_backup_is_proven(
    space: Space, plugin: Plugin, backup: str, verification: Json, code: int, said: str
) -> None:
    def run() -> Any:
        return plugin("verify", backup, "--check", "select 1", "--wait")

    phase = "Failed" if code else "Completed"
    status = {"phase": phase, "verification": verification}
    ended = while_waiting(space, "restorejobs", run, status)
    assert ended.returncode == code, ended
    assert said in ended.stdout + ended.stderr
    [job] = json.loads(space.kubectl("get", "restorejobs", "-o", "json"))["items"]
    assert job["spec"]["backupName"] == backup
    assert job["spec"]["verify"] == {"checks": [{"sql": "select 1"}]}
    space.kubectl("delete", "restorejobs", "--all", "--wait=false")
    elsewhere = plugin("verify", backup, "-n", "default")
    assert (elsewhere.returncode, "beside that cluster" in elsewhere.stderr) == (1, True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("backup", "--schedule", "d"), ["daily"]),
        (("backup", "--type", ""), ["full", "incremental"]),
        (("backup", "m"), ["mo"]),
        (("restore", "x", "--like", "b"), ["bare"]),
        (("restore", "x", "--path", ""), []),
    ],
)
def test_values_of_options_are_completed(
    space: Space, plugin: Plugin, words: tuple[str, ...], expected: list[str]
) -> None:
    *found, _directive = plugin.completed(*words[:1], "-n", space.name, *words[1:])
    assert found == expected
