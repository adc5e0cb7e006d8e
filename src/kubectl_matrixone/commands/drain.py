# SPDX-License-Identifier: Apache-2.0
"""``drain``: empty a compute node of its sessions."""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Final

from kubectl_matrixone import changes
from kubectl_matrixone.commands.options import Commands, add_command, add_timeout
from kubectl_matrixone.draining import (
    CLAIMED_BY,
    DRAINING,
    drain_state,
    node_of,
)
from kubectl_matrixone.errors import PluginError
from kubectl_matrixone.following import Progress, State, follow
from kubectl_matrixone.kubectl import Json, Kubectl, table_in
from kubectl_matrixone.reading import CLUSTER, LABEL, POOL, resource_of
from kubectl_matrixone.sessions import Counts, counting, lists_draining

_SETS: Final = resource_of("CNSet")


def add(commands: Commands) -> None:
    """Add the command."""
    text = "cordon a compute node, and wait until its sessions have moved; back by uncordon"
    command = add_command(commands, "drain", text, _drain)
    command.add_argument("pod", metavar="POD")
    add_timeout(command, "10m")


def _drain(options: argparse.Namespace, kubectl: Kubectl) -> int:
    pod = kubectl.get("pod", options.pod)
    labels = table_in(pod["metadata"], "labels")
    if POOL in labels:
        claim = labels.get(CLAIMED_BY) or "CLAIM"
        raise PluginError(
            f"Pod {options.pod} is of CNPool {labels[POOL]}: move its claim to another Pod, by "
            f"kubectl matrixone promote {claim}, and it drains by itself"
        )
    print(changes.cordon(kubectl, options.pod, is_cordoned=True), flush=True)
    try:
        _await(kubectl, options.pod, str(labels.get(LABEL) or ""), options.timeout)
    except PluginError as error:
        raise PluginError(
            f"{error}. The Pod stays cordoned; the way back is kubectl matrixone uncordon "
            f"{options.pod}"
        ) from error
    print(f"Pod {options.pod} has no sessions left")
    return 0


def _await(kubectl: Kubectl, pod: str, cluster: str, timeout: float) -> None:
    one = kubectl.get(CLUSTER, cluster)
    if not lists_draining(one):
        version = table_in(one, "status").get("version") or "of this cluster"
        raise PluginError(
            f"whether it has sessions left is not known: MatrixOne {version} does not list those "
            "of a node that drains"
        )
    what = f"the drain of Pod {pod}"
    with counting(kubectl, one) as ask:
        follow(what, _observing(kubectl, pod, ask), timeout, Progress(sys.stderr))


def _observing(kubectl: Kubectl, pod: str, ask: Callable[[], Counts]) -> Callable[[], State]:
    since: list[float] = []

    def observed() -> State:
        sets: list[Json] = kubectl.list([_SETS]).items
        node = node_of(sets, pod)
        if node.state == DRAINING and not since:
            since.append(time.monotonic())
        sessions = ask().get(node.uuid, 0) if node.uuid else None
        waited = time.monotonic() - since[0] if since else 0.0
        return drain_state(node, sessions, waited)

    return observed
