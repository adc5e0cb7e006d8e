# SPDX-License-Identifier: Apache-2.0
"""Where a backup is: a prefix of a bucket, or a folder.

A location is read from a ``sharedStorage``-like table of a resource (extended.md §2.8), handed to
the program in a task, and recorded in a manifest as an address: ``<bucket>/<prefix>`` or the path.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Union
from urllib.parse import urlsplit

from ..api.fields import Fields
from ..workload import storage
from .errors import InvalidLocation

TARGET: Final = "target"
SOURCE: Final = "source"
TYPES: Final = ("aws", "minio")
_PUNCTUATION: Final = frozenset("!-_.*'()@/")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class S3Location:
    """A prefix of a bucket.

    Attributes:
        bucket: name of the bucket.
        prefix: without slashes at its ends; empty for the whole bucket.
        endpoint: URL or host name of the server, as MatrixOne takes it.
        region: never empty.
        type: ``aws``, or ``minio`` for servers that know buckets by path alone.
        credentials: ``target`` or ``source``, the mounted Secret; None for those of the Pod.
        certificates: names of the mounted files with the server's CA.
    """

    bucket: str
    prefix: str
    endpoint: str
    region: str
    type: str = "aws"
    credentials: str | None = None
    certificates: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """The bucket and the prefix, as ``spec.target.s3.path`` has them."""
        return f"{self.bucket}/{self.prefix}" if self.prefix else self.bucket

    @property
    def url(self) -> str:
        """The endpoint with its scheme; https when none is written (MatrixOne's own rule)."""
        return self.endpoint if "://" in self.endpoint else f"https://{self.endpoint}"

    def at(self, address: str) -> S3Location:
        """Return the location of another address on the same server."""
        bucket, _slash, prefix = address.strip("/").partition("/")
        return replace(self, bucket=bucket, prefix=prefix.strip("/"))

    def below(self, name: str) -> S3Location:
        """Return the location of a folder inside this one."""
        return replace(self, prefix=posixpath.join(self.prefix, name.strip("/")))


@dataclass(frozen=True, slots=True)
class FolderLocation:
    """A folder of a volume.

    Attributes:
        path: absolute, as the Job's Pod sees it.
        server_path: absolute, as the compute nodes see it; they write a backup there.
    """

    path: str
    server_path: str

    @property
    def address(self) -> str:
        """The path as the compute nodes see it, as ``spec.target.fileSystem.path`` has it."""
        return self.server_path

    def at(self, address: str) -> FolderLocation:
        """Return the location of another address, which the Pod sees at the same path."""
        path = posixpath.normpath(address)
        return FolderLocation(path, path)

    def below(self, name: str) -> FolderLocation:
        """Return the location of a folder inside this one."""
        inside = name.strip("/")
        return FolderLocation(
            posixpath.join(self.path, inside), posixpath.join(self.server_path, inside)
        )


Location = Union[S3Location, FolderLocation]


def from_fields(fields: Fields, role: str) -> Location:
    """Return the location that a table of a resource describes.

    Args:
        fields: a table with ``s3`` or ``fileSystem``.
        role: `TARGET` or `SOURCE`: under which its Secret is mounted, if it names one.

    Raises:
        InvalidSpec: not exactly one provider, or one that cannot hold a backup.
    """
    shared = storage.SharedStorage.of(fields, owner="any")
    s3 = shared.s3
    if s3 is None:
        files = fields.table("fileSystem")
        path = files.required_text("path")
        _refuse(files, "path", folder_mistake(path))
        normal = posixpath.normpath(path)
        return FolderLocation(normal, normal)
    bucket, prefix = storage.bucket_and_prefix(s3)
    _refuse(s3, "path", prefix_mistake(prefix))
    return S3Location(
        bucket=bucket,
        prefix=prefix,
        endpoint=storage.endpoint(s3),
        region=s3.text("region") or storage.DEFAULT_REGION,
        type=s3.choice("type", TYPES, "aws"),
        credentials=role if s3.table("secretRef").text("name") else None,
        certificates=tuple(s3.table("certificateRef").texts("files")),
    )


def to_document(location: Location | None) -> dict[str, Any] | None:
    """Return a location as a task has it."""
    if location is None:
        return None
    if isinstance(location, FolderLocation):
        return {"fileSystem": {"path": location.path, "serverPath": location.server_path}}
    document = {name: getattr(location, name) for name in _S3_TEXTS}
    return {
        "s3": {
            **document,
            "credentials": location.credentials,
            "certificates": list(location.certificates),
        }
    }


def from_document(document: Mapping[str, Any] | None) -> Location | None:
    """Return the location that a task has.

    Raises:
        InvalidLocation: it is none.
        InvalidSpec: a field has the wrong type.
    """
    if document is None:
        return None
    fields = Fields("location", document)
    if set(document) == {"fileSystem"}:
        return _folder_of(fields.table("fileSystem"))
    if set(document) == {"s3"}:
        return _s3_of(fields.table("s3"))
    raise InvalidLocation("a location has either s3 or fileSystem")


def _folder_of(files: Fields) -> FolderLocation:
    path = files.text("path")
    server_path = files.text("serverPath") or path
    for one in (path, server_path):
        if mistake := folder_mistake(one):
            raise InvalidLocation(f"folder {one!r} {mistake}")
    return FolderLocation(posixpath.normpath(path), posixpath.normpath(server_path))


def _s3_of(s3: Fields) -> S3Location:
    given = {name: s3.text(name).strip("/" if name == "prefix" else None) for name in _S3_TEXTS}
    given["type"] = given["type"] or "aws"
    if mistake := prefix_mistake(given["prefix"]):
        raise InvalidLocation(f"prefix {given['prefix']!r} {mistake}")
    missing = [name for name in ("bucket", "endpoint", "region") if not given[name]]
    if missing or "/" in given["bucket"] or given["type"] not in TYPES:
        raise InvalidLocation(f"an s3 location needs bucket, endpoint, region; not {given}")
    credentials = s3.text("credentials") or None
    if credentials not in (None, TARGET, SOURCE):
        raise InvalidLocation(f"credentials are target, source or null, not {credentials!r}")
    return S3Location(
        **given, credentials=credentials, certificates=tuple(s3.texts("certificates"))
    )


def folder_mistake(path: str) -> str | None:
    """Say why MatrixOne or we cannot have a backup in a folder; None when it is fine."""
    if not path.startswith("/") or posixpath.normpath(path).strip("/") == "":
        return "must be an absolute path below the root"
    return _mistake(path)


def prefix_mistake(prefix: str) -> str | None:
    """Say why MatrixOne cannot use the prefix of a bucket; None when it is fine.

    Source: ``fileservice.ParsePath``, which also joins what is not a clean path.
    """
    return _mistake(prefix) if prefix else None


def _mistake(path: str) -> str | None:
    strange = sorted({letter for letter in path if not _is_allowed(letter)})
    if strange:
        return f"has {''.join(strange)!r}, which MatrixOne refuses in paths"
    if any(part in ("", ".", "..") for part in path.strip("/").split("/")):
        return "must not have empty parts, '.' or '..'"
    return None


def _is_allowed(letter: str) -> bool:
    if letter.isascii():
        return letter.isalnum() or letter in _PUNCTUATION
    return letter.isprintable()


def are_on_one_server(one: Location, other: Location) -> bool:
    """Tell whether two locations belong to the same object store, or both to file systems."""
    if isinstance(one, S3Location) and isinstance(other, S3Location):
        return _server(one) == _server(other)
    return isinstance(one, FolderLocation) and isinstance(other, FolderLocation)


def overlap(one: Location, other: Location) -> bool:
    """Tell whether two locations are the same, or one of them is inside the other."""
    if not are_on_one_server(one, other):
        return False
    shorter, longer = sorted((_parts(one), _parts(other)), key=len)
    return longer[: len(shorter)] == shorter


def _server(location: S3Location) -> tuple[str, int]:
    parts = urlsplit(location.url)
    return (parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme, 0))


def _parts(location: Location) -> list[str]:
    return [part for part in location.address.split("/") if part]


def _refuse(fields: Fields, name: str, mistake: str | None) -> None:
    if mistake:
        raise fields.refuse(name, mistake)


_S3_TEXTS: Final = ("bucket", "prefix", "endpoint", "region", "type")
