# SPDX-License-Identifier: Apache-2.0
"""A prefix of a bucket as an object store."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Final

from .errors import Absent, Refused, StoreError, Unreachable, Unsupported
from .interface import CHUNK, Entry
from .s3_connection import Connection, from_answer, understood

SINGLE: Final = 8 << 20
"""Bytes up to which an object is written with one request; each worker holds so many."""
LARGEST_COPY: Final = 5 << 30
"""Bytes that a server copies with one request."""
_BATCH: Final = 1000
"""Keys that one request deletes."""
_PARTS: Final = 10_000
_RESUMES: Final = 5
"""Connections that may be lost while one object is read."""


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

    def require(self) -> None:
        """Return when the bucket can be listed; listing tells more than HEAD, which has no body."""
        self._call(self.name, "list_objects_v2", MaxKeys=1, Prefix=self._root)

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        """Yield all objects below a key prefix."""
        for page in self._pages("list_objects_v2", _TOKEN, Prefix=f"{self._root}{prefix}"):
            for one in page.get("Contents", ()):
                key = one["Key"].removeprefix(self._root)
                if key:  # what some tools create for a folder
                    yield Entry(key, one["Size"])

    def size(self, key: str) -> int | None:
        """Return the size of an object in bytes; None when there is none."""
        try:
            answer = self._call(self._title(key), "head_object", Key=self._root + key)
        except Absent:
            return None
        return int(answer["ContentLength"])

    def read(self, key: str) -> Iterator[bytes]:
        """Yield the content of an object; a connection that is lost is opened again there."""
        what, position, etag, size, losses = self._title(key), 0, "", None, 0
        while size is None or position < size:
            answer = self._open(what, key, position, etag)
            etag = answer["ETag"]
            size = position + int(answer["ContentLength"]) if size is None else size
            try:
                with understood(what), contextlib.closing(answer["Body"]) as body:
                    while piece := body.read(CHUNK):
                        position += len(piece)
                        yield piece
            except Unreachable:
                losses += 1
                if losses > _RESUMES:
                    raise
            else:
                if position < size:
                    raise Unreachable(f"{what}: ended after {position} of {size} bytes")

    def _open(self, what: str, key: str, position: int, etag: str) -> dict[str, Any]:
        more = {"Range": f"bytes={position}-", "IfMatch": etag} if position else {}
        return self._call(what, "get_object", Key=self._root + key, **more)

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
        upload = _Upload(partial(call, UploadId=call("create_multipart_upload")["UploadId"]))
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

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects in batches."""
        for batch in _batches({"Key": self._root + key} for key in keys):
            self._delete(batch)

    def clear(self) -> Iterator[int]:
        """Abort unfinished uploads, and delete all versions, or all objects where none are kept."""
        self._abort_uploads()
        with contextlib.suppress(Unsupported):
            for page in self._pages("list_object_versions", _VERSION_MARKS, Prefix=self._root):
                found = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
                yield self._delete(
                    [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in found]
                )
        for page in self._pages("list_objects_v2", _TOKEN, Prefix=self._root):
            yield self._delete([{"Key": one["Key"]} for one in page.get("Contents", ())])

    def _delete(self, objects: list[dict[str, str]]) -> int:
        """Delete at most `_BATCH` objects, by their whole keys, and return their number."""
        if not objects:
            return 0
        answer = self._call(self.name, "delete_objects", Delete={"Objects": objects, "Quiet": True})
        for error in answer.get("Errors", ()):
            raise from_answer(f"{error.get('Key')} in {self._bucket}", {"Error": error})
        return len(objects)

    def _abort_uploads(self) -> None:
        with contextlib.suppress(Unsupported):
            for page in self._pages("list_multipart_uploads", _UPLOAD_MARKS, Prefix=self._root):
                for one in page.get("Uploads", ()):
                    with contextlib.suppress(Absent):
                        self._call(
                            self._title(one["Key"]), "abort_multipart_upload",
                            Key=one["Key"], UploadId=one["UploadId"],
                        )  # fmt: skip

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
        while True:
            page = self._call(self.name, operation, **parameters, **position)
            yield page
            if not page.get("IsTruncated"):
                return
            following = {take: page[give] for give, take in marks.items() if page.get(give)}
            if following in ({}, position):
                raise Refused(f"{self.name}: the listing does not go on after {position}")
            position = following

    def _call(self, what: str, operation: str, **parameters: Any) -> dict[str, Any]:
        return self._connection.call(what, operation, Bucket=self._bucket, **parameters)

    def _title(self, key: str) -> str:
        return f"{key} in {self.name}"


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
        etag = answer.get("ETag") or answer["CopyPartResult"]["ETag"]
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


def _batches(objects: Iterable[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    left = iter(objects)
    while batch := list(islice(left, _BATCH)):
        yield batch


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
