# SPDX-License-Identifier: Apache-2.0
"""Connections to an S3 server: credentials that may be renewed, bounded attempts, clear errors."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from . import errors

try:
    import botocore.config
    import botocore.exceptions
    import botocore.parsers
    import botocore.session
    import urllib3.exceptions

    HAS_BOTOCORE = True
except ImportError:  # reported when a bucket is opened
    HAS_BOTOCORE = False

ATTEMPTS: Final = 5
"""Of each request, with pauses that grow to 20 s (botocore's mode ``standard``)."""
CONNECT_SECONDS: Final = 5
_PIECE: Final = 1 << 16
_CHECKSUMS: Final = ("x-amz-checksum-", "x-amz-sdk-checksum-")
READ_SECONDS: Final = 60
"""Without a byte."""
ANSWER_SECONDS: Final = 600
"""In which an answer that is no object must have come."""
LARGEST_ANSWER: Final = 16 << 20
"""Bytes of an answer that is no object; a listing of 1,000 keys has about 1 MiB at most."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Static credentials.

    Attributes:
        access_key: the id.
        secret_key: never shown.
        session_token: of temporary credentials; never shown.
    """

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Server:
    """How to reach a server.

    Attributes:
        url: of the endpoint, with its scheme.
        region: that requests are signed for.
        by_path: whether the bucket is a part of the path, not of the host name.
        keys: returns the present credentials; None uses those of the Pod (workload identity,
            instance metadata). It is asked again when they have expired.
        ca_file: with the certificates that the server's is checked against; None for the usual.
        connections: at a time.
        attempts: of each request.
    """

    url: str
    region: str
    by_path: bool
    keys: Callable[[], Keys | None]
    ca_file: str | None = None
    connections: int = 8
    attempts: int = ATTEMPTS


class Connection:
    """A client of a server, replaced when the credentials are.

    Raises:
        MissingLibrary: botocore is not installed.
        Forbidden: there are no credentials.
    """

    def __init__(self, server: Server) -> None:
        if not HAS_BOTOCORE:
            raise errors.MissingLibrary("the Python package botocore is needed for buckets")
        self._server = server
        self._lock = Lock()
        self._keys = server.keys()
        self._session = botocore.session.Session()
        self._clients: dict[int, Any] = {}
        self._of(self._clients, server.attempts)

    @property
    def url(self) -> str:
        """The endpoint."""
        return self._server.url

    def call(
        self, what: str, operation: str, *, _attempts: int = 0, **parameters: Any
    ) -> dict[str, Any]:
        """Make a request.

        Args:
            what: it is about, for messages.
            operation: of the client, such as ``get_object``.
            parameters: of the operation; a body must be bytes, for it may be sent again.

        Raises:
            StoreError: the kind says why there is no answer.
        """
        clients, attempts = self._clients, _attempts or self._server.attempts
        try:
            with understood(what):
                return dict(getattr(self._of(clients, attempts), operation)(**parameters))
        except errors.Expired:
            if not self._renew(clients):
                raise
        with understood(what):
            return dict(getattr(self._of(self._clients, attempts), operation)(**parameters))

    def once(self, what: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """Make a request by one attempt: one that is repeated late may hit what came since.

        Args:
            what: it is about, for messages.
            operation: of the client.
            parameters: of the operation.

        Raises:
            StoreError: the kind says why there is no answer.
        """
        return self.call(what, operation, _attempts=1, **parameters)

    def _renew(self, used: Any) -> bool:
        """Replace the client if there are other credentials by now, and tell whether it is new."""
        with self._lock:
            if self._clients is not used:
                return True
            keys = self._server.keys()
            if keys == self._keys:
                return False
            self._keys = keys
            self._clients = {}
            return True

    def _of(self, clients: dict[int, Any], attempts: int) -> Any:
        """Return the client that makes so many attempts, which is opened when it is needed."""
        with self._lock:
            if attempts not in clients:
                clients[attempts] = self._client(attempts)
            return clients[attempts]

    def _client(self, attempts: int) -> Any:
        keys, server = self._keys, self._server
        config = botocore.config.Config(
            region_name=server.region,
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": attempts},
            max_pool_connections=server.connections,
            s3={"addressing_style": "path" if server.by_path else "virtual"},
            # Not every provider knows the checksums that botocore adds by default.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        with understood(server.url):
            client = self._session.create_client(
                "s3",
                endpoint_url=server.url,
                config=config,
                verify=server.ca_file,
                aws_access_key_id=keys and keys.access_key,
                aws_secret_access_key=keys and keys.secret_key,
                aws_session_token=keys and keys.session_token,
            )
        client.meta.events.register("before-sign.s3.DeleteObjects", _add_md5)
        endpoint = client._endpoint  # noqa: SLF001 - no setting of botocore bounds its answers
        endpoint.http_session = _Bounded(endpoint.http_session)
        return client


class _Bounded:
    """Sends requests, and reads answers that are no objects within limits of bytes and time.

    botocore would read them whole, whatever their length, as long as there is a byte a minute.

    Args:
        session: of botocore.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def send(self, request: Any) -> Any:
        """Send a request of botocore and return its response."""
        is_object, request.stream_output = request.stream_output, True
        response = self._session.send(request)
        if not is_object or response.status_code >= 300:
            response.raw = _Limited(response.raw)
        return response


class _Limited:
    """The body of a response, with its limits.

    Args:
        raw: of urllib3.
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def stream(self) -> Iterator[bytes]:
        """Yield the body in pieces.

        Raises:
            urllib3.exceptions.HTTPError: it is too long, or takes too long.
        """
        until, left = time.monotonic() + ANSWER_SECONDS, LARGEST_ANSWER
        while piece := self._raw.read1(_PIECE):
            left -= len(piece)
            if left < 0:
                raise urllib3.exceptions.HTTPError("the answer is too long")
            if time.monotonic() > until:
                raise urllib3.exceptions.HTTPError("the answer takes too long")
            yield piece

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


def _add_md5(request: Any, **_event: Any) -> None:
    """Replace the checksum of a request, which several stores do not know, by the older one.

    They refuse DeleteObjects without Content-MD5, which botocore no longer sends.
    """
    for name in [name for name in request.headers if name.lower().startswith(_CHECKSUMS)]:
        del request.headers[name]
    digest = hashlib.md5(request.body, usedforsecurity=False).digest()
    request.headers["Content-MD5"] = base64.b64encode(digest).decode()


@contextmanager
def understood(what: str) -> Iterator[None]:
    """Raise an error of botocore, or of a connection that it reads from, as one of ours."""
    try:
        yield
    except botocore.exceptions.ClientError as error:
        raise from_answer(what, error.response) from None
    except (
        botocore.exceptions.NoCredentialsError,
        botocore.exceptions.PartialCredentialsError,
        botocore.exceptions.CredentialRetrievalError,
    ) as error:
        raise errors.Forbidden(f"{what}: no usable credentials: {_told(error)}") from None
    except botocore.exceptions.SSLError as error:
        why = f"the certificate is not trusted: {_told(error)}"
        raise errors.Unreachable(f"{what}: {why}") from None
    except (
        botocore.exceptions.HTTPClientError,
        botocore.exceptions.ConnectionError,
        botocore.exceptions.IncompleteReadError,
        urllib3.exceptions.HTTPError,
        OSError,
    ) as error:
        raise errors.Unreachable(f"{what}: {_told(error)}") from None
    except (botocore.exceptions.BotoCoreError, ValueError) as error:
        raise errors.Refused(f"{what}: {_told(error)}") from None
    except (
        botocore.parsers.ResponseParserError,  # no BotoCoreError; it quotes the whole answer
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        why = f"the answer of the server cannot be understood ({type(error).__name__})"
        raise errors.Refused(f"{what}: {why}") from None


def _told(error: Exception) -> str:
    """Return what an error says; some quote the whole answer of the server."""
    return errors.shortened(str(error))


def from_answer(what: str, answer: dict[str, Any]) -> errors.StoreError:
    """Return the error that the answer of a server means.

    Args:
        what: the request was about.
        answer: parsed, with ``Error`` and the status; an answer without a body has the status
            as its code.
    """
    code = errors.shortened(str(answer.get("Error", {}).get("Code", "")))
    text = errors.shortened(str(answer.get("Error", {}).get("Message", "")))
    status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return errors.kind_of(code, status)(f"{what}: {text or 'refused'} ({code or status})")
