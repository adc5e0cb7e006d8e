# SPDX-License-Identifier: Apache-2.0
"""A CNSet on fake nodes, and a HAKeeper that knows its Pods as soon as they run."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.tables import (
    logservice,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute import pods as cn_pods

from testbed.bed import TestBed
from tests.clients.matrixone import scripted

Json = dict[str, Any]


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


@dataclass
class Registry:
    """What compute nodes and operators have told a HAKeeper.

    Attributes:
        address: where it listens.
        draining: ids of the stores that were told to drain; they are forgotten at once.
    """

    address: str = ""
    draining: set[str] = field(default_factory=set)


@contextmanager
def hakeeper(bed: TestBed, namespace: str) -> Iterator[Registry]:
    """Answer as a HAKeeper that every running compute node of a namespace has registered with."""
    told = Registry()

    def stores() -> list[Json]:
        text = bed.kubectl("-n", namespace, "get", "pods", "-o", "json")
        running = [pod for pod in json.loads(text)["items"] if pod["status"].get("podIP")]
        known = {cn_pods.uuid_of(pod) for pod in running} - told.draining
        return [{"UUID": uuid, "WorkState": WorkState.WORKING.number} for uuid in sorted(known)]

    def answered(asked: Json) -> bytes:
        known: Json = {"IsHAKeeper": True}
        if asked["Method"] == logservice.Method.GET_CLUSTER_DETAILS:
            known["ClusterDetails"] = {"CNStores": stores()}
        if asked["Method"] == logservice.Method.PATCH_CN_STORE:
            assert asked["CNStateLabel"]["State"] == WorkState.DRAINING.number
            told.draining.add(asked["CNStateLabel"]["UUID"])
        return scripted.fitting(asked, **known)

    with scripted.serving(scripted.replying(answered)) as told.address:
        yield told
