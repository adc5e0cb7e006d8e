# SPDX-License-Identifier: Apache-2.0
"""``logs``: the logs of all Pods by time."""

import argparse
import sys

from kubectl_matrixone import logs
from kubectl_matrixone.commands.options import Commands, add_about_cluster
from kubectl_matrixone.kubectl import Kubectl
from kubectl_matrixone.reading import chosen


def add(commands: Commands) -> None:
    """Add the command."""
    command = add_about_cluster(commands, "logs", "show the logs of all Pods by time", _logs)
    command.add_argument("-f", "--follow", action="store_true", help="until interrupted")
    command.add_argument("-p", "--previous", action="store_true", help="before the last restarts")
    command.add_argument("--since", default="", metavar="DURATION", help="such as 10m")
    command.add_argument("--tail", type=int, default=1000, help="last lines of each Pod (1000)")
    command.add_argument("--grep", default="", metavar="PATTERN", help="regular expression")


def _logs(options: argparse.Namespace, kubectl: Kubectl) -> int:
    name = chosen(kubectl, options.cluster)["metadata"]["name"]
    fields = ("tail", "since", "follow", "previous", "grep")
    given = {name: getattr(options, name) for name in fields}
    logs.show(kubectl, logs.Wanted(name, **given), sys.stdout)
    return 0
