# SPDX-License-Identifier: Apache-2.0
"""The project's Molecule scenario, as its users run it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from demo import memcached
from testbed.bed import TestBed

pytestmark = pytest.mark.api

FLAGS = ("proxy-port", "metrics-bind-address", "health-probe-bind-address", "metrics-api-port")


def test_scenario(fake_testbed: TestBed, tmp_path: Path) -> None:
    # Elsewhere, as a repository of its own: Molecule takes settings from the root of this one.
    project = tmp_path / "memcached"
    shutil.copytree(memcached.PROJECT, project)
    programs = Path(sys.executable).parent
    runs = f"--run-directory={tmp_path / 'runs'}"
    result = subprocess.run(
        [programs / "molecule", "test"],
        cwd=project,
        env={
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "KUBECONFIG": str(fake_testbed.kubeconfig),
            "K8S_AUTH_KUBECONFIG": str(fake_testbed.kubeconfig),
            "ANSIBLE_COLLECTIONS_PATH": str(memcached.COLLECTIONS),
            "OPERATOR_FLAGS": " ".join([*(f"--{flag}=0" for flag in FLAGS), runs]),
            "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path / "molecule"),
            # As on a busy machine: the operator must outlive the worker that has started it.
            "ANSIBLE_WORKER_SHUTDOWN_POLL_COUNT": "0",
        },
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    before, _, operator = result.stderr.partition("TASK [Show what the operator said last]")
    assert result.returncode == 0, operator[:6000] + before[-6000:]
    left = fake_testbed.kubectl("get", "crd,namespace", "-o", "name")
    assert "memcacheds.cache.example.com" not in left
    assert not (tmp_path / "molecule" / "operator.pid").exists()
