# SPDX-License-Identifier: Apache-2.0
"""Objects that no operator expects: none ends the process or keeps another one from being run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.bed import KubectlError, TestBed
from tests.runner.operator.conftest import PROJECT, Cluster, fetch, start_in
from tests.support import hostile
from tests.support.hostile import Deep
from tests.support.operators import Operator
from tests.support.ports import free_port
from tests.support.waiting import eventually

pytestmark = pytest.mark.api

SPEC = {"behave": "succeed", "text": "1"}
STATUSES: dict[str, Any] = {
    "a-text": "odd",
    "a-list": [1, {}],
    "conditions-text": {"conditions": "Ready"},
    "conditions-odd": {"conditions": [1, None, {"type": {}}, {"type": ["x"], "status": 1}]},
}
LEVELS = (150, 990, 2000, 9000)


@pytest.fixture(scope="module")
def cluster(definitions: TestBed) -> Iterator[Cluster]:
    with definitions.namespace("hostile") as namespace:
        yield Cluster(definitions, namespace)


def probe(name: str, spec: Any) -> dict[str, Any]:
    kind = {"apiVersion": "runner.example.com/v1alpha1", "kind": "Probe"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def create(cluster: Cluster, obj: dict[str, Any]) -> None:
    """Create an object that is deeper than Python can write."""
    kind = f"{obj['kind'].lower()}s"
    path = f"/apis/{obj['apiVersion']}/namespaces/{cluster.name}/{kind}"
    text = hostile.encode(obj).decode()
    cluster.kubectl("create", "--raw", path, "-f", "-", input=text)


def settle(cluster: Cluster, name: str, text: str) -> None:
    """Change an object and wait until that has been played."""
    cluster.create("Probe", name, {"behave": "succeed", "text": text})

    def is_played() -> bool:
        found = cluster.get("probes", name)
        running = cluster.conditions("probes", name).get("Running", {})
        return bool(
            found["metadata"]["generation"] == int(text) and running.get("reason") == "Successful"
        )

    eventually(is_played, what=f"{name} with {text}")


def write_hostile(cluster: Cluster) -> None:
    """Objects as tenants may write them, all of which the API server takes."""
    for levels in LEVELS:
        create(cluster, probe(f"deep-{levels}", {**SPEC, "overlay": {"probe": Deep(levels - 3)}}))
    for name, status in STATUSES.items():
        cluster.create("Probe", name, SPEC)
        cluster.kubectl(
            "patch",
            "probes",
            name,
            "--subresource=status",
            "--type=merge",
            "-p",
            json.dumps({"status": status}),
        )
    owner = {"apiVersion": "runner.example.com/v1alpha1", "kind": "Probe", "uid": "x"}
    owner["name"] = "../../../../../api/v1/namespaces/default/secrets/x"
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "misleading", "ownerReferences": [owner]},
        }
    )


def reported(cluster: Cluster, name: str, kind: str = "Failure", field: str = "message") -> str:
    """A field of a condition of an object that is odd, or deeper than Python can read."""
    path = f'-o=jsonpath={{.status.conditions[?(@.type=="{kind}")].{field}}}'
    try:
        return cluster.kubectl("get", "probes", name, path)
    except KubectlError as error:
        # Conditions that are still as they were written are nothing to search in.
        if "error executing jsonpath" not in str(error):
            raise
        return ""


def test_hostile_objects_and_a_restart_leave_others_alone(
    definitions: TestBed, cluster: Cluster, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    port = free_port()
    flag = f"--health-probe-bind-address=127.0.0.1:{port}"
    operator = start_in(definitions, tmp_path / "first", cluster.name, flag, project=PROJECT)
    try:
        settle(cluster, "good", "1")
        write_hostile(cluster)
        settle(cluster, "good", "2")
        for levels in LEVELS:
            eventually(lambda name=f"deep-{levels}": "spec.overlay" in reported(cluster, name))
        assert fetch(port, "/readyz")[0] == 200
        check(operator)
    finally:
        operator.kill()
    operator = start_in(definitions, tmp_path / "second", cluster.name, flag, project=PROJECT)
    try:
        settle(cluster, "good", "3")
        for name in STATUSES:
            eventually(lambda name=name: reported(cluster, name, "Successful", "status") == "True")
        flatten = json.dumps({"spec": {"overlay": None}})
        cluster.kubectl("patch", "probes", f"deep-{LEVELS[-1]}", "--type=merge", "-p", flatten)
        name = f"deep-{LEVELS[-1]}"
        eventually(lambda: reported(cluster, name, "Successful", "status") == "True")
        check(operator)
    finally:
        operator.kill()


def check(operator: Operator) -> None:
    assert operator.process.poll() is None
    assert "Traceback" not in operator.text()
    assert operator.runs_of("good") >= 1
    for levels in LEVELS[:-1]:
        assert not operator.lines("Ansible-runner exited successfully", name=f"deep-{levels}")
