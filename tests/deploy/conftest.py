# SPDX-License-Identifier: Apache-2.0
"""The commands that put the operator into a cluster, as users type them."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from testbed.bed import TestBed
from tests.support.places import ROOT

COMMAND_SECONDS = 600


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code and everything that it printed."""

    code: int
    output: str

    def succeeded(self) -> str:
        assert self.code == 0, self.output
        return self.output


Make = Callable[..., Ended]


def maker(bed: TestBed) -> Make:
    """Return a function that runs a target of the Makefile against a test bed."""

    def run(*arguments: str) -> Ended:
        done = subprocess.run(
            ["make", *arguments],
            cwd=ROOT,
            env={
                "PATH": f"{bed.kubectl_path.parent}:{os.environ['PATH']}",
                "HOME": os.environ["HOME"],
                "KUBECONFIG": str(bed.kubeconfig),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        return Ended(done.returncode, done.stdout)

    return run
