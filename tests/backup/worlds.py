# SPDX-License-Identifier: Apache-2.0
"""What a pass over a BackupJob may find."""

import copy
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import manifest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks

from tests.support.backup_records import backup_record

Json = dict[str, Any]

BEGAN = "2026-11-22T18:00:00Z"
NOW = "2026-11-22T18:00:30Z"
LATER = "2026-11-23T19:00:00Z"
UID = "0195abcd-6e1c-7000-8000-000000000001"
S3 = {"path": "backups/mo/full", "endpoint": "http://minio:9000", "secretRef": {"name": "store"}}
LABELS = {
    "matrixorigin.io/namespace": "prod",
    "matrixorigin.io/instance": "full",
    "matrixorigin.io/component": "BackupJob",
}
BASE = "full-backup"


def backup_job(name: str = "full", uid: str = UID, status: Json | None = None, **spec: Any) -> Json:
    """Return a BackupJob of the cluster mo."""
    given = {"source": {"clusterRef": "mo"}, "target": {"s3": S3}, "type": "full", **spec}
    metadata = {"name": name, "namespace": "prod", "uid": uid, "generation": 1}
    found: Json = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BackupJob",
        "metadata": {**metadata, "creationTimestamp": BEGAN},
        "spec": copy.deepcopy(given),
    }
    return {**found, "status": status} if status else found


def cluster() -> Json:
    """Return a cluster that serves."""
    storage = {"s3": {"path": "data/mo", "endpoint": "http://minio:9000"}}
    return {
        "kind": "MatrixOneCluster",
        "metadata": {"name": "mo", "namespace": "prod", "uid": "u-1", "creationTimestamp": BEGAN},
        "spec": {"logService": {"sharedStorage": storage}},
        "status": {
            "host": "mo-proxy.prod",
            "port": 6001,
            "credentialRef": {"name": "mo-credential"},
        },
    }


def around(**more: Any) -> Json:
    """Return what is there before a BackupJob begins."""
    secret = {"kind": "Secret", "metadata": {"name": "store"}}
    found = {"jobs": [], "cnSets": [], "logSets": [], "source": cluster(), "targetSecret": secret}
    none: Json = {"job": None, "task": None, "result": None, "pods": []}
    return {**found, **none, **more}


def job(*conditions: Json, **spec: Any) -> Json:
    """Return the Job of Kubernetes."""
    metadata = {"name": BASE, "namespace": "prod", "uid": "j-1", "creationTimestamp": BEGAN}
    status = {"startTime": BEGAN, "conditions": list(conditions)}
    return {"metadata": metadata, "spec": {"suspend": False, **spec}, "status": status}


def ended(kind: str, reason: str = "", at: str = BEGAN) -> Json:
    """Return the condition of a Job that has ended."""
    return {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": at}


def pod(phase: str = "Running", *, waiting: str = "", unschedulable: str = "") -> Json:
    """Return a Pod of the Job."""
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {"startedAt": BEGAN}}
    status: Json = {"phase": phase, "containerStatuses": [{"name": "main", "state": state}]}
    if waiting:
        status["containerStatuses"][0]["image"] = "operator:9"
    if unschedulable:
        refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        status = {"phase": phase, "conditions": [{**refused, "message": unschedulable}]}
    return {"metadata": {"name": f"{BASE}-x"}, "spec": {"containers": []}, "status": status}


def record(identity: str = UID) -> manifest.Manifest:
    """Return what the program records of a backup."""
    return backup_record(
        identity,
        timestamp="1763835000000000000-0",
        started_at=BEGAN,
        completed_at=NOW,
        size=12 * 1024**2,
        files=42,
    )


def result(phase: str = "Running", reason: str = "", **more: Any) -> Json:
    """Return the ConfigMap with the result of the program."""
    given = {"started_at": BEGAN, "step": tasks.Step.VERIFY, "message": "", **more}
    one = tasks.Result(
        phase=tasks.Phase(phase), reason=tasks.Reason(reason) if reason else None, **given
    )
    return {"kind": "ConfigMap", "data": {"result.json": tasks.result_to_json(one)}}


def backup(name: str = "earlier", **meta: Any) -> Json:
    """Return a Backup on the server of `S3`."""
    given = {
        "id": f"id-{name}",
        "atTime": "2026-11-22T18:00:10Z",
        "sourceRef": "matrixonecluster/prod/mo",
        "location": {"s3": {**S3, "path": f"backups/mo/{name}"}},
        **meta,
    }
    return {"kind": "Backup", "metadata": {"name": name}, "meta": given}
