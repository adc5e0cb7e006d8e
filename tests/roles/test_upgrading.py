# SPDX-License-Identifier: Apache-2.0
"""An upgrade to a newer release is held back, canceled, waived, and completes; nothing is skipped."""

from __future__ import annotations

import copy
import time
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


def in_phase(space: Namespace, phase: str, seconds: float = 60.0) -> Json:
    """Wait for a phase; return the record."""
    eventually(
        lambda: upgrade(space).get("phase") == phase,
        seconds,
        phase,
        otherwise=lambda: space.get("mo", "mo")["status"],
    )
    return upgrade(space)


def tags(space: Namespace, selector: str) -> list[str]:
    """Return the tags of Pods, in order."""
    pods = space.listed("pods", selector)
    return sorted(one["spec"]["containers"][0]["image"].rpartition(":")[2] for one in pods)


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
        "Configuration": "Passed",
        "Room": "Unknown",
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


def test_it_is_paused_before_it_begins_and_while_log_stores_are_replaced(space, cluster):
    waiver = {"waive": {"to": "3.1.0", "checks": ["Backup", "Catalog"]}}
    paused = {**waiver, "paused": True}
    changed_to(space, cluster, "3.1.0", upgrade=paused)
    eventually(lambda: space.condition("mo", "mo", "Synced")["reason"] == "UpgradePaused")
    assert upgrade(space)["phase"] == "Held"
    assert images(space) == {"3.0.18"}

    staged = {**cluster["spec"]["logService"], "updateStrategy": {"partition": 2}}
    changed_to(space, cluster, "3.1.0", upgrade=waiver, logService=staged)
    of_logs = "matrixorigin.io/component=LogSet"
    eventually(lambda: tags(space, of_logs) == ["3.0.18", "3.0.18", "3.1.0"])
    assert space.get("dnset", "mo")["spec"]["image"].endswith(":3.0.18"), "after the log stores"

    changed_to(space, cluster, "3.1.0", upgrade=paused)
    eventually(lambda: space.condition("mo", "mo", "Synced")["reason"] == "UpgradePaused")
    record = upgrade(space)
    assert (record["phase"], record["pointOfNoReturn"]) == ("Updating", "Ahead")
    assert space.get("logset", "mo")["spec"]["updateStrategy"] == {"partition": 3}
    time.sleep(5)
    assert tags(space, of_logs) == ["3.0.18", "3.0.18", "3.1.0"]
    others = [space.get("dnset", "mo"), space.get("cnset", "mo-tp")]
    assert {one["spec"]["image"].rpartition(":")[2] for one in others} == {"3.0.18"}

    changed_to(space, cluster, "3.0.18", upgrade=paused)
    in_phase(space, "Canceled")
    space.wait("Synced")
    assert images(space) == {"3.0.18"}


def test_compute_nodes_keep_their_version_while_the_canary_does_not_answer(space, cluster):
    waiver = {"to": "3.1.0", "checks": ["Backup", "Catalog"]}
    changed_to(space, cluster, "3.1.0", upgrade={"waive": waiver, "catalogTimeout": "5s"})
    eventually(
        lambda: space.condition("mo", "mo", "Degraded")["reason"] == "CanaryFailed",
        180,
        otherwise=lambda: space.get("mo", "mo")["status"],
    )
    eventually(
        lambda: "waiting for an answer of CNSet mo-canary, the canary" in upgrade(space)["message"],
        60,
        otherwise=lambda: space.get("mo", "mo")["status"],
    )
    record = upgrade(space)
    assert (record["canary"], record["pointOfNoReturn"]) == ("Waiting", "Passed")
    of_nodes = "matrixorigin.io/component=CNSet,matrixorigin.io/instance="
    assert tags(space, f"{of_nodes}mo-tp") == ["3.0.18"]
    assert tags(space, f"{of_nodes}mo-canary") == ["3.1.0"]
    status = space.get("mo", "mo")["status"]
    assert [one["group"] for one in status["cnGroups"]["groups"]] == ["tp"]
    assert status["readable"]["cn"] == "1/1"


def test_what_is_waived_passes_and_the_upgrade_completes(space, cluster):
    changed_to(space, cluster, "3.1.0", "Backup", "Catalog", "Canary")
    record = in_phase(space, "Completed", 180.0)
    space.wait("Synced")
    stays = [one for one in space.listed("cnsets") if not one["metadata"].get("deletionTimestamp")]
    assert [one["metadata"]["name"] for one in stays] == ["mo-tp"], "the canary drains, and goes"
    space.wait("Ready")
    eventually(lambda: images(space) == {"3.1.0"}, otherwise=lambda: images(space))
    results = {one["name"]: one["result"] for one in record["checks"]}
    assert results["Backup"] == results["Catalog"] == "Waived"
    assert record["pointOfNoReturn"] == "Passed"
    items = space.listed("events.events.k8s.io")
    reasons = [one["reason"] for one in items if one["regarding"]["kind"] == "MatrixOneCluster"]
    order = [one for one in reasons if one.startswith(("Upgrade", "PointOfNoReturn"))]
    assert {"UpgradeHeld", "UpgradeCanceled", "UpgradeStarted"} <= set(order)
    assert {"PointOfNoReturnPassed", "UpgradeCompleted"} <= set(order)
