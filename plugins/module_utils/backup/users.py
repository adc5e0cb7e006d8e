# SPDX-License-Identifier: Apache-2.0
"""Who needs the data of a Backup: other Backups, jobs that have not ended, clusters not restored.

Whoever may need them counts, whatever namespace it is in, whether or not it has begun and whether
or not it is being deleted itself. What cannot be listed may hold a user, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..api import names
from ..api.errors import InvalidSpec, RenderingError
from ..api.fields import Fields
from ..location import locations
from ..location.endpoints import Scope
from ..reporting.conditions import RESTORE_ENDED, find
from ..reporting.reasons import BackupReason, ConditionType
from ..workload.component import Reference
from ..workload.plans import Observed
from .manifest import INCREMENTAL
from .sources import has_ended, named_source, scope_of_record, source_ref

Json = Mapping[str, Any]

_LISTS: Final = {
    "everyBackup": names.BACKUP,
    "everyBackupJob": names.BACKUP_JOB,
    "everyRestoreJob": names.RESTORE_JOB,
    "everyCluster": names.CLUSTER,
}
"""Kinds of possible users, by the label of their reference."""


@dataclass(frozen=True, slots=True)
class Everything:
    """All that may need a Backup, of all namespaces.

    Attributes:
        backups: all Backups.
        backup_jobs: all BackupJobs.
        restore_jobs: all RestoreJobs.
        clusters: all MatrixOneClusters.
    """

    backups: Sequence[Json]
    backup_jobs: Sequence[Json]
    restore_jobs: Sequence[Json]
    clusters: Sequence[Json]

    @classmethod
    def of(cls, observed: Observed) -> Everything | None:
        """Return what `references` led to; None if one of the kinds could not be listed."""
        lists = [observed.get(label) for label in _LISTS]
        if any(one is None for one in lists):
            return None
        return cls(*(list(one or ()) for one in lists))


def references() -> dict[str, Reference]:
    """Return the references to all possible users, by label."""
    return {
        label: {
            "api_version": names.API_VERSION,
            "kind": kind,
            "labels": {},
            "if_allowed": True,
        }
        for label, kind in _LISTS.items()
    }


def is_losing_its_data(backup: Json) -> bool:
    """Return whether the data of a Backup are being deleted, or are about to.

    Not while the operator has found a user of it: the deletion waits for that one to end.
    """
    if not backup["metadata"].get("deletionTimestamp") or backup.get("deletionPolicy") != "Delete":
        return False
    degraded = find(backup, ConditionType.DEGRADED)
    return degraded.get("reason") != BackupReason.IN_USE.value


def users_of(backup: Json, everything: Everything) -> Iterator[str]:
    """Yield what needs the data of a Backup, as one clause each for messages."""
    yield from _backups(backup, everything.backups)
    for job in everything.backup_jobs:
        if not has_ended(job) and _may_continue(job, backup):
            yield f"{_named(job)} continues it"
    for job in everything.restore_jobs:
        if not has_ended(job) and _reads(job, "backupName", "externalSource", backup):
            verb = "verifies" if _spec(job).get("verify") is not None else "restores"
            yield f"{_named(job)} {verb} it"
    for cluster in everything.clusters:
        record = _table(_table(cluster, "status"), "restore")
        if record.get("phase") not in RESTORE_ENDED and _reads(
            cluster, "restoreFrom", "restoreSource", backup
        ):
            yield f"{_named(cluster)} is to be restored from it"


def _backups(backup: Json, others: Iterable[Json]) -> Iterator[str]:
    """Yield the Backups that need the files of a Backup.

    One that is based on it needs them until it is gone, as its own files may stay.
    """
    identity = _id_of(backup)
    for other in others:
        name = other["metadata"]["name"]
        if name == backup["metadata"]["name"]:
            continue
        if _table(_table(other, "meta"), "base").get("id") == identity:
            yield f"Backup {name} is based on it"
        elif _id_of(other) == identity and not _takes_its_data_along(other):
            yield f"Backup {name} has the same data"


def _takes_its_data_along(backup: Json) -> bool:
    """Return whether a Backup is being deleted with its data."""
    is_deleted = bool(backup["metadata"].get("deletionTimestamp"))
    return is_deleted and backup.get("deletionPolicy") == "Delete"


def _may_continue(job: Json, backup: Json) -> bool:
    """Return whether a BackupJob that has not ended continues a Backup, or is about to.

    What it continues is in its status once its Job exists. Before that, one that asks for the
    latest Backup of the same database may have chosen this one.
    """
    if _spec(job).get("type") != INCREMENTAL:
        return False
    base = _table(_table(job, "status"), "base").get("id")
    if base:
        return bool(base == _id_of(backup))
    wanted = _table(_spec(job), "base").get("backupName")
    if wanted:
        return bool(wanted == backup["metadata"]["name"])
    return not _spec(job).get("suspend") and _source(job) == _table(backup, "meta").get("sourceRef")


def _source(job: Json) -> str:
    try:
        kind, name = named_source(dict(job))
    except InvalidSpec:
        return ""
    return source_ref(kind, str(job["metadata"].get("namespace") or ""), name)


def _reads(user: Json, name: str, place: str, backup: Json) -> bool:
    """Return whether a resource names a Backup, or a place where its files may be.

    Args:
        user: a RestoreJob or MatrixOneCluster.
        name: the field with the name of a Backup.
        place: the field with a location.
        backup: the Backup.
    """
    spec = _spec(user)
    if spec.get(name):
        return bool(spec[name] == backup["metadata"]["name"])
    given = _table(spec, place)
    if not given:
        return False
    meta = Fields("", backup).table("meta")
    try:
        location = locations.from_fields(
            meta.table("location"), locations.TARGET, scope_of_record(meta), in_use=True
        )
    except RenderingError:  # nothing can be deleted there either
        return False
    scope = Scope(
        str(user["metadata"].get("namespace") or ""), str(spec.get("clusterDomain") or "")
    )
    return locations.may_overlap(location, Fields(f"spec.{place}", given), scope)


def _spec(resource: Json) -> Mapping[str, Any]:
    return _table(resource, "spec")


def _id_of(backup: Json) -> str:
    return str(_table(backup, "meta").get("id") or "")


def _table(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a table of an object that others have written; an empty one if it is none."""
    found = parent.get(name)
    return found if isinstance(found, Mapping) else {}


def _named(resource: Json) -> str:
    metadata = resource["metadata"]
    return f"{resource['kind']} {metadata.get('namespace')}/{metadata['name']}"
