# SPDX-License-Identifier: Apache-2.0
"""Open the store of a location with the credentials that are mounted for it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from ...clients.objectstore.folder import FolderStore
from ...clients.objectstore.interface import ObjectStore
from ...clients.objectstore.s3 import S3Store
from ...clients.objectstore.s3_connection import Connection, Keys, Server
from ...location.locations import TARGET, FolderLocation, Location, S3Location
from ...workload.storage import is_bucket_in_path
from ..task.tasks import Reason
from .errors import TaskFailed


@dataclass(frozen=True, slots=True)
class Mounts:
    """Where the Secrets of a task are.

    Attributes:
        folder: with ``target/``, ``source/``, ``target-ca/``, ``source-ca/``, ``login/``, ``tls/``.
        connections: that a store may have at a time.
    """

    folder: Path
    connections: int = 8

    def open(self, location: Location, role: str = TARGET) -> ObjectStore:
        """Return the store of a location.

        Args:
            location: where it is.
            role: ``target`` or ``source``: whose certificates are its.

        Raises:
            TaskFailed: the Secret lacks a key, or a certificate is missing.
            StoreError: there are no credentials.
        """
        if isinstance(location, FolderLocation):
            return FolderStore(location.path)
        server = Server(
            url=location.url,
            region=location.region,
            by_path=is_bucket_in_path(location.type),
            keys=lambda: self.keys(location),
            ca_file=self._ca_file(location, role),
            connections=self.connections,
        )
        return S3Store(Connection(server), location.bucket, location.prefix)

    def keys(self, location: S3Location) -> Keys | None:
        """Read the present credentials; None for those of the Pod.

        Raises:
            TaskFailed: the Secret lacks a key.
        """
        if location.credentials is None:
            return None
        folder = self.folder / location.credentials
        token = folder / "AWS_SESSION_TOKEN"
        return Keys(
            read_secret(folder / "AWS_ACCESS_KEY_ID"),
            read_secret(folder / "AWS_SECRET_ACCESS_KEY"),
            read_secret(token) if token.exists() else None,
        )

    def _ca_file(self, location: S3Location, role: str) -> str | None:
        """Return a file with all certificates that the resource names."""
        if not location.certificates:
            return None
        folder = self.folder / f"{role}-ca"
        files = [folder / name for name in location.certificates]
        try:
            bundle = b"\n".join(file.read_bytes() for file in files)
        except OSError as error:
            raise TaskFailed(
                Reason.INVALID_TASK, f"certificateRef of the {role}: {error.strerror}"
            ) from error
        if len(files) == 1:
            return str(files[0])
        with tempfile.NamedTemporaryFile(suffix=".crt", delete=False) as file:
            file.write(bundle)
        return file.name


def read_secret(path: Path) -> str:
    """Return a value of a mounted Secret, without the line's end that editors add.

    Raises:
        TaskFailed: it is not there; the message names the key.
    """
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskFailed(
            Reason.ACCESS_DENIED, f"the Secret of {path.parent.name} has no usable key {path.name}"
        ) from error
