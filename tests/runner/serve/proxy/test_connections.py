# SPDX-License-Identifier: Apache-2.0
"""HTTP between play and proxy: who hangs up, who waits, what is not passed on."""

import asyncio
import json

import aiohttp
import pytest
from aiohttp import web

from ansible_operator.kube.access import ClusterAccess
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.tokens import StaticToken
from ansible_operator.serve.interface import ProxyLimits
from ansible_operator.serve.proxy import LoopbackProxy
from tests.runner.serve.proxy.conftest import basic_of, config_map

pytestmark = pytest.mark.api


async def test_a_client_that_hangs_up_ends_its_watch(served):
    session = served.open()
    url = f"http://127.0.0.1:{served.proxy.port}{served.path()}?watch=true"
    [grant] = served.proxy._sessions._grants.values()
    headers = {"Authorization": basic_of(session)}
    async with aiohttp.ClientSession() as http, http.get(url, headers=headers) as answer:
        await answer.content.readline()
        assert len(grant.tasks) == 1
    async with asyncio.timeout(5):
        while grant.tasks:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_a_client_may_wait_for_leave_to_send(served):
    session = served.open()
    body = json.dumps(config_map("patient")).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", served.proxy.port)
    writer.write(
        f"POST {served.path()} HTTP/1.1\r\nHost: x\r\nAuthorization: {basic_of(session)}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "Expect: 100-continue\r\n\r\n".encode()
    )
    async with asyncio.timeout(5):
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(body)
        assert (await reader.readline()).startswith(b"HTTP/1.1 201 ")
    writer.close()


async def test_head_has_no_body(served):
    answer = await served.request(served.open(), "HEAD", "/healthz")
    assert (answer.status, answer.headers["Content-Length"], answer.body) == (200, "2", b"")


@pytest.fixture
async def spied(served):
    """The proxy in front of a server that tells what it is sent."""

    async def tell(request):
        if request.path == "/broken":
            response = web.StreamResponse(headers={"Content-Length": "100"})
            await response.prepare(request)
            await response.write(b"only this")
            request.transport.abort()
            return response
        if request.path == "/packed":
            response = web.Response(text="x" * 5000)
            response.enable_compression(web.ContentCoding.gzip)
            return response
        return web.json_response(
            {
                "path": request.raw_path,
                "headers": {k.lower(): v for k, v in request.headers.items()},
            }
        )

    async def never(*_):
        raise AssertionError

    runner = web.ServerRunner(web.Server(tell))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    access = ClusterAccess(
        f"http://127.0.0.1:{runner.addresses[0][1]}", token=StaticToken("operator-token")
    )
    async with HttpClient(access) as client:
        mapper = DiscoveryMapper(client)
        async with LoopbackProxy(client, mapper, served.pool, add_dependent=never, port=0) as proxy:
            session = proxy.open_session(served.owner, ProxyLimits(), served.directory)

            async def fetch(path, **headers):
                headers["Authorization"] = basic_of(session)
                url = f"http://127.0.0.1:{proxy.port}{path}"
                async with served.http.get(url, headers=headers) as answer:
                    return answer.headers, await answer.read()

            yield fetch
    await runner.cleanup()


async def test_credentials_of_the_play_stay_here(spied):
    _, body = await spied("/healthz/x%2Fy?a=b%20c", **{
        "Proxy-Authorization": "Basic zzz", "Keep-Alive": "5", "TE": "trailers",
        "Connection": "X-Private", "X-Private": "1", "X-Public": "2",
    })  # fmt: skip
    told = json.loads(body)
    assert told["path"] == "/healthz/x%2Fy?a=b%20c"
    headers = told["headers"]
    assert headers["authorization"] == "Bearer operator-token"
    assert headers["x-public"] == "2"
    assert headers["accept-encoding"] == "identity"
    assert not {"proxy-authorization", "keep-alive", "te", "x-private"} & headers.keys()


async def test_an_answer_that_breaks_off_breaks_off_here_too(spied):
    with pytest.raises(aiohttp.ClientPayloadError):
        await spied("/broken")


async def test_an_answer_packed_without_being_asked_is_unpacked(spied):
    headers, body = await spied("/packed")
    assert body == b"x" * 5000
    assert "Content-Encoding" not in headers
