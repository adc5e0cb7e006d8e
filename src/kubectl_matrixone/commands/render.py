# SPDX-License-Identifier: Apache-2.0
"""``render``: the objects that a cluster consists of, without creating any."""

import argparse
import sys
from pathlib import Path

from kubectl_matrixone.commands.options import Commands, add_about_cluster
from kubectl_matrixone.creating import written
from kubectl_matrixone.errors import UsageError
from kubectl_matrixone.kubectl import Json, Kubectl
from kubectl_matrixone.playing import rendered
from kubectl_matrixone.reading import chosen


def add(commands: Commands) -> None:
    """Add the command."""
    text = "print the objects that a cluster consists of; needs Ansible and the collection"
    command = add_about_cluster(commands, "render", text, _render)
    command.add_argument(
        "-f", "--filename", default="", metavar="FILE", help="a manifest, in place of a cluster"
    )


def _render(options: argparse.Namespace, kubectl: Kubectl) -> int:
    if options.filename and options.cluster:
        raise UsageError("give a CLUSTER or a FILE, not both")
    if options.filename:
        text, namespace = _read(options.filename), kubectl.used_namespace()
    else:
        cluster = chosen(kubectl, options.cluster)
        text, namespace = written(_bare(cluster), "yaml"), cluster["metadata"]["namespace"]
    print(rendered(text, namespace), end="")
    return 0


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{name} cannot be read: {error}") from error


def _bare(cluster: Json) -> Json:
    """Return what its user has written of a cluster."""
    metadata = {key: cluster["metadata"][key] for key in ("name", "namespace")}
    return {
        "apiVersion": cluster["apiVersion"],
        "kind": cluster["kind"],
        "metadata": metadata,
        "spec": cluster["spec"],
    }
