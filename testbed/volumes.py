# SPDX-License-Identifier: Apache-2.0
"""What is done for a single claim or volume: a volume is a folder on this machine."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from testbed.api import ApiClient, ApiError, Json
from testbed.quantities import parse_quantity

PROVISIONER = "testbed.matrixorigin.io/folder"
_FINALIZER = "testbed.matrixorigin.io/folder"
_CLAIM_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
_CLAIM_NODE = "volume.kubernetes.io/selected-node"
_VOLUME_PROVISIONER = "pv.kubernetes.io/provisioned-by"
_VOLUMES = "/api/v1/persistentvolumes"


@dataclass
class Folders:
    """Decides and acts on single claims and volumes.

    Attributes:
        client: talks to the API server.
        root: folder of the volumes' folders.
    """

    client: ApiClient
    root: Path

    def claim(self, claim: Json) -> None:
        """Create the volume that a claim waits for, or expand the existing one."""
        metadata = claim["metadata"]
        if metadata.get("deletionTimestamp"):
            return
        if not claim["spec"].get("volumeName"):
            if metadata.get("annotations", {}).get(_CLAIM_PROVISIONER) == PROVISIONER:
                self._make(claim)
        elif claim.get("status", {}).get("phase") == "Bound":
            self._grow(claim)

    def _make(self, claim: Json) -> None:
        metadata = claim["metadata"]
        storage = self.client.request(
            "GET", f"/apis/storage.k8s.io/v1/storageclasses/{claim['spec']['storageClassName']}"
        )
        folder = self.root / f"{metadata['namespace']}_{metadata['name']}_{metadata['uid']}"
        folder.mkdir(parents=True, exist_ok=True)
        # Pods run as any user, and Kubernetes changes no owner of a host folder.
        folder.chmod(0o777)
        volume = _volume(claim, folder, storage.get("reclaimPolicy", "Delete"))
        try:
            self.client.request("POST", _VOLUMES, volume)
        except ApiError as error:
            if error.status != 409:
                raise

    def _grow(self, claim: Json) -> None:
        metadata, spec = claim["metadata"], claim["spec"]
        wanted = spec["resources"]["requests"]["storage"]
        has = claim["status"].get("capacity", {}).get("storage", "0")
        if parse_quantity(wanted) <= parse_quantity(has):
            return
        path = f"{_VOLUMES}/{spec['volumeName']}"
        volume = self.client.request("GET", path)
        if not _ours(volume):
            return
        if parse_quantity(volume["spec"]["capacity"]["storage"]) < parse_quantity(wanted):
            self.client.merge(path, {"spec": {"capacity": {"storage": wanted}}})
        status = f"/api/v1/namespaces/{metadata['namespace']}/persistentvolumeclaims"
        change = {"status": {"capacity": {"storage": wanted}, "conditions": None}}
        self.client.merge(f"{status}/{metadata['name']}/status", change)

    def volume(self, volume: Json) -> None:
        """Remove a released volume, and the folder of one that is being deleted."""
        metadata = volume["metadata"]
        phase = volume.get("status", {}).get("phase")
        if not _ours(volume) or phase == "Bound":
            return
        delete = volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        path = f"{_VOLUMES}/{metadata['name']}"
        if metadata.get("deletionTimestamp"):
            if _FINALIZER not in metadata.get("finalizers", []):
                return
            if delete:
                self._remove(Path(volume["spec"]["hostPath"]["path"]))
            kept = [name for name in metadata["finalizers"] if name != _FINALIZER]
            version = metadata["resourceVersion"]
            self.client.merge(path, {"metadata": {"finalizers": kept, "resourceVersion": version}})
        elif phase in {"Released", "Failed"} and delete:
            self.client.request("DELETE", path)

    def _remove(self, folder: Path) -> None:
        # The path comes from an object that anybody may edit: never leave our own folder.
        if folder.parent == self.root and folder.exists():
            shutil.rmtree(folder)


def _ours(volume: Json) -> bool:
    annotations = volume["metadata"].get("annotations", {})
    return bool(annotations.get(_VOLUME_PROVISIONER) == PROVISIONER)


def _only_on(node: str) -> Json:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def _volume(claim: Json, folder: Path, reclaim_policy: str) -> Json:
    metadata, spec = claim["metadata"], claim["spec"]
    volume: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": f"pvc-{metadata['uid']}",
            "annotations": {_VOLUME_PROVISIONER: PROVISIONER},
            "finalizers": [_FINALIZER],
        },
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
            "hostPath": {"path": str(folder), "type": "Directory"},
            "persistentVolumeReclaimPolicy": reclaim_policy,
            "storageClassName": spec["storageClassName"],
            "volumeMode": spec.get("volumeMode", "Filesystem"),
        },
    }
    node = metadata.get("annotations", {}).get(_CLAIM_NODE)
    if node:
        volume["spec"]["nodeAffinity"] = _only_on(node)
    return volume
