# SPDX-License-Identifier: Apache-2.0
"""What a verification observes, and what is wrong with its spec beyond its schema."""

from __future__ import annotations

from collections.abc import Iterator

from ...admission.shapes import Mistake
from ...api import names
from ...api.errors import InvalidSpec
from ...api.fields import Fields
from ...api.types import Resource
from ...location import locations
from ...workload.component import Reference
from ...workload.references import by_name
from ..restore.task import secret_references
from .cluster import cluster_name
from .jobs import job_references


def is_verification(resource: Resource) -> bool:
    """Return whether a RestoreJob is to prove a backup instead of copying it."""
    return (resource.get("spec") or {}).get("verify") is not None


def verification_references(resource: Resource, backup: Resource | None) -> dict[str, Reference]:
    """Return what to observe, by label.

    Args:
        resource: the RestoreJob.
        backup: the Backup that it names, once that was observed.
    """
    metadata, spec = resource["metadata"], Fields("", resource).table("spec")
    listed = {"api_version": names.API_VERSION, "labels": {}}
    found: dict[str, Reference] = {
        "self": by_name(resource["apiVersion"], resource["kind"], metadata),
        "backup": by_name(
            names.API_VERSION, names.BACKUP, {"namespace": "", "name": spec.text("backupName")}
        ),
        "backups": {**listed, "kind": names.BACKUP},
        "restoreJobs": {
            **listed, "kind": names.RESTORE_JOB, "namespace": metadata["namespace"]
        },
        **job_references(resource),
        **secret_references(resource, backup),
    }  # fmt: skip
    if metadata.get("uid"):
        name = cluster_name(resource)
        own = {"labels": {}, "owner_uid": metadata["uid"]}
        cluster = by_name(names.API_VERSION, names.CLUSTER, {**metadata, "name": name})
        found["throwAway"] = {**cluster, **own}
        copy = {**metadata, "name": names.restore_name(name)}
        found["copy"] = by_name(names.API_VERSION, names.RESTORE_JOB, copy)
    if source := _source_in(metadata["namespace"], backup):
        place = {**metadata, "name": source}
        found["source"] = by_name(names.API_VERSION, names.CLUSTER, place)
    return found


def _source_in(namespace: str, backup: Resource | None) -> str:
    """Return the name of the MatrixOneCluster in a namespace that was backed up; empty if none."""
    origin = Fields("", backup or {}).table("meta").text("sourceRef")
    kind, _slash, place = origin.partition("/")
    home, _slash, name = place.partition("/")
    return name if (kind, home) == (names.CLUSTER.lower(), namespace) else ""


def verification_mistakes(verify: Fields) -> Iterator[Mistake]:
    """Yield what is wrong with ``verify`` beyond its schema."""
    try:
        for check in verify.tables("checks"):
            check.required_text("sql")
        if verify.table("sharedStorage").table("s3").data:
            locations.from_fields(_with_folder(verify.table("sharedStorage")), locations.TARGET)
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message)


def _with_folder(storage: Fields) -> Fields:
    """Return a storage as the throw-away cluster gets it: with a folder inside."""
    s3 = storage.table("s3").data
    path = f"{str(s3.get('path') or '').rstrip('/')}/verify-0"
    return Fields(storage.path, {"s3": {**s3, "path": path}})
