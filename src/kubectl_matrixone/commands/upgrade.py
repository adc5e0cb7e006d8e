# SPDX-License-Identifier: Apache-2.0
"""``upgrade``: another version of MatrixOne."""

import argparse

from kubectl_matrixone import changes
from kubectl_matrixone.commands.options import Commands, add_about_cluster
from kubectl_matrixone.kubectl import Kubectl
from kubectl_matrixone.reading import chosen


def add(commands: Commands) -> None:
    """Add the command."""
    text = "change the version of MatrixOne, or hold a change"
    command = add_about_cluster(commands, "upgrade", text, _upgrade)
    action = command.add_mutually_exclusive_group(required=True)
    action.add_argument("--to", metavar="VERSION", help="ask for this version")
    action.add_argument("--pause", action="store_true", help="before the point of no return")
    action.add_argument("--resume", action="store_true")
    action.add_argument("--cancel", action="store_true", help="before the point of no return")


def _upgrade(options: argparse.Namespace, kubectl: Kubectl) -> int:
    cluster = chosen(kubectl, options.cluster)
    if options.to:
        said = changes.upgrade(kubectl, cluster, options.to)
    elif options.cancel:
        said = changes.cancel_upgrade(kubectl, cluster)
    else:
        said = changes.hold_upgrade(kubectl, cluster, is_held=options.pause)
    print(said)
    return 0
