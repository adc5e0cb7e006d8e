# SPDX-License-Identifier: Apache-2.0
"""A CNSet of a pool on fake nodes, and a HAKeeper that knows its Pods as soon as they run."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.tables import (  # noqa: E501
    logservice,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.planning import cn_pods

from testbed.bed import TestBed
from tests.wire import scripted

Json = dict[str, Any]
_WORKING = 1


def pooled_set(namespace: str, hakeeper_address: str) -> Json:
    """Return a CNSet of two compute nodes that knows its log service by its address alone."""
    storage = {"s3": {"type": "minio", "path": "bucket/data", "endpoint": "http://minio:9000"}}
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "CNSet",
        "metadata": {"name": "pool", "namespace": namespace},
        "deps": {
            "externalLogSet": {"haKeeperEndpoint": hakeeper_address, "sharedStorage": storage}
        },
        "spec": {
            "replicas": 2,
            "image": "matrixorigin/matrixone:1.3.0",
            "podManagementPolicy": "Pooling",
        },
    }


@contextmanager
def hakeeper(bed: TestBed, namespace: str) -> Iterator[str]:
    """Answer as a HAKeeper that every running compute node of a namespace has registered with."""

    def stores() -> list[Json]:
        text = bed.kubectl("-n", namespace, "get", "pods", "-o", "json")
        running = [pod for pod in json.loads(text)["items"] if pod["status"].get("podIP")]
        return [{"UUID": cn_pods.uuid_of(pod), "WorkState": _WORKING} for pod in running]

    def answered(asked: Json) -> bytes:
        known = {"IsHAKeeper": True}
        if asked["Method"] == logservice.Method.GET_CLUSTER_DETAILS:
            known["ClusterDetails"] = {"CNStores": stores()}
        return scripted.fitting(asked, **known)

    with scripted.serving(scripted.replying(answered)) as address:
        yield address
