# SPDX-License-Identifier: Apache-2.0
"""A prefix of a bucket as an object store.

botocore sends the requests. Its paginators would take an answer that is no listing for an empty
one, and data would be called deleted. s3transfer, which is no requirement of botocore, sends the
parts of an upload from several threads, each of which holds one in memory; here a part is released
before the next one is read.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from .errors import (
    Absent,
    Exists,
    Forbidden,
    Refused,
    StoreError,
    Unreachable,
    Unsupported,
    shortened,
)
from .interface import CHUNK, Entry, Erasable
from .s3_connection import Connection, from_answer, understood

SINGLE: Final = 8 << 20
"""Bytes up to which an object is written with one request; each worker holds so many."""
LARGEST_COPY: Final = 5 << 30
"""Bytes that a server copies with one request."""
_PARTS: Final = 10_000
_RESUMES: Final = 5
"""Connections that may be lost while one object is read."""
_EMPTY_PAGES: Final = 200
"""Pages of a listing without anything that may follow each other."""
_LISTED: Final = ("Contents", "CommonPrefixes", "Versions", "DeleteMarkers", "Uploads")
_REGION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}")
_UNNAMED_REGION: Final = "us-east-1"
"""Of which S3 gives no name (GetBucketLocation in its API reference)."""
_Kind = TypeVar("_Kind")


class S3Store:
    """The objects below a prefix.

    Args:
        connection: to the server.
        bucket: name of the bucket.
        prefix: without slashes at its ends; empty for the whole bucket.
    """

    def __init__(self, connection: Connection, bucket: str, prefix: str) -> None:
        self._connection = connection
        self._bucket = bucket
        self._root = f"{prefix}/" if prefix else ""

    @property
    def name(self) -> str:
        """The store as messages name it."""
        place = f"{self._bucket}/{self._root}".rstrip("/")
        return f"{place} at {self._connection.url}"

    def region(self) -> str:
        """Return the region of the bucket; empty where the server tells none."""
        with contextlib.suppress(Absent, Forbidden, Refused, Unsupported):
            answer = self._call(self.name, "get_bucket_location")
            found = str(answer.get("LocationConstraint") or _UNNAMED_REGION)
            return found if _REGION.fullmatch(found) else ""
        return ""

    def require(self) -> None:
        """Return when the bucket can be listed; listing tells more than HEAD, which has no body."""
        page = self._call(self.name, "list_objects_v2", MaxKeys=1, Prefix=self._root)
        self._require_listing(page)

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        """Yield all objects below a key prefix."""
        for page in self._pages("list_objects_v2", _TOKEN, Prefix=f"{self._root}{prefix}"):
            for entry in page.get("Contents", ()):
                key, size = self._key(entry), self._given(entry, "Size", int)
                if size < 0:
                    raise Refused(f"{self.name}: {key} has {size} bytes")
                if key:  # what some tools create for a folder
                    yield Entry(key, size)

    def size(self, key: str) -> int | None:
        """Return the size of an object in bytes; None when there is none."""
        try:
            answer = self._call(self._title(key), "head_object", Key=self._root + key)
        except Absent:
            return None
        return self._given(answer, "ContentLength", int)

    def read(self, key: str) -> Iterator[bytes]:
        """Yield the content of an object; a connection that is lost is opened again there."""
        what, position, etag, size, losses = self._title(key), 0, "", None, 0
        while size is None or position < size:
            answer = self._open(what, key, position, etag)
            if size is None:
                etag, size = str(answer.get("ETag", "")), self._given(answer, "ContentLength", int)
            try:
                with understood(what), contextlib.closing(answer["Body"]) as body:
                    while piece := body.read(CHUNK):
                        position += len(piece)
                        if position > size:
                            raise Refused(f"{what}: more than its {size} bytes")
                        yield piece
            except Unreachable:
                losses += 1
                if losses > _RESUMES or (position and not etag):
                    raise
            else:
                if position < size:
                    raise Unreachable(f"{what}: ended after {position} of {size} bytes")

    def _open(self, what: str, key: str, position: int, etag: str) -> dict[str, Any]:
        """Begin to read at a position, and require that the answer does.

        There are servers that ignore a range or a condition, and send another content from its
        beginning.
        """
        more = {"Range": f"bytes={position}-", "IfMatch": etag} if position else {}
        answer = self._call(what, "get_object", Key=self._root + key, **more)
        goes_on = str(answer.get("ContentRange", "")).startswith(f"bytes {position}-")
        if position and not (goes_on and answer.get("ETag") == etag):
            answer["Body"].close()
            raise Refused(f"{what}: the server does not go on after {position} bytes")
        return answer

    def write(self, key: str, pieces: Iterable[bytes], size: int) -> None:
        """Write an object with one request, or a large one in parts."""
        if size > SINGLE:
            self._write_parts(key, pieces, size)
            return
        content = bytearray()
        for piece in pieces:
            content += piece
        _require_size(self._title(key), len(content), size)
        self._call(self._title(key), "put_object", Key=self._root + key, Body=content)

    def _write_parts(self, key: str, pieces: Iterable[bytes], size: int) -> None:
        written = 0
        with self._upload(key) as upload:
            for content in _parts(pieces, part_size(size)):
                upload.add("upload_part", Body=content)
                written += len(content)
                del content  # or it would be held while the next one is filled
            _require_size(self._title(key), written, size)

    @contextlib.contextmanager
    def _upload(self, key: str) -> Iterator[_Upload]:
        """Begin an upload in parts, and complete it, or abort it when the block fails."""
        call = partial(self._call, self._title(key), Key=self._root + key)
        begun = self._given(call("create_multipart_upload"), "UploadId", str)
        upload = _Upload(partial(call, UploadId=begun))
        try:
            yield upload
            upload.complete()
        except BaseException:
            with contextlib.suppress(StoreError):
                upload.abort()
            raise

    def copy(self, source: S3Store, key: str, to: str, size: int) -> None:
        """Let the server copy an object of another store of the same server.

        Args:
            source: where the object is.
            key: of the object there.
            to: key of the copy here.
            size: of the object in bytes.

        Raises:
            Absent: there is no such object.
            Unsupported: the server does not copy.
        """
        origin = {"Bucket": source._bucket, "Key": source._root + key}
        if size <= LARGEST_COPY:
            self._call(self._title(to), "copy_object", Key=self._root + to, CopySource=origin)
            return
        with self._upload(to) as upload:
            for first in range(0, size, LARGEST_COPY):
                last = min(first + LARGEST_COPY, size) - 1
                part = {"CopySource": origin, "CopySourceRange": f"bytes={first}-{last}"}
                upload.add("upload_part_copy", **part)

    def flush(self) -> None:
        """Return at once: a server answers when it has an object."""

    def create(self, key: str, content: bytes) -> bool:
        """Write an object on the condition that there is none."""
        try:
            self._call(
                self._title(key), "put_object",
                Key=self._root + key, Body=content, IfNoneMatch="*",
            )  # fmt: skip
        except Exists:
            return False
        return True

    def beginning(self, start: str) -> list[str]:
        """Return the keys that begin with a text, without those in a folder below that."""
        whole = self._root + start
        pages = self._pages("list_objects_v2", _TOKEN, Prefix=whole, Delimiter="/")
        found = (self._key(entry) for page in pages for entry in page.get("Contents", ()))
        return [key for key in found if key]

    def folders(self, folder: str = "") -> Iterator[str]:
        """Yield the names of the prefixes that end with the next slash."""
        whole = self._root + folder
        for page in self._pages("list_objects_v2", _TOKEN, Prefix=whole, Delimiter="/"):
            for prefix in page.get("CommonPrefixes", ()):
                if name := self._key(prefix, "Prefix").removeprefix(folder).rstrip("/"):
                    yield name

    def ancestors(self) -> Iterator[tuple[S3Store, str]]:
        """Yield the prefixes around this one, and the path to this one in each."""
        own = self._root.rstrip("/")
        prefix = own
        while prefix:
            prefix = posixpath.dirname(prefix)
            store = S3Store(self._connection, self._bucket, prefix)
            yield store, own.removeprefix(store._root)

    def erasable(self, start: str = "") -> Iterator[Sequence[Erasable]]:
        """Yield unfinished uploads, all versions, and all objects where no versions are kept."""
        whole = self._root + start
        with contextlib.suppress(Unsupported):
            for page in self._pages("list_multipart_uploads", _UPLOAD_MARKS, Prefix=whole):
                uploads = page.get("Uploads", ())
                yield [
                    self._erasable(upload, upload=self._given(upload, "UploadId", str))
                    for upload in uploads
                ]
        with contextlib.suppress(Unsupported):
            for page in self._pages("list_object_versions", _VERSION_MARKS, Prefix=whole):
                versions = (*page.get("Versions", ()), *page.get("DeleteMarkers", ()))
                yield [
                    self._erasable(version, version=self._given(version, "VersionId", str))
                    for version in versions
                ]
        for page in self._pages("list_objects_v2", _TOKEN, Prefix=whole):
            yield [self._erasable(entry) for entry in page.get("Contents", ())]

    def _erasable(self, listed: Mapping[str, Any], version: str = "", upload: str = "") -> Erasable:
        return Erasable(self._key(listed), version, upload)

    def _key(self, listed: Mapping[str, Any], name: str = "Key") -> str:
        """Return a listed key, relative to the root.

        Raises:
            Refused: there is none, or it is not below the root.
        """
        key = self._given(listed, name, str)
        if not key.startswith(self._root):
            raise Refused(f"{self.name}: the listing has {shortened(key)}, which is elsewhere")
        return key.removeprefix(self._root)

    def _given(self, answer: Mapping[str, Any], name: str, kind: type[_Kind]) -> _Kind:
        """Return a part of an answer.

        Raises:
            Refused: it is not there, or something else.
        """
        found = answer.get(name)
        if not isinstance(found, kind) or found == "":
            raise Refused(f"{self.name}: an answer of the server has no {name}")
        return found

    def _require_listing(self, page: Mapping[str, Any]) -> None:
        """Require that an answer is a listing: that of a gateway, or none, is no empty one.

        Raises:
            Refused: it is not.
        """
        if "IsTruncated" not in page:
            raise Refused(f"{self.name}: the answer of the server is no listing")

    def erase(self, items: Sequence[Erasable]) -> None:
        """Abort uploads, and delete objects and versions with one request."""
        for item in items:
            if item.upload:
                self._abort(item)
        objects = [
            {"Key": self._root + item.key, **({"VersionId": item.version} if item.version else {})}
            for item in items
            if not item.upload
        ]
        if objects:
            answer = self._once(
                self.name, "delete_objects", Delete={"Objects": objects, "Quiet": True}
            )
            for error in answer.get("Errors", ()):
                raise from_answer(
                    f"{shortened(str(error.get('Key')))} in {self._bucket}", {"Error": error}
                )

    def _abort(self, item: Erasable) -> None:
        with contextlib.suppress(Absent):
            self._once(
                self._title(item.key), "abort_multipart_upload",
                Key=self._root + item.key, UploadId=item.upload,
            )  # fmt: skip

    def tidy(self) -> None:
        """Return at once: a bucket has no folders."""

    def _pages(
        self, operation: str, marks: Mapping[str, str], **parameters: Any
    ) -> Iterator[dict[str, Any]]:
        """Yield the pages of a listing.

        Args:
            operation: that lists.
            marks: names of what the next request takes, by their names in an answer.
            parameters: of every request.
        """
        position: dict[str, Any] = {}
        progress = _Progress(self.name)
        while True:
            page = self._call(self.name, operation, **parameters, **position)
            self._require_listing(page)
            progress.add(page)
            yield page
            if not page["IsTruncated"]:
                return
            position = {take: page[give] for give, take in marks.items() if page.get(give)}
            progress.go_on(position)

    def _call(self, what: str, operation: str, **parameters: Any) -> dict[str, Any]:
        return self._connection.call(what, operation, Bucket=self._bucket, **parameters)

    def _once(self, what: str, operation: str, **parameters: Any) -> dict[str, Any]:
        return self._connection.once(what, operation, Bucket=self._bucket, **parameters)

    def _title(self, key: str) -> str:
        return f"{key} in {self.name}"


class _Progress:
    """Whether a listing goes on: one that does not would never end.

    Args:
        name: of the store, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._positions: set[int] = set()
        self._content: object = None
        self._empty = 0

    def add(self, page: Mapping[str, Any]) -> None:
        """Take a page.

        Raises:
            Refused: it is the one before again, or the last of too many without anything.
        """
        content = [page[part] for part in _LISTED if page.get(part)]
        self._empty = 0 if content else self._empty + 1
        if self._empty > _EMPTY_PAGES or (content and content == self._content):
            raise Refused(f"{self._name}: the listing does not go on")
        self._content = content or self._content

    def go_on(self, position: Mapping[str, Any]) -> None:
        """Take the position of the next page.

        Raises:
            Refused: the listing has been there.
        """
        number = hash(tuple(sorted(position.items())))
        if not position or number in self._positions:
            raise Refused(f"{self._name}: the listing does not go on")
        self._positions.add(number)


class _Upload:
    """An upload in parts.

    Args:
        call: makes a request about it.
    """

    def __init__(self, call: Callable[..., dict[str, Any]]) -> None:
        self._call = call
        self._parts: list[dict[str, Any]] = []

    def add(self, operation: str, **parameters: Any) -> None:
        """Add the next part."""
        number = len(self._parts) + 1
        answer = self._call(operation, PartNumber=number, **parameters)
        etag = answer.get("ETag") or (answer.get("CopyPartResult") or {}).get("ETag")
        if not etag:
            raise Refused(f"part {number} of an upload: the answer of the server has no ETag")
        self._parts.append({"PartNumber": number, "ETag": etag})

    def complete(self) -> None:
        """Make the object of the parts."""
        self._call("complete_multipart_upload", MultipartUpload={"Parts": self._parts})

    def abort(self) -> None:
        """Remove the parts."""
        self._call("abort_multipart_upload")


def part_size(size: int) -> int:
    """Return the bytes of each part of an upload, for at most 10,000 parts."""
    return max(SINGLE, -(-size // _PARTS))


def _parts(pieces: Iterable[bytes], size: int) -> Iterator[bytearray]:
    """Yield the same content in parts of one size, each once copied; the last may be shorter."""
    part = bytearray()
    for piece in pieces:
        left = memoryview(piece)
        while len(part) + len(left) >= size:
            missing = size - len(part)
            part += left[:missing]
            left = left[missing:]
            yield part
            part = bytearray()
        part += left
    if part:
        yield part


def _require_size(what: str, actual: int, size: int) -> None:
    if actual != size:
        raise Refused(f"{what}: {actual} bytes instead of {size}")


_TOKEN: Final = {"NextContinuationToken": "ContinuationToken"}
_VERSION_MARKS: Final = {
    "NextKeyMarker": "KeyMarker",
    "NextVersionIdMarker": "VersionIdMarker",
}
_UPLOAD_MARKS: Final = {
    "NextKeyMarker": "KeyMarker",
    "NextUploadIdMarker": "UploadIdMarker",
}
