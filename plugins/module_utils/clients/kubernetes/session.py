# SPDX-License-Identifier: Apache-2.0
"""One HTTP session to one API server: JSON in, JSON out, kept alive between requests."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any, Protocol
from urllib.parse import urlencode

from .connection import HAS_KUBERNETES, connect, request_headers
from .documents import decode
from .errors import ApiError, BadConnection, Unavailable, error_from_answer

if HAS_KUBERNETES:
    from urllib3.exceptions import HTTPError

APPLY_PATCH = "application/apply-patch+yaml"
MERGE_PATCH = "application/merge-patch+json"
JSON = "application/json"

_NOT_SERVED = b"404 page not found"  # what an API server says of a kind that it does not have
_ADDED = "X-Applied-Metadata"  # header of the proxy of ansible-operator
_TRIES = 4
_FIRST_PAUSE = 0.2  # seconds; doubled from try to try
_LONGEST_PAUSE = 5.0  # seconds, also for what a server asks for with Retry-After


class Pool(Protocol):
    """What a session needs of urllib3's pool manager."""

    def request(self, method: str, url: str, **how: Any) -> Any:
        """Send a request and return the answer."""

    def clear(self) -> None:
        """Close all connections."""


class Session:
    """Requests to one API server with one set of credentials.

    Attributes:
        discovered: what the server said about its kinds, by ``apiVersion``; kept for the
            life of the session (see ``kinds``).
        added: by the path of an object that was read, what an operator's proxy adds to its
            metadata whenever it is applied: the owner that the play runs for.
    """

    def __init__(self, pool: Pool, configuration: Any, options: Mapping[str, Any]) -> None:
        self._pool = pool
        self._configuration = configuration
        self._options = options
        self.discovered: dict[str, dict[str, tuple[str, bool]]] = {}
        self.added: dict[str, dict[str, Any]] = {}

    def close(self) -> None:
        """Close connections that no request uses; a later request opens new ones."""
        self._pool.clear()

    def request(
        self,
        method: str,
        path: str,
        *,
        attempt: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
    ) -> Any:
        """Send one request and return the decoded answer.

        An overloaded server is asked again a few times, with growing pauses; so is one that
        does not answer, unless the request may have been carried out already (``POST``).

        Args:
            method: HTTP method.
            path: absolute path, e.g. ``/api/v1/namespaces/prod/pods``.
            attempt: what this tries to do, for messages.
            query: query parameters.
            body: object to send as JSON.
            content_type: of the body.

        Raises:
            ApiError: the server answered with an error.
            BadConnection: there was no answer.
        """
        for attempts_left in reversed(range(_TRIES)):
            pause = min(_FIRST_PAUSE * 2 ** (_TRIES - 1 - attempts_left), _LONGEST_PAUSE)
            try:
                return self._send(method, path, attempt, query, body, content_type)
            except Unavailable:
                if not attempts_left:
                    raise
            except BadConnection:
                if not attempts_left or method == "POST":
                    raise
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _send(
        self,
        method: str,
        path: str,
        attempt: str,
        query: Mapping[str, str] | None,
        body: Any,
        content_type: str,
    ) -> Any:
        headers = request_headers(self._configuration, self._options)
        headers["accept"] = JSON
        headers["user-agent"] = "matrixorigin.matrixone"
        url = f"{self._configuration.host}{path}"
        if query:
            url += f"?{urlencode(query)}"
        data = None
        if body is not None:
            headers["content-type"] = content_type
            data = json.dumps(body, separators=(",", ":")).encode()
        try:
            answer = self._pool.request(
                method, url, body=data, headers=headers, retries=False, timeout=60.0
            )
        except (HTTPError, OSError, HTTPException) as error:
            raise BadConnection(f"{attempt}: {self._configuration.host}: {error}") from error
        if method == "GET" and _ADDED in answer.headers:
            self.added[path] = json.loads(answer.headers[_ADDED])
        return _decode(method, attempt, answer.status, answer.data)


def _decode(method: str, attempt: str, status: int, data: bytes) -> Any:
    """Return the object in an answer; that to a change may be empty.

    Raises:
        ApiError: the server answered with an error, or with something else than an object.
    """
    try:
        body = decode(data) if data else {}
    except ValueError:
        body = None
    if status == 404 and body is None and data.strip() != _NOT_SERVED:
        # Something in between has no way to the API server; what exists there, it does not know.
        raise ApiError(f"{attempt}: HTTP status 404, which no API server answered", status, "", [])
    if status >= 400:
        raise error_from_answer(attempt, status, body)
    if not isinstance(body, dict) or (method == "GET" and not data):
        what = "not JSON" if body is None else "no object"
        raise ApiError(f"{attempt}: the answer is {what}", status, "", [])
    return body


@contextmanager
def brief_session(options: Mapping[str, Any]) -> Iterator[Session]:
    """Yield a session of its own, whose connections are closed at the end.

    Args:
        options: as ``connection.resolve_options`` returns them.

    Raises:
        MissingLibrary: the ``kubernetes`` package is not installed.
        BadConnection: the options lead nowhere.
    """
    configuration, pool = connect(options)
    try:
        yield Session(pool, configuration, options)
    finally:
        pool.clear()


_MOST_SESSIONS = 4
"""Connections to so many servers, or with so many credentials, are kept open."""
_sessions: dict[tuple[int, str], Session] = {}


def open_session(options: Mapping[str, Any]) -> Session:
    """Return the session of this process for these options; the first call connects.

    Args:
        options: as ``connection.resolve_options`` returns them.

    Raises:
        MissingLibrary: the ``kubernetes`` package is not installed.
        BadConnection: the options lead nowhere.
    """
    # A forked process must not share its parent's sockets, hence the process id in the key.
    key = (os.getpid(), json.dumps(options, sort_keys=True, default=str))
    if key not in _sessions:
        # A process may serve one run after the other, each with a token of its own.
        while len(_sessions) >= _MOST_SESSIONS:
            oldest = next(iter(_sessions))
            session = _sessions.pop(oldest)  # ansible-operator: kept, for the token in the key
            if oldest[0] == os.getpid():
                session.close()
        configuration, pool = connect(options)
        _sessions[key] = Session(pool, configuration, options)  # ansible-operator: kept, as above
    return _sessions[key]
