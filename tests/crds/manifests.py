# SPDX-License-Identifier: Apache-2.0
"""Small valid objects of each kind, and changes to them by dotted path."""

import copy
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

API_VERSION = "core.matrixorigin.io/v1alpha1"
EARLY_API_VERSION = "matrixone.matrixorigin.cn/v1alpha1"
EARLY = "MatrixoneCluster"
IMAGE = "matrixorigin/matrixone:1.2.3"
LOG_SET = {"metadata": {"name": "mo", "namespace": "default"}}
S3 = {"type": "minio", "path": "bucket/mo", "endpoint": "http://minio:9000"}

PLURALS = {
    "MatrixOneCluster": "matrixoneclusters",
    "LogSet": "logsets",
    "DNSet": "dnsets",
    "CNSet": "cnsets",
    "ProxySet": "proxysets",
    "WebUI": "webuis",
    "BackupJob": "backupjobs",
    "RestoreJob": "restorejobs",
    "Backup": "backups",
    "BackupSchedule": "backupschedules",
    "BucketClaim": "bucketclaims",
    "CNPool": "cnpools",
    "CNClaim": "cnclaims",
    "CNClaimSet": "cnclaimsets",
    "Database": "databases",
    "DatabaseUser": "databaseusers",
}
CLUSTER_SCOPED = {"Backup"}
SETS = ("LogSet", "DNSet", "CNSet", "ProxySet", "WebUI")

_LOG_SERVICE = {"replicas": 3, "volume": {"size": "10Gi"}, "sharedStorage": {"s3": S3}}

_MINIMAL: dict[str, Json] = {
    "MatrixOneCluster": {
        "spec": {
            "version": "1.2.3",
            "logService": _LOG_SERVICE,
            "tn": {"replicas": 1, "cacheVolume": {"size": "10Gi"}},
            "cnGroups": [{"name": "tp", "replicas": 2, "cacheVolume": {"size": "10Gi"}}],
        }
    },
    "LogSet": {"spec": {"image": IMAGE, **_LOG_SERVICE}},
    "DNSet": {"spec": {"image": IMAGE, "replicas": 1}, "deps": {"logSet": LOG_SET}},
    "CNSet": {
        "spec": {"image": IMAGE, "replicas": 1},
        "deps": {"logSet": LOG_SET, "dnSet": LOG_SET},
    },
    "ProxySet": {"spec": {"image": IMAGE, "replicas": 1}, "deps": {"logSet": LOG_SET}},
    "WebUI": {"spec": {"replicas": 1}},
    "BackupJob": {
        "spec": {"source": {"clusterRef": "mo"}, "target": {"s3": {"path": "backups/mo-1"}}}
    },
    "RestoreJob": {"spec": {"backupName": "mo-1", "target": {"s3": {"path": "bucket/new"}}}},
    "Backup": {
        "meta": {
            "location": {"s3": {"path": "backups/mo-1"}},
            "id": "0195abcd",
            "atTime": "2026-11-22T18:10:00Z",
            "completeTime": "2026-11-22T18:10:05Z",
            "sourceRef": "matrixonecluster/default/mo",
            "raw": "{}",
        }
    },
    "BackupSchedule": {
        "spec": {
            "schedule": "@daily",
            "template": {
                "source": {"clusterRef": "mo"},
                "target": {"s3": {"path": "backups/mo"}},
            },
        }
    },
    "BucketClaim": {"spec": {"s3": S3}},
    "Database": {"spec": {"clusterRef": {"name": "mo"}}},
    "DatabaseUser": {"spec": {"clusterRef": {"name": "mo"}}},
    "CNPool": {
        "spec": {
            "template": {"image": IMAGE},
            "podLabels": {"pool": "shared"},
            "deps": {"logSet": LOG_SET},
            "strategy": {"scaleStrategy": {"maxIdle": 2}},
        }
    },
    "CNClaim": {"spec": {"selector": {"matchLabels": {"pool": "shared"}}}},
    "CNClaimSet": {
        "spec": {
            "replicas": 2,
            "template": {"spec": {"selector": {"matchLabels": {"pool": "shared"}}}},
        }
    },
    EARLY: {"spec": {"image": IMAGE, "dataVolumeCap": "10Gi", "logVolumeCap": "10Gi"}},
}


def minimal(kind: str, name: str = "mo") -> Json:
    """The least object of a kind that is accepted."""
    return {
        "apiVersion": EARLY_API_VERSION if kind == EARLY else API_VERSION,
        "kind": kind,
        "metadata": {"name": name},
        **copy.deepcopy(_MINIMAL[kind]),
    }


def changed(resource: Json, changes: Mapping[str, Any]) -> Json:
    """A copy with values set at dotted paths (numbers index lists); None removes."""
    result = copy.deepcopy(resource)
    for path, value in copy.deepcopy(dict(changes)).items():
        *parents, last = path.split(".")
        node: Any = result
        for key in parents:
            node = node[int(key)] if isinstance(node, list) else node.setdefault(key, {})
        if value is None:
            node.pop(last, None)
        elif isinstance(node, list):
            node[int(last)] = value
        else:
            node[last] = value
    return result
