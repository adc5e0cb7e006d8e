# SPDX-License-Identifier: Apache-2.0
"""The kubectl plugin as a user calls it: found by kubectl itself."""

import os
import subprocess
import sys
from pathlib import Path

from testbed.bed import TestBed

_SECONDS = 120


class Plugin:
    """Runs ``kubectl matrixone`` with some arguments.

    Args:
        environment: of kubectl.
        seconds: that a command may take.
    """

    def __init__(self, environment: dict[str, str], seconds: float = _SECONDS) -> None:
        self._environment, self._seconds = environment, seconds

    def __call__(self, *arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        return self._kubectl("matrixone", *arguments, given=given)

    def said(self, *arguments: str, given: str = "") -> str:
        """Return what a command prints that has to succeed."""
        ended = self(*arguments, given=given)
        assert ended.returncode == 0, f"{arguments} ended with {ended.returncode}: {ended.stderr}"
        return ended.stdout

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
            timeout=self._seconds,
            check=False,
        )


def plugin_of(bed: TestBed, folder: Path, seconds: float = _SECONDS) -> Plugin:
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
    return Plugin(environment, seconds)
