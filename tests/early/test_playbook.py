# SPDX-License-Identifier: Apache-2.0
"""A MatrixoneCluster by playbook, with no operator and without its CRD."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.bed import TestBed
from tests.early.conftest import Space, eventually
from tests.early.resources import ROOT, SAMPLE

pytestmark = pytest.mark.api


def play(bed: TestBed, namespace: str, *options: str) -> str:
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "ansible-playbook"),
            "matrixorigin.matrixone.early_cluster",
            *("-e", f"@{SAMPLE}", "-e", f"namespace={namespace}", *options),
        ],
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
            "ANSIBLE_NOCOLOR": "true",
            "KUBECONFIG": str(bed.kubeconfig),
        },
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.rpartition("PLAY RECAP")[2]


def test_it_comes_stays_and_goes(early_testbed: TestBed, fake_namespace: str) -> None:
    space = Space(early_testbed, fake_namespace)
    assert "changed=1" in play(early_testbed, fake_namespace, "--check")
    assert space.named("mo", "statefulset,service") == set()

    play(early_testbed, fake_namespace)
    assert "pod/mo-0" in space.named("mo")
    assert "changed=0" in play(early_testbed, fake_namespace)

    play(early_testbed, fake_namespace, "-e", "state=absent")
    eventually(lambda: not space.named("mo"))


def test_a_second_database_is_refused(early_testbed: TestBed, fake_namespace: str) -> None:
    with pytest.raises(AssertionError, match=r"spec\.replicas: must be 0 or 1"):
        play(
            early_testbed,
            fake_namespace,
            "-e",
            '{"spec": {"image": "mo:1.3.0", "dataVolumeCap": "1Gi", "logVolumeCap": "1Gi", '
            '"replicas": 2}}',
        )
