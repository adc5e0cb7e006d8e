# SPDX-License-Identifier: Apache-2.0
"""Play the collection's playbooks against the test bed with fake nodes."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

import testbed
from testbed.bed import TestBed
from tests.support.namespaces import KINDS, Namespace, install
from tests.support.operator_rights import account, refusals
from tests.support.operators import running_operator
from tests.support.places import ROOT
from tests.support.plays import Played, play


def tiny_cluster(namespace: str) -> dict[str, Any]:
    """Return the smallest cluster that has every part, in a namespace.

    A Pod counts in a roll once it has been ready for a second, not for five as it does by default.
    """
    cluster = yaml.safe_load((ROOT / "examples" / "tiny-cluster.yaml").read_text())
    cluster["metadata"]["namespace"] = namespace
    for part in (cluster["spec"]["logService"], *cluster["spec"]["cnGroups"]):
        part["minReadySeconds"] = 1
    return cluster


@contextmanager
def namespace_alone(prefix: str) -> Iterator[Namespace]:
    """Give a namespace on a test bed of its own, for an operator that looks after all namespaces."""
    name = f"pytest-{prefix}-{os.getpid()}"
    try:
        bed = testbed.up(name, nodes="fake")
        install(bed)
        with bed.namespace(prefix) as namespace:
            yield Namespace(bed, namespace)
    finally:
        testbed.down(name)


@contextmanager
def operated_everywhere(space: Namespace, folder: Path) -> Iterator[Path]:
    """Run the operator for all namespaces, with the rights that it is given there; gives its log."""
    kubeconfig = account(space.bed, space.name, folder / "kubeconfig", everywhere=True)
    with running_operator(kubeconfig, folder, OPERATOR_IMAGE="operator:test") as log:
        yield log
    assert refusals(log) == []


@pytest.fixture
def play_cluster(tmp_path: Path, fake_testbed: TestBed) -> Callable[..., Played]:
    """Return a function that plays ``matrixorigin.matrixone.cluster`` for a resource."""

    def run(resource: dict[str, Any], *options: str, **variables: Any) -> Played:
        given = tmp_path / "cluster.json"
        given.write_text(json.dumps(resource))
        variables = {"wait_timeout": 60, **variables}
        return play(
            "cluster",
            fake_testbed.kubeconfig,
            tmp_path / "ansible",
            *("-e", f"@{given}", "-e", json.dumps(variables), *options),
        )

    return run


@pytest.fixture
def play_role(tmp_path: Path, fake_testbed: TestBed) -> Callable[..., Played]:
    """Return a function that plays the role of a set for a resource that is not in the cluster."""

    def run(role: str, resource: dict[str, Any], **variables: Any) -> Played:
        given = {f"{role}_{name}": value for name, value in variables.items()}
        included = {"ansible.builtin.include_role": {"name": f"matrixorigin.matrixone.{role}"}}
        task = {**included, "vars": {f"{role}_resource": resource, **given}}
        played = {"hosts": "localhost", "gather_facts": False, "tasks": [task]}
        playbook = tmp_path / "role.yml"
        playbook.write_text(json.dumps([played]))
        return play(str(playbook), fake_testbed.kubeconfig, tmp_path / "ansible")

    return run


@pytest.fixture
def objects(fake_testbed: TestBed, fake_namespace: str) -> Callable[[], set[str]]:
    """Return a function that names what is in the namespace, but what Kubernetes puts there."""
    space = Namespace(fake_testbed, fake_namespace)
    return lambda: space.names(KINDS)


@pytest.fixture(scope="module")
def space(installed_testbed: TestBed) -> Iterator[Namespace]:
    with installed_testbed.namespace("operator") as name:
        yield Namespace(installed_testbed, name)


@pytest.fixture(scope="module")
def operator(space: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run the operator for the namespace, with the rights that it is given there; gives its log."""
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = account(space.bed, space.name, folder / "kubeconfig")
    with running_operator(kubeconfig, folder, WATCH_NAMESPACE=space.name) as log:
        yield log
    assert refusals(log) == []
