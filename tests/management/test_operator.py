# SPDX-License-Identifier: Apache-2.0
"""The management guide, what the operator does: as a process, beside fake nodes.

One test per row of the guide's table, named after it. They share an operator and a cluster, in the
order of the file.
"""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from functools import reduce
from typing import Any

import pytest
import yaml

from testbed.bed import KubectlError, TestBed
from testbed.ports import choose_ports
from tests.charts.releases import define
from tests.support.namespaces import Namespace
from tests.support.operator_rights import account, refusals
from tests.support.operators import running_operator
from tests.support.places import ROOT
from tests.support.waiting import eventually

pytestmark = pytest.mark.api
EXAMPLE = ROOT / "examples" / "tiny-cluster.yaml"
WEBHOOK = "matrixone-operator-webhook"
SECONDS = 60
"""In which the guide wants to see what the operator does."""


@pytest.fixture(scope="module")
def space(fake_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    """A namespace with a cluster, and the operator with its webhook."""
    bed, folder = fake_testbed, tmp_path_factory.mktemp("operator")
    define(bed, *(ROOT / "crds").glob("*.yaml"))
    with bed.namespace("databases") as name:
        kubeconfig = account(bed, name, folder / "kubeconfig", everywhere=True)
        port = choose_ports(("webhook",), ())["webhook"]
        flags = (
            *("--webhook-bind-address", f"127.0.0.1:{port}", "--webhook-url-host", "127.0.0.1"),
            *("--webhook-namespace", name, "--webhook-name", WEBHOOK),
        )
        try:
            with running_operator(kubeconfig, folder, *flags, WATCH_NAMESPACE=name) as log:
                made = Namespace(bed, name)
                made.kubectl("apply", "-f", str(EXAMPLE))
                made.wait("Ready")
                made.wait("Synced")
                yield made
                made.kubectl("delete", "matrixone", "--all", "--timeout=120s")
            assert refusals(log) == []
        finally:
            kind = "validatingwebhookconfiguration"
            bed.kubectl("delete", kind, WEBHOOK, "--ignore-not-found")


def uid(space: Namespace, kind: str, name: str) -> str:
    """What tells an object from its successor; empty while there is none that stays."""
    metadata = space.get(kind, name).get("metadata", {})
    return "" if "deletionTimestamp" in metadata else str(metadata.get("uid", ""))


def comes_back(space: Namespace, kind: str, name: str) -> None:
    """Delete an object and wait for another of its name."""
    before = uid(space, kind, name)
    assert before
    space.kubectl("delete", kind, name, "--timeout=60s")
    eventually(lambda: uid(space, kind, name) not in {"", before}, SECONDS)


def test_c04_controllers_act_without_being_asked(space: Namespace) -> None:
    """What is deleted comes back, what is changed by hand is put right."""
    comes_back(space, "service", "mo-proxy")
    proxies = (
        "-l",
        "matrixorigin.io/component=ProxySet",
        "-o",
        "jsonpath={.items[0].metadata.name}",
    )
    comes_back(space, "configmap", space.kubectl("get", "configmap", *proxies))
    before = space.kubectl("get", "pod", *proxies)
    space.kubectl("delete", "pod", before)
    eventually(lambda: space.kubectl("get", "pod", *proxies) != before, SECONDS)
    comes_back(space, "pod", "mo-log-1")

    space.kubectl("scale", "statefulset", "mo-dn", "--replicas=3")
    replicas = ("get", "statefulset", "mo-dn", "-o", "jsonpath={.spec.replicas}")
    eventually(lambda: space.kubectl(*replicas) == "1", SECONDS)
    space.wait("Ready")


def test_c05_actual_state_is_collected(space: Namespace) -> None:
    """The phase, and what hinders Pods that no node has room for."""

    def status(field: str) -> str:
        return space.kubectl("get", "matrixonecluster", "mo", "-o", f"jsonpath={{.status.{field}}}")

    eventually(lambda: status("phase") == "Ready", SECONDS)
    group = "/spec/cnGroups/0"
    large = [
        {"op": "replace", "path": f"{group}/replicas", "value": 5},
        {"op": "replace", "path": f"{group}/resources/requests/cpu", "value": "900"},
    ]
    space.kubectl("patch", "mo", "mo", "--type=json", "-p", json.dumps(large))
    eventually(lambda: "Insufficient cpu" in status("message"), SECONDS)
    assert status("phase") != "Ready"

    space.kubectl("apply", "-f", str(EXAMPLE))
    eventually(lambda: status("phase") == "Ready", SECONDS)
    space.wait("Synced")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"logService": {"replicas": -1}}, "spec.logService.replicas"),
        ({"version": None}, "spec"),
        ({"tn": {"config": "[log\n"}}, "spec.tn.config"),  # no schema knows this, the webhook does
    ],
)
def test_c06_what_is_written_is_validated(
    space: Namespace, change: dict[str, Any], field: str
) -> None:
    cluster = yaml.safe_load(EXAMPLE.read_text())
    cluster["metadata"]["name"] = "wrong"
    for part, value in change.items():
        if value is None:
            del cluster["spec"][part]
        else:
            cluster["spec"][part] = {**cluster["spec"].get(part, {}), **value}

    with pytest.raises(KubectlError, match=re.escape(field)) as refused:
        space.kubectl("apply", "-f", "-", input=json.dumps(cluster))

    assert "wrong" in str(refused.value)
    assert space.get("mo", "wrong") == {}


def test_c07_defaults_are_filled_in(space: Namespace) -> None:
    """As the API reference documents them; to apply the same file again changes nothing."""
    spec = space.get("mo", "mo")["spec"]

    for path, value in {
        "operatorVersion": "1.4.0",
        "logService.storeFailureTimeout": "10m",
        "logService.failedPodStrategy": "Delete",
        "proxy.serviceType": "ClusterIP",
        "tn.promDiscoveryScheme": "Service",
    }.items():
        found = reduce(lambda node, key: node[key], path.split("."), spec)
        assert found == value, path
    [group] = spec["cnGroups"]
    assert (group["serviceType"], group["terminationPolicy"]) == ("ClusterIP", "Delete")
    version = space.get("mo", "mo")["metadata"]["resourceVersion"]
    # kubectl may say "configured" all the same: it compares lists, whose entries have defaults,
    # as a whole.
    space.kubectl("apply", "-f", str(EXAMPLE))
    assert space.get("mo", "mo")["metadata"]["resourceVersion"] == version
    assert space.kubectl("diff", "-f", str(EXAMPLE)) == ""


def test_c10_a_cluster_leads_to_resources_with_controllers_of_their_own(space: Namespace) -> None:
    kinds = "logset,dnset,cnset,proxyset"
    owners = space.kubectl("get", kinds, "-o", "jsonpath={..ownerReferences[*].kind}")
    assert owners.split() == ["MatrixOneCluster"] * 4

    comes_back(space, "cnset", "mo-tp")
    comes_back(space, "proxyset", "mo")
    space.wait("Ready")

    alone = yaml.safe_load((ROOT / "examples" / "standalone" / "logset.yaml").read_text())
    del alone["metadata"]["namespace"]
    alone["metadata"]["name"] = "alone"
    secret = ("create", "secret", "generic", "minio")
    space.kubectl(
        *secret, "--from-literal=AWS_ACCESS_KEY_ID=a", "--from-literal=AWS_SECRET_ACCESS_KEY=b"
    )
    space.kubectl("apply", "-f", "-", input=json.dumps(alone))
    space.wait("Ready", "logset", "alone")
    assert space.get("statefulset", "alone-log")["status"]["readyReplicas"] == 3


def test_c18_progress_can_be_watched(space: Namespace) -> None:
    """Name, readiness, state, restarts, age, address and node of each Pod, as they change."""
    columns = ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"]
    program = (str(space.bed.kubectl_path), f"--kubeconfig={space.bed.kubeconfig}")
    watch = subprocess.Popen(
        [*program, "get", "pod", f"-n{space.name}", "-owide", "--watch"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        space.kubectl(
            "patch", "mo", "mo", "--type=merge", "-p", '{"spec":{"proxy":{"replicas":2}}}'
        )
        eventually(lambda: space.get("proxyset", "mo")["status"].get("readyReplicas") == 2, SECONDS)
        time.sleep(1)
    finally:
        watch.terminate()
        printed, _ = watch.communicate(timeout=30)

    lines = printed.splitlines()
    assert lines[0].split()[: len(columns)] == columns
    states: dict[str, list[str]] = {}
    for line in lines[1:]:
        name, _, state, *_ = line.split()
        states.setdefault(name, []).append(state)
    [grown] = [seen for seen in states.values() if seen[0] != "Running"]
    assert grown[-1] == "Running"
    [last] = [line.split() for line in lines if line.split()[2] == "Running"][-1:]
    assert last[6].startswith("node-")
