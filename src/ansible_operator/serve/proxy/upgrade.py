# SPDX-License-Identifier: Apache-2.0
"""Upgraded connections (exec, attach, port-forward): bytes both ways once both sides agree.

SPDY and WebSocket alike: the proxy repeats the request on a connection of its own, and when the
API server answers 101 it does nothing but copy.
"""

import asyncio
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from multidict import CIMultiDict

from ansible_operator import metrics
from ansible_operator.errors import KubeError
from ansible_operator.kube.client import HttpClient, detect_dead_peer
from ansible_operator.serve.proxy.forward import HOP_BY_HOP, origin_form

CONNECT_TIMEOUT = 10.0
ANSWER_TIMEOUT = 60.0
"""Seconds until the API server has to agree; kubelets may first pull up a container's streams."""
CLOSING_TIMEOUT = 10.0
"""Seconds that one direction may outlive the other."""
LONGEST_HEAD = 1 << 16
CHUNK = 1 << 16
_OURS = frozenset({"host", "authorization", "connection", "proxy-connection", "content-length"})

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def wants_upgrade(request: web.BaseRequest) -> bool:
    """Whether the client requests another protocol on this connection."""
    names = request.headers.get("Connection", "").lower().split(",")
    return "Upgrade" in request.headers and "upgrade" in (name.strip() for name in names)


class _TakenOver(web.StreamResponse):
    """Lets aiohttp send nothing more on this connection."""

    async def prepare(self, request: web.BaseRequest) -> Any:  # noqa: ARG002
        """Send nothing."""
        self.force_close()

    async def write_eof(self, data: bytes = b"") -> None:
        """Send nothing."""


async def tunnel(client: HttpClient, request: web.BaseRequest) -> web.StreamResponse:
    """Relay one upgraded connection until both sides are done.

    Raises:
        KubeError: the API server could not be reached or did not answer in time.
    """
    try:
        reader, writer = await _dial(client)
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        raise KubeError(f"{request.method} {request.path}: {error or 'no connection'}") from error
    try:
        detect_dead_peer(writer.get_extra_info("socket"))
        writer.write(await _head(client, request))
        await writer.drain()
        async with asyncio.timeout(ANSWER_TIMEOUT):
            answer = await reader.readuntil(b"\r\n\r\n")
        code = int(answer.split(b" ", 2)[1])
        authority = urlsplit(client.access.server).netloc.rpartition("@")[2]
        metrics.REQUESTS.labels(str(code), authority, request.method).inc()
        if code != 101:
            return await _refusal(code, answer, reader)
        return await carry(request, answer, (reader, writer))
    except (OSError, TimeoutError, ValueError, IndexError, EOFError) as error:
        raise KubeError(f"{request.method} {request.path}: {error or 'no answer'}") from error
    except asyncio.LimitOverrunError as error:
        raise KubeError(f"{request.method} {request.path}: endless headers") from error
    finally:
        writer.close()


async def _dial(client: HttpClient) -> Streams:
    """A connection to the API server, through the forward proxy if there is one."""
    access = client.access
    target = urlsplit(access.server)
    port = target.port or (443 if access.ssl_context else 80)
    host = target.hostname or ""
    name = access.server_name or host
    async with asyncio.timeout(CONNECT_TIMEOUT):
        if not access.proxy:
            return await asyncio.open_connection(
                host,
                port,
                ssl=access.ssl_context,
                server_hostname=name if access.ssl_context else None,
                limit=LONGEST_HEAD,
            )
        proxy = urlsplit(access.proxy)
        reader, writer = await asyncio.open_connection(proxy.hostname, proxy.port or 3128)
        writer.write(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        if answer.split(b" ", 2)[1] != b"200":
            writer.close()
            raise ConnectionRefusedError(f"the forward proxy {proxy.hostname} refused")
        if access.ssl_context:
            await writer.start_tls(access.ssl_context, server_hostname=name)
        return reader, writer


async def _head(client: HttpClient, request: web.BaseRequest) -> bytes:
    target = urlsplit(client.access.server)
    headers = CIMultiDict(
        (name, value)
        for name, value in request.headers.items()
        if name.lower() not in _OURS and (name.lower() not in HOP_BY_HOP or name == "Upgrade")
    )
    headers["Upgrade"] = request.headers["Upgrade"]
    headers.update(await client.credentials())
    headers["Host"] = target.netloc.rpartition("@")[2]
    headers["Connection"] = "Upgrade"
    headers["Content-Length"] = "0"
    path = target.path.rstrip("/") + origin_form(request.raw_path)
    lines = [f"{request.method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _refusal(code: int, answer: bytes, reader: asyncio.StreamReader) -> web.StreamResponse:
    """An ordinary answer in place of 101: an error, most likely."""
    headers = CIMultiDict[str]()
    for line in answer.decode("latin-1").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip()] = value.strip()
    length = headers.get("Content-Length", "")
    async with asyncio.timeout(ANSWER_TIMEOUT):
        if headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = await _dechunk(reader)
        else:
            body = await reader.readexactly(min(int(length), 1 << 20)) if length else b""
    kept = {"Content-Type": headers.get("Content-Type", "application/json")}
    return web.Response(status=code, headers=kept, body=body)


async def _dechunk(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
        if len(body) > 1 << 20:
            break
    return body


async def carry(request: web.BaseRequest, answer: bytes, upstream: Streams) -> web.StreamResponse:
    """Take the client's connection away from aiohttp and join it with another one.

    Args:
        request: the client's request.
        answer: the head of the answer, sent as it is.
        upstream: the other connection; the caller closes it.
    """
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the client has disconnected")
    former = transport.get_protocol()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_HEAD, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    protocol.connection_made(transport)
    transport.set_protocol(protocol)
    if isinstance(transport, asyncio.Transport) and not transport.is_reading():
        transport.resume_reading()
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    try:
        writer.write(answer)
        await _join((reader, writer), upstream)
    finally:
        writer.close()
        # aiohttp no longer notices the connection's end by itself; it may as soon as this
        # request's task has ended.
        if request.task is not None:
            request.task.add_done_callback(lambda _: former.connection_lost(None))
    return _TakenOver()


async def _join(one: Streams, other: Streams) -> None:
    directions = {
        asyncio.create_task(_copy(one[0], other[1]), name="tunnel to the API server"),
        asyncio.create_task(_copy(other[0], one[1]), name="tunnel to the play"),
    }
    try:
        _, left = await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        if left:
            await asyncio.wait(left, timeout=CLOSING_TIMEOUT)
    finally:
        for direction in directions:
            direction.cancel()
        await asyncio.gather(*directions, return_exceptions=True)


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(CHUNK):
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
        else:
            sink.close()
    except OSError:
        sink.close()
