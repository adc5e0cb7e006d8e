# SPDX-License-Identifier: Apache-2.0
"""``top``: sessions, CPU and memory of each Pod."""

import argparse
import dataclasses
import sys
from typing import Final

from kubectl_matrixone.commands.options import Commands, add_about_cluster
from kubectl_matrixone.creating import written
from kubectl_matrixone.errors import KubectlError
from kubectl_matrixone.kubectl import Json, Kubectl, table_in
from kubectl_matrixone.reading import LABEL, chosen, read, resource_of
from kubectl_matrixone.sessions import counted_once, lists_draining
from kubectl_matrixone.terminal import Style
from kubectl_matrixone.usage import lines, metrics, usages

_SETS: Final = resource_of("CNSet")


def add(commands: Commands) -> None:
    """Add the command."""
    text = "show sessions, CPU and memory of each Pod, and the storage"
    command = add_about_cluster(commands, "top", text, _top)
    command.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text")


def _top(options: argparse.Namespace, kubectl: Kubectl) -> int:
    cluster = chosen(kubectl, options.cluster)
    facts, unread = read(kubectl, cluster), []
    measured: Json = {}
    try:
        measured = metrics(kubectl, cluster)
    except KubectlError as error:
        unread.append(f"CPU and memory, which a metrics server measures: {error}")
    sessions, reason = counted_once(kubectl, cluster)
    if reason:
        unread.append(f"sessions: {reason}")
    found = list(usages(facts, _nodes(kubectl, cluster), sessions, measured))
    unread.extend(facts.unread)
    if options.output == "text":
        print("\n".join(lines(found, facts, unread, Style.of(sys.stdout))))
    else:
        pods = [dataclasses.asdict(one) for one in found]
        print(written({"pods": pods, "unread": unread}, options.output), end="")
    return 0


def _nodes(kubectl: Kubectl, cluster: Json) -> dict[str, str]:
    """Return the id of each compute node whose sessions the database lists, by its Pod."""
    selector = f"--selector={LABEL}={cluster['metadata']['name']}"
    try:
        sets = kubectl.list([_SETS], selector).items
    except KubectlError:
        return {}
    lists_all = lists_draining(cluster)
    return {
        str(store.get("podName")): str(store["uuid"])
        for one in sets
        for store in table_in(one, "status").get("stores") or []
        if store.get("uuid") and (lists_all or store.get("state") == "Working")
    }
