# SPDX-License-Identifier: Apache-2.0
"""The demo's database on S3: the example with its shared storage in a bucket."""

import copy
import re
from collections.abc import Mapping
from typing import Any

from testbed import ObjectStore, database

BUCKET = "matrixone"
SECRET = "object-store"  # noqa: S105 - its name

Json = dict[str, Any]

_RELEASE = re.compile(r"(\d+)\.(\d+)\.")
STORED_AS_AWS = (2, 1)
BACKED_UP_AS_AWS = (2, 0)
"""Releases from which MatrixOne's client for MinIO signs by version 2: that of its data, and that
of the BACKUP statement."""


def on_s3(cluster: Mapping[str, Any], store: ObjectStore) -> Json:
    """Return a MatrixOneCluster that keeps its data in a bucket.

    Args:
        cluster: the resource; its log service has any shared storage.
        store: the S3 server; the bucket is ``BUCKET``, the prefix the cluster's name.
    """
    changed: Json = copy.deepcopy(dict(cluster))
    path = f"{BUCKET}/{cluster['metadata']['name']}"
    changed["spec"]["logService"]["sharedStorage"] = {
        "s3": bucket(store, path, dialect(STORED_AS_AWS))
    }
    return changed


def bucket(store: ObjectStore, path: str, kind: str) -> Json:
    """Return a prefix of a bucket as resources name it.

    Args:
        store: the S3 server.
        path: bucket and prefix.
        kind: its type, as `dialect` returns it.
    """
    return {
        "type": kind,
        "path": path,
        "endpoint": store.endpoint,
        "region": store.region,
        "secretRef": {"name": SECRET},
    }


def dialect(since: tuple[int, int]) -> str:
    """Return the type of a bucket: the server of the test bed knows signatures of version 4 only.

    Args:
        since: release from which the client for MinIO signs by version 2.
    """
    release = _RELEASE.match(database.chosen().tag)
    is_newer = release is not None and tuple(map(int, release.groups())) >= since
    return "aws" if is_newer else "minio"


def secret(store: ObjectStore) -> Json:
    """Return the Secret with the server's credentials, as the cluster takes them."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET},
        "stringData": {
            "AWS_ACCESS_KEY_ID": store.access_key,
            "AWS_SECRET_ACCESS_KEY": store.secret_key,
        },
    }
