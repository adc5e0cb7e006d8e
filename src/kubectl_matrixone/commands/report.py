# SPDX-License-Identifier: Apache-2.0
"""``report``: a zip for a support case."""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from kubectl_matrixone import report
from kubectl_matrixone.commands.options import Commands, add_about_cluster
from kubectl_matrixone.kubectl import Kubectl
from kubectl_matrixone.reading import chosen


def add(commands: Commands) -> None:
    """Add the command."""
    text = "write a zip for a support case, without secrets"
    command = add_about_cluster(commands, "report", text, _report)
    command.add_argument("-C", "--directory", type=Path, default=Path(), help="of the zip")


def _report(options: argparse.Namespace, kubectl: Kubectl) -> int:
    cluster = chosen(kubectl, options.cluster)
    shows = sys.stderr.isatty()

    def say(page: str) -> None:
        if shows:
            print(f"\r\033[Kreading {page}", end="", file=sys.stderr, flush=True)

    path = report.write(kubectl, cluster, options.directory, datetime.now(UTC), say)
    say("done\n")
    print(f"{path}: look through it before you send it; what could not be read is in not-read.txt")
    return 0
