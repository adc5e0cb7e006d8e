# SPDX-License-Identifier: Apache-2.0
"""The bundle for the Operator Lifecycle Manager: what it says, and what others find about it."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.generate import bundle
from deploy.generate.descriptors import spec_descriptors, status_descriptors, title
from deploy.generate.rights import Scope, chosen, read
from testbed import building
from testbed.bed import TestBed
from tests.charts.go_modules import OPERATOR_FRAMEWORK, module
from tests.charts.releases import define

ROOT = bundle.ROOT
IMAGE = "registry.example.com/team/operator:1.2"
KINDS = {
    *("MatrixOneCluster", "LogSet", "DNSet", "CNSet", "ProxySet", "WebUI", "MatrixoneCluster"),
    *("BackupJob", "RestoreJob", "Backup", "BackupSchedule"),
    *("CNPool", "CNClaim", "CNClaimSet", "BucketClaim", "Database", "DatabaseUser"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bundle") / "bundle"
    assert bundle.main([str(made), "--image", IMAGE]) == 0
    return made


@pytest.fixture(scope="module")
def version(folder: Path) -> dict[str, Any]:
    """The ClusterServiceVersion."""
    text = (folder / "manifests" / "matrixone-operator.clusterserviceversion.yaml").read_text()
    made: dict[str, Any] = yaml.load(text, yaml.CSafeLoader)
    return made


def test_every_kind_is_owned_and_has_an_example(version: dict[str, Any]) -> None:
    owned = version["spec"]["customresourcedefinitions"]["owned"]
    examples = json.loads(version["metadata"]["annotations"]["alm-examples"])
    assert {one["kind"] for one in owned} == KINDS
    assert {one["kind"] for one in examples} == KINDS


def test_every_descriptor_names_a_field(version: dict[str, Any], folder: Path) -> None:
    for one in version["spec"]["customresourcedefinitions"]["owned"]:
        crd = yaml.load(
            (folder / f"manifests/{one['name']}.crd.yaml").read_text(), yaml.CSafeLoader
        )
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        assert bool(one["specDescriptors"]) == ("spec" in schema)
        for part in ("spec", "status"):
            for descriptor in one[f"{part}Descriptors"]:
                field = schema[part]
                for name in descriptor["path"].split("."):
                    field = field["properties"][name]
                assert descriptor["description"] == field.get("description", "")


def test_rights_and_pods_are_those_of_the_other_installations(version: dict[str, Any]) -> None:
    spec = version["spec"]["install"]["spec"]
    [granted], [everywhere] = spec["permissions"], spec["clusterPermissions"]
    rights = read()
    assert granted["rules"] == [*chosen(rights, Scope.WATCHED), *chosen(rights, Scope.OWN)]
    assert everywhere["rules"] == [
        *chosen(rights, Scope.CLUSTER, "metrics"),
        *chosen(rights, Scope.CLUSTER, "backups"),
    ]
    [deployment] = spec["deployments"]
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    base = yaml.safe_load((ROOT / "deploy/base/deployment.yaml").read_text())
    [other] = base["spec"]["template"]["spec"]["containers"]
    assert container["image"] == IMAGE
    assert set(other["args"]) < set(container["args"])
    assert container["securityContext"] == other["securityContext"]
    assert pod["serviceAccountName"] == granted["serviceAccountName"]
    assert [one["name"] for one in container["env"]] == [
        "OPERATOR_IMAGE",
        "POD_NAMESPACE",
        "WATCH_NAMESPACE",
    ]
    assert container["env"][0]["value"] == IMAGE


def test_one_version_everywhere(version: dict[str, Any]) -> None:
    released = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
    assert version["metadata"]["name"] == f"matrixone-operator.v{released}"
    assert version["spec"]["version"] == released


def test_labels_of_the_image_are_the_annotations(folder: Path) -> None:
    annotations = yaml.safe_load((folder / "metadata/annotations.yaml").read_text())["annotations"]
    labels = re.findall(
        "^LABEL (.*)=(.*)$", (folder / "bundle.Dockerfile").read_text(), re.MULTILINE
    )
    assert dict(labels) == annotations


def test_it_is_the_same_each_time() -> None:
    assert bundle.files(ROOT, "") == bundle.files(ROOT, "")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("logService.replicas", "Log service replicas"), ("tn", "Tn"), ("s3", "S3")],
)
def test_paths_for_people(path: str, expected: str) -> None:
    assert title(path) == expected


def test_descriptors_by_type() -> None:
    text = {"type": "string", "description": "d"}
    spec = {
        "properties": {
            "replicas": {"type": "integer"},
            "on": {"type": "boolean"},
            "size": {"x-kubernetes-int-or-string": True},
            "policy": {"type": "string", "enum": ["Keep", "Drop"]},
            "resources": {"type": "object", "properties": {"limits": text}},
            "secretRef": {"type": "object", "properties": {"name": text}},
            "list": {"type": "array"},
            "a": {
                "properties": {"b": {"properties": {"c": text, "d": {"properties": {"e": text}}}}}
            },
        }
    }
    shown = {one["path"]: one.get("x-descriptors", [""])[0] for one in spec_descriptors(spec)}
    ui = "urn:alm:descriptor:com.tectonic.ui:"
    assert shown == {
        "replicas": f"{ui}podCount",
        "on": f"{ui}booleanSwitch",
        "size": f"{ui}text",
        "policy": f"{ui}select:Keep",
        "resources": f"{ui}resourceRequirements",
        "secretRef": "",
        "a.b.c": f"{ui}text",
    }
    status = {"properties": {"conditions": {"type": "array"}, "phase": text, "pods": text}}
    kinds = [one.get("x-descriptors") for one in status_descriptors(status)]
    prefix = "urn:alm:descriptor:io.kubernetes"
    assert kinds == [[f"{prefix}.conditions"], [f"{prefix}.phase"], None]


@pytest.mark.api
def test_the_operator_framework_finds_no_error(folder: Path) -> None:
    """Its own validator; of its warnings, two rest on names without their API groups."""
    program = building.provide(["operator-verify"])["operator-verify"]
    result = subprocess.run(
        [program, "manifests", "--object_validate", "--operatorhub_validate", folder],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = result.stdout + result.stderr
    assert result.returncode == 0, said
    assert "level=error" not in said
    warnings = [line for line in said.splitlines() if "level=warning" in line]
    expected = ("removed in v1.25", "validator is deprecated")
    assert [one for one in warnings if not any(known in one for known in expected)] == []


@pytest.mark.api
def test_the_api_server_takes_it_and_its_examples(
    fake_testbed: TestBed, folder: Path, version: dict[str, Any]
) -> None:
    crds = module(OPERATOR_FRAMEWORK) / "crds"
    define(
        fake_testbed,
        crds / "operators.coreos.com_clusterserviceversions.yaml",
        *(folder / "manifests").glob("*.crd.yaml"),
    )
    examples = json.loads(version["metadata"]["annotations"]["alm-examples"])
    files = sorted(set((folder / "manifests").iterdir()) - set(folder.rglob("*.crd.yaml")))
    documents = [*examples, *(yaml.safe_load(path.read_text()) for path in files)]
    with fake_testbed.namespace("bundle") as space:
        for document in documents:
            document["metadata"].pop("namespace", None)
        fake_testbed.kubectl(
            *("-n", space, "apply", "--server-side", "--dry-run=server", "--validate=strict"),
            *("--force-conflicts", "-f", "-"),
            input=yaml.safe_dump_all(documents),
        )
