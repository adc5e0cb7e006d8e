# SPDX-License-Identifier: Apache-2.0
"""Go clients use the proxy as a forward proxy, for itself alone (see ``serve.proxy.connect``)."""

import asyncio
import json

import pytest

from ansible_operator.serve.interface import Owner
from tests.runner.serve.proxy.conftest import basic_of

pytestmark = pytest.mark.api


async def ask(streams, text):
    """Status and body of one raw request on an open connection."""
    reader, writer = streams
    writer.write(text.replace("\n", "\r\n").encode())
    async with asyncio.timeout(10):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        status, length = int(head.split()[1]), 0
        for line in head.lower().split("\r\n"):
            if line.startswith("content-length:"):
                length = int(line.split(":")[1])
        return status, await reader.readexactly(length)


@pytest.fixture
async def streams(served):
    reader, writer = await asyncio.open_connection("127.0.0.1", served.proxy.port)
    yield reader, writer
    writer.close()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
async def test_absolute_targets_are_understood(served, streams, host):
    session = served.open()
    target = f"http://{host}:{served.proxy.port}{served.path('owner')}?pretty=true"
    text = f"GET {target} HTTP/1.1\nHost: x\nProxy-Authorization: {basic_of(session)}\n\n"
    status, body = await ask(streams, text)
    assert (status, json.loads(body)["metadata"]["uid"]) == (200, served.owner.uid)


async def test_other_servers_are_refused(served, streams):
    proven = f"Proxy-Authorization: {basic_of(served.open())}\n"
    for target in ("http://example.com/api", "http://localhost:1/api", "http://10.0.0.1/"):
        status, _ = await ask(streams, f"GET {target} HTTP/1.1\nHost: x\n{proven}\n")
        assert status == 400


@pytest.mark.parametrize("target", ["example.com:443", "localhost:1", "127.0.0.1:22"])
async def test_connections_lead_to_the_proxy_alone(served, streams, target):
    proven = f"Proxy-Authorization: {basic_of(served.open())}\n"
    status, body = await ask(streams, f"CONNECT {target} HTTP/1.1\nHost: {target}\n{proven}\n")
    assert (status, json.loads(body)["reason"]) == (403, "Forbidden")


def connect(served, *headers):
    lines = [f"CONNECT localhost:{served.proxy.port} HTTP/1.1", "Host: x", *headers, "", ""]
    return "\n".join(lines)


def get(served, *headers):
    return "\n".join([f"GET {served.path('owner')} HTTP/1.1", "Host: x", *headers, "", ""])


async def test_a_proven_connection_needs_no_further_proof(served, streams):
    session = served.open()
    proof = f"Proxy-Authorization: {basic_of(session)}"
    assert (await ask(streams, connect(served, proof)))[0] == 200
    for _ in range(2):
        assert (await ask(streams, get(served)))[0] == 200
    served.proxy.close_session(session)
    assert await asyncio.wait_for(streams[0].read(), 5) == b""


async def test_credentials_of_a_request_come_first(served, streams):
    other = served.open(Owner(served.owner.gvk, "other", served.namespace, "u-2"))
    proof = f"Proxy-Authorization: {basic_of(served.open())}"
    assert (await ask(streams, connect(served, proof)))[0] == 200
    assert (await ask(streams, get(served, f"Authorization: {basic_of(other)}")))[0] == 200
    served.proxy.close_session(other)
    assert (await ask(streams, get(served, "Authorization: Basic eDp4")))[0] == 401


async def test_a_connection_without_proof_proves_nothing(served, streams):
    assert (await ask(streams, connect(served)))[0] == 200
    assert (await ask(streams, get(served)))[0] == 401
    proof = f"Authorization: {basic_of(served.open())}"
    assert (await ask(streams, get(served, proof)))[0] == 200


async def test_a_false_proof_is_refused(served, streams):
    status, body = await ask(streams, connect(served, "Proxy-Authorization: Basic eDp4"))
    assert status == 407
    assert "token is unknown" in json.loads(body)["message"]
