# SPDX-License-Identifier: Apache-2.0
"""What the playbooks that upgrade and remove the operator refuse, on fake nodes.

What they do is in tests/management/test_ansible.py.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import testbed
from testbed.bed import TestBed
from tests.support.namespaces import Namespace
from tests.support.operator_rights import account
from tests.support.operators import running_operator
from tests.support.places import ROOT
from tests.support.plays import Played, play
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = pytest.mark.api
DEPLOYMENT = ("deployment", "matrixone-operator")


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBed]:
    """A test bed of its own: definitions come and go for the whole API server."""
    name = f"operator-role-{os.getpid()}"
    try:
        yield testbed.up(name, nodes="fake")
    finally:
        testbed.down(name)


@pytest.fixture
def played(bed: TestBed, tmp_path: Path) -> Callable[..., Played]:
    def run(playbook: str, *options: str, **variables: Any) -> Played:
        variables = {"operator_wait_timeout": 60, **variables}
        given = ("-e", json.dumps(variables), *options)
        return play(playbook, bed.kubeconfig, tmp_path / "ansible", *given)

    return run


def deployment(bed: TestBed, namespace: str) -> dict[str, Any]:
    return json.loads(bed.kubectl("-n", namespace, "get", *DEPLOYMENT, "-o", "json"))


def test_an_upgrade_of_nothing_says_what_to_do(played: Callable[..., Played]) -> None:
    done = played("upgrade", operator_namespace="nowhere")
    assert done.code != 0
    assert "There is no operator in the namespace nowhere" in done.output


def test_databases_stop_a_removal_unless_they_are_to_be_kept(
    bed: TestBed, played: Callable[..., Played]
) -> None:
    """C30: nothing hangs, nothing is lost without a word."""
    assert played("operator").code == 0
    with bed.namespace("databases") as namespace:
        bed.kubectl("apply", "-f", "-", input=json.dumps(tiny_cluster(namespace)))
        refused = played("uninstall", confirm=True)
        assert refused.code != 0
        assert "operator_policy=keep" in refused.output
        assert " mo" in refused.output
        assert deployment(bed, "matrixone-operator")

        kept = played("uninstall", confirm=True, policy="keep")
        assert kept.code == 0, kept.output
        assert bed.kubectl("-n", namespace, "get", "mo", "-o", "name").split()
        bed.kubectl("-n", namespace, "delete", "mo", "--all", "--wait=false")


def test_a_cascade_keeps_volumes_and_backups(
    bed: TestBed, played: Callable[..., Played], tmp_path: Path
) -> None:
    """C29: also of a cluster that is paused, whose parts have heard nothing of it."""
    assert played("operator").code == 0
    with (
        bed.namespace("databases") as namespace,
        running_operator(
            account(bed, namespace, tmp_path / "kubeconfig", everywhere=True), tmp_path
        ),
    ):
        space = Namespace(bed, namespace)
        cluster = tiny_cluster(namespace)
        for name in ("awake", "asleep"):
            cluster["metadata"]["name"] = name
            space.apply(cluster)
        for name in ("awake", "asleep"):
            space.wait("Ready", name=name)
        space.kubectl("annotate", "mo,logset", "asleep", "matrixorigin.io/paused=true")
        eventually(lambda: space.condition("mo", "asleep", "Paused").get("status") == "True")
        before = space.names("pvc")
        assert len(before) == 8
        for example in ("backup", "bucket-claim"):
            text = (ROOT / "examples" / f"{example}.yaml").read_text()
            space.kubectl("apply", "-f", "-", input=text)

        gone = played("uninstall", confirm=True, policy="cascade", operator_wait_timeout=120)

        assert gone.code == 0, gone.output
        text = space.kubectl("get", "pvc", "-o", "json")
        kept = [one["metadata"] for one in json.loads(text)["items"]]
        assert {f"persistentvolumeclaim/{one['name']}" for one in kept} == before
        assert not any("deletionTimestamp" in one or "ownerReferences" in one for one in kept)
        secrets = space.names("secret")
        assert {"secret/awake-credential", "secret/asleep-credential"} <= secrets
        listed = bed.kubectl("get", "crd", "-o", "name").split()
        assert [one for one in listed if "core.matrixorigin.io" in one] == [
            "customresourcedefinition.apiextensions.k8s.io/backups.core.matrixorigin.io"
        ]
        assert bed.kubectl("get", "backups", "-o", "name").split()
