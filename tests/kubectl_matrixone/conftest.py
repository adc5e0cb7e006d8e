# SPDX-License-Identifier: Apache-2.0
"""The plugin as a user calls it: found by kubectl itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.bed import TestBed

_SECONDS = 120


class Run:
    """Runs ``kubectl matrixone`` with some arguments."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment

    def __call__(self, *arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        return self._kubectl("matrixone", *arguments, given=given)

    def completed(self, *words: str) -> list[str]:
        """Return what kubectl's completion offers for the last word, and its directive."""
        return self._kubectl("__complete", "matrixone", *words).stdout.splitlines()

    def _kubectl(self, *arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["kubectl", *arguments],
            env=self._environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )


def plugin_of(bed: TestBed, folder: Path) -> Run:
    """Return the plugin, with the rights of an administrator of a test bed."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "kubectl").symlink_to(bed.kubectl_path)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(bed.kubeconfig),
        "HOME": str(folder),
    }
    return Run(environment)


@pytest.fixture
def plugin(fake_testbed: TestBed, tmp_path: Path) -> Run:
    return plugin_of(fake_testbed, tmp_path)
