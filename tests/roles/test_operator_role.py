# SPDX-License-Identifier: Apache-2.0
"""The playbooks that install, upgrade and remove the operator, on fake nodes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import testbed
from testbed.bed import TestBed

from .conftest import ROOT, Played, tiny_cluster

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
        done = subprocess.run(
            [
                str(Path(sys.executable).parent / "ansible-playbook"),
                f"matrixorigin.matrixone.{playbook}",
                *("-e", json.dumps({"operator_wait_timeout": 60, **variables})),
                *options,
            ],
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_LOCALHOST_WARNING": "false",
                "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
                "ANSIBLE_NOCOLOR": "true",
                "ANSIBLE_HOME": str(tmp_path / "ansible"),
                "KUBECONFIG": str(bed.kubeconfig),
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        recap = re.findall(r"(\w+)=(\d+)", done.stdout.rpartition("PLAY RECAP")[2])
        return Played(done.returncode, done.stdout + done.stderr, {k: int(v) for k, v in recap})

    return run


def deployment(bed: TestBed, namespace: str) -> dict[str, Any]:
    return json.loads(bed.kubectl("-n", namespace, "get", *DEPLOYMENT, "-o", "json"))


def test_install_upgrade_scale_and_remove(bed: TestBed, played: Callable[..., Played]) -> None:
    """C2, C19, C27, C31: the operator's life by playbook."""
    empty = played("operator", "--check", "--diff")
    assert empty.code == 0, empty.output
    assert "matrixone-operator" not in bed.kubectl("get", "namespace", "-o", "name")

    first = played("operator", operator_namespace="tools")
    assert first.code == 0, first.output
    kinds = bed.kubectl("api-resources", "--api-group=core.matrixorigin.io", "-o", "name")
    assert {"matrixoneclusters", "logsets", "dnsets", "cnsets"} <= {
        name.partition(".")[0] for name in kinds.split()
    }
    assert played("operator", operator_namespace="tools").counts["changed"] == 0

    one = played("operator", operator_namespace="tools", operator_replicas=1)
    assert one.code == 0, one.output
    assert deployment(bed, "tools")["spec"]["replicas"] == 1

    dry = played(
        "upgrade", "--check", "--diff", operator_namespace="tools", operator_version="9.9.9"
    )
    assert dry.code == 0, dry.output
    changed = [line for line in dry.output.splitlines() if re.match(r"[+-] ", line)]
    assert len(changed) == 2, dry.output
    assert all("image" in line and "matrixone-operator:" in line for line in changed), changed
    newer = played("upgrade", operator_namespace="tools", operator_version="9.9.9")
    assert newer.code == 0, newer.output
    after = deployment(bed, "tools")["spec"]
    assert after["replicas"] == 1
    assert after["template"]["spec"]["containers"][0]["image"].endswith(":9.9.9")

    unsure = played("uninstall", operator_namespace="tools")
    assert unsure.code != 0
    assert "operator_confirm=true" in unsure.output
    gone = played("uninstall", operator_namespace="tools", confirm=True)
    assert gone.code == 0, gone.output
    left = bed.kubectl("-n", "tools", "get", "deployment,role,rolebinding", "-o", "name")
    assert left.split() == []
    assert "matrixone" not in bed.kubectl("get", "clusterrole,clusterrolebinding", "-o", "name")
    assert played("uninstall", operator_namespace="tools", confirm=True).counts["changed"] == 0


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
