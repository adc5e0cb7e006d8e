# SPDX-License-Identifier: Apache-2.0
"""The HTTP session to the API server: keep-alive, credentials, careful retries, counted requests.

A request is sent again only when that cannot have an effect twice: reads after any failure, writes
when no connection could be made or the server refused them with 429.
"""

import asyncio
import contextlib
import functools
import os
import platform
import random
import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
import msgspec
from yarl import URL

from ansible_operator import metrics
from ansible_operator.errors import KubeError
from ansible_operator.kube.access import ClusterAccess
from ansible_operator.kube.documents import (
    UnreadableAnswerError,
    cut,
    decode,
    read_object,
)
from ansible_operator.kube.interface import Object
from ansible_operator.nesting import OBJECT_LEVELS
from ansible_operator.version import VERSION

USER_AGENT = f"ansible-operator/{VERSION} ({platform.system().lower()}/{platform.machine()})"
CONNECT_TIMEOUT = 10.0
ATTEMPTS = 5
FIRST_DELAY = 0.1
LONGEST_DELAY = 10.0
LONGEST_MESSAGE = 4096
"""Characters of what a server says in an error."""
CONNECTIONS = 100
LONGEST_SILENCE = 15.0
"""Seconds without a byte after which a read is sent again on another connection."""
DEAD_SECONDS = 30
"""Seconds after which the kernel gives up a connection whose other side has vanished."""
_KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
T = TypeVar("T")
_READS = frozenset({"GET", "HEAD"})
_RETRYABLE_STATUSES = frozenset({429, 500, 502, 503, 504})


class HttpClient:
    """One authenticated HTTP session to one API server; use as a context."""

    def __init__(self, access: ClusterAccess, *, user_agent: str = USER_AGENT) -> None:
        self.access = access
        self._base = URL(access.server)
        self._agent = user_agent
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(
            limit=0, limit_per_host=0, keepalive_timeout=60, socket_factory=_watchful_socket
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=True,
            headers={"User-Agent": self._agent},
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self._slots = asyncio.Semaphore(CONNECTIONS)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        timeout: float = 30.0,
        accept: str = "application/json",
    ) -> dict[str, Any]:
        """Send one request and return the answer, a JSON object; an empty one for no content.

        What is nested too deep is left out of it, but for the items of a list, which are to be read
        with ``documents.read_object``.

        Args:
            method: HTTP method.
            path: see ``names.api_path``.
            query: parameters.
            body: what becomes JSON.
            content_type: of the body.
            timeout: seconds for all attempts together.
            accept: type of the answer.

        Raises:
            KubeError: for every status of 400 and above, and when no answer came, or one that is
                not JSON.
        """
        answer = await self._request(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            timeout=timeout,
            accept=accept,
        )
        if not isinstance(answer.get("items"), list):
            cut(answer, OBJECT_LEVELS)
        return answer

    async def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        timeout: float = 30.0,
        accept: str = "application/json",
    ) -> dict[str, Any]:
        """Send one request and return the answer, as deep as it came."""
        url = URL(self.access.server + path, encoded=True)
        url = url.with_query(query) if query else url
        what = f"{method} {path}"
        data = None if body is None else _encoded(what, body)
        headers = {"Accept": accept}
        if data is not None:
            headers["Content-Type"] = content_type
        try:
            async with asyncio.timeout(timeout), self._slots:
                return await self._attempts(what, method, url, headers, data, timeout)
        except TimeoutError as error:
            raise KubeError(f"{what}: no answer within {timeout:g} s") from error

    async def request_object(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content_type: str = "application/json",
        timeout: float = 30.0,
        accept: str = "application/json",
    ) -> Object:
        """Send one request whose answer is an object with metadata; see :meth:`request`.

        Raises:
            KubeError: as there, and for an answer of another shape.
        """
        answer = await self._request(
            method, path, body=body, content_type=content_type, timeout=timeout, accept=accept
        )
        try:
            return read_object(answer)
        except UnreadableAnswerError as error:
            raise KubeError(f"{method} {path}: {error}") from error

    async def _attempts(
        self,
        what: str,
        method: str,
        url: URL,
        headers: dict[str, str],
        data: bytes | None,
        timeout: float,
    ) -> dict[str, Any]:
        renewed = False
        silence = min(LONGEST_SILENCE, timeout / 2) if method in _READS else None
        for attempt in range(ATTEMPTS):
            try:
                response = await self._send(
                    method, url, headers, data, read_timeout=silence, renew=renewed
                )
                async with response:
                    payload = await response.read()
            except aiohttp.ClientError as error:
                sent = not isinstance(error, aiohttp.ClientConnectorError)
                if attempt + 1 == ATTEMPTS or (sent and method not in _READS):
                    raise KubeError(f"{what}: {_reason(error)}") from error
                await asyncio.sleep(_delay(attempt))
                continue
            if response.status == 401 and not renewed and self.access.token is not None:
                renewed = True
                continue
            if response.status < 400:
                return _document(what, payload)
            failure = kube_error(what, response.status, response.headers, payload)
            if attempt + 1 == ATTEMPTS or not _may_repeat(method, failure):
                raise failure
            await asyncio.sleep(failure.retry_after or _delay(attempt))
        raise KubeError(f"{what}: the server does not accept our token", status=401)

    async def open(
        self,
        method: str,
        path_and_query: str,
        *,
        headers: Mapping[str, str] | None = None,
        data: Any = None,
        read_timeout: float | None = None,
    ) -> aiohttp.ClientResponse:
        """Send a request as it is and return the open response, whatever its status.

        A token that the server refuses is renewed; with a body that streams, which cannot be sent
        again, for the next request.

        Args:
            method: HTTP method.
            path_and_query: what follows the host, already percent-encoded.
            headers: headers to send besides the credentials.
            data: body, as aiohttp takes it.
            read_timeout: seconds without a byte after which reading fails; None for no limit.

        Raises:
            KubeError: the server could not be reached.
        """
        url = URL(self.access.server + path_and_query, encoded=True)
        try:
            response = await self._send(method, url, headers or {}, data, read_timeout=read_timeout)
            if response.status != 401 or self.access.token is None:
                return response
            if data is not None and not isinstance(data, bytes):
                with contextlib.suppress(KubeError):
                    await self.access.token.token(renew=True)
                return response
            response.release()
            return await self._send(
                method, url, headers or {}, data, read_timeout=read_timeout, renew=True
            )
        except (aiohttp.ClientError, TimeoutError) as error:
            path = path_and_query.partition("?")[0]
            raise KubeError(f"{method} {path}: {_reason(error)}") from error

    async def _send(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        data: Any,
        *,
        read_timeout: float | None = None,
        renew: bool = False,
    ) -> aiohttp.ClientResponse:
        access = self.access
        sent = {**headers, **await self.credentials(renew=renew)}
        if self._session is None:
            raise KubeError(f"{method} {url.path}: the client is closed")
        response = await self._session.request(
            method,
            url,
            data=data,
            headers=sent,
            ssl=access.ssl_context if access.ssl_context is not None else True,
            server_hostname=access.server_name or None,
            proxy=access.proxy or None,
            allow_redirects=False,
            timeout=_timeout(read_timeout),
        )
        metrics.REQUESTS.labels(str(response.status), self._base.authority, method).inc()
        return response

    async def credentials(self, *, renew: bool = False) -> dict[str, str]:
        """The headers that authenticate us; for upgraded connections (exec, port-forward) too."""
        access = self.access
        if access.token is not None:
            return {"Authorization": f"Bearer {await access.token.token(renew=renew)}"}
        if access.username:
            return {"Authorization": aiohttp.encode_basic_auth(access.username, access.password)}
        return {}


@functools.cache
def _timeout(read_timeout: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=read_timeout)


def _reason(error: Exception) -> str:
    """Why no answer came, for messages; what a peer sent in place of HTTP is quoted in part."""
    if isinstance(error, aiohttp.ClientSSLError):
        return f"{type(error).__name__}: {error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        why = os.strerror(cause.errno) if cause.errno and cause.errno > 0 else str(cause)
        return f"cannot connect to {error.host}:{error.port}: {why}"
    return f"{type(error).__name__}: {error}".removesuffix(": ")[:LONGEST_MESSAGE]


def _watchful_socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol = address[:3]
    created = socket.socket(family, kind, protocol)
    detect_dead_peer(created)
    return created


def detect_dead_peer(connection: Any) -> None:
    """Have the kernel detect when the peer of a TCP socket vanishes without closing it.

    A node that loses power or a firewall that forgets a connection sends nothing: without this, a
    watch would stay silent for minutes, and a request on a kept connection until its deadline.
    """
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_SECONDS * 1000)


def _delay(attempt: int) -> float:
    """Seconds to wait before the next attempt: doubled each time, half of it random."""
    full: float = min(FIRST_DELAY * 2**attempt, LONGEST_DELAY)
    return full * (0.5 + random.random() / 2)  # noqa: S311


def _encoded(what: str, body: Any) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (ValueError, RecursionError) as error:
        raise KubeError(f"{what}: the body cannot be written as JSON: {error}") from error


def _document(what: str, payload: bytes) -> dict[str, Any]:
    try:
        return decode(payload) if payload else {}
    except UnreadableAnswerError as error:
        raise KubeError(f"{what}: {error}") from error


def _may_repeat(method: str, failure: KubeError) -> bool:
    if failure.status == 429 or (failure.status == 503 and failure.retry_after is not None):
        return True
    return method in _READS and failure.status in _RETRYABLE_STATUSES


def kube_error(what: str, status: int, headers: Mapping[str, str], payload: bytes) -> KubeError:
    """Turn an answer of 400 and above into an error with the server's own words."""
    try:
        answer = decode(payload)
    except UnreadableAnswerError:
        answer = {}
    message = answer.get("message") or payload[:200].decode(errors="replace").strip()
    wait = headers.get("Retry-After", "")
    return KubeError(
        f"{what}: {status} {str(message)[:LONGEST_MESSAGE]}",
        status=status,
        reason=_typed(answer.get("reason"), str) or "",
        details=_typed(answer.get("details"), dict),
        retry_after=min(float(wait), LONGEST_DELAY) if _is_count(wait) else None,
    )


def _typed(value: Any, kind: type[T]) -> T | None:
    return value if isinstance(value, kind) else None


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit()
