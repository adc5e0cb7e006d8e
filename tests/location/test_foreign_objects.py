# SPDX-License-Identifier: Apache-2.0
"""No object makes the pass of another one fail, whatever is written in its fields.

Each text of each object that a pass reads besides its own is replaced by hostile ones.
"""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import kind_of
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import (
    PassEnd,
    Play,
)

from tests.backup import test_restore_job as restores
from tests.backup import test_verification as verifications
from tests.backup import worlds as backups
from tests.bucket import worlds as buckets

Json = dict[str, Any]

HOSTILE = (
    "", " ", "http://minio:99999", "http://minio.storage:9000 ", "http://[fd00::1:9000", "s3://b/x",
    "b/../../x", "\x00", "{{ x }}", "/", "9999-99-99T99:99:99Z", "-1", "x" * 2000, "é", "a/b/c/d",
)  # fmt: skip
VERSION = "core.matrixorigin.io/v1alpha1"


def texts(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all texts, but for the names and times that the API server checks."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        at = (*path, key)
        if path == ("metadata",) and key in ("name", "namespace", "uid", "creationTimestamp"):
            continue
        if isinstance(value, (dict, list)):
            yield from texts(value, at)
        elif isinstance(value, str) and at not in (("kind",), ("apiVersion",)):
            yield at


def with_text(resource: Json, path: tuple[Any, ...], text: str) -> Json:
    result = copy.deepcopy(resource)
    node: Any = result
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = text
    return result


def named(kind: str, name: str, **parts: Any) -> Json:
    metadata = {"name": name, "namespace": "prod", "uid": f"u-{name}"}
    times = {"creationTimestamp": "2026-11-20T18:00:00Z", "generation": 1}
    return {"apiVersion": VERSION, "kind": kind, "metadata": {**metadata, **times}, **parts}


S3 = {
    "type": "minio",
    "path": "backups/other",
    "endpoint": "http://minio:9000",
    "region": "us-west-2",
    "secretRef": {"name": "store"},
    "certificateRef": {"name": "ca", "files": ["ca.crt"]},
}
RECORD: Json = {
    "id": "id-other",
    "atTime": "2026-11-22T18:00:10Z",
    "completeTime": "2026-11-22T18:01:10Z",
    "sourceRef": "matrixonecluster/prod/mo",
    "location": {"s3": S3},
    "secretNamespace": "prod",
    "base": {"id": "id-base"},
    "raw": "{}",
}
SCHEDULED = {"matrixorigin.io/namespace": "prod", "matrixorigin.io/backup-schedule": "nightly"}
BACKUP = named(
    "Backup", "other", meta=RECORD, deletionPolicy="Delete",
    status={"phase": "Available", "conditions": [{"type": "Verified", "status": "True", "reason": "x"}]},
)  # fmt: skip
BACKUP["metadata"]["labels"] = SCHEDULED
BACKUP_JOB = named(
    "BackupJob", "other",
    spec={"source": {"clusterRef": "mo"}, "target": {"s3": S3}, "type": "incremental",
          "base": {"backupName": "first"}, "ttl": "1h"},
    status={"phase": "Running", "startTime": "2026-11-22T18:00:10Z", "base": {"id": "id-base"}},
)  # fmt: skip
BACKUP_JOB["metadata"]["labels"] = SCHEDULED
RESTORE_JOB = named(
    "RestoreJob", "other",
    spec={"externalSource": {"s3": S3}, "target": {"s3": {**S3, "path": "data/other"}}},
    status={"phase": "Running", "startTime": "2026-11-22T18:00:10Z"},
)  # fmt: skip
VERIFYING = named(
    "RestoreJob", "verifying",
    spec={"backupName": "other", "verify": {"sharedStorage": {"s3": S3}}}, status={"phase": "Running"},
)  # fmt: skip
VERIFYING["metadata"]["labels"] = SCHEDULED
CLUSTER = named(
    "MatrixOneCluster", "other",
    spec={"restoreSource": {"s3": S3}, "logService": {"sharedStorage": {"s3": S3}},
          "clusterDomain": "example.com"},
    status={"restore": {"phase": "Running"}},
)  # fmt: skip
LOG_SET = named("LogSet", "other", spec={"sharedStorage": {"s3": S3}})
CN_SET = named(
    "CNSet", "other", spec={},
    deps={"logSet": {"metadata": {"name": "mo", "namespace": "prod"}}},
)  # fmt: skip
CLAIM = named(
    "BucketClaim", "other",
    spec={"s3": S3, "clusterDomain": "example.com", "logSetRef": {"name": "a", "uid": "b"},
          "logSetSpec": {"spec": {"serviceAccountName": "x"}}},
    status={"state": "InUse", "bindTo": "prod/a"},
)  # fmt: skip
USERS = {
    "everyBackup": BACKUP,
    "everyBackupJob": BACKUP_JOB,
    "everyRestoreJob": RESTORE_JOB,
    "everyCluster": CLUSTER,
}


def incremental() -> Json:
    return backups.backup_job(type="incremental", base={"latest": True})


def schedule() -> Json:
    spec = {
        "schedule": "0 3 * * *",
        "template": {"source": {"clusterRef": "mo"}, "target": {"s3": S3}},
        "retention": {"keepLast": 1},
        "verify": {"schedule": "0 5 * * *"},
        "fullEvery": 3,
    }
    return named("BackupSchedule", "nightly", spec=spec)


def deleted_backup() -> Json:
    backup = copy.deepcopy(BACKUP)
    backup["metadata"] |= {
        "name": "own",
        "uid": "u-own",
        "deletionTimestamp": backups.NOW,
        "finalizers": ["x"],
    }
    backup["meta"] |= {"id": "id-own"}
    return backup


def deleted_claim() -> Json:
    return buckets.claim(released=True, deleted=buckets.NOW)


PASSES: dict[str, tuple[Json, dict[str, list[Json]], Json]] = {
    "BackupJob": (
        incremental(),
        {"backups": [BACKUP], "jobs": [BACKUP_JOB], "cnSets": [CN_SET], "logSets": [LOG_SET]},
        backups.around(now=backups.NOW),
    ),
    "BackupSchedule": (
        schedule(),
        {
            "backups": [BACKUP],
            "jobs": [BACKUP_JOB],
            "restoreJobs": [VERIFYING],
            **{label: [one] for label, one in USERS.items()},
        },
        {"now": backups.LATER},
    ),
    "Backup": (
        deleted_backup(),
        {label: [one] for label, one in USERS.items()},
        {"now": backups.NOW, "targetSecret": {"metadata": {}}, "job": None, "pods": []},
    ),
    "BackupJob, full": (
        backups.backup_job(),
        {"claims": [CLAIM], "jobs": [BACKUP_JOB], "cnSets": [CN_SET], "logSets": [LOG_SET]},
        backups.around(now=backups.NOW),
    ),
    "RestoreJob": (
        restores.restore_job(),
        {"claims": [CLAIM]},
        restores.around(now=backups.NOW),
    ),
    "RestoreJob of a cluster": (
        restores.restore_job(owned=True),
        {"claims": [CLAIM]},
        restores.around(now=backups.NOW, cluster=CLUSTER),
    ),
    "BucketClaim": (
        buckets.claim(),
        {"claims": [CLAIM], "neighbours": [CLAIM]},
        {"now": buckets.NOW, "logSet": buckets.log_set(), "logPods": []},
    ),
    "BucketClaim, deleted": (
        deleted_claim(),
        {"claims": [CLAIM], "dnSets": [CN_SET], "cnSets": [CN_SET]},
        {"now": buckets.NOW, "logSet": None, "logPods": [], "job": None, "result": None,
         "pods": [], "targetSecret": {"metadata": {}}},
    ),
}  # fmt: skip


def planned(resource: Json, observed: Json) -> Any:
    kind = kind_of(resource)
    plan = kind.plan(copy.deepcopy(resource), observed, Play(image="operator:1"))
    assert kind.reporter.report(PassEnd(copy.deepcopy(resource), plan, observed)).status is not None
    return plan


NAMED: dict[str, tuple[Json, Json]] = {
    "RestoreJob": (restores.restore_job(), restores.around(now=backups.NOW, backup=BACKUP)),
    "RestoreJob of a cluster, at its end": (
        restores.restore_job(restores.ENDED, owned=True),
        restores.around(now=backups.LATER, cluster=CLUSTER),
    ),
    "RestoreJob, verifying": (
        verifications.verifying(),
        {**verifications.around(), "now": backups.NOW},
    ),
    "BackupJob": (backups.backup_job(), backups.around(now=backups.NOW)),
}
"""Passes that read single objects by name: what is wrong in one is said, and fails nothing."""


@pytest.mark.parametrize("name", NAMED)
def test_a_text_of_an_object_that_is_named_fails_no_pass(name: str) -> None:
    resource, observed = NAMED[name]
    for label, object_ in observed.items():
        if not isinstance(object_, dict):
            continue
        for path in texts(object_):
            for hostile in HOSTILE:
                try:
                    planned(resource, {**observed, label: with_text(object_, path, hostile)})
                except Exception as error:
                    raise AssertionError(f"{label}{path} = {hostile!r}: {error!r}") from error


@pytest.mark.parametrize("name", PASSES)
def test_a_text_of_another_object_fails_no_pass(name: str) -> None:
    resource, lists, rest = PASSES[name]
    planned(resource, {**lists, **rest})
    for label, objects in lists.items():
        for path in texts(objects[0]):
            for hostile in HOSTILE:
                observed = {**lists, **rest, label: [with_text(objects[0], path, hostile)]}
                try:
                    plan = planned(resource, observed)
                except Exception as error:
                    raise AssertionError(f"{label}{path} = {hostile!r}: {error!r}") from error
                assert not plan.invalid, (label, path, hostile)
