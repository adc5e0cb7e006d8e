# SPDX-License-Identifier: Apache-2.0
"""``users``: the DatabaseUsers of a cluster."""

import argparse
import dataclasses
import sys
from typing import Any

from kubectl_matrixone.commands.options import Commands, add_about_cluster
from kubectl_matrixone.creating import written
from kubectl_matrixone.kubectl import Kubectl
from kubectl_matrixone.terminal import Style
from kubectl_matrixone.users import USERS, lines, records


def add(commands: Commands) -> None:
    """Add the command."""
    text = "list the users of a cluster that are managed as resources, and what they may do"
    command = add_about_cluster(commands, "users", text, _users)
    command.add_argument("-o", "--output", choices=("text", "name", "json", "yaml"), default="text")


def _users(options: argparse.Namespace, kubectl: Kubectl) -> int:
    found = list(records(kubectl.list([USERS]).items, options.cluster))
    if options.output == "name":
        print("".join(f"databaseuser/{one.name}\n" for one in found), end="")
    elif options.output == "text":
        print("\n".join(lines(found, Style.of(sys.stdout))))
    else:
        plain: Any = [{**dataclasses.asdict(one), "granted": list(one.granted)} for one in found]
        print(written(plain, options.output), end="")
    return 0
