# SPDX-License-Identifier: Apache-2.0
"""The cluster into which a backup is restored only to be read; it is deleted afterwards.

It has one store of each kind, the version that the database runs or, to rehearse an upgrade, the
one that is given, and no Service but those inside the Kubernetes cluster. Of the Pods' overlay it
takes over what decides where they run and how they log in to stores, and no labels: a user's
Service must not select them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...api import names
from ...api.fields import Fields
from ...api.types import Manifest, Resource
from ...location import locations
from ...location.locations import S3Location
from ...upgrade.record import AHEAD
from ..task import jobs

Json = dict[str, Any]

MOUNT: Final = "/var/lib/matrixone-shared"
"""Where a claim that is not derived from the source is mounted."""
_RESOURCES: Final = {"requests": {"cpu": "500m", "memory": "1Gi"}}
_LOG_RESOURCES: Final = {
    "requests": {"cpu": "100m", "memory": "256Mi"},
    "limits": {"cpu": "2", "memory": "4Gi"},
}
_LOG_VOLUME: Final = "5Gi"
_CACHE: Final = {"memoryCacheSize": "128Mi"}
"""Everything is read once, so that a larger cache would be of no use."""
_OF_CLUSTER: Final = (
    "version",
    "imageRepository",
    "imagePullPolicy",
    "semanticVersion",
    "operatorVersion",
    "clusterDomain",
    "nodeSelector",
    "helperResources",
)
_OF_COMPONENT: Final = ("image", "nodeSelector", "config")
_OF_OVERLAY: Final = (
    "affinity",
    "tolerations",
    "imagePullSecrets",
    "priorityClassName",
    "serviceAccountName",
    "env",
    "envFrom",
)
_OF_BUCKET: Final = ("type", "path", "region", "endpoint", "secretRef", "certificateRef")


def cluster_name(resource: Resource) -> str:
    """Return the name of the throw-away cluster of a RestoreJob, which no other one has."""
    return f"verify-{str(resource['metadata']['uid'])[:8]}"


def cluster_of(resource: Resource, backup: Resource, source: Resource) -> Manifest:
    """Return the throw-away cluster.

    Args:
        resource: the RestoreJob.
        backup: what is restored.
        source: the MatrixOneCluster that was backed up.

    Raises:
        InvalidSpec: it is not known where its data could be, or who can log in.
    """
    verify = Fields("", resource).table("spec").table("verify")
    given, status = source.get("spec") or {}, source.get("status") or {}
    name, namespace = cluster_name(resource), resource["metadata"]["namespace"]
    own = str((status.get("credentialRef") or {}).get("name") or "")
    credential = verify.table("credentialSecretRef").text("name") or own
    if not credential:
        raise verify.refuse("credentialSecretRef", "must be set: the source has no credential")
    resources = verify.table("resources").data or _RESOURCES
    groups = given.get("cnGroups") or [given.get("tp") or given.get("ap") or {}]
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.CLUSTER,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {
                **jobs.selector(resource, namespace),
                "app.kubernetes.io/part-of": names.PART_OF,
                "app.kubernetes.io/managed-by": names.MANAGED_BY,
            },
            # A Job of the RestoreJob deletes its data.
            "annotations": {names.ANNOTATION_UNCLAIMED: "true"},
        },
        "spec": {
            **_of_version(verify, given, status),
            "credentialSecretRef": {"name": credential},
            "restoreFrom": backup["metadata"]["name"],
            "logService": {
                **_component(given.get("logService") or {}, verify),
                "replicas": 1,
                "resources": _LOG_RESOURCES,
                "volume": _volume((given.get("logService") or {}).get("volume") or {}),
                "pvcRetentionPolicy": "Delete",
                "sharedStorage": shared_storage(verify, backup, source, name),
            },
            "tn": {
                **_component(given.get("tn") or given.get("dn") or {}, verify),
                "replicas": 1,
                "resources": dict(resources),
                "sharedStorageCache": _CACHE,
            },
            "cnGroups": [
                {
                    **_component(groups[0], verify),
                    "name": "tp",
                    "replicas": 1,
                    "resources": dict(resources),
                    "sharedStorageCache": _CACHE,
                }
            ],
        },
    }


def shared_storage(verify: Fields, backup: Resource, source: Resource, name: str) -> Json:
    """Return where the throw-away cluster has its data: in a place of its own.

    Raises:
        InvalidSpec: it must be given, as nothing can be derived.
    """
    given = verify.table("sharedStorage")
    if s3 := given.table("s3").data:
        return {"s3": {**s3, "path": f"{str(s3['path']).rstrip('/')}/{name}"}}
    if claim := given.table("fileSystem").table("claim").data:
        return {"fileSystem": {"path": MOUNT, "claim": dict(claim)}}
    location = Fields("", backup).table("meta").table("location")
    if s3 := location.table("s3").data:
        beside = {key: s3[key] for key in _OF_BUCKET if s3.get(key)}
        return {"s3": {**beside, "path": f"{str(s3['path']).rstrip('/')}-{name}"}}
    storage = Fields("", source).table("spec").table("logService").table("sharedStorage")
    files = storage.table("fileSystem").data
    if files.get("claim"):
        return {"fileSystem": {"path": files["path"], "claim": dict(files["claim"])}}
    raise verify.refuse(
        "sharedStorage", "must be given: backup and database are in folders that nobody claims"
    )


def bucket_of(cluster: Resource) -> tuple[S3Location, Fields] | None:
    """Return the prefix with the data of a throw-away cluster, and the table that describes it.

    None for a volume, which is deleted with its cluster.

    Raises:
        InvalidSpec: it cannot be used.
    """
    storage = Fields("", cluster).table("spec").table("logService").table("sharedStorage")
    if not storage.table("s3").data:
        return None
    found = locations.from_fields(storage, locations.TARGET, in_use=True)
    return (found, storage) if isinstance(found, S3Location) else None


def _of_version(verify: Fields, given: Mapping[str, Any], status: Mapping[str, Any]) -> Json:
    """Return what the throw-away cluster takes over from its source, with its version.

    Before the point of no return of an upgrade, the version in the spec is not that of the data.
    """
    kept = {key: given[key] for key in _OF_CLUSTER if given.get(key)}
    upgrade = status.get("upgrade") or {}
    runs = str(upgrade.get("runs") or "") if upgrade.get("pointOfNoReturn") == AHEAD else ""
    version = verify.text("version") or runs
    if not version:
        return kept
    # It was that of the version in the spec.
    kept.pop("semanticVersion", None)
    return {**kept, "version": version}


def _component(given: Mapping[str, Any], verify: Fields) -> Json:
    """Return what a component takes over from that of the source."""
    kept = {key: given[key] for key in _OF_COMPONENT if given.get(key)}
    if verify.text("version"):
        kept.pop("image", None)
    over = given.get("overlay") or {}
    placed = {key: over[key] for key in _OF_OVERLAY if over.get(key)}
    return {**kept, "overlay": placed} if placed else kept


def _volume(given: Mapping[str, Any]) -> Json:
    storage_class = given.get("storageClassName")
    return {"size": _LOG_VOLUME, **({"storageClassName": storage_class} if storage_class else {})}
