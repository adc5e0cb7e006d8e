# SPDX-License-Identifier: Apache-2.0
"""``backup``: make a backup, where the others of the cluster go."""

import argparse
import sys
from datetime import UTC, datetime
from typing import Final

from kubectl_matrixone import saving
from kubectl_matrixone.commands.options import (
    FAILED,
    Commands,
    add_about_cluster,
    add_creating,
    add_waiting,
    creating_of,
)
from kubectl_matrixone.creating import create
from kubectl_matrixone.errors import KubectlError, PluginError, UsageError, say_error
from kubectl_matrixone.following import Outcome, Progress, existing, follow, job_state
from kubectl_matrixone.kubectl import Json, Kubectl, table_in
from kubectl_matrixone.reading import BACKUPS, chosen, resource_of

_JOBS: Final = resource_of("BackupJob")
_SCHEDULES: Final = resource_of("BackupSchedule")
_STORE: Final = ("path", "dialect", "endpoint", "region", "secret")


def add(commands: Commands) -> None:
    """Add the command."""
    text = "back a cluster up, where its other backups are, or by --path"
    command = add_about_cluster(commands, "backup", text, _backup)
    command.add_argument("--name", default="", help="of the BackupJob (the cluster's and the time)")
    command.add_argument("--type", choices=("full", "incremental"), default="full")
    command.add_argument(
        "--base", default="", metavar="BACKUP", help="of an incremental one (the newest)"
    )
    command.add_argument("--verify", action="store_true", help="restore and read it afterwards")
    place = command.add_argument_group(
        "where to", "Without these, as a known backup of the cluster."
    )
    place.add_argument("--schedule", default="", help="into the destination of this BackupSchedule")
    place.add_argument("--path", default="", metavar="BUCKET/PREFIX", help="or an absolute folder")
    place.add_argument("--endpoint", default="", metavar="URL", help="of the object store")
    place.add_argument("--dialect", default="", choices=("aws", "minio"), help="of the store (aws)")
    place.add_argument("--region", default="")
    place.add_argument("--secret", default="", help="with the keys of the store")
    add_waiting(command, "the end of the backup", "24h")
    add_creating(command)


def _backup(options: argparse.Namespace, kubectl: Kubectl) -> int:
    if options.base and options.type == "full":
        raise UsageError("--base is that of an incremental backup: add --type incremental")
    cluster = chosen(kubectl, options.cluster)
    job = _job(options, kubectl, cluster)
    how = creating_of(options)
    said = create(kubectl, job, how)
    name = job["metadata"]["name"]
    print(said, end="", flush=True)
    if not how.creates:
        return 0
    if not options.wait:
        print(f"see: kubectl get {_JOBS.partition('.')[0]} {name}")
        return 0
    return _await(kubectl, name, options.timeout)


def _job(options: argparse.Namespace, kubectl: Kubectl, cluster: Json) -> Json:
    metadata = cluster["metadata"]
    name = options.name or saving.timed_name(metadata["name"], datetime.now(UTC))
    store = saving.Store(*(getattr(options, field) for field in _STORE))
    known = None
    if not store.names_store:
        known = _known(kubectl, cluster, options.schedule, is_needed=not store.path)
    folder = f"{metadata['namespace']}/{metadata['name']}/{name}"
    place = saving.placed(known, store, folder)
    print(f"destination as of {place.origin}", file=sys.stderr)
    kind = saving.Kind(options.type == "incremental", options.base, options.verify)
    return saving.backup_job(cluster, name, place, kind)


def _known(
    kubectl: Kubectl, cluster: Json, schedule: str, *, is_needed: bool
) -> saving.Destination | None:
    unread: list[str] = []

    def listed(resource: str) -> list[Json]:
        try:
            return kubectl.list([resource]).items
        except KubectlError as error:
            unread.append(str(error))
            return []

    found = saving.destinations(cluster, listed(_SCHEDULES), listed(_JOBS), listed(BACKUPS))
    if not found and not is_needed:
        return None
    try:
        return saving.chosen_destination(found, schedule, cluster["metadata"]["name"])
    except PluginError as error:
        if not unread:
            raise
        raise PluginError(f"{error}. Not known: {'; '.join(unread)}") from error


def _await(kubectl: Kubectl, name: str, timeout: float) -> int:
    progress = Progress(sys.stderr)
    what = f"BackupJob {name}"
    state = follow(what, lambda: job_state(kubectl, _JOBS, name), timeout, progress)
    if state.outcome is not Outcome.DONE:
        say_error(PluginError(f"{what} failed: {state.detail or 'it does not say why'}"))
        return FAILED
    job = existing(kubectl, _JOBS, name) or {}
    status = table_in(job, "status")
    print(f"Backup {status.get('backup') or '?'}  {status.get('size') or '?'}")
    return 0
