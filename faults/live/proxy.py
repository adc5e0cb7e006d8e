# SPDX-License-Identifier: Apache-2.0
"""A proxy between one client and the API server: it counts, stops the client, and disturbs.

It speaks plain HTTP on the loopback interface, and has the client's credentials itself.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

from ansible_operator.kube.access import ClusterAccess, from_kubeconfig
from faults.live.disturbing import HOSTILE, Disturbance, Disturbances, Flavour
from faults.live.garbling import garbled, misshapen, misshapen_event
from tests.support import hostile

Json = dict[str, Any]
_NOT_PASSED_ON = frozenset(
    {
        "host", "authorization", "accept-encoding", "content-length", "transfer-encoding",
        "connection", "keep-alive", "content-encoding", "date", "server",
    }
)  # fmt: skip
_NOT_COUNTED = ("/leases", "/events", "reviews")
"""Parts of paths that are written all the time, or change nothing."""
_MOST_PAST = 8
_START_SECONDS = 10.0
_HELD_SECONDS = 1.0
_BODY_LIMIT = 1 << 26


@dataclass(frozen=True)
class Request:
    """A request that came.

    Attributes:
        at: when (monotonic seconds).
        method: HTTP method, ``WATCH`` for a watch.
        path: without its query.
    """

    at: float
    method: str
    path: str

    @property
    def kind(self) -> str:
        """The plural of the kind that it is about; the path itself if it is about none."""
        parts = self.path.strip("/").split("/")
        rest = parts[{"api": 2, "apis": 3}.get(parts[0], len(parts)) :]
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            rest = rest[2:]
        return rest[0] if rest else self.path


class ApiProxy:
    """A proxy, running while it is used as a context.

    Attributes:
        requests: all that came.
        written: when (monotonic seconds) it wrote what counts; see `writes`.
        created: objects that were created, by plural, namespace and name.
        removed: objects whose deletion was requested, likewise.
        after_write: called after each of these writes and before its answer is passed on; the
            client gets none if it returns True.

    Args:
        kubeconfig: of the API server, with the credentials to use.
    """

    def __init__(self, kubeconfig: Path) -> None:
        self.requests: list[Request] = []
        self.written: list[float] = []
        self.created: Counter[str] = Counter()
        self.removed: Counter[str] = Counter()
        self._disturbances: Disturbances | None = None
        self._open: set[asyncio.Transport] = set()
        self.after_write: Callable[[int], bool] | None = None
        self._access: ClusterAccess = from_kubeconfig([kubeconfig])
        self._past: dict[str, list[tuple[int, dict[str, str], bytes]]] = {}
        self._port = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end = asyncio.Event()

    def kubeconfig(self, file: Path) -> Path:
        """Write a kubeconfig of this proxy."""
        named = {"name": "proxy"}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{**named, "cluster": {"server": f"http://127.0.0.1:{self._port}"}}],
            "contexts": [{**named, "context": {"cluster": "proxy"}}],
            "current-context": "proxy",
        }
        file.write_text(yaml.safe_dump(content))
        return file

    @property
    def disturbances(self) -> Disturbances | None:
        """What happens to requests; None for nothing. Watches that are open end when it is set."""
        return self._disturbances

    @disturbances.setter
    def disturbances(self, chosen: Disturbances | None) -> None:
        self._disturbances = chosen
        if chosen is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._end_watches)

    def _end_watches(self) -> None:
        for transport in tuple(self._open):
            transport.abort()

    @property
    def writes(self) -> int:
        """How many writes the API server has carried out, but for Leases, Events and reviews."""
        return len(self.written)

    def since(self, moment: float) -> list[Request]:
        """Return the requests that came after a moment (monotonic seconds)."""
        return [one for one in self.requests if one.at >= moment]

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise TimeoutError("the proxy does not start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(_START_SECONDS)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            app = web.Application(client_max_size=_BODY_LIMIT)

            async def handle(request: web.Request) -> web.StreamResponse:
                return await self._handle(session, request)

            app.router.add_route("*", "/{path:.*}", handle)
            runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self._port = runner.addresses[0][1]
            self._ready.set()
            await self._end.wait()
            await runner.cleanup()

    async def _handle(
        self, session: aiohttp.ClientSession, request: web.Request
    ) -> web.StreamResponse:
        is_watch = request.query.get("watch") in {"true", "1"}
        method = "WATCH" if is_watch else request.method
        self.requests.append(Request(time.monotonic(), method, request.path))
        chosen = None
        if self.disturbances is not None:
            chosen = self.disturbances.next(request.method, request.path, is_watch)
        if chosen is not None:
            early = await self._instead(request, chosen)
            if early is not None:
                return early
        try:
            answer = await self._forward(session, request)
        except (aiohttp.ClientError, ConnectionError):
            return _dropped(request)
        async with answer:
            if is_watch and answer.status == 200:
                return await self._watch(request, answer, chosen)
            return await self._answer(request, answer, chosen)

    async def _instead(
        self, request: web.Request, chosen: Disturbance
    ) -> web.StreamResponse | None:
        """Answer in the place of the API server, if the disturbance says so."""
        flavour, is_odd = chosen.flavour, chosen.number % 2
        if flavour is Flavour.SLOW:
            await asyncio.sleep(chosen.seconds)
        if flavour is Flavour.CUT and is_odd:
            return _dropped(request)
        if flavour is Flavour.ERROR and is_odd:
            return _status(503, "ServiceUnavailable")
        if flavour is Flavour.PAST and (known := self._past.get(request.path_qs)):
            status, headers, body = known[chosen.number % len(known)]
            return web.Response(status=status, headers=headers, body=body)
        return _status(*_REFUSALS[flavour]) if flavour in _REFUSALS else None

    async def _forward(
        self, session: aiohttp.ClientSession, request: web.Request
    ) -> aiohttp.ClientResponse:
        headers = {
            name: value
            for name, value in request.headers.items()
            if name.lower() not in _NOT_PASSED_ON
        }
        if self._access.token is not None:
            headers["Authorization"] = f"Bearer {await self._access.token.token()}"
        return await session.request(
            request.method,
            URL(self._access.server + request.raw_path, encoded=True),
            data=await request.read() or None,
            headers=headers,
            ssl=self._access.ssl_context or False,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None),
        )

    async def _answer(
        self, request: web.Request, answer: aiohttp.ClientResponse, chosen: Disturbance | None
    ) -> web.StreamResponse:
        body = await answer.read()
        headers = _passed_on(answer)
        if request.method == "GET":
            self._remember(request.path_qs, answer.status, headers, body)
        elif answer.status < 400 and self._count(request, answer.status, body):
            return _dropped(request)
        if chosen is not None and chosen.flavour is Flavour.UNKNOWN:
            return _dropped(request) if chosen.number % 2 else _status(500, "InternalError")
        if chosen is not None and chosen.flavour is Flavour.CUT and body:
            return await _cut(request, answer.status, headers, body)
        if chosen is not None and chosen.flavour in HOSTILE:
            headers, body = _spoiled(headers, body, chosen)
        return web.Response(status=answer.status, headers=headers, body=body)

    def _remember(self, path: str, status: int, headers: dict[str, str], body: bytes) -> None:
        if status == 200:
            known = self._past.setdefault(path, [])
            known.append((status, headers, body))
            del known[:-_MOST_PAST]

    def _count(self, request: web.Request, status: int, body: bytes) -> bool:
        """Count a write; whether its answer is withheld."""
        if any(part in request.path for part in _NOT_COUNTED) or "dryRun" in request.query:
            return False
        self._past.clear()
        self.written.append(time.monotonic())
        if status == 201:
            self.created[_named(request.path, body)] += 1
        elif request.method == "DELETE":
            self.removed[request.path] += 1
        return self.after_write is not None and self.after_write(self.writes)

    async def _watch(
        self, request: web.Request, answer: aiohttp.ClientResponse, chosen: Disturbance | None
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers=_passed_on(answer))
        await response.prepare(request)
        begin = request.query.get("resourceVersion", "")
        transport = request.transport
        if isinstance(transport, asyncio.Transport):
            self._open.add(transport)
        with suppress(ConnectionError, aiohttp.ClientError):
            async for line in _disturbed(_lines(answer), chosen, begin):
                await response.write(line)
                if not line.endswith(b"\n"):
                    return _dropped(request, response)
        if isinstance(transport, asyncio.Transport):
            self._open.discard(transport)
        return response


_REFUSALS = {
    Flavour.CONFLICT: (409, "Conflict"),
    Flavour.BUSY: (429, "TooManyRequests"),
    Flavour.ERROR: (500, "InternalError"),
    Flavour.EXPIRED: (410, "Expired"),
}


def _status(code: int, reason: str) -> web.Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "code": code,
        "message": "disturbed on purpose",
    }
    headers = {"Retry-After": "1"} if code == 429 else None
    return web.json_response(body, status=code, headers=headers)


def _dropped(
    request: web.Request, response: web.StreamResponse | None = None
) -> web.StreamResponse:
    """End the connection without an answer, or without the rest of it."""
    if request.transport is not None:
        request.transport.abort()
    return response or web.Response()


async def _cut(
    request: web.Request, status: int, headers: dict[str, str], body: bytes
) -> web.StreamResponse:
    """Send half of an answer, and end the connection."""
    response = web.StreamResponse(status=status, headers=headers)
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    return _dropped(request, response)


def _spoiled(
    headers: dict[str, str], body: bytes, chosen: Disturbance
) -> tuple[dict[str, str], bytes]:
    rng = random.Random(chosen.number)  # noqa: S311 - repeatable
    if chosen.flavour is Flavour.MISSHAPEN:
        return headers, misshapen(body, rng)
    more, body = garbled(body, rng)
    return {**headers, **more}, body


def _passed_on(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return {
        name: value for name, value in answer.headers.items() if name.lower() not in _NOT_PASSED_ON
    }


def _named(path: str, body: bytes) -> str:
    """Return the path of an object that was created; a POST names only its collection."""
    try:
        name = json.loads(body)["metadata"]["name"]
    except (ValueError, KeyError, TypeError):
        return path
    return path if path.endswith(f"/{name}") else f"{path}/{name}"


async def _lines(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in answer.content.iter_any():
        *complete, rest = (rest + chunk).split(b"\n")
        for line in complete:
            yield line + b"\n"


def _event(sort: str, **found: Any) -> bytes:
    return json.dumps({"type": sort, "object": found}).encode() + b"\n"


async def _disturbed(
    lines: AsyncIterator[bytes], chosen: Disturbance | None, begin: str
) -> AsyncIterator[bytes]:
    """Yield the lines of a watch as a disturbance leaves them; the last may have no end."""
    flavour = chosen.flavour if chosen is not None else None
    if chosen is None or flavour not in _OF_STREAMS:
        async for line in lines:
            yield line
        return
    if flavour is Flavour.CLOSED:
        return
    if flavour is Flavour.BOOKMARKS:
        yield _event("BOOKMARK", metadata={"resourceVersion": begin})
        return
    if flavour is Flavour.EXPIRED_EVENT and not chosen.events:
        yield _expired()
        return
    changed = _OF_STREAMS[flavour](lines, chosen)
    async for line in changed:
        yield line


def _expired() -> bytes:
    return _event("ERROR", kind="Status", code=410, reason="Expired", message="too old")


async def _expiring(lines: AsyncIterator[bytes], chosen: Disturbance) -> AsyncIterator[bytes]:
    count = 0
    async for line in lines:
        yield line
        count += 1
        if count == chosen.events:
            yield _expired()
            return


async def _held(lines: AsyncIterator[bytes], chosen: Disturbance) -> AsyncIterator[bytes]:
    async for line in lines:
        await asyncio.sleep(chosen.seconds)
        yield line


async def _lost(lines: AsyncIterator[bytes], chosen: Disturbance) -> AsyncIterator[bytes]:
    count = 0
    async for line in lines:
        if count == chosen.events:
            yield line[: len(line) // 2]
            return
        yield line
        count += 1


async def _repeated(lines: AsyncIterator[bytes], _chosen: Disturbance) -> AsyncIterator[bytes]:
    before = b""
    async for line in lines:
        yield line
        if before and before != line:
            yield before
            yield line
        before = line


async def _reordered(lines: AsyncIterator[bytes], _chosen: Disturbance) -> AsyncIterator[bytes]:
    """Let each second event wait for the next one, for at most a second.

    Those of one object keep their order, which Kubernetes promises.
    """
    waiting: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def read() -> None:
        try:
            async for line in lines:
                waiting.put_nowait(line)
        finally:
            waiting.put_nowait(None)

    reading = asyncio.create_task(read())
    try:
        while (line := await waiting.get()) is not None:
            other: bytes | None = b""
            with suppress(TimeoutError):
                other = await asyncio.wait_for(waiting.get(), _HELD_SECONDS)
            keeps = bool(other) and _about(line) == _about(other or b"")
            for one in (line, other) if keeps else (other, line):
                if one:
                    yield one
            if other is None:
                return
    finally:
        reading.cancel()


async def _spoilt(lines: AsyncIterator[bytes], chosen: Disturbance) -> AsyncIterator[bytes]:
    """Spoil each line, or add lines that are none."""
    count = 0
    async for line in lines:
        rng = random.Random(f"{chosen.number} {count}")  # noqa: S311 - repeatable
        count += 1
        if chosen.flavour is Flavour.MISSHAPEN:
            yield misshapen_event(line, rng)
            continue
        yield rng.choice(hostile.LINES) + b"\n"
        yield line


def _about(event: bytes) -> tuple[str, str]:
    """Return namespace and name of the object of an event; nothing if that cannot be read."""
    try:
        metadata = json.loads(event)["object"]["metadata"]
        return str(metadata.get("namespace", "")), str(metadata["name"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", ""


_OF_STREAMS: dict[Flavour, Callable[[AsyncIterator[bytes], Disturbance], AsyncIterator[bytes]]] = {
    Flavour.EXPIRED_EVENT: _expiring,
    Flavour.HELD: _held,
    Flavour.LOST: _lost,
    Flavour.REPEATED: _repeated,
    Flavour.REORDERED: _reordered,
    Flavour.CLOSED: _held,
    Flavour.BOOKMARKS: _held,
    Flavour.GARBLED: _spoilt,
    Flavour.MISSHAPEN: _spoilt,
}
