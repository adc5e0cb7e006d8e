# SPDX-License-Identifier: Apache-2.0
"""The HTTP session: what is sent again and what never is, credentials, errors in plain words."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from ansible_operator.errors import KubeError
from ansible_operator.kube.access import ClusterAccess
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.tokens import FileToken

Handler = Callable[[web.Request], web.Response]
PATH = "/api/v1/pods"


class Server:
    """Answers with a script, one entry per request; the last one repeats."""

    def __init__(self) -> None:
        self.script: list[web.Response | Callable[[], web.Response]] = []
        self.seen: list[web.Request] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        self.seen.append(request)
        await request.read()
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return answer() if callable(answer) else answer


def answer(status: int = 200, **headers: str) -> Callable[[], web.Response]:
    body = {"kind": "Status", "message": f"says {status}", "reason": "Reason", "details": {"a": 1}}
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda: web.json_response(body, status=status, headers=headers)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    scripted = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", scripted.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    scripted.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield scripted
    await runner.cleanup()


@pytest.fixture
async def client(server: Server) -> AsyncIterator[HttpClient]:
    async with HttpClient(ClusterAccess(server=server.url)) as session:
        yield session


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_reads_are_repeated(server: Server, client: HttpClient, status: int) -> None:
    server.script = [answer(status), answer(status), answer()]
    assert (await client.request("GET", PATH))["message"] == "says 200"
    assert len(server.seen) == 3


@pytest.mark.parametrize("status", [500, 502, 503, 504, 409, 404])
async def test_writes_are_not(server: Server, client: HttpClient, status: int) -> None:
    server.script = [answer(status), answer()]
    with pytest.raises(KubeError) as caught:
        await client.request("POST", PATH, body={})
    assert caught.value.status == status
    assert len(server.seen) == 1


async def test_a_refused_write_is_repeated_after_the_time_the_server_asks_for(
    server: Server, client: HttpClient
) -> None:
    server.script = [answer(429, Retry_After="1"), answer()]
    began = time.monotonic()
    await client.request("POST", PATH, body={})
    assert time.monotonic() - began >= 1
    assert len(server.seen) == 2


async def test_a_server_that_stays_broken_leads_to_its_own_error(
    server: Server, client: HttpClient
) -> None:
    server.script = [answer(500)]
    with pytest.raises(KubeError, match=r"GET /api/v1/pods: 500 says 500") as caught:
        await client.request("GET", PATH)
    assert caught.value.reason == "Reason"
    assert caught.value.details == {"a": 1}
    assert len(server.seen) == 5


async def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with HttpClient(ClusterAccess(server=f"http://127.0.0.1:{port}")) as session:
        with pytest.raises(KubeError) as caught:
            await session.request("POST", PATH, body={})
    assert caught.value.status == 0
    told = f"POST /api/v1/pods: cannot connect to 127.0.0.1:{port}: Connection refused"
    assert str(caught.value) == told


async def test_no_answer_in_time(server: Server, client: HttpClient) -> None:
    async def slow(_: web.Request) -> web.Response:
        await asyncio.sleep(5)
        return web.Response()

    server.handle = slow  # type: ignore[method-assign]
    app = web.Application()
    app.router.add_get("/slow", slow)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    access = ClusterAccess(server=f"http://127.0.0.1:{runner.addresses[0][1]}")
    async with HttpClient(access) as session:
        with pytest.raises(KubeError, match=r"no answer within 0\.2 s"):
            await session.request("GET", "/slow", timeout=0.2)
    await runner.cleanup()


async def test_a_read_on_a_dead_connection_is_sent_again_on_another(
    server: Server, client: HttpClient
) -> None:
    server.script = [answer()]
    usual, asked = server.handle, []

    async def first_is_lost(request: web.Request) -> web.Response:
        asked.append(request)
        if len(asked) == 1:
            await asyncio.sleep(5)
        return await usual(request)

    app = web.Application()
    app.router.add_get("/lost", first_is_lost)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    access = ClusterAccess(server=f"http://127.0.0.1:{runner.addresses[0][1]}")
    async with HttpClient(access) as session:
        found = await session.request("GET", "/lost", timeout=2.0)
    assert found["message"] == "says 200"
    assert len(asked) == 2
    await runner.cleanup()


async def test_the_kernel_notices_when_the_other_side_vanishes() -> None:
    async def watch(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.sleep(5)
        return response

    app = web.Application()
    app.router.add_get("/watch", watch)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    access = ClusterAccess(server=f"http://127.0.0.1:{runner.addresses[0][1]}")
    async with HttpClient(access) as session, await session.open("GET", "/watch") as response:
        connection = response.connection
        assert connection is not None
        assert connection.transport is not None
        used = connection.transport.get_extra_info("socket")
        assert used.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        idle = used.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
        interval = used.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL)
        assert idle + interval * used.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) <= 30
        assert used.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
    await runner.cleanup()


async def test_a_rotated_token_is_read_again_when_the_old_one_is_refused(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")
    server.script = [answer(), answer(401), answer()]
    access = ClusterAccess(server=server.url, token=FileToken(file))
    async with HttpClient(access) as session:
        await session.request("GET", PATH)
        file.write_text("new\n")
        await session.request("POST", PATH, body={})
    sent = [request.headers["Authorization"] for request in server.seen]
    assert sent == ["Bearer old", "Bearer old", "Bearer new"]


@pytest.mark.parametrize(
    ("body", "answers", "expected"),
    [
        (None, [401, 200], ["old", "old", "new"]),
        (b"{}", [401, 200], ["old", "old", "new"]),
        (None, [401], ["old", "old", "new"]),
        ("stream", [401, 200], ["old", "old"]),
    ],
)
async def test_watches_and_what_plays_send_renew_a_token_too(
    server: Server, tmp_path: Path, body: Any, answers: list[int], expected: list[str]
) -> None:
    """A body that streams cannot be sent twice; the next request has the new token."""
    file = tmp_path / "token"
    file.write_text("old\n")

    async def stream() -> AsyncIterator[bytes]:
        yield b"{}"

    server.script = [answer(), *map(answer, answers)]
    access = ClusterAccess(server=server.url, token=FileToken(file))
    async with HttpClient(access) as session:
        await session.request("GET", PATH)
        file.write_text("new\n")
        data = stream() if body == "stream" else body
        method = "GET" if body is None else "POST"
        async with await session.open(method, PATH, data=data) as response:
            assert response.status == (401 if body == "stream" else answers[-1])
        sent = [request.headers["Authorization"] for request in server.seen]
        assert sent == [f"Bearer {token}" for token in expected]
        async with await session.open("GET", PATH):
            assert server.seen[-1].headers["Authorization"] == "Bearer new"


async def test_a_token_that_is_refused_twice_is_an_error(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("bad")
    server.script = [answer(401)]
    async with HttpClient(ClusterAccess(server=server.url, token=FileToken(file))) as session:
        with pytest.raises(KubeError, match="401"):
            await session.request("GET", PATH)
    assert len(server.seen) == 2


class _SlowToken(FileToken):
    """A token that is read when the test says so."""

    def __init__(self) -> None:
        super().__init__(Path("unread"))
        self.asked, self.read = asyncio.Event(), asyncio.Event()

    async def token(self, *, renew: bool = False) -> str:
        self.asked.set()
        await self.read.wait()
        return "late"


async def test_a_request_under_way_when_the_client_is_closed_is_an_error_of_the_api(
    server: Server,
) -> None:
    """What else writes while the lease is lost ends as usual, and is not the reason of the end."""
    token = _SlowToken()
    async with HttpClient(ClusterAccess(server=server.url, token=token)) as session:
        request = asyncio.create_task(session.request("POST", PATH, body={}))
        await token.asked.wait()
        await session.close()
        token.read.set()
        with pytest.raises(KubeError, match="the client is closed"):
            await request
    assert not server.seen


async def test_who_we_are_and_what_we_send(server: Server) -> None:
    server.script = [answer()]
    access = ClusterAccess(server=server.url, username="me", password="secret")
    async with HttpClient(access) as session:
        await session.request(
            "PATCH", PATH, query={"a": "b c"}, body={"x": 1}, content_type="application/json-patch"
        )
    request = server.seen[0]
    assert request.headers["Authorization"].startswith("Basic ")
    assert request.headers["User-Agent"].startswith("ansible-operator/")
    assert request.headers["Content-Type"] == "application/json-patch"
    assert request.query["a"] == "b c"
    assert "secret" not in repr(access)


async def test_open_hands_over_any_status(server: Server, client: HttpClient) -> None:
    server.script = [answer(418)]
    response = await client.open("GET", "/x%2Fy?a=%20b")
    async with response:
        assert response.status == 418
    assert server.seen[0].raw_path == "/x%2Fy?a=%20b"
