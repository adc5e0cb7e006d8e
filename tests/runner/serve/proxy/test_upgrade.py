# SPDX-License-Identifier: Apache-2.0
"""Upgraded connections (exec, attach, port-forward) pass as raw bytes in both directions."""

import asyncio
import base64
import hashlib
import ssl

import aiohttp
import pytest

from ansible_operator.kube.access import ClusterAccess
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.kube.tokens import StaticToken
from ansible_operator.serve.certificates import self_signed, server_context
from ansible_operator.serve.interface import Owner, ProxyLimits
from ansible_operator.serve.proxy import LoopbackProxy
from tests.runner.serve.proxy.conftest import CONFIG_MAP, basic_of

EXEC = "/api/v1/namespaces/n/pods/p/exec?command=sh&stdin=true"


class Server:
    """Speaks just enough HTTP to switch protocols; then it sends back what it gets, in capitals."""

    def __init__(self):
        self.heads = []
        self.early = b""
        self.ended = asyncio.Event()

    async def handle(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        try:
            await self._answer(head, reader, writer)
        finally:
            writer.close()
            self.ended.set()

    async def _answer(self, head, reader, writer):
        if "/refused/" in head:
            body = b'{"kind":"Status","code":403}'
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            return
        if "/chunked/" in head:
            writer.write(b"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n")
            writer.write(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
            return
        if "/silent/" in head:
            return
        protocol = next(line for line in head.split("\r\n") if line.startswith("Upgrade:"))
        lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", protocol]
        if "Sec-WebSocket-Key: " in head:
            key = head.partition("Sec-WebSocket-Key: ")[2].partition("\r\n")[0]
            magic = (key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()
            accept = base64.b64encode(hashlib.sha1(magic).digest()).decode()  # noqa: S324
            lines.append(f"Sec-WebSocket-Accept: {accept}")
        # The first bytes of the new protocol may come with the answer's own packet.
        writer.write("\r\n".join([*lines, "", ""]).encode() + self.early)
        while data := await reader.read(1 << 16):
            writer.write(data.upper())
            await writer.drain()


@pytest.fixture(params=["http", "https"])
async def upstream(request):
    server = Server()
    pair = self_signed("localhost")
    context = server_context(pair) if request.param == "https" else None
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=context)
    server.url = f"{request.param}://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    server.trust = context and ssl.create_default_context(cadata=pair.certificate.decode())
    async with listening:
        yield server


@pytest.fixture
async def tunnelled(upstream, tmp_path):
    """The proxy in front of that server, and the header of a run."""
    access = ClusterAccess(upstream.url, ssl_context=upstream.trust, token=StaticToken("secret"))

    async def never(*_):
        raise AssertionError

    async with HttpClient(access) as client:
        mapper = DiscoveryMapper(client)
        async with (
            SharedInformers(client, mapper) as pool,
            LoopbackProxy(client, mapper, pool, add_dependent=never, port=0) as proxy,
        ):
            owner = Owner(CONFIG_MAP.gvk, "owner", "n", "u")
            session = proxy.open_session(owner, ProxyLimits(), tmp_path)
            yield upstream, proxy, session


async def dial(proxy, session, path=EXEC, protocol="SPDY/3.1", method="POST"):
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
        f"Upgrade: {protocol}\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n"
        f"Authorization: {basic_of(session)}\r\nContent-Length: 0\r\n\r\n".encode()
    )
    return reader, writer, (await reader.readuntil(b"\r\n\r\n")).decode()


@pytest.mark.parametrize("protocol", ["SPDY/3.1", "websocket"])
async def test_bytes_pass_both_ways(tunnelled, protocol):
    server, proxy, session = tunnelled
    server.early = b"<early>"
    reader, writer, head = await dial(proxy, session, protocol=protocol)
    assert head.startswith("HTTP/1.1 101 ")
    assert await reader.readexactly(7) == b"<early>"
    payload = bytes(range(97, 123)) * 50_000

    async def send():
        for start in range(0, len(payload), 70_000):
            writer.write(payload[start : start + 70_000])
            await writer.drain()

    sending = asyncio.create_task(send())
    assert await asyncio.wait_for(reader.readexactly(len(payload)), 20) == payload.upper()
    await sending
    writer.close()
    await asyncio.wait_for(server.ended.wait(), 15)
    [sent] = server.heads
    assert sent.startswith(f"POST {EXEC} HTTP/1.1\r\n")
    assert "Authorization: Bearer secret" in sent
    assert session.token not in sent
    assert "X-Stream-Protocol-Version: v4.channel.k8s.io" in sent


async def test_a_websocket_client_talks_through(tunnelled):
    server, proxy, session = tunnelled
    headers = {"Authorization": basic_of(session)}
    url = f"ws://127.0.0.1:{proxy.port}{EXEC}"
    async with aiohttp.ClientSession() as http, http.ws_connect(url, headers=headers) as socket:
        assert not socket.closed
    assert "Sec-WebSocket-Version: 13" in server.heads[0]


async def test_a_refusal_is_an_ordinary_answer(tunnelled):
    _, proxy, session = tunnelled
    path = EXEC.replace("/pods/p/", "/pods/refused/")
    reader, writer, head = await dial(proxy, session, path=path)
    assert head.startswith("HTTP/1.1 403 ")
    assert "application/json" in head
    assert await reader.readexactly(28) == b'{"kind":"Status","code":403}'
    writer.close()


async def test_a_chunked_refusal_is_understood(tunnelled):
    _, proxy, session = tunnelled
    path = EXEC.replace("/pods/p/", "/pods/chunked/")
    reader, writer, head = await dial(proxy, session, path=path)
    assert head.startswith("HTTP/1.1 400 ")
    assert await reader.readexactly(5) == b"abcde"
    writer.close()


async def test_no_answer_is_a_bad_gateway(tunnelled):
    _, proxy, session = tunnelled
    path = EXEC.replace("/pods/p/", "/pods/silent/")
    _, writer, head = await dial(proxy, session, path=path)
    assert head.startswith("HTTP/1.1 502 ")
    writer.close()


async def test_an_upgrade_needs_a_token_too(tunnelled):
    server, proxy, session = tunnelled
    proxy.close_session(session)
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(
        f"POST {EXEC} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
        "Upgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n".encode()
    )
    assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
    assert server.heads == []
    writer.close()


async def test_closing_the_session_cuts_the_connection(tunnelled):
    server, proxy, session = tunnelled
    reader, writer, _ = await dial(proxy, session)
    writer.write(b"x")
    assert await reader.readexactly(1) == b"X"
    proxy.close_session(session)
    assert await asyncio.wait_for(reader.read(), 5) == b""
    await asyncio.wait_for(server.ended.wait(), 5)
    writer.close()


async def test_stopping_the_proxy_cuts_the_connection(tunnelled):
    server, proxy, session = tunnelled
    reader, writer, _ = await dial(proxy, session)
    async with asyncio.timeout(5):
        await proxy.stop()
        assert await reader.read() == b""
        await server.ended.wait()
    writer.close()
