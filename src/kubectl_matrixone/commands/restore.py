# SPDX-License-Identifier: Apache-2.0
"""``restore``: a new cluster from a Backup."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from kubectl_matrixone.commands.options import (
    FAILED,
    Commands,
    add_command,
    add_creating,
    add_waiting,
    creating_of,
)
from kubectl_matrixone.creating import create
from kubectl_matrixone.errors import PluginError, UsageError, say_error
from kubectl_matrixone.following import Outcome, Progress, State, existing, follow
from kubectl_matrixone.kubectl import Json, Kubectl, table_in
from kubectl_matrixone.reading import BACKUPS, CLUSTER, condition
from kubectl_matrixone.restoring import Restoring, restored, source_of

_KIND: Final = "MatrixOneCluster"


def add(commands: Commands) -> None:
    """Add the command."""
    text = "create a new cluster from a Backup; never touches one that exists"
    command = add_command(commands, "restore", text, _restore)
    command.add_argument("new_cluster", metavar="NEW_CLUSTER")
    command.add_argument("--from", dest="backup", required=True, metavar="BACKUP")
    like = command.add_mutually_exclusive_group()
    like.add_argument(
        "--like", default="", metavar="CLUSTER", help="whose spec it has (the one backed up)"
    )
    like.add_argument(
        "-f", "--filename", default="", metavar="FILE", help="manifest of the lost cluster"
    )
    command.add_argument(
        "--path", default="", metavar="BUCKET/PREFIX", help="of its data (beside the old ones)"
    )
    command.add_argument(
        "--credential", default="", metavar="SECRET", help="of root at the time of the backup"
    )
    command.add_argument("--version", default="", help="of MatrixOne (that of the old cluster)")
    add_waiting(command, "the cluster to be Ready", "24h")
    add_creating(command)


def _restore(options: argparse.Namespace, kubectl: Kubectl) -> int:
    namespace = kubectl.used_namespace()
    here = replace(kubectl, namespace=namespace)
    name = options.new_cluster
    if existing(here, CLUSTER, name):
        raise PluginError(
            f"MatrixOneCluster {namespace}/{name} exists: a backup is only restored into a new one"
        )
    backup = kubectl.get(BACKUPS, options.backup)
    wanted = Restoring(name, namespace, options.path, options.credential, options.version)
    made = restored(backup, _like(options, here, backup), wanted)
    for note in made.notes:
        print(f"note: {note}", file=sys.stderr)
    how = creating_of(options)
    print(create(here, made.manifest, how), end="", flush=True)
    if not how.creates:
        return 0
    if not options.wait:
        print(f"see: kubectl matrixone status {name} -n {namespace}")
        return 0
    return _await(here, name, options.timeout)


def _like(options: argparse.Namespace, kubectl: Kubectl, backup: Json) -> Json:
    if options.filename:
        return _in_file(options.filename)
    if options.like:
        return kubectl.get(CLUSTER, options.like)
    source = source_of(backup)
    found = existing(replace(kubectl, namespace=source.namespace), CLUSTER, source.name)
    if found is None:
        raise PluginError(
            f"MatrixOneCluster {source.namespace}/{source.name}, which was backed up, is gone: "
            "give its manifest by -f, or a cluster with the settings of it by --like"
        )
    return found


def _in_file(name: str) -> Json:
    """Return the only MatrixOneCluster of a file; ``-`` is the standard input."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        documents = list(yaml.safe_load_all(text))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{name} cannot be read: {error}") from error
    found = [one for one in documents if isinstance(one, dict) and one.get("kind") == _KIND]
    if len(found) != 1:
        raise UsageError(f"{name} has {len(found)} MatrixOneClusters; it must be one")
    return {**found[0], "metadata": table_in(found[0], "metadata")}


def _await(kubectl: Kubectl, name: str, timeout: float) -> int:
    what = f"MatrixOneCluster {name}"
    state = follow(what, lambda: _state(kubectl, name), timeout, Progress(sys.stderr))
    if state.outcome is not Outcome.DONE:
        say_error(PluginError(f"{what} is not restored: {state.detail or 'it does not say why'}"))
        return FAILED
    cluster = kubectl.get(CLUSTER, name)
    record = table_in(table_in(cluster, "status"), "restore")
    print(f"{what} is Ready, with the data up to {record.get('atTime') or '?'}")
    return 0


def _state(kubectl: Kubectl, name: str) -> State:
    cluster = existing(kubectl, CLUSTER, name)
    if cluster is None:
        raise PluginError(f"MatrixOneCluster {name} was deleted")
    return restore_state(cluster)


def restore_state(cluster: Json) -> State:
    """Return how far the restore of a cluster is, and then its start."""
    status = table_in(cluster, "status")
    record = table_in(status, "restore")
    phase, message = str(record.get("phase") or "Pending"), str(record.get("message") or "")
    if phase in {"Failed", "Skipped"}:
        return State(phase, message, Outcome.FAILED)
    if phase != "Completed":
        return State(f"Restore {phase}", message)
    is_ready = condition(cluster, "Ready").get("status") == "True"
    outcome = Outcome.DONE if is_ready else Outcome.OPEN
    return State(str(status.get("phase") or "Unknown"), str(status.get("message") or ""), outcome)
