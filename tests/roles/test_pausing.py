# SPDX-License-Identifier: Apache-2.0
"""Whoever pauses a resource finds it left alone, reads that everywhere, and may go on."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.namespaces import CHILDREN, Namespace
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = [pytest.mark.api, pytest.mark.usefixtures("operator")]

PARTS = [
    ("logset", "mo", "statefulset/mo-log"),
    ("dnset", "mo", "statefulset/mo-dn"),
    ("cnset", "mo-tp", "deployment/mo-tp-cn"),
    ("proxyset", "mo", "deployment/mo-proxy"),
    ("webui", "mo", "deployment/mo-webui"),
]
PAUSED = "matrixorigin.io/paused"


@pytest.fixture(scope="module")
def cluster(space: Namespace, operator: object) -> Iterator[dict[str, Any]]:
    resource = tiny_cluster(space.name)
    resource["spec"]["webui"] = {"replicas": 1, "image": "matrixorigin/webui:1"}
    space.apply(resource)
    space.wait("Ready")
    space.wait("Synced")
    yield resource
    space.kubectl("delete", "mo", "--all", "--ignore-not-found", "--timeout=120s")


def pause(space: Namespace, kind: str, name: str, value: str) -> None:
    space.kubectl("annotate", "--overwrite", kind, name, f"{PAUSED}{value}")


def shows(space: Namespace, kind: str, name: str) -> bool:
    """Tell whether status, conditions and ``kubectl get`` all say that a resource is paused."""
    resource = space.get(kind, name)
    status = resource.get("status") or {}
    conditions = {one["type"]: one for one in status.get("conditions") or []}
    said = (
        conditions.get("Paused", {}).get("status") == "True"
        and conditions["Paused"]["reason"] == "PausedByAnnotation"
        and (conditions["Synced"]["status"], conditions["Synced"]["reason"]) == ("False", "Paused")
        and resource["status"]["phase"] == "Paused"
        and "annotation" in resource["status"]["message"]
    )
    return said and " Paused " in space.kubectl("get", kind, name, "--no-headers")


def images(space: Namespace) -> dict[str, str]:
    found = {}
    for _kind, _name, workload in PARTS:
        kind, _slash, name = workload.partition("/")
        spec = space.get(kind, name)["spec"]["template"]["spec"]
        found[workload] = spec["containers"][0]["image"].rpartition(":")[2]
    return found


def test_each_part_can_be_paused_and_goes_on(space, cluster):
    """All parts are paused; a new version reaches each one only when it goes on."""
    for kind, name, _workload in PARTS:
        pause(space, kind, name, "=true")
    for kind, name, _workload in PARTS:
        eventually(lambda kind=kind, name=name: shows(space, kind, name))
        assert space.condition(kind, name, "Ready")["status"] == "True"
    before = images(space)
    cluster["spec"]["version"] = "3.0.19"
    cluster["spec"]["webui"]["image"] = "matrixorigin/webui:2"
    space.apply(cluster)
    eventually(lambda: space.get("proxyset", "mo")["spec"]["image"].endswith("3.0.19"))
    for kind, name, _workload in PARTS:
        eventually(
            lambda kind=kind, name=name: (
                space.get(kind, name)["status"]["observedGeneration"]
                == space.get(kind, name)["metadata"]["generation"]
            )
        )
        assert shows(space, kind, name)
    assert images(space) == before
    eventually(lambda: space.condition("mo", "mo", "Synced")["status"] == "False")

    for kind, name, workload in PARTS:
        pause(space, kind, name, "-")
        space.wait("Synced", kind, name)
        eventually(lambda k=kind, n=name: space.condition(k, n, "Paused")["status"] == "False")
        assert images(space)[workload] != before[workload]
    space.wait("Synced")
    space.wait("Ready")


def test_a_paused_cluster_says_so_and_its_parts_are_repaired_all_the_same(space, cluster):
    pause(space, "mo", "mo", "=yes")
    eventually(lambda: shows(space, "mo", "mo"))
    assert space.condition("mo", "mo", "Ready")["status"] == "True"

    space.kubectl("delete", "deployment", "mo-proxy")
    eventually(lambda: space.get("deployment", "mo-proxy"))
    space.wait("Ready", "proxyset")
    pause(space, "mo", "mo", "-")
    space.wait("Synced")


def test_nothing_is_made_of_what_begins_paused_and_nobody_calls_it_ready(space, cluster):
    """The cluster, and a set of each kind beside it; each is made when it goes on."""
    resource = tiny_cluster(space.name)
    made = [resource, *(space.get(kind, name) for kind, name, _workload in PARTS)]
    for one in made:
        name = one["metadata"]["name"].replace("mo", "new")
        one["metadata"] = {
            "name": name,
            "namespace": space.name,
            "annotations": {PAUSED: "true"},
        }
        one.pop("status", None)
    new = {one["kind"].lower(): one["metadata"]["name"] for one in made}
    resource["metadata"]["name"] = new["matrixonecluster"] = "fresh"
    for one in made:
        space.apply(one)

    for kind, name in new.items():
        eventually(lambda kind=kind, name=name: shows(space, kind, name))
        ready = space.condition(kind, name, "Ready")
        assert ready["status"] == "False", kind
        assert "paused" in ready["message"], kind
    time.sleep(1)
    listed = space.kubectl("get", f"statefulset,deployment,{CHILDREN}", "-o", "json")
    names = {one["metadata"]["name"] for one in json.loads(listed)["items"]}
    assert not [name for name in names if name.startswith("fresh")]
    assert {name for name in names if name.startswith("new")} == set(new.values()) - {"fresh"}

    pause(space, "mo", "fresh", "-")
    space.wait("Ready", "mo", "fresh")
    for kind, name in new.items():
        if kind != "matrixonecluster":
            pause(space, kind, name, "-")
            space.wait("Ready", kind, name)
            space.kubectl("delete", kind, name, "--wait=false")
    space.kubectl("delete", "mo", "fresh", "--timeout=120s")
