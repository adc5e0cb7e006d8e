# SPDX-License-Identifier: Apache-2.0
"""A location: read from a resource, written to a task and back, compared with another one."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Union

from ..api.errors import InvalidSpec, RenderingError
from ..api.fields import Fields
from .endpoints import NO_SCOPE, Endpoint, Scope, Server
from .errors import InvalidLocation
from .paths import BucketPath, parse_folder, parse_prefix

TARGET: Final = "target"
SOURCE: Final = "source"
TYPES: Final = ("aws", "minio")
DEFAULT_REGION: Final = "us-west-2"
_REGION_LETTERS: Final = frozenset("-_.")


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
        scope: from where the endpoint is looked up; known to who compares, not to tasks.
    """

    bucket: str
    prefix: str
    endpoint: str
    region: str
    type: str = "aws"
    credentials: str | None = None
    certificates: tuple[str, ...] = ()
    scope: Scope = field(default=NO_SCOPE, compare=False)

    @property
    def address(self) -> str:
        """The bucket and the prefix, as ``spec.target.s3.path`` has them."""
        return f"{self.bucket}/{self.prefix}" if self.prefix else self.bucket

    @property
    def url(self) -> str:
        """The endpoint with its scheme; https when none is written (MatrixOne's own rule)."""
        return self.endpoint if "://" in self.endpoint else f"https://{self.endpoint}"

    @property
    def server(self) -> Server:
        """The server, under whichever name.

        Raises:
            InvalidLocation: the endpoint is none; not for a location that was read.
        """
        return Endpoint.parse(self.endpoint).server(self.scope)

    def seen_from_elsewhere(self) -> S3Location:
        """Return the location with an endpoint that Pods of any namespace can use."""
        normal = Endpoint.parse(self.endpoint)
        general = normal.seen_from_elsewhere(self.scope)
        return self if general == normal else replace(self, endpoint=str(general))

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


def from_fields(
    fields: Fields, role: str, scope: Scope = NO_SCOPE, *, in_use: bool = False
) -> Location:
    """Return the location that a table of a resource describes.

    Args:
        fields: a table with ``s3`` or ``fileSystem``.
        role: `TARGET` or `SOURCE`: under which its Secret is mounted, if it names one.
        scope: from where its endpoint is looked up.
        in_use: whether data are there already: then a path that is not clean is read as MatrixOne
            reads it, and not refused.

    Raises:
        InvalidSpec: not exactly one provider, or one of its fields does not follow the grammar;
            it names the field, its value, and what to write instead where that is known.
    """
    has_s3, has_files = fields.raw("s3") is not None, fields.raw("fileSystem") is not None
    if has_s3 and has_files:
        raise InvalidSpec(fields.path, "only one of s3 and fileSystem may be set")
    if has_s3:
        return _bucket_of(fields.table("s3"), role, scope, in_use)
    if not has_files:
        raise InvalidSpec(fields.path, "one of s3 or fileSystem must be set")
    files = fields.table("fileSystem")
    path = files.required_text("path", "must be the directory at which the storage is mounted")
    if in_use and path.startswith("/"):
        normal = posixpath.normpath(path)
    else:
        normal = _read(files, "path", parse_folder, path)
    return FolderLocation(normal, normal)


def _bucket_of(s3: Fields, role: str, scope: Scope, in_use: bool) -> S3Location:
    text = s3.text("path")
    if not text.strip("/"):
        raise s3.refuse("path", "must be <bucket> or <bucket>/<prefix>")
    path: BucketPath = _read(s3, "path", BucketPath.read if in_use else BucketPath.parse, text)
    return S3Location(
        bucket=path.bucket,
        prefix=path.prefix,
        endpoint=endpoint(s3),
        region=s3.text("region") or DEFAULT_REGION,
        type=s3.choice("type", TYPES, "aws"),
        credentials=role if s3.table("secretRef").text("name") else None,
        certificates=tuple(s3.table("certificateRef").texts("files")),
        scope=scope,
    )


def endpoint(s3: Fields) -> str:
    """Return the endpoint of an ``s3`` table; without one it is the region's own at AWS.

    Raises:
        InvalidSpec: endpoint or region does not follow the grammar.
    """
    region, written = s3.text("region") or DEFAULT_REGION, s3.text("endpoint")
    if not all(letter.isascii() and _is_of_region(letter) for letter in region):
        raise s3.refuse("region", f"{region!r} must be letters, digits, '-', '_' and '.'")
    if written:
        _read(s3, "endpoint", Endpoint.parse, written)
        return written
    country = ".cn" if region.startswith("cn-") else ""
    return f"s3.{region}.amazonaws.com{country}"


def _is_of_region(letter: str) -> bool:
    return letter.isalnum() or letter in _REGION_LETTERS


def _read(fields: Fields, name: str, parse: Any, text: str) -> Any:
    """Parse a text of a field, and name the field in the error."""
    try:
        return parse(text)
    except InvalidLocation as error:
        problem = str(error)
    raise fields.refuse(name, problem)


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
        return _folder_in(fields.table("fileSystem"))
    if set(document) == {"s3"}:
        return _s3_in(fields.table("s3"))
    raise InvalidLocation("a location has either s3 or fileSystem")


def _folder_in(files: Fields) -> FolderLocation:
    path = files.text("path")
    server_path = files.text("serverPath") or path
    return FolderLocation(parse_folder(path), parse_folder(server_path))


def _s3_in(s3: Fields) -> S3Location:
    given = {name: s3.text(name) for name in _S3_TEXTS}
    given["type"] = given["type"] or "aws"
    given["prefix"] = parse_prefix(given["prefix"])
    missing = [name for name in ("bucket", "endpoint", "region") if not given[name]]
    if missing or "/" in given["bucket"] or given["type"] not in TYPES:
        raise InvalidLocation(f"an s3 location needs bucket, endpoint, region; not {given}")
    Endpoint.parse(given["endpoint"])
    credentials = s3.text("credentials") or None
    if credentials not in (None, TARGET, SOURCE):
        raise InvalidLocation(f"credentials are target, source or null, not {credentials!r}")
    return S3Location(
        bucket=given["bucket"],
        prefix=given["prefix"],
        endpoint=given["endpoint"],
        region=given["region"],
        type=given["type"],
        credentials=credentials,
        certificates=tuple(s3.texts("certificates")),
    )


def are_on_one_server(location: Location, other: Location) -> bool:
    """Tell whether two locations can be reached at one endpoint, or are both in file systems.

    Raises:
        InvalidLocation: the endpoint of a location that was not read is none.
    """
    if isinstance(location, S3Location) and isinstance(other, S3Location):
        return location.server == other.server
    return isinstance(location, FolderLocation) and isinstance(other, FolderLocation)


def overlap(location: Location, other: Location) -> bool:
    """Tell whether two locations are the same, or one of them is inside the other.

    Raises:
        InvalidLocation: the endpoint of a location that was not read is none.
    """
    if isinstance(location, S3Location) and isinstance(other, S3Location):
        if location.server.store != other.server.store:
            return False
    elif not are_on_one_server(location, other):
        return False
    shorter, longer = sorted((_parts(location), _parts(other)), key=len)
    return longer[: len(shorter)] == shorter


def _parts(location: Location) -> list[str]:
    return [part for part in location.address.split("/") if part]


def may_overlap(location: Location, fields: Fields, scope: Scope) -> bool:
    """Tell whether a location may overlap one of another object, which may be anything.

    Used before data are deleted: what cannot be read may be here, unless its bucket is another.
    """
    try:
        return overlap(location, from_fields(fields, TARGET, scope, in_use=True))
    except RenderingError:
        return not isinstance(location, S3Location) or _may_have(fields, location.bucket)


def _may_have(fields: Fields, bucket: str) -> bool:
    """Tell whether a bucket may be the one of a table that cannot be read."""
    s3 = fields.raw("s3")
    path = s3.get("path") if isinstance(s3, Mapping) else None
    return not isinstance(path, str) or bucket in path.split("/")


_S3_TEXTS: Final = ("bucket", "prefix", "endpoint", "region", "type")
