# SPDX-License-Identifier: Apache-2.0
"""BucketClaims and what a pass over one may find."""

from typing import Any

Json = dict[str, Any]

CREATED = "2026-11-22T18:00:00Z"
NOW = "2026-11-22T18:00:30Z"
STORE = "http://minio.storage:9000"


def claim(
    name: str = "own", path: str = "data/mo", state: str = "", *, namespace: str = "prod",
    log_set: str = "mo", released: bool = False, policy: str = "Delete", created: str = CREATED,
    deleted: str = "", ran: bool = True, endpoint: str = STORE, **annotations: str,
) -> Json:  # fmt: skip
    """Return the claim of a LogSet that ran."""
    marks = {"bucket.matrixorigin.io/any-instance-running": "true"} if ran else {}
    metadata: Json = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "generation": 1,
        "creationTimestamp": created,
        "annotations": {**marks, **annotations},
        "finalizers": ["matrixorigin.io/bucket-data-finalizer"],
    }
    if deleted:
        metadata["deletionTimestamp"] = deleted
    owner: Json = {"name": log_set, "uid": f"uid-{log_set}"}
    if released:
        owner["released"] = True
    found: Json = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BucketClaim",
        "metadata": metadata,
        "spec": {
            "s3": {
                "type": "minio",
                "path": path,
                "endpoint": endpoint,
                "secretRef": {"name": "store"},
                "s3RetentionPolicy": policy,
            },
            **({"logSetRef": owner} if log_set else {}),
        },
    }
    return {**found, "status": {"state": state}} if state else found


def log_set(name: str = "mo", uid: str = "", created: str = CREATED, path: str = "data/mo") -> Json:
    """Return a LogSet; by default with the path of `claim`."""
    metadata = {"name": name, "uid": uid or f"uid-{name}", "creationTimestamp": created}
    s3 = {"type": "minio", "path": path, "endpoint": STORE, "secretRef": {"name": "store"}}
    return {
        "kind": "LogSet",
        "metadata": {**metadata, "namespace": "prod"},
        "spec": {"sharedStorage": {"s3": s3}},
    }


def seen(*others: Json, **more: Any) -> Json:
    """Return what a pass over a claim observes."""
    none: Json = {"logSet": None, "logPods": [], "job": None, "result": None, "pods": []}
    secret = {"kind": "Secret", "metadata": {"name": "store"}}
    return {"claims": list(others), "now": NOW, "targetSecret": secret, **none, **more}
