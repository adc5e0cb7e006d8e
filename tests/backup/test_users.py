# SPDX-License-Identifier: Apache-2.0
"""Who needs the data of a Backup, and that it stays as long as somebody does."""

import copy
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import users
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import kind_of

from tests.backup import worlds as w

Json = dict[str, Any]
LONG_AGO, NOW = "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"
NOBODY: Json = dict.fromkeys(users.references(), ())


def location(folder: str) -> Json:
    return {"s3": {"path": f"backups/mo/{folder}", "endpoint": "http://minio.prod:9000"}}


def backup(name: str = "full", policy: str = "Delete", gone: bool = False, **meta: Any) -> Json:
    given = {
        "id": f"id-{name}",
        "atTime": LONG_AGO,
        "sourceRef": "matrixonecluster/prod/mo",
        "secretNamespace": "prod",
        "location": location(name),
    }
    metadata = {
        "name": name,
        "uid": f"u-{name}",
        **({"deletionTimestamp": LONG_AGO} if gone else {}),
    }
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "Backup",
        "metadata": metadata,
        "meta": {**given, **meta},
        "deletionPolicy": policy,
        "status": {"phase": "Available"},
    }


def other(kind: str, status: Json | None = None, **spec: Any) -> Json:
    metadata = {"name": "other", "namespace": "elsewhere", "uid": "u"}
    return {"kind": kind, "metadata": metadata, "spec": spec, "status": status or {}}


ENDED = {"conditions": [{"type": "Ended", "status": "True"}]}
INCREMENTAL = {"type": "incremental", "source": {"clusterRef": "mo"}}
OF_PROD = {"name": "other", "namespace": "prod", "uid": "u"}
BACKUPS, BACKUP_JOBS, RESTORE_JOBS, CLUSTERS = users.references()


@pytest.mark.parametrize(
    ("where", "user"),
    [
        (BACKUPS, backup("next", base={"id": "id-full"})),
        (BACKUPS, backup("next", base={"id": "id-full"}, gone=True)),
        (BACKUPS, backup("next", policy="Retain", base={"id": "id-full"}, gone=True)),
        (BACKUPS, backup("same", id="id-full")),
        (BACKUPS, backup("same", policy="Retain", id="id-full", gone=True)),
        (BACKUP_JOBS, other("BackupJob", {"base": {"id": "id-full"}}, **INCREMENTAL)),
        (BACKUP_JOBS, other("BackupJob", **INCREMENTAL, base={"backupName": "full"})),
        (
            BACKUP_JOBS,
            other("BackupJob", **INCREMENTAL, base={"backupName": "full"}, suspend=True),
        ),
        (
            BACKUP_JOBS,
            {**other("BackupJob", **INCREMENTAL, base={"latest": True}), "metadata": OF_PROD},
        ),
        (RESTORE_JOBS, other("RestoreJob", backupName="full")),
        (RESTORE_JOBS, other("RestoreJob", backupName="full", suspend=True)),
        (RESTORE_JOBS, other("RestoreJob", backupName="full", verify={})),
        (RESTORE_JOBS, other("RestoreJob", externalSource=location("full"))),
        (RESTORE_JOBS, other("RestoreJob", externalSource=location("full/tae"))),
        (RESTORE_JOBS, other("RestoreJob", externalSource={"s3": {"path": 7}})),
        (
            RESTORE_JOBS,
            other("RestoreJob", externalSource={"s3": {"path": "backups", "endpoint": "["}}),
        ),
        (CLUSTERS, other("MatrixOneCluster", restoreFrom="full")),
        (
            CLUSTERS,
            other("MatrixOneCluster", {"restore": {"phase": "Failed"}}, restoreFrom="full"),
        ),
        (CLUSTERS, other("MatrixOneCluster", restoreSource=location("full"))),
    ],
)
def test_what_may_need_it_keeps_its_data_whatever_time_it_takes(where, user):
    observed = {**NOBODY, where: [user], "now": NOW}
    plan = kind_of(backup()).plan(backup(gone=True), observed)
    assert (plan.done, plan.kept, plan.objects) == (False, "", ())
    assert plan.problem["reason"] == "InUse"
    assert user["metadata"]["name"] in plan.message


@pytest.mark.parametrize(
    ("where", "user"),
    [
        (BACKUPS, backup("full")),
        (BACKUPS, backup("next", base={"id": "id-of-another"})),
        (BACKUPS, backup("same", id="id-full", gone=True)),
        (BACKUP_JOBS, other("BackupJob", {**ENDED, "base": {"id": "id-full"}}, **INCREMENTAL)),
        (BACKUP_JOBS, other("BackupJob", {"base": {"id": "another"}}, **INCREMENTAL)),
        (BACKUP_JOBS, other("BackupJob", **INCREMENTAL, base={"latest": True})),
        (BACKUP_JOBS, other("BackupJob", source={"clusterRef": "mo"}, type="full")),
        (RESTORE_JOBS, other("RestoreJob", ENDED, backupName="full")),
        (RESTORE_JOBS, other("RestoreJob", backupName="another")),
        (RESTORE_JOBS, other("RestoreJob", externalSource=location("fuller"))),
        (
            RESTORE_JOBS,
            other("RestoreJob", externalSource={"s3": {"path": "else", "endpoint": "["}}),
        ),
        (RESTORE_JOBS, other("RestoreJob", externalSource="no table")),
        (
            CLUSTERS,
            other("MatrixOneCluster", {"restore": {"phase": "Completed"}}, restoreFrom="full"),
        ),
        (CLUSTERS, other("MatrixOneCluster")),
    ],
)
def test_what_does_not_need_it_does_not_keep_its_data(where, user):
    observed = {**NOBODY, where: [user]}
    assert list(users.users_of(backup(), users.Everything.of(observed))) == []


@pytest.mark.parametrize("where", list(users.references()))
def test_what_cannot_be_listed_may_hold_a_user(where):
    observed = {**NOBODY, "now": NOW}
    for missing in ({**observed, where: None}, {k: v for k, v in observed.items() if k != where}):
        plan = kind_of(backup()).plan(backup(gone=True), missing)
        assert (plan.done, plan.objects, plan.problem["reason"]) == (False, (), "InUse")


def test_nothing_is_changed_by_a_look():
    observed = {**NOBODY, BACKUPS: [backup("next", base={"id": "id-full"})], "now": NOW}
    before = copy.deepcopy(observed)
    kind_of(backup()).plan(backup(gone=True), observed)
    assert observed == before


def test_a_backup_that_is_continued_in_the_store_waits_without_end():
    """The program has looked there: the increment has no object any more."""
    job = w.job(w.ended("Failed", "PodFailurePolicy"))
    for reason, done in (("ChainBroken", False), ("AccessDenied", True)):
        failed = w.result("Failed", reason, message="the backup b2 continues it")
        failed["metadata"] = {"name": "result", "namespace": "prod"}
        observed = {**NOBODY, "job": job, "result": failed, "pods": [], "now": NOW}
        plan = kind_of(backup()).plan(backup(gone=True), observed)
        assert (plan.done, plan.problem.get("reason")) == (done, reason)
