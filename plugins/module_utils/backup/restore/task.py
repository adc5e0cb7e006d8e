# SPDX-License-Identifier: Apache-2.0
"""What a RestoreJob copies from where to where, and what has to be there before it can begin."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Any, Final

from ...api import names
from ...api.fields import Fields
from ...api.types import Resource
from ...location import locations
from ...location.endpoints import Scope
from ...location.locations import S3Location
from ...workload.component import Reference
from ..sources import scope_of_record
from ..task import jobs, objects, tasks
from ..task.starting import owner_of
from ..task.tasks import Task, Verb

SUFFIX: Final = "restore"
_NAMESPACE: Final = uuid.UUID("5f0c6f3e-0f0b-4f53-9a0a-6d6f2d6f6272")
"""For ids of RestoreJobs that are in no cluster."""


def task_id(resource: Resource) -> str:
    """Return the id of the task: that of the cluster that a RestoreJob belongs to, or its own.

    The copy that an earlier RestoreJob of the same cluster has begun goes on under this id.
    """
    metadata = resource["metadata"]
    owner = owning_cluster(resource)
    if owner:
        return str(owner["uid"])
    if metadata.get("uid"):
        return str(metadata["uid"])
    return str(uuid.uuid5(_NAMESPACE, f"restore/{metadata['namespace']}/{metadata['name']}"))


def owning_cluster(resource: Resource) -> Mapping[str, Any] | None:
    """Return the owner reference to the MatrixOneCluster that a RestoreJob belongs to, if any."""
    for owner in resource["metadata"].get("ownerReferences") or []:
        if owner.get("controller") and owner.get("kind") == names.CLUSTER:
            return owner  # type: ignore[no-any-return]
    return None


def source_name(resource: Resource) -> str:
    """Return what is restored, for people: the Backup, or the address."""
    spec = Fields("", resource).table("spec")
    if spec.text("backupName"):
        return spec.text("backupName")
    place = spec.table("externalSource")
    return place.table("s3").text("path") or place.table("fileSystem").text("path")


def source_place(resource: Resource, backup: Mapping[str, Any] | None) -> Fields | None:
    """Return the table with the location of the backup; None while its Backup does not exist.

    Args:
        resource: the RestoreJob.
        backup: the Backup that it names, if it names one.
    """
    spec = Fields("", resource).table("spec")
    if not spec.text("backupName"):
        return spec.table("externalSource")
    return Fields("", backup).table("meta").table("location") if backup is not None else None


def secret_references(resource: Resource, backup: Mapping[str, Any] | None) -> dict[str, Reference]:
    """Return the Secrets that the Pod mounts, all in the namespace of the RestoreJob."""
    source = source_place(resource, backup)
    target = Fields("", resource).table("spec").table("target")
    wanted = jobs.secrets_of(target, "target")
    if source is not None:
        wanted |= jobs.secrets_of(source, "source")
    return objects.secret_references(resource["metadata"]["namespace"], wanted)


def missing_secret(
    resource: Resource, backup: Mapping[str, Any] | None, existing: Collection[str]
) -> str:
    """Say which Secret does not exist, and what to do; empty if all do.

    Args:
        resource: the RestoreJob.
        backup: the Backup that it names, if it names one.
        existing: labels of the Secrets that exist.
    """
    metadata = resource["metadata"]
    for label, reference in secret_references(resource, backup).items():
        if label in existing:
            continue
        said = f"Secret {reference['name']} does not exist"
        meta = Fields("", backup or {}).table("meta")
        home = meta.text("secretNamespace")
        if label.startswith("source") and home and home != metadata["namespace"]:
            return (
                f"{said} in namespace {metadata['namespace']}; Backup {source_name(resource)} has "
                f"its credentials in that of namespace {home}, which Pods here cannot read: copy it"
            )
        return said
    return ""


def task_of(resource: Resource, backup: Mapping[str, Any] | None, source: Fields) -> Task:
    """Return the task of a RestoreJob.

    Args:
        resource: the RestoreJob.
        backup: the Backup that it names, if it names one.
        source: the table with its location, see `source_place`.

    Raises:
        InvalidSpec: a location cannot be used.
    """
    spec, own = Fields("", resource).table("spec"), Scope(resource["metadata"]["namespace"])
    meta = Fields("", backup or {}).table("meta")
    home = scope_of_record(meta) if meta.data else own
    origin = locations.from_fields(source, locations.SOURCE, home, in_use=True)
    if isinstance(origin, S3Location) and home.namespace != own.namespace:
        origin = origin.seen_from_elsewhere()
    return Task(
        verb=Verb.RESTORE,
        id=task_id(resource),
        source=origin,
        target=locations.from_fields(spec.table("target"), locations.TARGET, own),
        owner=owner_of(resource),
        expected_id=Fields("", backup or {}).table("meta").text("id") or None,
        runs=Fields("", resource)
        .table("metadata")
        .table("annotations")
        .text(names.ANNOTATION_RUNS_VERSION),
        deadline_seconds=spec.number("activeDeadlineSeconds", 1) or tasks.DEADLINE_SECONDS,
        parallelism=spec.number("parallelism", 1) or tasks.PARALLELISM,
    )


def overlapping(task: Task) -> str:
    """Say that source and target are not apart; empty if they are."""
    source, target = task.source, task.target
    if source is None or target is None or not locations.overlap(source, target):
        return ""
    return f"the target {target.address} is not apart from {source.address}, where the backup is"
