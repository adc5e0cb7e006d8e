# SPDX-License-Identifier: Apache-2.0
"""The plugin as a user calls it: found by kubectl itself."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.bed import TestBed

Run = Callable[..., "subprocess.CompletedProcess[str]"]
_SECONDS = 120


def plugin_of(bed: TestBed, folder: Path) -> Run:
    """Return a function that runs ``kubectl matrixone`` with some arguments."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "kubectl").symlink_to(bed.kubectl_path)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(bed.kubeconfig),
        "HOME": str(folder),
    }

    def run(*arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["kubectl", "matrixone", *arguments],
            env=environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    return run


@pytest.fixture
def plugin(fake_testbed: TestBed, tmp_path: Path) -> Run:
    return plugin_of(fake_testbed, tmp_path)
