# SPDX-License-Identifier: Apache-2.0
"""Changes of an annotation: of a cluster, of a set, or of the Pod of a compute node."""

import argparse
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from kubectl_matrixone import changes
from kubectl_matrixone.commands.options import (
    Command,
    Commands,
    add_about_cluster,
    add_command,
)
from kubectl_matrixone.kubectl import Json, Kubectl
from kubectl_matrixone.reading import chosen


def add(commands: Commands) -> None:
    """Add the commands."""
    for name, text in (
        ("pause", "keep the operator away from a cluster"),
        ("resume", "let the operator act on a cluster again"),
        ("fence", "keep clients off a cluster, and everything in it as it is"),
        ("unfence", "let clients and the operator come to a cluster again"),
    ):
        add_about_cluster(commands, name, text, _OF_CLUSTER[name])
    text = "replace the Pods, as after a change"
    command = add_about_cluster(commands, "restart", text, _restart)
    command.add_argument("--part", default="", metavar="KIND/NAME", help="only a set: cnset/mo-tp")
    for name, text in (
        ("cordon", "keep new sessions away from a compute node"),
        ("uncordon", "let sessions come to a compute node again"),
    ):
        command = add_command(commands, name, text, _cordon)
        command.set_defaults(is_cordoned=name == "cordon")
        command.add_argument("pod", metavar="POD")


def changing(change: Callable[[argparse.Namespace, Kubectl, Json], str]) -> Command:
    """Return the command of a change: it says what it has done."""

    def run(options: argparse.Namespace, kubectl: Kubectl) -> int:
        print(change(options, kubectl, chosen(kubectl, options.cluster)))
        return 0

    return run


def _of_cluster(change: Callable[[Kubectl, Json], str]) -> Command:
    return changing(lambda _options, kubectl, cluster: change(kubectl, cluster))


_OF_CLUSTER: Final = {
    "pause": _of_cluster(changes.pause),
    "resume": _of_cluster(changes.resume),
    "fence": _of_cluster(changes.fence),
    "unfence": _of_cluster(changes.unfence),
}


@changing
def _restart(options: argparse.Namespace, kubectl: Kubectl, cluster: Json) -> str:
    return changes.restart(kubectl, cluster, options.part, datetime.now(UTC))


def _cordon(options: argparse.Namespace, kubectl: Kubectl) -> int:
    print(changes.cordon(kubectl, options.pod, is_cordoned=options.is_cordoned))
    return 0
