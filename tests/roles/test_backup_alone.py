# SPDX-License-Identifier: Apache-2.0
"""A BackupJob under an operator of a single namespace, which has no right to Backups."""

import json
from typing import Any

import pytest

from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

pytestmark = [pytest.mark.api, pytest.mark.usefixtures("operator")]

Json = dict[str, Any]
S3 = {"type": "minio", "endpoint": "http://minio:9000"}


def test_an_incremental_backup_has_no_base(space: Namespace) -> None:
    """It fails for that reason, not by a request that is refused again and again."""
    space.apply(
        {
            "apiVersion": "core.matrixorigin.io/v1alpha1",
            "kind": "CNSet",
            "metadata": {"name": "tp", "annotations": {"matrixorigin.io/paused": "true"}},
            "spec": {"image": "matrixorigin/matrixone:1.3.0", "replicas": 1},
            "deps": {
                "externalLogSet": {
                    "haKeeperEndpoint": "log:32001",
                    "sharedStorage": {"s3": {**S3, "path": "data/mo"}},
                }
            },
        }
    )
    status = json.dumps({"status": {"host": "tp-cn.prod", "port": 6001}})
    space.kubectl("patch", "cnset", "tp", "--subresource=status", "--type=merge", "-p", status)
    space.kubectl("create", "secret", "generic", "login", "--from-literal=username=dump")
    space.apply(
        {
            "apiVersion": "core.matrixorigin.io/v1alpha1",
            "kind": "BackupJob",
            "metadata": {"name": "increment"},
            "spec": {
                "source": {"cnSetRef": "tp", "secretRef": "login"},
                "target": {"s3": {**S3, "path": "backups/mo/increment"}},
                "type": "incremental",
                "base": {"latest": True},
                "overlay": {"image": "operator:test"},
            },
        }
    )

    def state() -> Json:
        found: Json = space.get("backupjob", "increment").get("status") or {}
        return found

    eventually(lambda: state().get("phase") == "Failed", 90, "the BackupJob fails")
    reason = space.condition("backupjob", "increment", "Degraded")
    assert (reason["reason"], "has no right to Backups" in reason["message"]) == (
        "BaseMissing",
        True,
    )
