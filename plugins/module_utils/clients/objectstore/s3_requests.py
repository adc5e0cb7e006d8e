# SPDX-License-Identifier: Apache-2.0
"""Ask an object store whether it answers, and whether the database can write to it.

To ask for the latter without leaving an object, or a version of one, an upload in parts is begun,
gets a part of one byte, and is aborted.

These four requests do not go through botocore, the client of backups: passes over LogSets send
them and may have to do without that package, and must reach no address but those that ``Reach``
allows, nor wait longer than its deadline. botocore resolves names itself, and bounds single reads.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from ...api.storage_answer import StorageAnswer
from ..http_requests import Answer, Endpoint, Request, ask
from ..matrixone.addresses import Reach
from ..matrixone.deadlines import Deadline
from . import errors
from .signing import Signer, target

_KEY: Final = "matrixone-operator-write-check"
"""Of the upload, below the prefix."""
_UPLOAD: Final = re.compile(rb"<UploadId>([^<>]{1,2048})</UploadId>")
_CODE: Final = re.compile(rb"<Code>([A-Za-z0-9]{1,64})</Code>")
_REGION: Final = re.compile(
    rb"<Code>AuthorizationHeaderMalformed</Code>.*<Region>([A-Za-z0-9-]{1,63})</Region>", re.DOTALL
)
"""In the answer to a request that is signed for another region."""
_UNDECIDED: Final = frozenset({"RequestTimeTooSkewed", "SlowDown", "ServiceUnavailable"})
"""Codes that tell something about the clock of who asks, or that it asks too often."""
_UNDECIDED_STATUS: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_NO_RIGHT: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_PART: Final = b"0"


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where a database writes.

    Attributes:
        endpoint: URL of the server, or host and port for HTTPS.
        bucket: its name.
        prefix: without slashes at its ends; may be empty.
        by_path: whether the bucket is a part of the path, not of the host name.
        signer: with the credential of the database; None where it is not known.
        reach: which addresses may be asked; users name the endpoint.
    """

    endpoint: str
    bucket: str
    prefix: str
    by_path: bool
    signer: Signer | None
    reach: Reach = Reach.NETWORK

    def ask(self, seconds: float) -> StorageAnswer:
        """Ask it.

        Args:
            seconds: for all requests together.
        """
        deadline = Deadline.after(seconds)
        try:
            server = Endpoint.parse(self.endpoint)
        except ValueError:
            return StorageAnswer.SILENT
        found = self._write(server, self.signer, deadline) if self.signer else None
        return found or _greeting(ask(server, Request("HEAD"), deadline, self.reach))

    def _write(self, server: Endpoint, signer: Signer, deadline: Deadline) -> StorageAnswer | None:
        """Begin an upload, add a part and abort it; None if that does not tell whether it answers.

        MatrixOne asks a server whose path has the bucket for its region, and knows that of the
        others from its environment alone.
        """
        call = self._upload(server, signer)
        begun = call("POST", {"uploads": ""}, deadline, b"")
        region = _REGION.search(begun.body) if begun and self.by_path else None
        if region:
            call = self._upload(server, replace(signer, region=region.group(1).decode()))
            begun = call("POST", {"uploads": ""}, deadline, b"")
        return _finished(call, begun, deadline)

    def _upload(self, server: Endpoint, signer: Signer) -> _Call:
        """Return how to make a signed request about the upload."""
        to = server if self.by_path else replace(server, host=f"{self.bucket}.{server.host}")
        folders = [self.bucket, self.prefix] if self.by_path else [self.prefix]
        path = "/".join(["", *filter(None, folders), _KEY])

        def call(
            method: str, query: Mapping[str, str], deadline: Deadline, body: bytes
        ) -> Answer | None:
            where = target(path, query)
            headers = signer.headers(method, to.authority, where, body, datetime.now(UTC))
            return ask(to, Request(method, where, headers, body), deadline, self.reach)

        return call


_Call = Callable[[str, Mapping[str, str], Deadline, bytes], "Answer | None"]


def _greeting(said: Answer | None) -> StorageAnswer:
    """Return what any answer means, be it a refusal.

    One with a status of 500 or more, such as that of a gateway whose server is away, is none.
    """
    is_answer = said is not None and said.status < HTTPStatus.INTERNAL_SERVER_ERROR
    return StorageAnswer.ANSWERS if is_answer else StorageAnswer.SILENT


def _finished(call: _Call, begun: Answer | None, deadline: Deadline) -> StorageAnswer | None:
    """Add a part to an upload and abort it; None if that does not tell whether it answers."""
    upload = _UPLOAD.search(begun.body) if begun else None
    if begun is None or upload is None:
        return _refusal(begun)
    identity = {"uploadId": html.unescape(upload.group(1).decode("ascii", "replace"))}
    # Some time is kept for the end: an upload that is not aborted stays for ever.
    added = call(
        "PUT", {**identity, "partNumber": "1"}, deadline.within(deadline.remaining() / 2), _PART
    )
    aborted = call("DELETE", identity, deadline, b"")
    if aborted is not None and aborted.status in _NO_RIGHT:
        return StorageAnswer.NOT_ABORTED
    if added is not None and added.status == HTTPStatus.OK:
        return StorageAnswer.WRITABLE
    hangs_on_writes = added is None and aborted is not None
    return StorageAnswer.REFUSED if hangs_on_writes else _refusal(added)


def _refusal(answer: Answer | None) -> StorageAnswer | None:
    """Return what an answer means that is not the expected one; None if it is none of S3.

    An error of the server with a code of S3 is an answer: it may be its disk alone that fails.
    """
    if answer is None:
        return None
    found = _CODE.search(answer.body)
    code = found.group(1).decode("ascii") if found else ""
    kind = errors.kind_of(code, answer.status)
    is_of_gateway = not code and kind is errors.Unreachable
    if code in _UNDECIDED or answer.status in _UNDECIDED_STATUS or is_of_gateway:
        return None
    return _BY_ERROR.get(kind, StorageAnswer.REFUSED)


_BY_ERROR: Final = {
    errors.Forbidden: StorageAnswer.DENIED,
    errors.Expired: StorageAnswer.DENIED,
    errors.Full: StorageAnswer.FULL,
    errors.StoreAbsent: StorageAnswer.NO_BUCKET,
}
