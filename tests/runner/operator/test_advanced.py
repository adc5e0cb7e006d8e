# SPDX-License-Identifier: Apache-2.0
"""What authors of Ansible operators rely on beyond the basics."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.runner.operator.conftest import Cluster, Start, fetch
from tests.support.operators import Operator
from tests.support.places import ROOT
from tests.support.ports import free_port
from tests.support.waiting import eventually

pytestmark = pytest.mark.api
PROJECT = Path(__file__).with_name("advanced")


METRICS_API, METRICS = free_port(), free_port()


@pytest.fixture(scope="module")
def operator(start_shared: Start, cluster: Cluster) -> Operator:
    password = PROJECT / "vault-password"
    collections = f"{PROJECT / 'collections'}:{ROOT / '.collections'}"
    return start_shared(
        cluster.name,
        f"--ansible-args='--vault-password-file {password}'",
        f"--metrics-api-port={METRICS_API}",
        f"--metrics-bind-address=127.0.0.1:{METRICS}",
        project=PROJECT,
        METRICS_API_PORT=str(METRICS_API),
        ANSIBLE_INVENTORY=str(PROJECT / "inventory"),
        ANSIBLE_COLLECTIONS_PATH=collections,
    )


def data_of(cluster: Cluster, name: str, namespace: str = "") -> dict[str, Any]:
    found = cluster.api.get("configmap", namespace or cluster.name, name)
    return found.get("data", {})


def data(cluster: Cluster, name: str, namespace: str = "") -> dict[str, Any]:
    return eventually(lambda: data_of(cluster, name, namespace))


def test_arguments_reach_ansible_playbook(cluster: Cluster, operator: Operator) -> None:
    cluster.create("ArgsTest", "args", {"field": "value"})
    assert data(cluster, "args") == {"msg": "The decrypted value is thisisatest"}


def test_keys_keep_their_case_without_snake_case(cluster: Cluster, operator: Operator) -> None:
    cluster.create("CaseTest", "case", {"camelCaseVar": "true"})
    assert data(cluster, "case") == {"shouldBeCamel": "true"}


def test_a_role_of_a_collection_is_found_by_its_full_name(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.create("CollectionTest", "collection", {"field": "value"})
    assert data(cluster, "collection") == {"did_it_work": "indeed"}


def test_an_inventory_of_ones_own(cluster: Cluster, operator: Operator) -> None:
    cluster.create("InventoryTest", "inventory", {"size": 3})
    assert data(cluster, "inventory") == {"sentinel": "test"}
    found = cluster.wait_for("inventorytests", "inventory", "Successful")
    assert found["reason"] == "Successful"


def test_objects_elsewhere_are_tied_by_annotations_and_followed(
    cluster: Cluster, operator: Operator
) -> None:
    other = f"{cluster.name}-far"
    spec = {"otherNamespace": other}
    cluster.create("ClusterAnnotationTest", "far", spec)
    try:
        assert data(cluster, "far", other) == {"colour": "blue"}
        text = cluster.bed.kubectl("get", "namespace", other, "-o", "json")
        annotations = json.loads(text)["metadata"]["annotations"]
        path = f"{cluster.name}/far"
        assert annotations["operator-sdk/primary-resource"] == path
        kind = "ClusterAnnotationTest.test.example.com"
        assert annotations["operator-sdk/primary-resource-type"] == kind
        cluster.wait_for("clusterannotationtests", "far", "Successful")
        cluster.bed.kubectl("label", "namespace", other, "colour=red", "--overwrite")

        def colour() -> str:
            found = cluster.get("namespace", other)
            return str(found["metadata"]["labels"]["colour"])

        eventually(lambda: colour() == "blue")
    finally:
        cluster.bed.kubectl("delete", "namespace", other, "--wait=false")


def test_an_object_deleted_during_its_run_is_finalized_after_it(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.create("FinalizerConcurrencyTest", "busy", {"field": "value"})
    eventually(lambda: operator.lines("[playbook task start]", name="busy"))
    cluster.kubectl("delete", "finalizerconcurrencytests", "busy", "--wait=false")
    assert cluster.get("finalizerconcurrencytests", "busy")
    cluster.kubectl("create", "configmap", "unpause-reconciliation")
    eventually(lambda: not cluster.get("finalizerconcurrencytests", "busy"))
    started = operator.lines("[playbook task start]", name="busy")
    names = [line["EventData.Name"] for line in started]
    assert names == ["Wait for a ConfigMap", "Write a ConfigMap"]


def test_an_object_of_the_cluster_itself(cluster: Cluster, operator: Operator) -> None:
    name = cluster.name
    cluster.create("GlobalTest", name, {"target": cluster.name})
    try:
        assert data(cluster, f"of-{name}") == {"namespace_of_owner": "<>"}
        eventually(lambda: cluster.conditions("globaltests", name))
        found = cluster.get("configmap", f"of-{name}")
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
    found = cluster.get("secret", "chosen")
    assert "status" not in found, "an unmanaged status stays untouched"


def test_a_play_reports_by_status_events_and_metrics(cluster: Cluster, operator: Operator) -> None:
    """Modules of our own that talk as those of operator_sdk.util do, which cannot be had here."""
    cluster.create("ReportTest", "report", {"field": "value"})
    cluster.wait_for("reporttests", "report", "Successful")
    status = cluster.get("reporttests", "report")["status"]
    assert status["test"] == "hello world"
    conditions = {item["type"]: item for item in status["conditions"]}
    assert {"Tested", "Running", "Successful", "Failure"} == set(conditions)
    tested = {key: conditions["Tested"][key] for key in ("status", "reason", "message")}
    assert tested == {"status": "True", "reason": "Because", "message": "of this"}
    event = cluster.get("event", "report.told")
    assert event["involvedObject"]["name"] == "report"
    assert "ownerReferences" not in event["metadata"], "Events outlive what they tell about"
    watched = [line["kind"] for line in operator.lines("Watching child resource")]
    assert not [kind for kind in watched if "Event" in kind]


def test_metrics_of_plays_have_the_known_form(cluster: Cluster, operator: Operator) -> None:
    cluster.create("ReportTest", "measured", {"field": "value"})
    cluster.wait_for("reporttests", "measured", "Successful")
    plays = operator.runs_of("measured") + operator.runs_of("report")
    _, text = fetch(METRICS, "/metrics")
    lines = text.splitlines()
    for name, value in (
        ("sanity_counter", 0),
        ("sanity_gauge", 0),
        ("counter_inc_test", plays),
        ("counter_add_test", 2 * plays),
        ("gauge_set_test", 5),
        ("gauge_add_test", 7 * plays),
        ("gauge_sub_test", -7 * plays),
        ("summary_test_sum", 2 * plays),
        ("histogram_test_sum", 2 * plays),
    ):
        assert f"{name} {value}" in lines
    assert "sanity_histogram_bucket" in text
    assert "sanity_summary summary" in text
    assert "gauge_time_test 1" in text


def test_a_play_that_asks_for_more_runs_gets_exactly_those(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.create("ReconciliationTest", "counted", {"iterations": 5})
    eventually(lambda: data_of(cluster, "counted") == {"iterations": "5"})
    time.sleep(2.5)
    assert data_of(cluster, "counted") == {"iterations": "5"}
    assert operator.runs_of("counted") == 5
    conditions = cluster.conditions("reconciliationtests", "counted")
    assert conditions["Successful"]["status"] == "True"
