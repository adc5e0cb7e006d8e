# SPDX-License-Identifier: Apache-2.0
"""What authors of Ansible operators rely on beyond the basics (runner.md §4.7)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runner.operator.conftest import ROOT, Cluster, Operator, Start, eventually

pytestmark = pytest.mark.api
PROJECT = Path(__file__).with_name("advanced")


@pytest.fixture(scope="module")
def operator(start: Start, cluster: Cluster) -> Operator:
    password = PROJECT / "vault-password"
    collections = f"{PROJECT / 'collections'}:{ROOT / '.collections'}"
    return start(
        cluster.namespace,
        f"--ansible-args='--vault-password-file {password}'",
        project=PROJECT,
        ANSIBLE_INVENTORY=str(PROJECT / "inventory"),
        ANSIBLE_COLLECTIONS_PATH=collections,
    )


def data_of(cluster: Cluster, name: str, namespace: str = "") -> dict[str, Any]:
    text = cluster.bed.kubectl(
        "-n", namespace or cluster.namespace, "get", "configmap", name, "-o", "json",
        "--ignore-not-found",
    )  # fmt: skip
    return json.loads(text).get("data", {}) if text else {}


def data(cluster: Cluster, name: str, namespace: str = "") -> dict[str, Any]:
    return eventually(lambda: data_of(cluster, name, namespace))


def test_arguments_reach_ansible_playbook(cluster: Cluster, operator: Operator) -> None:
    cluster.apply("ArgsTest", "args", {"field": "value"})
    assert data(cluster, "args") == {"msg": "The decrypted value is thisisatest"}


def test_keys_keep_their_case_where_the_watch_says_so(cluster: Cluster, operator: Operator) -> None:
    cluster.apply("CaseTest", "case", {"camelCaseVar": "true"})
    assert data(cluster, "case") == {"shouldBeCamel": "true"}


def test_a_role_of_a_collection_is_found_by_its_full_name(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.apply("CollectionTest", "collection", {"field": "value"})
    assert data(cluster, "collection") == {"did_it_work": "indeed"}


def test_an_inventory_of_ones_own(cluster: Cluster, operator: Operator) -> None:
    cluster.apply("InventoryTest", "inventory", {"size": 3})
    assert data(cluster, "inventory") == {"sentinel": "test"}
    found = cluster.wait_for("inventorytests", "inventory", "Successful")
    assert found["reason"] == "Successful"


def test_objects_elsewhere_are_tied_by_annotations_and_followed(
    cluster: Cluster, operator: Operator
) -> None:
    other = f"{cluster.namespace}-far"
    spec = {"otherNamespace": other}
    cluster.apply("ClusterAnnotationTest", "far", spec)
    try:
        assert data(cluster, "far", other) == {"colour": "blue"}
        text = cluster.bed.kubectl("get", "namespace", other, "-o", "json")
        annotations = json.loads(text)["metadata"]["annotations"]
        path = f"{cluster.namespace}/far"
        assert annotations["operator-sdk/primary-resource"] == path
        kind = "ClusterAnnotationTest.test.example.com"
        assert annotations["operator-sdk/primary-resource-type"] == kind
        cluster.wait_for("clusterannotationtests", "far", "Successful")
        cluster.bed.kubectl("label", "namespace", other, "colour=red", "--overwrite")

        def colour() -> str:
            found = json.loads(cluster.bed.kubectl("get", "namespace", other, "-o", "json"))
            return str(found["metadata"]["labels"]["colour"])

        eventually(lambda: colour() == "blue")
    finally:
        cluster.bed.kubectl("delete", "namespace", other, "--wait=false")


def test_an_object_deleted_during_its_run_is_finalized_after_it(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.apply("FinalizerConcurrencyTest", "busy", {"field": "value"})
    eventually(lambda: operator.lines("[playbook task start]", name="busy"))
    cluster.kubectl("delete", "finalizerconcurrencytests", "busy", "--wait=false")
    assert cluster.get("finalizerconcurrencytests", "busy") is not None
    cluster.kubectl("create", "configmap", "unpause-reconciliation")
    eventually(lambda: cluster.get("finalizerconcurrencytests", "busy") is None)
    started = operator.lines("[playbook task start]", name="busy")
    names = [line["EventData.Name"] for line in started]
    assert names == ["Wait for a ConfigMap", "Write a ConfigMap"]


def test_an_object_of_the_cluster_itself(cluster: Cluster, operator: Operator) -> None:
    name = cluster.namespace
    cluster.apply("GlobalTest", name, {"target": cluster.namespace})
    try:
        assert data(cluster, f"of-{name}") == {"namespace_of_owner": "[]"}
        text = cluster.bed.kubectl("get", "globaltests", name, "-o", "json")
        assert json.loads(text)["status"]["conditions"]
        found = cluster.get("configmap", f"of-{name}") or {}
        assert found["metadata"]["ownerReferences"][0]["kind"] == "GlobalTest"
        cluster.kubectl("delete", "configmap", f"of-{name}")
        assert data(cluster, f"of-{name}")
    finally:
        cluster.bed.kubectl("delete", "globaltests", name)


def test_secrets_of_the_core_group(cluster: Cluster, operator: Operator) -> None:
    cluster.kubectl("create", "secret", "generic", "plain", "--from-literal=a=1")
    cluster.kubectl("create", "secret", "generic", "chosen", "--from-literal=a=1")
    cluster.kubectl("label", "secret", "chosen", "reconcile=yes")
    assert data(cluster, "copy-of-chosen") == {"a": "MQ=="}
    cluster.kubectl("patch", "secret", "chosen", '-p={"stringData":{"a":"2"}}')
    eventually(lambda: data_of(cluster, "copy-of-chosen") == {"a": "Mg=="})
    assert data_of(cluster, "copy-of-plain") == {}
    found = cluster.get("secret", "chosen") or {}
    assert "status" not in found, "an unmanaged status stays untouched"
