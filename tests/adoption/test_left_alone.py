# SPDX-License-Identifier: Apache-2.0
"""Sets that OpenKruise runs are left alone, and what is left behind of them ends at last."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pods import cn_store
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.scaling import (
    outlived,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.stores import CNStore
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.failover import (
    LogStore,
    Policy,
    why_not,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.pods import (
    policy_of,
)

from tests.support.builders import pod, resource
from tests.support.passes import plan_of

Json = dict[str, Any]

PLACE = {"name": "mo-data-mo-log-0", "namespace": "prod"}


def owned(found: Json, api_version: str = "apps.kruise.io/v1beta1") -> Json:
    """Return an object with a controller of an API."""
    owner = {"kind": "StatefulSet", "name": "mo-log", "uid": "k", "controller": True}
    found["metadata"]["ownerReferences"] = [{**owner, "apiVersion": api_version}]
    return found


def log_set() -> Json:
    made = resource("LogSet")
    made["spec"].update(
        volume={"size": "1Gi"},
        sharedStorage={"s3": {"path": "bucket/mo", "endpoint": "http://minio:9000"}},
    )
    return made


def claim() -> Json:
    return {"kind": "PersistentVolumeClaim", "metadata": dict(PLACE), "spec": {}}


@pytest.mark.parametrize("label", ["pods", "claims"])
def test_nothing_is_made_or_deleted_while_openkruise_runs_a_set(label: str):
    """Not even a bootstrap is recorded, and nothing of it is pruned."""
    found = owned(pod("mo-log-0") if label == "pods" else claim())
    plan = plan_of(log_set(), {"self": log_set(), label: [found]}, "")

    assert plan["waitingFor"].startswith("waiting for its adoption: StatefulSet mo-log")
    for part in ("records", "objects", "patches"):
        assert list(plan[part]) == []
    assert plan["prune"] is None
    assert plan["held"] == ["spec.template"]


def test_a_wrong_spec_does_not_hide_that_a_set_is_left_alone():
    wrong = log_set()
    wrong["spec"]["storeFailureTimeout"] = "never"
    plan = plan_of(wrong, {"self": wrong, "pods": [owned(pod("mo-log-0"))]}, "")

    assert plan["waitingFor"]
    assert list(plan["objects"]) == []


def test_pods_of_nobody_and_of_ours_are_no_reason():
    pods = [pod("mo-log-0"), owned(pod("mo-log-1"), "apps/v1")]
    plan = plan_of(log_set(), {"self": log_set(), "pods": pods, "claims": [claim()]}, "")

    assert not plan["waitingFor"].startswith("waiting for its adoption")
    assert plan["records"]


def compute_node(name: str, *, clone: bool = False, ready: bool = True, **owner: Any) -> CNStore:
    found = pod(name, ready=ready)
    if clone:
        found["metadata"].setdefault("labels", {})["apps.kruise.io/cloneset-instance-id"] = name
    if owner:
        found["metadata"]["ownerReferences"] = [{"controller": True, **owner}]
    return cn_store(found, None, asked=False)


NEW = compute_node("new", kind="ReplicaSet")
OLD = compute_node("old", clone=True)


@pytest.mark.parametrize(
    ("stores", "desired", "ended"),
    [
        ([OLD], 1, set()),
        ([OLD, NEW], 1, {"old"}),
        ([OLD, NEW], 2, set()),
        ([OLD, compute_node("new", ready=False, kind="ReplicaSet")], 1, set()),
        ([compute_node("old", clone=True, kind="CloneSet"), NEW], 1, set()),
        ([compute_node("made by hand"), NEW], 1, set()),
        ([OLD], 0, set()),
    ],
)
def test_pods_that_a_clone_set_left_behind_end_when_others_serve(
    stores: list[CNStore], desired: int, ended: set[str]
):
    assert outlived(stores, desired) == ended


@pytest.mark.parametrize(
    ("adoption", "adopting"), [("under-way", True), ("complete", False), (None, False)]
)
def test_no_store_is_replaced_while_its_set_is_taken_over(adoption: str | None, adopting: bool):
    made = log_set()
    if adoption:
        made["metadata"]["annotations"] = {"matrixorigin.io/adoption": adoption}

    assert policy_of(made).adopting is adopting


def test_the_adoption_is_why_a_store_is_not_replaced():
    store = LogStore(pod="mo-log-0", ordinal=0, down_since=0.0)
    policy = Policy(timeout=60, shard_replicas=3, served=True, adopting=True)

    assert "adoption is under way" in why_not(store, [store], None, policy)
