# SPDX-License-Identifier: Apache-2.0
"""Places where backups of the real database are kept, and what is done with them."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pymysql

from demo import object_storage
from testbed.bed import TestBed
from testbed.object_store import ObjectStore
from tests.e2e.clusters import Cluster, tiny_cluster
from tests.e2e.traffic import Traffic, conclude, rows_seen, writer_of
from tests.support.waiting import eventually

Json = dict[str, Any]

BUCKET = "backups"
MOUNT = "/backups"
JOB_SECONDS = 300
RESTORED_SECONDS = 600
"""For a copy, and for what comes up after it, on a busy machine."""
_CLAIM = "backups"
_LOGIN = {"username": "user", "password": "password"}
"""What a Secret with a login calls what PyMySQL takes."""


class Place(ABC):
    """Where a database and its backups are kept.

    The backups of a place outlive the namespace of the database.
    """

    @abstractmethod
    def cluster(self, namespace: str) -> Json:
        """Return a MatrixOneCluster ``mo`` that keeps its data here."""

    @abstractmethod
    def prepare(self, cluster: Cluster) -> None:
        """Create what the objects of this place refer to in a namespace."""

    @abstractmethod
    def location(self, name: str) -> Json:
        """Return the address of a backup, as ``target`` of a job."""

    @abstractmethod
    def folder(self, name: str) -> Path:
        """Return the folder of this machine that has the files of a backup."""

    @abstractmethod
    def require_lost(self, cluster: Cluster) -> None:
        """Require that a deleted database has left no data."""


@dataclass
class Bucket(Place):
    """All in buckets of one S3 server."""

    store: ObjectStore

    def cluster(self, namespace: str) -> Json:
        resource = object_storage.on_s3(tiny_cluster(), self.store)
        s3 = resource["spec"]["logService"]["sharedStorage"]["s3"]
        s3["path"] = f"{object_storage.BUCKET}/{namespace}"
        return resource

    def prepare(self, cluster: Cluster) -> None:
        for bucket in (object_storage.BUCKET, BUCKET):
            self.store.make_bucket(bucket)
        cluster.kubectl("apply", "-f", "-", input=json.dumps(object_storage.secret(self.store)))

    def location(self, name: str) -> Json:
        kind = object_storage.dialect(object_storage.BACKED_UP_AS_AWS)
        return {"s3": object_storage.bucket(self.store, f"{BUCKET}/{name}", kind)}

    def folder(self, name: str) -> Path:
        return self.store.folder / BUCKET / name

    def require_lost(self, cluster: Cluster) -> None:
        """Wait until the BucketClaim has had its data deleted, which outlives the cluster."""
        folder = self.store.folder / object_storage.BUCKET / cluster.namespace
        eventually(
            lambda: not any(path.is_file() for path in folder.rglob("*")),
            120,
            "the data of the cluster are deleted",
            otherwise=lambda: cluster.get("bucketclaim"),
        )


@dataclass
class Folder(Place):
    """On volumes: one of the database, which goes with it, and one of the backups, which stays."""

    bed: TestBed
    volume: str = ""

    def cluster(self, namespace: str) -> Json:
        """The compute nodes mount the volume of the backups, because they write them."""
        resource = tiny_cluster()
        resource["spec"]["cnGroups"][0]["overlay"] = {
            "volumes": [self._volume()],
            "volumeMounts": [{"name": "backups", "mountPath": MOUNT}],
        }
        return resource

    def _volume(self) -> Json:
        return {"name": "backups", "persistentVolumeClaim": {"claimName": _CLAIM}}

    def prepare(self, cluster: Cluster) -> None:
        """Create the claim; in a later namespace, of the volume that the first one left."""
        if self.volume:
            free = [{"op": "remove", "path": "/spec/claimRef"}]
            self.bed.kubectl("patch", "pv", self.volume, "--type=json", "-p", json.dumps(free))
        spec: Json = {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": _CLAIM},
            "spec": spec | ({"volumeName": self.volume} if self.volume else {}),
        }
        cluster.kubectl("apply", "-f", "-", input=json.dumps(claim))
        cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", f"pvc/{_CLAIM}")
        self.volume = cluster.get("pvc", _CLAIM)["spec"]["volumeName"]
        cluster.patch("pv", self.volume, {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})

    def location(self, name: str) -> Json:
        volume = {key: value for key, value in self._volume().items() if key != "name"}
        return {
            "fileSystem": {"path": f"{MOUNT}/{name}", "mountPath": MOUNT, "volume": volume},
        }

    def folder(self, name: str) -> Path:
        """The path of a volume stays when another claim binds it."""
        volume = json.loads(self.bed.kubectl("get", "pv", self.volume, "-o", "json"))
        return Path(volume["spec"]["hostPath"]["path"]) / name

    def require_lost(self, cluster: Cluster) -> None:
        """They went with the claims; that of the backups is not the database's."""

        def claims() -> list[str]:
            return [one["metadata"]["name"] for one in cluster.get("pvc")["items"]]

        eventually(lambda: claims() == [_CLAIM], 60, "end of the database's claims")


def backup_job(name: str, target: Mapping[str, Any], **spec: Any) -> Json:
    """Return a BackupJob of the cluster ``mo``."""
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BackupJob",
        "metadata": {"name": name},
        "spec": {"source": {"clusterRef": "mo"}, "target": target, **spec},
    }


def restore_job(name: str, source: Mapping[str, Any], target: Mapping[str, Any]) -> Json:
    """Return a RestoreJob that copies a backup, given by its address, to a place."""
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "RestoreJob",
        "metadata": {"name": name},
        "spec": {"externalSource": source, "target": target},
    }


def status(cluster: Cluster, job: str) -> Json:
    """Return the status of a job, given as ``backupjob/full``."""
    return dict(cluster.get(*job.split("/")).get("status") or {})


def ended(cluster: Cluster, job: str, seconds: int = JOB_SECONDS) -> Json:
    """Wait until a job has completed or failed; return its status."""
    eventually(
        lambda: status(cluster, job).get("phase") in {"Completed", "Failed"},
        seconds,
        f"the end of {job}",
        otherwise=lambda: json.dumps(status(cluster, job), indent=1),
    )
    return status(cluster, job)


def back_up(cluster: Cluster, place: Place, name: str, **spec: Any) -> Json:
    """Make a backup; return its record, ``matrixone-backup.json``."""
    job = backup_job(name, place.location(f"{cluster.namespace}/{name}"), **spec)
    cluster.kubectl("apply", "-f", "-", input=json.dumps(job))
    said = ended(cluster, f"backupjob/{name}")
    assert said["phase"] == "Completed", json.dumps(said, indent=1)
    return record(place.folder(f"{cluster.namespace}/{name}"))


def record(folder: Path) -> Json:
    """Return the record of a backup in a folder of this machine."""
    content = (folder / "matrixone-backup.json").read_bytes()
    return dict(json.loads(content[content.index(b"{") :]))


def root_secret(cluster: Cluster) -> Json:
    """Return a Secret ``root`` with the login of a database's root user."""
    login = {key: str(cluster.entrance[of]) for key, of in _LOGIN.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "root"},
        "stringData": login,
    }


def restore(cluster: Cluster, resource: Json, source: Json, name: str) -> None:
    """Create a cluster out of a backup, and wait until it answers SQL with its rows.

    Args:
        cluster: its namespace has the Secret ``root``.
        resource: the MatrixOneCluster; it is changed.
        source: the address of the backup.
        name: of the scenario.
    """
    resource["spec"] |= {"restoreSource": source, "credentialSecretRef": {"name": "root"}}
    begun = time.monotonic()
    cluster.kubectl("apply", "-f", "-", input=json.dumps(resource))
    cluster.await_ready(RESTORED_SECONDS)
    eventually(lambda: _has_rows(cluster), 60, "answer to SQL")
    conclude(f"restore-{name}: SQL after {time.monotonic() - begun:.1f} s")


def _has_rows(cluster: Cluster) -> bool:
    try:
        with cluster.connect() as session:
            return bool(rows_seen(session))
    except pymysql.MySQLError:
        return False


def moment(text: str) -> float:
    """Return an RFC 3339 time in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def require_rows_of(traffic: Traffic, found: set[int], backup: Mapping[str, Any]) -> None:
    """Check that a restored database has the rows of one moment, that of its backup.

    Args:
        traffic: the clients of the database that was backed up.
        found: the rows of the restored one.
        backup: its record.
    """
    missing = traffic.until(moment(backup["startedAt"])) - found
    assert not missing, f"{len(missing)} rows from before the backup: {sorted(missing)[:20]}"
    later = traffic.acknowledged - traffic.until(moment(backup["completedAt"]) + 1)
    assert later, "nothing was written after the backup: this proves nothing"
    assert not later & found, "rows that were written after the backup"
    last = {writer_of(row): row for row in sorted(found)}
    holes = {row for row in traffic.acknowledged - found if row < last.get(writer_of(row), 0)}
    assert not holes, f"rows without those that their client wrote before: {sorted(holes)[:20]}"


def verified(cluster: Cluster, name: str, *checks: Mapping[str, Any]) -> Json:
    """Have the Backup of a BackupJob verified by restoring; return what its status has of it."""
    return _restored_and_read(cluster, name, "verification", {"checks": list(checks)})


def rehearsed(cluster: Cluster, name: str, version: str, *checks: Mapping[str, Any]) -> Json:
    """Have the Backup of a BackupJob restored into another version; return what came of it."""
    verify = {"version": version, "checks": list(checks)}
    return _restored_and_read(cluster, name, "rehearsal", verify)


def _restored_and_read(cluster: Cluster, name: str, field: str, verify: Json) -> Json:
    backup = status(cluster, f"backupjob/{name}")["backup"]
    resources = {"requests": {"cpu": "100m", "memory": "256Mi"}}
    order = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "RestoreJob",
        "metadata": {"name": f"{field}-{name}"},
        "spec": {
            "backupName": backup,
            "verify": {**verify, "resources": resources},
        },
    }
    cluster.kubectl("apply", "-f", "-", input=json.dumps(order))
    said = ended(cluster, f"restorejob/{field}-{name}", 2 * RESTORED_SECONDS)
    record = dict(json.loads(cluster.bed.kubectl("get", "backup", backup, "-o", "json")))
    found = dict(record["status"][field])
    assert found == said["verification"]
    assert (said["phase"] == "Completed") == (found["result"] == "Passed"), json.dumps(said)
    return found
