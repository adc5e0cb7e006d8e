# SPDX-License-Identifier: Apache-2.0
"""The project's manifests on a real API server, and what it may not depend on."""

import json
from pathlib import Path

import pytest
import yaml

from demo import memcached
from testbed.bed import KubectlError, TestBed


def files() -> list[Path]:
    return [path for path in memcached.PROJECT.rglob("*") if path.is_file()]


def test_it_uses_nothing_of_the_matrixone_collection() -> None:
    assert len(files()) > 15
    assert [path for path in files() if "matrixo" in path.read_text(errors="replace").lower()] == []


CONTRACT = {
    "group", "version", "kind", "playbook", "role", "vars", "maxRunnerArtifacts",
    "reconcilePeriod", "finalizer", "manageStatus", "watchDependentResources",
    "watchClusterScopedResources", "snakeCaseParameters", "watchAnnotationsChanges",
    "markUnsafe", "blacklist", "selector",
}  # fmt: skip
"""What any runner of watches.yaml understands; ours adds more."""


def test_any_runner_can_play_it() -> None:
    (watch,) = yaml.safe_load((memcached.PROJECT / "watches.yaml").read_text())
    assert set(watch) <= CONTRACT
    flags = yaml.safe_load((memcached.PROJECT / "config/manager/manager.yaml").read_text())
    (container,) = flags["spec"]["template"]["spec"]["containers"]
    assert {flag.partition("=")[0] for flag in container["args"]} <= {
        "--leader-elect",
        "--leader-election-id",
    }
    text = "".join(path.read_text() for path in (memcached.PROJECT / "roles").rglob("*.yml"))
    assert "ansible_operator_trigger" not in text
    assert "ansible_operator." not in text


@pytest.mark.api
def test_the_whole_configuration_is_valid(fake_testbed: TestBed) -> None:
    rendered = fake_testbed.kubectl("kustomize", str(memcached.PROJECT / "config" / "default"))
    kinds = [document["kind"] for document in yaml.safe_load_all(rendered)]
    assert {"CustomResourceDefinition", "Namespace", "Deployment", "ClusterRole"} <= set(kinds)
    memcached.install(fake_testbed)
    validated = fake_testbed.kubectl(
        *("apply", "--dry-run=server", "--validate=strict", "-f", "-"), input=rendered
    )
    assert len(validated.splitlines()) == len(kinds)


@pytest.mark.api
def test_the_strict_schema_allows_one_to_three(fake_testbed: TestBed) -> None:
    """In a group of its own, so that the wide CRD beside it stays in use."""
    text = fake_testbed.kubectl("kustomize", str(memcached.PROJECT / "config" / "crd-strict"))
    text = text.replace("cache.example.com", "strict.example.com")
    fake_testbed.kubectl("apply", "-f", "-", input=text)
    name = "crd/memcacheds.strict.example.com"
    try:
        fake_testbed.kubectl("wait", "--for=condition=Established", "--timeout=30s", name)
        for size, message in ((0, "greater than or equal to 1"), (5, "less than or equal to 3")):
            with pytest.raises(KubectlError, match=message):
                _try(fake_testbed, size)
        _try(fake_testbed, 3)
    finally:
        fake_testbed.kubectl("delete", name)


def _try(bed: TestBed, size: int) -> None:
    resource = {
        "apiVersion": "strict.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": {"name": "strict", "namespace": "default"},
        "spec": {"size": size},
    }
    bed.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(resource))
