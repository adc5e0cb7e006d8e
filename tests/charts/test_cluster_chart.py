# SPDX-License-Identifier: Apache-2.0
"""The chart for clusters: what it renders, and what it refuses."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.bed import TestBed
from tests.charts.releases import CLUSTER, Helm, HelmError, define, find
from tests.support.places import ROOT

pytestmark = pytest.mark.api
TINY = str(CLUSTER / "ci" / "tiny-values.yaml")
FILES = sorted((CLUSTER / "ci").glob("*.yaml"))
EXAMPLES = sorted(
    path
    for path in (ROOT / "examples").glob("*.yaml")
    if "kind: MatrixOneCluster\n" in path.read_text()
)
S3 = "spec.logService.sharedStorage.s3.path=bucket/path"
FOLDER = "spec.logService.sharedStorage.fileSystem.path=/data"
KEYS = "objectStore.accessKeyId=a,objectStore.secretAccessKey=b"
OWN = "spec.logService.sharedStorage.s3.secretRef.name=own"


def rendered(helm: Helm, *arguments: str) -> list[dict[str, Any]]:
    text = helm("template", "shop", CLUSTER, "-n", "ns", *arguments)
    return [one for one in yaml.safe_load_all(text) if one]


@pytest.fixture(scope="module")
def kinds(fake_testbed: TestBed) -> TestBed:
    define(fake_testbed, *(ROOT / "crds").glob("*.yaml"))
    return fake_testbed


@pytest.mark.parametrize("values", FILES, ids=lambda path: path.stem)
def test_values_lint_and_the_api_server_takes_them(
    helm: Helm, kinds: TestBed, values: Path
) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", CLUSTER, "-f", values)
    documents = rendered(helm, "-f", str(values))
    with kinds.namespace("chart") as space:
        for document in documents:
            document["metadata"]["namespace"] = space
        arguments = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
        kinds.kubectl(*arguments, input=yaml.safe_dump_all(documents))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_can_be_said_with_values(helm: Helm, tmp_path: Path, example: Path) -> None:
    documents = yaml.safe_load_all(example.read_text())
    spec = next(one for one in documents if one["kind"] == "MatrixOneCluster")["spec"]
    # Values merge with the chart's own, which null takes away.
    absent = {key: None for key in ("tn", "cnGroups", "proxy") if key not in spec}
    values = tmp_path / "values.yaml"
    values.write_text(json.dumps({"spec": {**spec, **absent}}))
    made = find(rendered(helm, "-f", str(values)), "MatrixOneCluster")["spec"]
    made["logService"] |= spec["logService"]  # its default volume is a value, too
    assert spec.items() <= made.items()


def test_tiny_values_are_the_tiny_example(helm: Helm) -> None:
    example = yaml.safe_load((ROOT / "examples" / "tiny-cluster.yaml").read_text())
    made = find(rendered(helm, "-f", TINY), "MatrixOneCluster")
    assert made["spec"] == example["spec"]
    assert made["metadata"]["name"] == "mo"


def test_the_release_names_the_cluster(helm: Helm) -> None:
    [cluster] = rendered(helm, "-f", TINY, "--set", "name=,labels.team=data,annotations.a=b")
    assert cluster["metadata"]["name"] == "shop"
    assert cluster["metadata"]["labels"]["team"] == "data"
    assert cluster["metadata"]["annotations"] == {"a": "b"}


def test_keys_become_secrets_that_the_cluster_uses(helm: Helm) -> None:
    documents = rendered(helm, "--set", f"{KEYS},{S3}")
    secret = find(documents, "Secret", "shop-object-store")
    assert secret["data"] == {"AWS_ACCESS_KEY_ID": "YQ==", "AWS_SECRET_ACCESS_KEY": "Yg=="}
    spec = find(documents, "MatrixOneCluster")["spec"]
    storage = spec["logService"]["sharedStorage"]["s3"]
    assert storage["secretRef"] == {"name": "shop-object-store"}


def test_a_root_password_becomes_the_credential(helm: Helm) -> None:
    documents = rendered(helm, "-f", TINY, "--set", "root.password=secret,root.username=admin")
    assert find(documents, "Secret")["data"] == {"username": "YWRtaW4=", "password": "c2VjcmV0"}
    spec = find(documents, "MatrixOneCluster")["spec"]
    assert spec["credentialSecretRef"] == {"name": find(documents, "Secret")["metadata"]["name"]}


def test_what_is_kept_says_so(helm: Helm) -> None:
    for document in rendered(helm, "--set", f"keepOnUninstall=true,root.password=c,{KEYS},{S3}"):
        assert document["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("", "at '/spec/logService': missing property 'sharedStorage'"),
        (f"{S3},spec.proxi.replicas=1", "at '/spec': additional properties 'proxi' not allowed"),
        (f"{S3},spec.tn.replicas=two", "at '/spec/tn/replicas': got string, want integer"),
        (f"{S3},spec.logService.replicas=-1", "at '/spec/logService/replicas': minimum"),
        (f"{S3},spec.imagePullPolicy=Sometimes", "at '/spec/imagePullPolicy': value must be one"),
        (f"{S3},objectStore.accessKeyId=a", "needs both accessKeyId and secretAccessKey"),
        (f"{KEYS},{FOLDER}", "says no object store"),
        (f"{KEYS},{S3},{OWN}", "give either the keys in objectStore or a Secret"),
        (
            f"{S3},root.password=a,spec.credentialSecretRef.name=own",
            "give either root.password or a Secret",
        ),
    ],
)
def test_values_that_mean_nothing_are_refused(helm: Helm, values: str, message: str) -> None:
    with pytest.raises(HelmError, match=re.escape(message)):
        rendered(helm, "--set", values)


def test_one_version_everywhere() -> None:
    facts = yaml.safe_load((CLUSTER / "Chart.yaml").read_text())
    collection = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
    assert facts["version"] == facts["appVersion"] == collection
