# SPDX-License-Identifier: Apache-2.0
"""A benchmark or a demo that is ended leaves no test bed behind."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import testbed
from testbed.state import load_all
from tests.support.places import ROOT
from tests.support.waiting import eventually

pytestmark = pytest.mark.api

BENCH = ("bench", "--scenarios=burst", "--sizes=2", "--peers=ours")


@pytest.mark.parametrize("command", [BENCH, ("demo.memcached",)], ids=["bench", "demo"])
@pytest.mark.parametrize("phase", ["starting", "ready"])
def test_sigterm_removes_the_test_bed(
    own_state: Path, tmp_path: Path, command: tuple[str, ...], phase: str
) -> None:
    """While it is brought up, and while it is used."""
    with (tmp_path / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=ROOT, stdout=output, stderr=output
        )
    try:
        eventually(lambda: phase in {state.phase for state in load_all()})
        process.send_signal(signal.SIGTERM)
        assert process.wait(90) != 0
    finally:
        process.kill()
    assert testbed.names() == [], (tmp_path / "output").read_text()
