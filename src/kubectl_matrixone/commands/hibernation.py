# SPDX-License-Identifier: Apache-2.0
"""``hibernate`` and ``wake``: stop what a cluster runs, and start it again."""

import argparse
import sys

from kubectl_matrixone import changes
from kubectl_matrixone.commands.options import Commands, add_about_cluster, add_waiting
from kubectl_matrixone.errors import PluginError
from kubectl_matrixone.following import Outcome, Progress, State, existing, follow
from kubectl_matrixone.kubectl import Json, Kubectl, table_in
from kubectl_matrixone.reading import CLUSTER, chosen

_ASLEEP = "Asleep"


def add(commands: Commands) -> None:
    """Add the commands."""
    text = "stop compute nodes and proxies, and keep the data"
    command = add_about_cluster(commands, "hibernate", text, _hibernate)
    command.add_argument(
        "--scope",
        choices=("Compute", "Database"),
        help="Database stops transaction node and log service, too",
    )
    add_waiting(command, "the end of its Pods", "15m")
    text = "start a cluster again that hibernates"
    command = add_about_cluster(commands, "wake", text, _wake)
    command.add_argument(
        "--by-schedule", action="store_true", help="when its schedule says so, as before"
    )
    add_waiting(command, "its answer to SQL", "15m")


def _hibernate(options: argparse.Namespace, kubectl: Kubectl) -> int:
    cluster = chosen(kubectl, options.cluster)
    print(changes.hibernate(kubectl, cluster, options.scope), flush=True)
    return _await(options, kubectl, cluster, "hibernation") if options.wait else 0


def _wake(options: argparse.Namespace, kubectl: Kubectl) -> int:
    cluster = chosen(kubectl, options.cluster)
    print(changes.wake(kubectl, cluster, by_schedule=options.by_schedule), flush=True)
    if not options.wait or options.by_schedule:
        return 0
    return _await(options, kubectl, cluster, "waking")


def _await(options: argparse.Namespace, kubectl: Kubectl, cluster: Json, what: str) -> int:
    name = cluster["metadata"]["name"]

    def observed() -> State:
        found = existing(kubectl, CLUSTER, name)
        if found is None:
            raise PluginError(f"MatrixOneCluster {name} was deleted")
        return state_of(found, falls_asleep=what == "hibernation")

    state = follow(f"the {what} of {name}", observed, options.timeout, Progress(sys.stderr))
    print(state.step)
    return 0


def state_of(cluster: Json, *, falls_asleep: bool) -> State:
    """Return how far a cluster is on its way to sleep, or back.

    Args:
        cluster: the MatrixOneCluster.
        falls_asleep: the way to sleep.
    """
    status = table_in(cluster, "status")
    seen = (status.get("observedGeneration") or 0) >= cluster["metadata"].get("generation", 0)
    if not seen:
        return State("waits for the operator")
    if falls_asleep:
        state = str(table_in(status, "hibernation").get("state") or "Awake")
        done = state == _ASLEEP
    else:
        ready = [
            one
            for one in status.get("conditions") or []
            if (one.get("type"), one.get("status")) == ("Ready", "True")
        ]
        done, state = bool(ready), "Awake" if ready else "Waking"
    message = "" if done else str(status.get("message") or "")
    return State(state, message, Outcome.DONE if done else Outcome.OPEN)
