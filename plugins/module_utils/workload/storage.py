# SPDX-License-Identifier: Apache-2.0
"""Shared storage: the fileservice section, what Pods need to reach it, and who keeps the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..api import names, versions
from ..api import quantities as quantity
from ..api.errors import InvalidSpec, QuantityError
from ..api.fields import Fields
from ..api.toml import Table
from ..location.errors import InvalidLocation
from ..location.locations import DEFAULT_REGION, endpoint
from ..location.paths import BucketPath

_BACKENDS: Final = {"aws": "S3", "minio": "MINIO"}
_NO_CACHE: Final = "1B"
_POLICIES: Final = ("Delete", "Retain")
_ACCESS_MODES: Final = ["ReadWriteMany"]
_DATA, _ETL = "data", "etl"
FOLDERS: Final = (_DATA, _ETL)
"""Where a database writes below its path."""


@dataclass(frozen=True, slots=True)
class SharedStorage:
    """The storage that all stores of a cluster share.

    Attributes:
        fields: the ``sharedStorage`` table.
        claim: name of the claim that holds a file system, where one is created for it.
    """

    fields: Fields
    claim: str | None = None

    @classmethod
    def of(cls, fields: Fields, owner: str | None) -> SharedStorage:
        """Read and check a ``sharedStorage`` table.

        Args:
            fields: the table.
            owner: the LogSet that makes a claim for it; None when no LogSet is there to make one.

        Raises:
            InvalidSpec: Not exactly one usable provider.
        """
        has_s3, has_files = fields.raw("s3") is not None, fields.raw("fileSystem") is not None
        if has_s3 == has_files:
            raise InvalidSpec(
                fields.path,
                "only one of s3 and fileSystem may be set"
                if has_s3
                else "one of s3 or fileSystem must be set",
            )
        if has_s3:
            bucket_and_prefix(fields.table("s3"))
            endpoint(fields.table("s3"))
            return cls(fields)
        files = fields.table("fileSystem")
        files.required_text("path", "must be the directory at which the storage is mounted")
        if files.raw("claim") is None:
            return cls(fields)
        if files.raw("volume") is not None:
            raise files.refuse("claim", "only one of volume and claim may be set")
        if owner is None:
            raise files.refuse("claim", "needs a LogSet that makes the claim; use volume instead")
        return cls(fields, names.shared_claim_name(owner))

    @property
    def s3(self) -> Fields | None:
        """The ``s3`` table; None for a file system."""
        return self.fields.table("s3") if self.fields.raw("s3") is not None else None

    def _entry(self, name: str, sub_dir: str, disk_backend: str) -> Table:
        s3 = self.s3
        if s3 is None:
            path = self.fields.table("fileSystem").text("path")
            return {"name": name, "backend": disk_backend, "data-dir": path}
        backend = _BACKENDS[s3.choice("type", tuple(_BACKENDS), "aws")]
        bucket, prefix = bucket_and_prefix(s3)
        location: Table = {
            "endpoint": endpoint(s3),
            "bucket": bucket,
            "key-prefix": f"{prefix}/{sub_dir}" if prefix else sub_dir,
        }
        files = s3.table("certificateRef").texts("files")
        if files:
            location["cert-files"] = [f"{names.S3_SSL_MOUNT}/{file}" for file in files]
        return {"name": name, "backend": backend, "s3": location}

    def fileservices(self, cache: Table) -> list[Table]:
        """Return the three fileservice entries of a store.

        Args:
            cache: the cache table of the entry S3; an empty one is left out.
        """
        shared = self._entry("S3", _DATA, "DISK")
        if cache:
            shared["cache"] = cache
        etl = self._entry("ETL", _ETL, "DISK-ETL")
        return [local_fileservice(), shared, {**etl, "cache": no_cache()}]

    def backup_fileservice(self) -> Table:
        """Return the entry from which a log store restores HAKeeper's state."""
        return {**self._entry("BACKUP", "", "DISK"), "cache": no_cache()}

    def env(self) -> list[dict[str, Any]]:
        """Return the environment by which the object store's client finds its credentials."""
        s3 = self.s3
        if s3 is None:
            return []
        env: list[dict[str, Any]] = []
        secret = s3.table("secretRef").text("name")
        if secret:
            env += [
                {"name": key, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
                for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
            ]
        env.append({"name": "AWS_REGION", "value": s3.text("region") or DEFAULT_REGION})
        return env

    def volumes(self) -> list[dict[str, Any]]:
        """Return the Pod volumes: extra certificates, or the file system itself."""
        s3 = self.s3
        if s3 is not None:
            certificates = s3.table("certificateRef")
            if not certificates.data:
                return []
            secret = {"secretName": certificates.required_text("name"), "defaultMode": 0o644}
            return [{"name": names.VOLUME_S3_SSL, "secret": secret}]
        source = self._file_system_source()
        return [{"name": names.VOLUME_SHARED, **source}] if source else []

    def mounts(self) -> list[dict[str, Any]]:
        """Return the mounts of the main container for the volumes."""
        s3 = self.s3
        if s3 is None:
            path = self.fields.table("fileSystem").text("path")
            volumes = self.volumes()
            return [{"name": volume["name"], "mountPath": path} for volume in volumes]
        mount = {"name": names.VOLUME_S3_SSL, "mountPath": names.S3_SSL_MOUNT, "readOnly": True}
        return [mount] if self.volumes() else []

    def _file_system_source(self) -> dict[str, Any]:
        if self.claim is not None:
            return {"persistentVolumeClaim": {"claimName": self.claim}}
        return dict(self.fields.table("fileSystem").table("volume").data)

    def claim_spec(self) -> dict[str, Any]:
        """Return the spec of the claim that the LogSet makes for a file system.

        Raises:
            InvalidSpec: The claim has no size.
        """
        claim = self.fields.table("fileSystem").table("claim")
        spec: dict[str, Any] = {
            "accessModes": claim.texts("accessModes") or list(_ACCESS_MODES),
            "resources": {"requests": {"storage": size_of(claim)}},
        }
        if claim.raw("storageClassName") is not None:
            spec["storageClassName"] = claim.text("storageClassName")
        return spec


def bucket_and_prefix(s3: Fields) -> tuple[str, str]:
    """Return the bucket and the prefix of an ``s3`` table, the latter empty or without slashes.

    The prefix is as it is written, also where MatrixOne reads it otherwise: Pods must not restart.

    Raises:
        InvalidSpec: The path has no bucket, or leads out of it.
    """
    path = s3.text("path").strip("/")
    if not path:
        raise s3.refuse("path", "must be <bucket> or <bucket>/<prefix>")
    try:
        BucketPath.read(path)
    except InvalidLocation as error:
        raise s3.refuse("path", str(error)) from error
    bucket, *rest = path.split("/", 1)
    return bucket, "".join(rest).strip("/")


def is_bucket_in_path(dialect: str) -> bool:
    """Return whether a dialect names the bucket in the path of requests, not in the host name."""
    return dialect == "minio"


def local_fileservice() -> Table:
    """Return the entry for a store's own disk."""
    return {"name": "LOCAL", "backend": "DISK", "data-dir": names.DATA_DIR}


def no_cache() -> Table:
    """Return the cache table that comes closest to none."""
    return {"memory-capacity": _NO_CACHE}


def size_of(fields: Fields, name: str = "size") -> str:
    """Return a quantity of bytes as text; it must be there and not be zero.

    Raises:
        InvalidSpec: It is missing, zero or no quantity.
    """
    value = fields.raw(name)
    if value is None:
        raise fields.refuse(name, "must be set")
    if checked_bytes(fields, name) <= 0:
        raise fields.refuse(name, f"must be more than zero, not {value!r}")
    return str(value)


def checked_bytes(fields: Fields, name: str) -> int:
    """Return a quantity of bytes as a number; 0 when absent."""
    value = fields.raw(name)
    if value is None:
        return 0
    try:
        return quantity.to_bytes(value)
    except QuantityError as error:
        raise fields.refuse(name, str(error)) from error


def cache_table(spec: Fields, operator: versions.Version) -> Table:
    """Return the cache table of a TN or CN.

    Sizes that the spec leaves out follow from the rest of it on each rendering: half of the memory
    request, nine tenths of the cache volume.
    """
    cache, volume = spec.table("sharedStorageCache"), spec.table("cacheVolume")
    memory = _own_size(cache, "memoryCacheSize")
    disk = _own_size(cache, "diskCacheSize")
    requests = spec.table("resources").table("requests")
    if memory is None and checked_bytes(requests, "memory"):
        memory = quantity.part(requests.raw("memory"), 1, 2)
    if disk is None and volume.data:
        disk = quantity.part(size_of(volume), 9, 10)
    table: Table = {}
    exact = versions.operator_does(operator, "SizesInBytes")
    if memory is not None:
        table["memory-capacity"] = quantity.matrixone_size(memory, decimal_as_bytes=exact)
    if disk is not None:
        table["disk-capacity"] = quantity.matrixone_size(disk, decimal_as_bytes=exact)
        table["disk-path"] = names.DISK_CACHE_DIR
    return table


def _own_size(cache: Fields, name: str) -> Any:
    """Return a size as the user wrote it, checked; None when there is none."""
    checked_bytes(cache, name)
    return cache.raw(name)


def claim_template(volume: Fields) -> dict[str, Any]:
    """Return the claim spec of a ``volume`` or ``cacheVolume``."""
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size_of(volume)}},
    }
    if volume.raw("storageClassName") is not None:
        spec["storageClassName"] = volume.text("storageClassName")
    return spec


def pvc_policy(spec: Fields) -> str:
    """Return the fate of a LogSet's claims: ``Delete`` or ``Retain``."""
    s3 = spec.table("sharedStorage").table("s3")
    return _policy(spec, "pvcRetentionPolicy") or _policy(s3, "s3RetentionPolicy") or "Delete"


def _policy(fields: Fields, name: str) -> str:
    """Return a policy as written, or an empty text."""
    return fields.choice(name, ("", *_POLICIES), "")
