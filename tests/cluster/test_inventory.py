# SPDX-License-Identifier: Apache-2.0
"""The inventory plugin, run by ansible-inventory against a real API server."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.bed import TestBed
from tests.support.places import ROOT

pytestmark = pytest.mark.api
Inventory = Callable[..., subprocess.CompletedProcess[str]]


def pod(name: str, component: str, cluster: str = "mo") -> dict[str, Any]:
    labels = {
        "matrixorigin.io/component": component,
        "matrixorigin.io/instance": cluster,
        "matrixorigin.io/cluster": cluster,
    }
    secret = {"name": "PASSWORD", "value": "not-for-a-cache"}
    main = {"name": "main", "image": "matrixone:1.3.0", "env": [secret]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [main]},
    }


@pytest.fixture
def cluster(fake_testbed: TestBed, fake_namespace: str) -> str:
    """Pods of two clusters in one namespace; returns the namespace."""
    pods = [
        pod("mo-log-0", "LogSet"),
        pod("mo-tp-cn-0", "CNSet"),
        pod("other-log-0", "LogSet", "other"),
        {**pod("stranger", ""), "metadata": {"name": "stranger"}},
    ]
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    fake_testbed.kubectl("-n", fake_namespace, "apply", "-f", "-", input=manifest)
    return fake_namespace


@pytest.fixture
def inventory(tmp_path: Path, fake_testbed: TestBed) -> Inventory:
    """Return a function that runs ansible-inventory on a source with these options."""

    def run(
        *arguments: str, environment: dict[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        source = tmp_path / "matrixone.yml"
        source.write_text(json.dumps({"plugin": "matrixorigin.matrixone.members", **options}))
        command = str(Path(sys.executable).parent / "ansible-inventory")
        return subprocess.run(
            [command, "-i", str(source), *(arguments or ("--list",))],
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_HOME": str(tmp_path / "ansible"),
                "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
                "KUBECONFIG": str(fake_testbed.kubeconfig),
                **(environment or {}),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def listed(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_members_are_grouped_by_component_cluster_and_set(
    inventory: Inventory, cluster: str
) -> None:
    seen = listed(inventory(namespaces=[cluster]))
    space = cluster.replace("-", "_")
    assert seen["logset"]["hosts"] == [f"mo-log-0.{cluster}", f"other-log-0.{cluster}"]
    assert seen["cnset"]["hosts"] == [f"mo-tp-cn-0.{cluster}"]
    assert set(seen["matrixone"]["hosts"]) == set(seen["_meta"]["hostvars"])
    assert f"cluster_{space}_mo" in seen
    assert f"set_{space}_logset_other" in seen
    assert f"stranger.{cluster}" not in seen["_meta"]["hostvars"]


def test_one_cluster_can_be_asked_for(inventory: Inventory, cluster: str) -> None:
    seen = listed(inventory(namespaces=[cluster], clusters=["other"]))
    assert set(seen["_meta"]["hostvars"]) == {f"other-log-0.{cluster}"}


def test_groups_and_variables_can_be_composed(inventory: Inventory, cluster: str) -> None:
    seen = listed(
        inventory(
            namespaces=[cluster],
            compose={"address": "matrixone_pod ~ '.' ~ matrixone_set"},
            groups={"compute": "matrixone_component == 'CNSet'"},
            keyed_groups=[{"key": "matrixone_component", "prefix": "kind"}],
        )
    )
    host = f"mo-tp-cn-0.{cluster}"
    assert seen["compute"]["hosts"] == seen["kind_CNSet"]["hosts"] == [host]
    assert "mo-tp-cn-0.mo" in str(seen["_meta"]["hostvars"][host]["address"])


def test_the_cache_answers_without_the_api_server_and_holds_no_secret(
    inventory: Inventory, cluster: str, tmp_path: Path
) -> None:
    caching = {
        "namespaces": [cluster],
        "cache": True,
        "cache_plugin": "jsonfile",
        "cache_connection": str(tmp_path / "cache"),
    }
    first = listed(inventory(**caching))
    away = {"KUBECONFIG": str(tmp_path / "nothing"), "K8S_AUTH_HOST": "http://127.0.0.1:1"}
    assert listed(inventory(environment=away, **caching)) == first
    kept = "".join(path.read_text() for path in (tmp_path / "cache").iterdir())
    assert "mo-log-0" in kept
    assert "not-for-a-cache" not in kept


def test_an_api_server_that_cannot_be_reached_is_named(
    inventory: Inventory, tmp_path: Path
) -> None:
    done = inventory(environment={"KUBECONFIG": str(tmp_path / "nothing")})
    assert done.returncode != 0
    unwrapped = "".join(done.stderr.split())  # ansible-core 2.18 wraps lines, within words, too
    assert f"kubeconfig{tmp_path / 'nothing'}" in unwrapped


def test_an_option_of_the_wrong_type_is_named(inventory: Inventory) -> None:
    done = inventory(namespaces={"a": "b"})
    assert done.returncode != 0
    assert "namespaces" in done.stderr
