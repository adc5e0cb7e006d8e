# SPDX-License-Identifier: Apache-2.0
"""The demo on S3 is the example with its shared storage in a bucket, and nothing else changed."""

import json
from pathlib import Path

import pytest
import yaml

from demo import object_storage
from demo.clusters import ClusterError, ExistingCluster
from testbed import ObjectStore, database
from tests.support.places import ROOT

STORE = ObjectStore("10.1.0.1", 7070, Path("/none"), "the-key", "the-secret")
EXAMPLE = yaml.safe_load((ROOT / "examples" / "tiny-cluster.yaml").read_text())


def test_only_the_storage_differs_from_the_example() -> None:
    changed = object_storage.on_s3(EXAMPLE, STORE)
    storage = changed["spec"]["logService"].pop("sharedStorage")
    expected = yaml.safe_load(yaml.safe_dump(EXAMPLE))
    expected["spec"]["logService"].pop("sharedStorage")
    assert changed == expected
    assert storage["s3"] == {
        "type": "minio",
        "path": "matrixone/mo",
        "endpoint": "http://10.1.0.1:7070",
        "region": "us-east-1",
        "secretRef": {"name": "object-store"},
    }
    assert "fileSystem" in EXAMPLE["spec"]["logService"]["sharedStorage"]


def test_credentials_stand_in_the_secret_alone() -> None:
    secret, cluster = object_storage.secret(STORE), object_storage.on_s3(EXAMPLE, STORE)
    assert secret["kind"] == "Secret"
    assert secret["stringData"] == {
        "AWS_ACCESS_KEY_ID": "the-key",
        "AWS_SECRET_ACCESS_KEY": "the-secret",
    }
    assert "the-secret" not in json.dumps(cluster)


@pytest.mark.parametrize("name", ["MATRIXONE", "MO_SERVICE", "MO_VERSION"])
def test_an_existing_cluster_runs_what_its_registry_has(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch()
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.setenv(name, "1.3")
    with pytest.raises(ClusterError, match=f"{name} needs the demo's own cluster"):
        ExistingCluster.of_environment()
    assert ExistingCluster(kubeconfig, "kubectl").version == ""


def test_an_existing_cluster_gets_no_server(tmp_path: Path) -> None:
    """Its Pods would not reach one on this machine."""
    with pytest.raises(ClusterError, match="S3=1 needs the demo's own cluster"):
        ExistingCluster(tmp_path / "kubeconfig", "kubectl").object_store("matrixone")


@pytest.mark.parametrize(
    ("tag", "kind"),
    [
        ("1.3.0", "minio"),
        ("2.0.1", "minio"),
        ("2.2.2", "aws"),
        ("3.0.18", "aws"),
        ("nightly", "minio"),
    ],
)
def test_newer_releases_get_the_type_that_signs_as_the_server_can(
    monkeypatch: pytest.MonkeyPatch, tag: str, kind: str
) -> None:
    monkeypatch.setattr(database, "chosen", lambda: database.Database(tag))
    assert object_storage.dialect(object_storage.STORED_AS_AWS) == kind
