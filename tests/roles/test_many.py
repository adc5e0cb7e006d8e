# SPDX-License-Identifier: Apache-2.0
"""Many clusters at once: all come up within a bound, and then nobody writes anything any more.

MANY_CLUSTERS tells how many; `make scenarios` takes 200. How long it takes is for `make bench`.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import testbed
from testbed.bed import TestBed
from tests.support.namespaces import Namespace, install
from tests.support.operator_rights import NAME, account, refusals
from tests.support.operators import running_operator
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = pytest.mark.api

CLUSTERS = int(os.environ.get("MANY_CLUSTERS", "8"))
PODS_OF_A_NODE = 100
QUIET_SECONDS = 20
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


@pytest.fixture
def audited() -> Iterator[TestBed]:
    """A test bed of its own, with room for all Pods, that records who asks for what."""
    name = f"many-{os.getpid()}"
    nodes = max(3, CLUSTERS * 6 // PODS_OF_A_NODE + 2)
    try:
        bed = testbed.up(name, nodes="fake", node_count=nodes, audit=True)
        install(bed)
        yield bed
    finally:
        testbed.down(name)


@pytest.mark.timeout(180 + 15 * CLUSTERS + 240)
def test_many_clusters_come_up_and_fall_silent(audited: TestBed, tmp_path: Path) -> None:
    with audited.namespace("many") as name:
        space = Namespace(audited, name)
        kubeconfig = account(audited, name, tmp_path / "kubeconfig")
        with running_operator(kubeconfig, tmp_path, WATCH_NAMESPACE=name) as log:
            items = [cluster(name, number) for number in range(CLUSTERS)]
            space.kubectl("create", "-f", "-", input=json.dumps(listed(items)))

            eventually(lambda: not unsettled(space), 180 + 15 * CLUSTERS)
            user = f"system:serviceaccount:{name}:{NAME}"
            assert len(writes(audited, user)) > CLUSTERS
            eventually(lambda: is_quiet(audited, user), 120)

            assert unsettled(space) == []
            assert refusals(log) == []


def cluster(namespace: str, number: int) -> dict[str, Any]:
    resource = tiny_cluster(namespace)
    resource["metadata"]["name"] = f"mo-{number}"
    return resource


def listed(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": items}


def unsettled(space: Namespace) -> list[str]:
    """Return the clusters that do not say that they serve and have all that they ask for."""
    return [
        one["metadata"]["name"]
        for one in space.listed("mo")
        if {"Ready", "Synced"}
        - {
            said["type"]
            for said in (one.get("status") or {}).get("conditions") or []
            if said["status"] == "True"
        }
    ]


def is_quiet(bed: TestBed, user: str) -> bool:
    """Tell whether a user changes nothing for a while."""
    offset = bed.audit_log.stat().st_size
    time.sleep(QUIET_SECONDS)
    return not writes(bed, user, offset)


def writes(bed: TestBed, user: str, offset: int = 0) -> list[dict[str, Any]]:
    """Return what a user has changed since an offset of the audit log, its lease left out."""
    with bed.audit_log.open("rb") as file:
        file.seek(offset)
        his = (line for line in file if line.endswith(b"\n") and user.encode() in line)
        entries = [json.loads(line) for line in his]
    return [
        entry
        for entry in entries
        if entry["user"]["username"] == user
        and entry["verb"] in WRITES
        and entry["objectRef"]["resource"] != "leases"
    ]
