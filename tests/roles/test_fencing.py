# SPDX-License-Identifier: Apache-2.0
"""A fence keeps a cluster as it is, its clients away from it, and whoever would delete it, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = pytest.mark.api

Json = dict[str, Any]
FENCED = "matrixorigin.io/fenced"
SERVICES = ("mo-proxy", "mo-tp-cn")
PARTS = (("logset", "mo"), ("dnset", "mo"), ("cnset", "mo-tp"), ("proxyset", "mo"))


@pytest.fixture(scope="module", autouse=True)
def cluster(space: Namespace, operator: Path) -> Iterator[Json]:
    """A cluster that serves; deleted at the end."""
    resource = tiny_cluster(space.name)
    space.apply(resource)
    space.wait("Ready")
    space.wait("Synced")
    yield resource
    space.kubectl("annotate", "mo", "--all", f"{FENCED}-")
    # Its components are still fenced at this moment.
    space.kubectl("delete", "mo", "--all", "--ignore-not-found", "--timeout=120s")


def fence(space: Namespace) -> None:
    space.kubectl("annotate", "--overwrite", "mo", "mo", f"{FENCED}=true")
    eventually(lambda: all(closed(space).values()), 60, "Services select no Pod")
    eventually(lambda: all(is_paused(space, *part) for part in PARTS), 60, "parts are paused")


def unfence(space: Namespace) -> None:
    space.kubectl("annotate", "mo", "mo", f"{FENCED}-")


def closed(space: Namespace) -> dict[str, bool]:
    found = {name: space.get("service", name)["spec"]["selector"] for name in SERVICES}
    return {name: FENCED in selector for name, selector in found.items()}


def is_paused(space: Namespace, kind: str, name: str) -> bool:
    return space.condition(kind, name, "Paused").get("status") == "True"


def annotations(space: Namespace, kind: str, name: str) -> Json:
    return space.get(kind, name)["metadata"].get("annotations") or {}


def uids(space: Namespace, kind: str) -> set[str]:
    found = json.loads(space.kubectl("get", kind, "-o", "json"))
    return {one["metadata"]["uid"] for one in found["items"]}


def test_nothing_is_changed_and_no_service_leads_to_it_until_it_is_opened(space: Namespace) -> None:
    selectors = {name: space.get("service", name)["spec"]["selector"] for name in SERVICES}
    fence(space)

    ready = space.condition("mo", "mo", "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "Fenced")
    # No process of a fake node answers SQL: what is not known to be done is not said to be.
    status = space.get("mo", "mo")["status"]
    assert status["fence"]["state"] == "Closing"
    assert "sessions" in status["fence"]["message"]
    assert "Fenced" in space.kubectl("get", "mo", "mo", "--no-headers")

    pods = uids(space, "pods")
    space.patch("mo", "mo", {"spec": {"version": "3.0.19"}})
    space.patch("cnset", "mo-tp", {"spec": {"replicas": 2}})
    eventually(
        lambda: (
            space.condition("mo", "mo", "Synced")["observedGeneration"]
            == space.get("mo", "mo")["metadata"]["generation"]
        ),
        60,
        "the change was seen",
    )
    assert uids(space, "pods") == pods
    assert not space.get("logset", "mo")["spec"]["image"].endswith("3.0.19")

    unfence(space)
    space.wait("Ready")
    space.wait("Synced")
    assert {name: space.get("service", name)["spec"]["selector"] for name in SERVICES} == selectors
    assert not any(FENCED in annotations(space, *part) for part in PARTS)
    assert "fence" not in space.get("mo", "mo")["status"]
    assert space.get("logset", "mo")["spec"]["image"].endswith("3.0.19")
    assert "Unfenced" in [one["reason"] for one in space.events()]


def test_a_finalizer_keeps_what_is_fenced(space: Namespace) -> None:
    """Where no webhook refuses its deletion, nothing of it goes until the fence is opened."""
    fence(space)
    claims, workloads = uids(space, "pvc"), uids(space, "statefulsets,deployments")
    for kind, name in (*PARTS, ("mo", "mo")):
        space.kubectl("delete", kind, name, "--wait=false")
    eventually(lambda: "is fenced" in space.get("mo", "mo")["status"]["message"], 60, "it says why")
    for kind, name in PARTS:
        eventually(
            lambda kind=kind, name=name: "is fenced" in space.get(kind, name)["status"]["message"],
            60,
            f"{kind} says why",
        )
    assert uids(space, "statefulsets,deployments") == workloads
    assert claims <= uids(space, "pvc")

    unfence(space)
    eventually(lambda: not space.names("mo"), 120, "it is deleted")
