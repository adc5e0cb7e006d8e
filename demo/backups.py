# SPDX-License-Identifier: Apache-2.0
"""The demo's backup: where it is written, its BackupJob, and a cluster that is restored from it.

All functions return or take resources as they are in JSON; nothing here talks to a cluster.
"""

import copy
import json
from collections.abc import Mapping
from typing import Any

from demo import object_storage
from demo.stages import CLUSTER
from testbed import ObjectStore

BUCKET = "backups"
JOB = f"{CLUSTER}-full"
RESTORED = "restored"
"""Name of the cluster that a user may restore beside the demo's."""

_CLAIM = "backups"
_MOUNT = "/backups"
_SIZE = "1Gi"

Json = dict[str, Any]


def on_volumes(cluster: Mapping[str, Any]) -> Json:
    """Return a MatrixOneCluster whose compute nodes mount the volume for backups: they write them.

    Args:
        cluster: the resource; it is not changed.
    """
    changed: Json = copy.deepcopy(dict(cluster))
    for group in changed["spec"]["cnGroups"]:
        group["overlay"] = {
            "volumes": [{"name": "backups", **_volume()}],
            "volumeMounts": [{"name": "backups", "mountPath": _MOUNT}],
        }
    return changed


def _volume() -> Json:
    return {"persistentVolumeClaim": {"claimName": _CLAIM}}


def claim() -> Json:
    """Return the PersistentVolumeClaim for backups; compute nodes and Jobs mount it."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": _CLAIM},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": _SIZE}},
        },
    }


def job(store: ObjectStore | None) -> Json:
    """Return the BackupJob.

    Args:
        store: the S3 server; None for the volume of `claim`.
    """
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BackupJob",
        "metadata": {"name": JOB},
        "spec": {"source": {"clusterRef": CLUSTER}, "target": _target(store)},
    }


def _target(store: ObjectStore | None) -> Json:
    if store is None:
        return {"fileSystem": {"path": f"{_MOUNT}/{JOB}", "mountPath": _MOUNT, "volume": _volume()}}
    kind = object_storage.dialect(object_storage.BACKED_UP_AS_AWS)
    return {"s3": object_storage.bucket(store, f"{BUCKET}/{JOB}", kind)}


def restored(cluster: Mapping[str, Any], backup: str) -> Json:
    """Return a second cluster that is restored from a backup of the demo's.

    Args:
        cluster: the demo's MatrixOneCluster, as it was applied.
        backup: name of the Backup.
    """
    changed: Json = copy.deepcopy(dict(cluster))
    changed["metadata"]["name"] = RESTORED
    changed["spec"] |= {
        "restoreFrom": backup,
        "credentialSecretRef": {"name": f"{CLUSTER}-credential"},
    }
    storage = changed["spec"]["logService"]["sharedStorage"]
    if "s3" in storage:
        storage["s3"]["path"] = f"{object_storage.BUCKET}/{RESTORED}"
    return changed


def failure(resource: Mapping[str, Any]) -> str:
    """Return why a BackupJob failed; empty if it has not."""
    status = resource.get("status") or {}
    if status.get("phase") != "Failed":
        return ""
    return status.get("message") or "it gives no reason"


def line(resource: Mapping[str, Any]) -> str:
    """Return how far a BackupJob is; empty before its first status."""
    status = resource.get("status") or {}
    words = (status.get("phase"), status.get("step"), status.get("size"))
    said = " ".join(word for word in words if word)
    if status.get("phase") in {"Pending", "Running"} and status.get("message"):
        said += f" ({status['message']})"
    return f"backup: {said}" if said else ""


def name(resource: Mapping[str, Any]) -> str:
    """Return the Backup of a BackupJob that has completed; empty before."""
    status = resource.get("status") or {}
    return status.get("backup", "") if status.get("phase") == "Completed" else ""


def list_of(*resources: Mapping[str, Any]) -> str:
    """Return resources as kubectl takes them from its standard input."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(resources)})
