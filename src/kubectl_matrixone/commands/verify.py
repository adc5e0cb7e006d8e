# SPDX-License-Identifier: Apache-2.0
"""``verify``: prove a Backup by restoring it into a throw-away cluster."""

import argparse
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from kubectl_matrixone.commands.options import (
    FAILED,
    Commands,
    add_command,
    add_creating,
    add_waiting,
    creating_of,
)
from kubectl_matrixone.creating import create
from kubectl_matrixone.errors import PluginError, say_error
from kubectl_matrixone.following import Progress, existing, follow, job_state
from kubectl_matrixone.kubectl import Json, Kubectl, table_in
from kubectl_matrixone.reading import BACKUPS, resource_of
from kubectl_matrixone.restoring import Proving, source_of, verification_job

_JOBS: Final = resource_of("RestoreJob")


def add(commands: Commands) -> None:
    """Add the command."""
    text = "prove a Backup: restore it into a throw-away cluster, and read all of it"
    command = add_command(commands, "verify", text, _verify)
    command.add_argument("backup", metavar="BACKUP")
    command.add_argument(
        "--to", default="", metavar="VERSION", help="rehearse an upgrade to this version"
    )
    command.add_argument(
        "--check",
        action="append",
        default=[],
        metavar="STATEMENT",
        help="that the restored database must answer; others can read it",
    )
    command.add_argument(
        "--credential", default="", metavar="SECRET", help="of root, if it has changed since"
    )
    add_waiting(command, "the result", "24h")
    add_creating(command)


def _verify(options: argparse.Namespace, kubectl: Kubectl) -> int:
    backup = kubectl.get(BACKUPS, options.backup)
    # The throw-away cluster is like the one that was backed up, and is beside it.
    here = replace(kubectl, namespace=_namespace(kubectl, backup))
    how = Proving(options.to, tuple(options.check), options.credential)
    job = verification_job(backup, here.namespace, how, datetime.now(UTC))
    creating = creating_of(options)
    print(create(here, job, creating), end="", flush=True)
    name = job["metadata"]["name"]
    if not creating.creates:
        return 0
    if not options.wait:
        print(f"see: kubectl get restorejobs {name} -n {here.namespace}")
        return 0
    return _await(here, name, options.timeout)


def _namespace(kubectl: Kubectl, backup: Json) -> str:
    source = source_of(backup)
    if kubectl.namespace not in {"", source.namespace}:
        raise PluginError(
            f"Backup {backup['metadata']['name']} is of {source.namespace}/{source.name}: it is "
            f"verified in namespace {source.namespace}, beside that cluster"
        )
    return source.namespace


def _await(kubectl: Kubectl, name: str, timeout: float) -> int:
    what = f"RestoreJob {name}"
    progress = Progress(sys.stderr)
    state = follow(what, lambda: job_state(kubectl, _JOBS, name), timeout, progress)
    job = existing(kubectl, _JOBS, name) or {}
    found = table_in(table_in(job, "status"), "verification")
    result = str(found.get("result") or "Incomplete")
    if result != "Passed":
        why = found.get("message") or found.get("reason") or state.detail or "it does not say why"
        say_error(PluginError(f"{result}: {why}"))
        return FAILED
    tables, rows = found.get("tables", "?"), found.get("rows", "?")
    print(f"Passed: {tables} tables with {rows} rows were read")
    return 0
