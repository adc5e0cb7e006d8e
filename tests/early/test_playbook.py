# SPDX-License-Identifier: Apache-2.0
"""A MatrixoneCluster by playbook, with no operator and without its CRD."""

from pathlib import Path

import pytest
import yaml

from testbed.bed import TestBed
from tests.early.conftest import Space
from tests.early.resources import SAMPLE
from tests.support.plays import play
from tests.support.waiting import eventually

pytestmark = pytest.mark.api


def played(space: Space, home: Path, *options: str) -> str:
    """Play it for the namespace; returns the recap."""
    given = ("-e", f"@{SAMPLE}", "-e", f"namespace={space.name}", *options)
    done = play("early_cluster", space.bed.kubeconfig, home, *given)
    assert done.code == 0, done.output
    return done.output.rpartition("PLAY RECAP")[2]


def test_it_comes_stays_and_goes(
    installed_testbed: TestBed, fake_namespace: str, tmp_path: Path
) -> None:
    space = Space(installed_testbed, fake_namespace)
    assert "changed=1" in played(space, tmp_path, "--check")
    assert space.named("mo", "statefulset,service") == set()

    played(space, tmp_path)
    assert "pod/mo-0" in space.named("mo")
    assert "changed=0" in played(space, tmp_path)

    played(space, tmp_path, "-e", "state=absent")
    eventually(lambda: not space.named("mo"))


def test_a_second_database_is_refused(
    installed_testbed: TestBed, fake_namespace: str, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match=r"spec\.replicas: must be 0 or 1"):
        played(
            Space(installed_testbed, fake_namespace),
            tmp_path,
            "-e",
            '{"spec": {"image": "mo:1.3.0", "dataVolumeCap": "1Gi", "logVolumeCap": "1Gi", '
            '"replicas": 2}}',
        )


@pytest.mark.parametrize("state", ["present", "absent"])
def test_what_an_operator_runs_is_left_alone(
    installed_testbed: TestBed, fake_namespace: str, tmp_path: Path, state: str
) -> None:
    """Neither is anything deleted, nor does the play write the status of that resource."""
    space = Space(installed_testbed, fake_namespace)
    played(space, tmp_path)
    kept = space.named("mo")
    space.apply(yaml.safe_load(SAMPLE.read_text()))

    with pytest.raises(AssertionError, match="a MatrixoneCluster of this name is in the cluster"):
        played(space, tmp_path, "-e", f"state={state}")

    assert space.named("mo") == kept
    assert "status" not in space.cluster("mo")
