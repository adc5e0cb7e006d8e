# SPDX-License-Identifier: Apache-2.0
"""Commands as users type them; what the scenarios measured, at the end of the run."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from image.operator import operator_archive
from testbed import lifecycle
from testbed.bed import TestBed
from tests.e2e.traffic import FIGURES
from tests.support.places import ROOT

COMMAND_SECONDS = 900

Command = Callable[..., str]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what clients saw, scenario by scenario."""
    if FIGURES:
        where = os.environ.get("OPERATOR", "process")
        terminalreporter.section(f"what clients saw; operator: {where}")
    for line in FIGURES:
        terminalreporter.write_line(line)


@pytest.fixture(scope="module")
def bed_with_jobs(real_testbed: TestBed) -> TestBed:
    """The node with the operator's image, which the Pods of Jobs run."""
    lifecycle.load_image(str(operator_archive()), real_testbed.name)
    return real_testbed


@pytest.fixture
def command() -> Command:
    """Run a command in the repository's folder and return its output; fail when it does."""

    def run(*argv: str, **env: str) -> str:
        environment = {
            **os.environ,  # as it is now: other fixtures set variables
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        }
        result = subprocess.run(
            argv,
            cwd=ROOT,
            env={**environment, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert result.returncode == 0, f"{argv} ended with {result.returncode}:\n{result.stdout}"
        return result.stdout

    return run
