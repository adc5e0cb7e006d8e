# SPDX-License-Identifier: Apache-2.0
"""The Backup that a successful BackupJob is recorded as."""

from __future__ import annotations

import copy
from typing import Any, Final

from ...api import names, quantities
from ...api.fields import Fields
from ...api.types import Manifest, Resource
from .. import manifest as manifests
from ..sources import named_source, source_ref

LABEL_SCHEDULE: Final = "matrixorigin.io/backup-schedule"
"""Name of the BackupSchedule, on its BackupJobs and their Backups."""
LABEL_SOURCE_KIND: Final = "matrixorigin.io/source-kind"
LABEL_SOURCE_NAME: Final = "matrixorigin.io/source-name"
_DIGITS: Final = 8
"""Of the id, in the name of a Backup: BackupJobs of one name may be in many namespaces."""


def backup_name(job: str, identity: str) -> str:
    """Return the name of the Backup that a BackupJob leads to."""
    return f"{job}-{identity[:_DIGITS]}"


def backup_record(resource: Resource, manifest: manifests.Manifest, base_name: str) -> Manifest:
    """Return the Backup of a BackupJob.

    Args:
        resource: the BackupJob.
        manifest: the backup's own record, by the program.
        base_name: name of the Backup that it continues; empty if it has none, or none is known.
    """
    metadata, spec = resource["metadata"], Fields("spec", resource.get("spec") or {})
    kind, name = named_source(resource)
    labels = {
        names.LABEL_NAMESPACE: metadata["namespace"],
        LABEL_SOURCE_KIND: kind,
        LABEL_SOURCE_NAME: name,
        "app.kubernetes.io/part-of": names.PART_OF,
        "app.kubernetes.io/managed-by": names.MANAGED_BY,
    }
    schedule = (metadata.get("labels") or {}).get(LABEL_SCHEDULE)
    if schedule:
        labels[LABEL_SCHEDULE] = schedule
    account = spec.text("serviceAccountName") or spec.table("overlay").text("serviceAccountName")
    meta: dict[str, Any] = {
        "location": _location(spec),
        "id": manifest.id,
        "type": manifest.type,
        "secretNamespace": metadata["namespace"],
        "size": quantities.canonical(manifest.size),
        "atTime": manifest.started_at,
        "completeTime": manifest.completed_at,
        "sourceRef": source_ref(kind, metadata["namespace"], name),
        "raw": manifests.to_json(manifest),
    }
    if manifest.source.uid:
        meta["sourceUid"] = manifest.source.uid
    if account:
        meta["serviceAccountName"] = account
    if manifest.base:
        meta["base"] = {"id": manifest.base.id, **({"name": base_name} if base_name else {})}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.BACKUP,
        "metadata": {"name": backup_name(metadata["name"], manifest.id), "labels": labels},
        "meta": meta,
        "deletionPolicy": spec.text("deletionPolicy") or "Retain",
    }


def _location(spec: Fields) -> dict[str, Any]:
    """Return where a backup is, with the volume that the overlay of its job mounted there.

    Who deletes the Backup has neither the job nor its overlay.
    """
    location: dict[str, Any] = copy.deepcopy(dict(spec.table("target").data))
    files = spec.table("target").table("fileSystem")
    if not files.data or files.table("volume").data:
        return location
    over, folder = spec.table("overlay"), f"{files.text('path').rstrip('/')}/"
    mounts = [
        one
        for one in over.tables("volumeMounts")
        if folder.startswith(f"{one.text('mountPath').rstrip('/')}/")
    ]
    if not mounts:
        return location
    mount = max(mounts, key=lambda one: len(one.text("mountPath").rstrip("/")))
    part = mount.text("subPath") or mount.text("subPathExpr")
    for volume in over.tables("volumes"):
        if volume.text("name") == mount.text("name") and not part:
            source = {key: value for key, value in volume.data.items() if key != "name"}
            location["fileSystem"] |= {"volume": source, "mountPath": mount.text("mountPath")}
    return location
