# SPDX-License-Identifier: Apache-2.0
"""A tenant names another tenant's log service: they get nothing of it until they are allowed to."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.bed import TestBed
from tests.support import resources as r
from tests.support.namespaces import KINDS, Namespace
from tests.support.network import Pod, lets_in
from tests.support.operator_rights import account, refusals
from tests.support.operators import running_operator
from tests.support.waiting import eventually, unchanged

pytestmark = pytest.mark.api

BUCKET = "http://minio.of-the-victim:9000"
DATABASE = {"matrixorigin.io/component": "CNSet"}
OPERATOR = {"app.kubernetes.io/name": "matrixone-operator"}
OPERATOR_NAMESPACE = "ops"
LOG = 32001


@pytest.fixture(scope="module")
def tenants(installed_testbed: TestBed) -> Iterator[tuple[Namespace, Namespace]]:
    """The namespaces of a victim and of somebody hostile."""
    bed = installed_testbed
    with bed.namespace("victim") as victim, bed.namespace("hostile") as hostile:
        yield Namespace(bed, victim), Namespace(bed, hostile)


@pytest.fixture(scope="module")
def log(
    tenants: tuple[Namespace, Namespace], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Run one operator for both, which is said to live in a namespace of its own."""
    victim, hostile = tenants
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = account(victim.bed, victim.name, folder / "kubeconfig", everywhere=True)
    variables = {
        "WATCH_NAMESPACE": f"{victim.name},{hostile.name}",
        "POD_NAMESPACE": OPERATOR_NAMESPACE,
    }
    with running_operator(kubeconfig, folder, **variables) as file:
        yield file
        for tenant in (hostile, victim):
            tenant.kubectl("delete", "cnset,logset", "--all", "--timeout=120s")
    assert refusals(file) == []


@pytest.fixture(scope="module")
def log_set(tenants: tuple[Namespace, Namespace], log: Path) -> Namespace:
    """The victim's log service, which serves; gives its namespace."""
    victim = tenants[0]
    made = r.logset(sharedStorage={"s3": {**r.S3, "endpoint": BUCKET}})
    made["metadata"] = {"name": "mo"}
    victim.apply(made)
    victim.wait("Ready", "logset")
    victim.wait("Synced", "logset")
    return victim


def thief(victim: Namespace) -> dict[str, Any]:
    """Return a CNSet that would drain, in the log service of the victim, when it is deleted."""
    deps = {"logSet": {"metadata": {"name": "mo", "namespace": victim.name}}}
    made = r.cnset(deps, scalingConfig={"storeDrainEnabled": True})
    made["metadata"] = {"name": "thief"}
    return made


def reaches(victim: Namespace, client: Pod) -> bool:
    """Tell whether a Pod reaches the log service by the policies that are stored."""
    (pod, *_) = victim.listed("pod", "matrixorigin.io/component=LogSet")
    server = Pod(victim.name, pod["metadata"]["labels"])
    return lets_in(victim.listed("networkpolicy"), client, server, LOG)


def test_the_operator_is_admitted_where_it_says_that_it_is(log_set: Namespace) -> None:
    assert reaches(log_set, Pod(OPERATOR_NAMESPACE, OPERATOR))
    assert not reaches(log_set, Pod("elsewhere", OPERATOR))


def test_a_tenant_gets_nothing_of_a_log_service_that_does_not_list_them(
    log_set: Namespace, tenants: tuple[Namespace, Namespace]
) -> None:
    hostile = tenants[1]
    hostile.apply(thief(log_set))

    def refused() -> bool:
        synced = hostile.condition("cnset", "thief", "Synced")
        return "allowedNamespaces" in synced.get("message", "")

    eventually(refused)
    synced = hostile.condition("cnset", "thief", "Synced")
    assert (synced["status"], synced["reason"]) == ("False", "DependencyNotReady")
    assert f"add {hostile.name} to its spec.allowedNamespaces" in synced["message"]
    assert "deps.logSet.metadata.namespace" in synced["message"]
    assert unchanged(lambda: hostile.names(KINDS), 12) == set()
    assert BUCKET not in json.dumps(hostile.listed(f"cnset,{KINDS}"))
    assert not reaches(log_set, Pod(hostile.name, DATABASE))
    hostile.kubectl("delete", "cnset", "thief", "--timeout=60s")


def test_the_victim_can_allow_it(log_set: Namespace, tenants: tuple[Namespace, Namespace]) -> None:
    """Without a restart: NetworkPolicies are no part of Pods."""
    hostile = tenants[1]
    hostile.apply(thief(log_set))
    pods = {pod["metadata"]["uid"] for pod in log_set.listed("pod")}

    log_set.patch("logset", "mo", {"spec": {"allowedNamespaces": [hostile.name]}})

    eventually(lambda: hostile.get("deployment", "thief-cn"))
    assert BUCKET in json.dumps(hostile.listed("configmap"))
    eventually(lambda: reaches(log_set, Pod(hostile.name, DATABASE)))
    assert not reaches(log_set, Pod(hostile.name))
    assert not reaches(log_set, Pod("elsewhere", DATABASE))
    assert {pod["metadata"]["uid"] for pod in log_set.listed("pod")} == pods
