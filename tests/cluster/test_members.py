# SPDX-License-Identifier: Apache-2.0
"""Pods of databases become hosts of an inventory."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.members import members


def pod(name: str = "mo-log-0", *, labels: dict[str, str] | None = None, **status: Any) -> Any:
    return {
        "metadata": {
            "name": name,
            "namespace": "prod",
            "labels": labels
            if labels is not None
            else {
                "matrixorigin.io/component": "LogSet",
                "matrixorigin.io/instance": "mo",
                "matrixorigin.io/cluster": "mo",
            },
        },
        "spec": {
            "nodeName": "node-1",
            "containers": [
                {"name": "sidecar", "image": "side:1"},
                {"name": "main", "image": "matrixone:1.3.0"},
            ],
        },
        "status": {"phase": "Running", "podIP": "10.0.0.7", **status},
    }


READY = [{"type": "Ready", "status": "True"}]


def test_a_member_is_named_by_pod_and_namespace_and_reached_by_kubectl() -> None:
    (member,) = members([pod(conditions=READY)])
    assert member.host == "mo-log-0.prod"
    assert member.groups == ("matrixone", "logset", "set_prod_logset_mo", "cluster_prod_mo")
    assert member.variables["ansible_connection"] == "kubernetes.core.kubectl"
    assert member.variables["ansible_kubectl_pod"] == "mo-log-0"
    assert member.variables["ansible_kubectl_namespace"] == "prod"
    assert member.variables["ansible_kubectl_container"] == "main"
    assert member.variables["matrixone_ready"] is True
    assert member.variables["matrixone_image"] == "matrixone:1.3.0"


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (pod(labels={}), "a Pod that belongs to no set"),
        (pod(phase="Succeeded"), "a Pod that has finished"),
        (pod(phase="Failed"), "an evicted Pod"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_what_is_no_member_is_left_out(found: Any, why: str) -> None:
    assert members([found]) == [], why


def test_a_set_outside_a_cluster_has_no_cluster_group() -> None:
    labels = {"matrixorigin.io/component": "CNSet", "matrixorigin.io/instance": "alone"}
    (member,) = members([pod("alone-cn-abc", labels=labels)])
    assert member.groups == ("matrixone", "cnset", "set_prod_cnset_alone")


def test_a_pod_that_nothing_is_known_of_is_listed_as_not_ready() -> None:
    bare = pod()
    del bare["status"], bare["spec"]["nodeName"]
    (member,) = members([bare])
    assert member.variables["matrixone_ready"] is False
    assert member.variables["matrixone_phase"] == "Unknown"
    assert member.variables["matrixone_node"] == ""


def test_hosts_come_in_order() -> None:
    hosts = [each.host for each in members([pod("mo-log-1"), pod("mo-log-0")])]
    assert hosts == ["mo-log-0.prod", "mo-log-1.prod"]
