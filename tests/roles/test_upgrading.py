# SPDX-License-Identifier: Apache-2.0
"""An upgrade to a newer release is held back, canceled, waived, and completes; nothing is skipped."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = pytest.mark.api

Json = dict[str, Any]
COMPONENTS = ("LogSet", "DNSet", "CNSet", "ProxySet")


@pytest.fixture(scope="module")
def cluster(space: Namespace, operator: Path) -> Iterator[Json]:
    """A cluster of 3.0.18 that serves; deleted at the end."""
    resource = tiny_cluster(space.name)
    space.apply(resource)
    space.wait("Ready")
    space.wait("Synced")
    eventually(lambda: space.get("mo", "mo")["status"]["tn"].get("dataVersion") == "3.0.18")
    yield resource
    space.kubectl("delete", "mo", "--all", "--ignore-not-found", "--timeout=120s")


def changed_to(space: Namespace, cluster: Json, version: str, *waived: str, **more: Any) -> None:
    """Apply the cluster with another version, waived checks, and other fields of its spec."""
    resource = copy.deepcopy(cluster)
    resource["spec"] |= {"version": version, **more}
    if waived:
        resource["spec"]["upgrade"] = {"waive": {"to": version, "checks": list(waived)}}
    space.apply(resource)


def upgrade(space: Namespace) -> Json:
    return dict(space.get("mo", "mo")["status"].get("upgrade") or {})


def in_phase(space: Namespace, phase: str) -> Json:
    eventually(lambda: upgrade(space).get("phase") == phase)
    return upgrade(space)


def images(space: Namespace) -> set[str]:
    """Return the tags that Pods and the specs of sets have."""
    pods = [
        one["spec"]["containers"][0]["image"]
        for component in COMPONENTS
        for one in space.listed("pods", f"matrixorigin.io/component={component}")
    ]
    sets = [space.get("logset", "mo"), space.get("dnset", "mo"), space.get("cnset", "mo-tp")]
    return {one.rpartition(":")[2] for one in (*pods, *(one["spec"]["image"] for one in sets))}


def test_it_is_held_back_while_components_are_scaled_and_repaired(space, cluster):
    pods = set(space.names("pods"))
    groups = copy.deepcopy(cluster["spec"]["cnGroups"])
    groups[0]["replicas"] = 2
    changed_to(space, cluster, "3.1.0", cnGroups=groups)

    record = in_phase(space, "Held")
    results = {one["name"]: one["result"] for one in record["checks"]}
    assert results == {
        "Health": "Passed",
        "Backup": "Unknown",
        "Catalog": "Unknown",
        "Path": "Passed",
    }
    assert (record["from"], record["to"], record["pointOfNoReturn"]) == ("3.0.18", "3.1.0", "Ahead")
    synced = space.condition("mo", "mo", "Synced")
    assert (synced["status"], synced["reason"]) == ("False", "UpgradeHeld")
    assert "Backup unknown: Backups cannot be listed" in synced["message"], "by one namespace's"
    eventually(lambda: space.get("cnset", "mo-tp")["spec"]["replicas"] == 2)
    space.kubectl("delete", "pod", "mo-log-0", "--wait=true")
    eventually(lambda: len(set(space.names("pods"))) == len(pods) + 1)
    eventually(lambda: space.condition("mo", "mo", "Ready")["status"] == "True")
    ready = space.condition("mo", "mo", "Ready")
    assert ready["observedGeneration"] < space.get("mo", "mo")["metadata"]["generation"]
    assert images(space) == {"3.0.18"}


def test_the_previous_version_cancels_it(space, cluster):
    changed_to(space, cluster, "3.0.18")
    in_phase(space, "Canceled")
    space.wait("Synced")
    assert images(space) == {"3.0.18"}


def test_a_waiver_of_another_version_has_no_effect(space, cluster):
    stale = {"waive": {"to": "3.0.19", "checks": ["Backup", "Catalog"]}}
    changed_to(space, cluster, "3.1.0", upgrade=stale)
    in_phase(space, "Held")
    assert images(space) == {"3.0.18"}


def test_what_is_waived_passes_and_the_upgrade_completes(space, cluster):
    changed_to(space, cluster, "3.1.0", "Backup", "Catalog")
    record = in_phase(space, "Completed")
    space.wait("Synced")
    space.wait("Ready")
    assert images(space) == {"3.1.0"}
    results = {one["name"]: one["result"] for one in record["checks"]}
    assert results["Backup"] == results["Catalog"] == "Waived"
    assert record["pointOfNoReturn"] == "Passed"
    items = space.listed("events.events.k8s.io")
    reasons = [one["reason"] for one in items if one["regarding"]["kind"] == "MatrixOneCluster"]
    order = [one for one in reasons if one.startswith(("Upgrade", "PointOfNoReturn"))]
    assert {"UpgradeHeld", "UpgradeCanceled", "UpgradeStarted"} <= set(order)
    assert {"PointOfNoReturnPassed", "UpgradeCompleted"} <= set(order)
