# SPDX-License-Identifier: Apache-2.0
"""make install, deploy, undeploy, uninstall: what they make, twice, and what they refuse."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

import testbed
from deploy.generate.roles import NAME
from testbed.bed import TestBed
from tests.support.places import ROOT

from .conftest import Make, maker

pytestmark = pytest.mark.api

IMAGE = "registry.example.com:5000/team/operator:1.2"
OVERLAYS = sorted(path.name for path in (ROOT / "deploy" / "overlays").iterdir())
KINDS = "deployment,service,serviceaccount,role,rolebinding,poddisruptionbudget,networkpolicy,pods"
Objects = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def fake_testbed() -> Iterator[TestBed]:
    """A test bed whose CRDs nobody else needs."""
    name = f"pytest-kustomize-{os.getpid()}"
    try:
        yield testbed.up(name, nodes="fake")
    finally:
        testbed.down(name)


@pytest.fixture(scope="module")
def fake_make(fake_testbed: TestBed) -> Make:
    """Run a target of the Makefile against fake nodes."""
    return maker(fake_testbed)


def built(bed: TestBed, overlay: str) -> Objects:
    """What kustomize makes of an overlay, by kind and name."""
    text = bed.kubectl("kustomize", str(ROOT / "deploy" / "overlays" / overlay))
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in yaml.safe_load_all(text)}


@pytest.fixture(scope="module")
def deployed(fake_make: Make) -> str:
    """The operator in its namespace on fake nodes; what `make deploy` printed."""
    return fake_make("deploy", f"IMG={IMAGE}").succeeded()


def versions(bed: TestBed) -> dict[str, str]:
    """Resource versions of all that belongs to the operator."""
    found = {}
    cluster_wide = f"clusterrole,clusterrolebinding,namespace -l app.kubernetes.io/name={NAME}"
    for arguments in (f"-n {NAME} {KINDS}", cluster_wide, "crd"):
        text = bed.kubectl("get", *arguments.split(), "-o", "json")
        for one in json.loads(text)["items"]:
            found[f"{one['kind']}/{one['metadata']['name']}"] = one["metadata"]["resourceVersion"]
    return found


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_ports_and_selectors_meet(fake_testbed: TestBed, overlay: str) -> None:
    """What selects the operator's Pods selects them, by ports that they have."""
    objects = built(fake_testbed, overlay)
    template = objects[f"Deployment/{NAME}"]["spec"]["template"]
    labels = template["metadata"]["labels"].items()
    (container,) = template["spec"]["containers"]
    ports = {port["name"] for port in container["ports"]}

    assert ("app.kubernetes.io/name", "matrixone-operator") in labels
    for name, one in objects.items():
        spec = one.get("spec", {})
        if one["kind"] == "Service":
            assert spec["selector"].items() <= labels, name
            assert {port["targetPort"] for port in spec["ports"]} <= ports, name
        elif one["kind"] == "NetworkPolicy":
            assert spec["podSelector"]["matchLabels"].items() <= labels, name
            allowed = {port["port"] for rule in spec["ingress"] for port in rule["ports"]}
            assert allowed <= ports, name
        elif one["kind"] == "PodDisruptionBudget":
            assert spec["selector"]["matchLabels"].items() <= labels, name


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_role_is_bound_to_the_operator(fake_testbed: TestBed, overlay: str) -> None:
    """Roles but those for people are bound, to the ServiceAccount of the Pods."""
    objects = built(fake_testbed, overlay)
    for_people = {"ClusterRole/matrixone-view", "ClusterRole/matrixone-edit"}
    roles = {name for name in objects if name.partition("/")[0] in {"Role", "ClusterRole"}}
    bound = set()
    for one in objects.values():
        if one["kind"].endswith("RoleBinding") or one["kind"] == "ClusterRoleBinding":
            bound.add(f"{one['roleRef']['kind']}/{one['roleRef']['name']}")
            (subject,) = one["subjects"]
            assert (subject["namespace"], subject["name"]) == (NAME, NAME)

    assert roles - bound - for_people <= {f"ClusterRole/{NAME}-metrics-reader"}
    assert bound <= roles


def test_one_namespace_needs_nothing_cluster_wide(fake_testbed: TestBed) -> None:
    """The namespaced overlay has no cluster role; it watches where it lives."""
    objects = built(fake_testbed, "namespaced")
    (container,) = objects[f"Deployment/{NAME}"]["spec"]["template"]["spec"]["containers"]

    assert not [one for one in objects.values() if one["kind"].startswith("ClusterRole")]
    assert [one["name"] for one in container["env"]] == [
        "OPERATOR_IMAGE",
        "POD_NAMESPACE",
        "WATCH_NAMESPACE",
    ]


def test_deploy_runs_two_replicas_of_the_image(fake_testbed: TestBed, deployed: str) -> None:
    """The restricted profile of the namespace lets both Pods in, without a warning."""
    text = fake_testbed.kubectl("-n", NAME, "get", "deployment", NAME, "-o", "json")
    found = json.loads(text)

    assert found["status"]["readyReplicas"] == 2
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE
    assert "warning" not in deployed.lower()


def test_scripts_for_the_first_operator_find_the_pods(fake_testbed: TestBed, deployed: str) -> None:
    """T1 of the first operator's list: its label, and ready within half a minute."""
    ready = ("wait", "pods", "-l", f"name={NAME}", "--for=condition=Ready", "--timeout=30s")
    assert fake_testbed.kubectl("-n", NAME, *ready).count("condition met") == 2
    assert fake_testbed.kubectl("-n", NAME, "get", "deployment", "-l", f"name={NAME}", "-o", "name")


def test_deploying_again_changes_nothing(
    fake_testbed: TestBed, fake_make: Make, deployed: str
) -> None:
    """A second `make deploy` writes nothing at all."""
    before = versions(fake_testbed)
    fake_make("deploy", f"IMG={IMAGE}").succeeded()
    fake_make("install").succeeded()

    assert versions(fake_testbed) == before
    assert len(before) > 20


def test_what_is_needed_stays(fake_testbed: TestBed, fake_make: Make, deployed: str) -> None:
    """With a cluster there, neither the operator nor the CRDs go, and the message says why."""
    tiny = ROOT / "examples" / "tiny-cluster.yaml"
    fake_testbed.kubectl("apply", "-f", str(tiny))
    refused = fake_make("undeploy")
    kept = fake_make("uninstall", "FORCE=1")

    for ended, verb in ((refused, "removing the operator"), (kept, "removing the CRDs")):
        assert ended.code != 0
        assert f"{verb} is refused" in ended.output
        assert "matrixonecluster.core.matrixorigin.io/mo" in ended.output
    assert fake_testbed.kubectl("-n", NAME, "get", "deployment", NAME, "-o", "name")


def test_undeploy_takes_all_but_clusters(fake_testbed: TestBed, fake_make: Make) -> None:
    """FORCE=1 leaves clusters alone; afterwards nothing of the operator is left."""
    fake_make("deploy", f"IMG={IMAGE}").succeeded()
    fake_testbed.kubectl("apply", "-f", str(ROOT / "examples" / "tiny-cluster.yaml"))
    said = fake_make("undeploy", "FORCE=1").succeeded()

    assert "remain" in said
    assert fake_testbed.kubectl("get", "mo", "-o", "name")
    left = ("namespace,clusterrole,clusterrolebinding", "-l", f"app.kubernetes.io/name={NAME}")
    assert fake_testbed.kubectl("get", *left, "-o", "name") == ""
    fake_testbed.kubectl("delete", "mo", "mo")
    assert "remain" not in fake_make("undeploy").succeeded()


def test_backups_outlive_the_operator_and_not_their_definition(
    fake_testbed: TestBed, fake_make: Make
) -> None:
    fake_make("install").succeeded()
    backup = str(ROOT / "examples" / "backup.yaml")
    fake_testbed.kubectl("apply", "-f", backup)

    assert "remain" not in fake_make("undeploy").succeeded()
    refused = fake_make("uninstall")

    assert refused.code != 0
    assert "backup.core.matrixorigin.io/mo-full-0195abcd" in refused.output
    fake_testbed.kubectl("delete", "-f", backup)


def test_uninstall_takes_the_definitions(fake_testbed: TestBed, fake_make: Make) -> None:
    """Without resources the CRDs go; doing it twice does no harm."""
    fake_make("install").succeeded()
    fake_make("uninstall").succeeded()

    assert "matrixorigin" not in fake_testbed.kubectl("get", "crd", "-o", "name")
    fake_make("undeploy").succeeded()
    fake_make("uninstall").succeeded()
