# SPDX-License-Identifier: Apache-2.0
"""The whole command on the Memcached operator, which is an operator-sdk project like others."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import testbed
from tests.support.places import ROOT

pytestmark = pytest.mark.api
MEMCACHED = ROOT / "examples" / "memcached"


def test_an_operator_is_played_and_nothing_is_left(tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    before = testbed.names()
    sample = next((MEMCACHED / "config" / "samples").glob("cache*.yaml"))
    command = [sys.executable, "-m", "compat", str(MEMCACHED), f"--object={sample}"]
    done = subprocess.run(
        [*command, f"--output={output}", "--seconds=120"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(output.read_text())
    assert (found["runner"], found["succeeded"]) == ("ours", True)
    assert found["played"]["tasks"]["ok"] > 0
    assert found["cpu"] > 0
    assert any(name.startswith("Deployment/") for name in found["objects"])
    assert "| objects |" in done.stdout
    assert [name for name in testbed.names() if name.startswith("compat-")] == [
        name for name in before if name.startswith("compat-")
    ]
