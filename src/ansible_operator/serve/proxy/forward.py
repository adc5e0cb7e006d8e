# SPDX-License-Identifier: Apache-2.0
"""Forwards requests to the API server and its answers to the play, streaming what streams."""

from collections.abc import AsyncIterator, Iterable

import aiohttp
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy

from ansible_operator.errors import OperatorError
from ansible_operator.kube.client import HttpClient

LARGEST_BUFFERED = 4 << 20
"""Longest answer in bytes that is held to be read; longer ones stream unread."""
LARGEST_BODY = 16 << 20
"""Bytes of a request body that the proxy is willing to read as a whole (the API server takes 3)."""

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NOT_FORWARDED = HOP_BY_HOP | {"host", "authorization", "accept-encoding", "expect"}


class BodyTooLargeError(OperatorError):
    """A body is longer than any API server accepts."""


def origin_form(target: str) -> str:
    """Path and query of a request's target, which names the server too when we act as a proxy."""
    if target.startswith("/"):
        return target
    _, _, rest = target.partition("://")
    return "/" + rest.partition("/")[2]


def request_headers(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The headers of a play that the API server gets.

    The play's credentials stay here. Answers are requested uncompressed: they travel over
    loopback afterwards, and plays would only unpack them again.
    """
    dropped = _NOT_FORWARDED | _named(headers.getall("Connection", ()))
    kept = CIMultiDict((k, v) for k, v in headers.items() if k.lower() not in dropped)
    kept["Accept-Encoding"] = "identity"
    return kept


def response_headers(upstream: aiohttp.ClientResponse) -> CIMultiDict[str]:
    """The headers of the API server that a play gets."""
    dropped = HOP_BY_HOP | _named(upstream.headers.getall("Connection", ()))
    if "Content-Encoding" in upstream.headers:
        # The client has unpacked the body already.
        dropped |= {"content-encoding", "content-length"}
    return CIMultiDict((k, v) for k, v in upstream.headers.items() if k.lower() not in dropped)


def _named(values: Iterable[str]) -> frozenset[str]:
    return frozenset(name.strip().lower() for value in values for name in value.split(","))


async def continue_if_expected(request: web.BaseRequest) -> None:
    """Answer ``100 Continue`` to a client that waits for it before it sends its body."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # That was not part of the answer: aiohttp must not assume that it has started.
        request.writer.output_size = 0


async def read_body(request: web.BaseRequest) -> bytes:
    """The whole body of a request.

    Raises:
        BodyTooLargeError: it is longer than :data:`LARGEST_BODY`.
    """
    await continue_if_expected(request)
    parts, size = [], 0
    while part := await request.content.readany():
        size += len(part)
        if size > LARGEST_BODY:
            raise BodyTooLargeError(f"the body is longer than {LARGEST_BODY} bytes")
        parts.append(part)
    return b"".join(parts)


async def _chunks(request: web.BaseRequest) -> AsyncIterator[bytes]:
    await continue_if_expected(request)
    while part := await request.content.readany():
        yield part


class Forwarder:
    """Sends requests with the operator's credentials."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def send(
        self, request: web.BaseRequest, body: bytes | None = None, *, prefer_json: bool = False
    ) -> aiohttp.ClientResponse:
        """Forward a request and return the open answer.

        Args:
            request: the play's request.
            body: what replaces its body; None passes the body through unchanged.
            prefer_json: request JSON, which the proxy can read, if the play takes it at all.

        Raises:
            KubeError: the API server could not be reached.
        """
        headers = request_headers(request.headers)
        accept = headers.get("Accept", "")
        if prefer_json and "as=" not in accept and ("json" in accept or "*/*" in accept):
            headers["Accept"] = "application/json"
        data: object = body
        if body is not None:
            headers.popall("Content-Length", None)
            headers.popall("Content-Encoding", None)
        elif request.body_exists:
            if headers.popall("Content-Encoding", None):
                headers.popall("Content-Length", None)  # it was unpacked on arrival
            data = _chunks(request)
        if data is not None:
            # Without one aiohttp would name a type of its own; the API server assumes JSON.
            headers.setdefault("Content-Type", "application/json")
        return await self._client.open(
            request.method, origin_form(request.raw_path), headers=headers, data=data
        )

    async def relay(
        self, request: web.BaseRequest, upstream: aiohttp.ClientResponse, *, hold: bool
    ) -> tuple[web.StreamResponse, bytes | None]:
        """Relay an answer to the play.

        Args:
            request: the play's request.
            upstream: the open answer.
            hold: read it as a whole first, if it is short enough; False streams from the start.

        Returns:
            The response and, if it was held, its body.
        """
        async with upstream:
            parts: list[bytes] = []
            if hold and request.method != "HEAD":
                size, is_complete = 0, False
                while size <= LARGEST_BUFFERED and not is_complete:
                    part = await upstream.content.readany()
                    is_complete = not part
                    parts.append(part)
                    size += len(part)
                if is_complete:
                    body = b"".join(parts)
                    return _whole(upstream, body), body
            return await _stream(request, upstream, parts), None


def _whole(upstream: aiohttp.ClientResponse, body: bytes) -> web.Response:
    headers = response_headers(upstream)
    headers.popall("Content-Length", None)  # web.Response counts for itself
    return web.Response(status=upstream.status, reason=upstream.reason, headers=headers, body=body)


async def _stream(
    request: web.BaseRequest, upstream: aiohttp.ClientResponse, begun: Iterable[bytes]
) -> web.StreamResponse:
    response = web.StreamResponse(
        status=upstream.status, reason=upstream.reason, headers=response_headers(upstream)
    )
    await response.prepare(request)
    if request.method == "HEAD":
        return response
    for part in begun:
        await response.write(part)
    try:
        async for chunk in upstream.content.iter_any():
            await response.write(chunk)
    except aiohttp.ClientError:
        # The answer broke off; ours must too, or the play would take it for complete.
        if request.transport is not None:
            request.transport.abort()
    return response
