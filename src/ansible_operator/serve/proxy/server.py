# SPDX-License-Identifier: Apache-2.0
"""The loopback proxy between plays and the API server."""

import errno
import json
import socket
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

from ansible_operator.background import note_failure
from ansible_operator.errors import ConfigError, KubeError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.interface import ResourceType
from ansible_operator.kube.names import InvalidNameError
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.serve.interface import (
    BeforeRead,
    DependentAdded,
    Owner,
    ProxyLimits,
    Session,
    WriteSeen,
)
from ansible_operator.serve.proxy.answers import Head, Heads, decode, status_response
from ansible_operator.serve.proxy.barrier import WriteBarrier
from ansible_operator.serve.proxy.connect import Connections, is_own
from ansible_operator.serve.proxy.dependent_kinds import DependentKinds
from ansible_operator.serve.proxy.discovery_answers import DiscoveryAnswers
from ansible_operator.serve.proxy.forward import Forwarder, origin_form, response_headers
from ansible_operator.serve.proxy.lookup import Lookup
from ansible_operator.serve.proxy.ownership import is_owned, owner_metadata, style_for
from ansible_operator.serve.proxy.reads import CacheReader
from ansible_operator.serve.proxy.request_info import (
    RequestInfo,
    UnreadableRequestError,
    parse_request,
)
from ansible_operator.serve.proxy.sessions import Grant, Sessions, UnauthorizedError
from ansible_operator.serve.proxy.upgrade import tunnel, wants_upgrade
from ansible_operator.serve.proxy.write_observer import WriteObserver
from ansible_operator.serve.proxy.writes import Writer

DEFAULT_PORT = 8888
LONGEST_LINE = 1 << 16
IDLE_TIMEOUT = 300.0
STOP_TIMEOUT = 2.0
ADDED = "X-Applied-Metadata"
"""Header of an answer that is one object: what the proxy adds to its metadata when it is applied,
as JSON. A client that knows it can find out that an apply would change nothing."""
_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})

_log = get_logger("proxy")


class LoopbackProxy:
    """The loopback proxy between plays and the API server; use as a context or start/stop.

    Args:
        client: session to the API server; its credentials are used for everything forwarded.
        mapper: discovery.
        informers: informers to read from; the proxy never starts one.
        add_dependent: awaited before a create is forwarded.
        write_seen: called for every confirmed write of a run.
        namespaces: ``WATCH_NAMESPACE``; empty for all.
        port: port on the loopback addresses; 0 takes a free one (see :attr:`port`).
    """

    def __init__(
        self,
        client: HttpClient,
        mapper: DiscoveryMapper,
        informers: SharedInformers,
        *,
        add_dependent: DependentAdded,
        write_seen: WriteSeen | None = None,
        namespaces: Collection[str] = (),
        port: int = DEFAULT_PORT,
    ) -> None:
        scope = frozenset(namespaces)
        barrier = self._barrier = WriteBarrier()
        self.port = port
        self._client = client
        self._mapper = mapper
        self._sessions = Sessions()
        self._connections = Connections(self._sessions)
        self._discovery = DiscoveryAnswers()
        self._forwarder = Forwarder(client)
        self._dependents = DependentKinds(add_dependent, scope)
        self._cache = CacheReader(informers, mapper, barrier, scope)
        observer = WriteObserver(informers, barrier, self._dependents, self._discovery, write_seen)
        lookup = Lookup(client, informers, barrier)
        self._writer = Writer(self._forwarder, mapper, lookup, self._dependents, observer)
        self._runner: web.ServerRunner | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen.

        Raises:
            ConfigError: the port is taken.
        """
        server = web.Server(
            self._serve,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=IDLE_TIMEOUT,
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=STOP_TIMEOUT)
        await self._runner.setup()
        for bound in _loopback(self.port):
            self.port = bound.getsockname()[1]
            await web.SockSite(self._runner, bound).start()
        _log.info("Starting to serve", Address=f"localhost:{self.port}")

    async def stop(self) -> None:
        """End every request and stop listening; bounded by :data:`STOP_TIMEOUT`."""
        self._sessions.close_all()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def open_session(
        self, owner: Owner, limits: ProxyLimits, directory: Path, look: BeforeRead | None = None
    ) -> Session:
        """Make a token and a kubeconfig (0600, in ``directory``) for one run."""
        self._note_version(owner, owner.resource_version)
        return self._sessions.open(owner, limits, directory, self.port, look)

    def _note_version(self, owner: Owner, version: str) -> None:
        """Have no run read an older version of an owner from a cache."""
        if version:
            namespace = owner.namespace if owner.namespaced else ""
            self._barrier.note_write(owner.gvk, namespace, owner.name, version)

    def close_session(self, session: Session) -> None:
        """Forget the token, end what still uses it and remove the kubeconfig."""
        self._sessions.close(session)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        _acknowledge(request)
        if request.method == "CONNECT":
            return await self._connections.open(request, self.port)
        try:
            grant = self._connections.grant(request)
        except UnauthorizedError as error:
            return status_response(401, str(error))
        grant.track()
        try:
            return await self._dispatch(request, grant)
        except (UnreadableRequestError, InvalidNameError) as error:
            return status_response(400, f"Could not convert request: {error}")
        except (KubeError, aiohttp.ClientError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            _log.error("Could not reach the API server", err=reason)
            return status_response(502, reason)
        except Exception as error:  # noqa: BLE001  # it is about this request alone
            note_failure("proxy", "A request of a run cannot be answered", method=request.method)
            return status_response(500, f"the proxy of the operator failed: {type(error).__name__}")

    async def _dispatch(self, request: web.BaseRequest, grant: Grant) -> web.StreamResponse:
        target = request.raw_path
        if not (target.startswith("/") or is_own(urlsplit(target).netloc, self.port)):
            raise UnreadableRequestError("the request is for another server")
        path = origin_form(target).partition("?")[0]
        info = parse_request(request.method, path, request.query)
        if wants_upgrade(request):
            return await tunnel(self._client, request)
        if grant.look is not None and info.is_resource:
            await self._look(info, grant)
        if info.is_resource and info.verb in _WRITES:
            return await self._writer.handle(request, info, grant)
        if request.method == "GET" and info.is_resource:
            return await self._read(request, info, grant)
        if request.method == "GET" and self._discovery.serves(path):
            return await self._discover(request)
        upstream = await self._forwarder.send(request)
        return (await self._forwarder.relay(request, upstream, hold=False))[0]

    async def _look(self, info: RequestInfo, grant: Grant) -> None:
        """Tell the loop before a run's first request for objects of its owner's kind."""
        gvk = grant.owner.gvk
        if info.group != gvk.group or grant.look is None:
            return
        resource = await self._known(info)
        if resource is not None and resource.gvk.kind == gvk.kind:
            self._note_version(grant.owner, await grant.look())
            grant.look = None

    async def _read(
        self, request: web.BaseRequest, info: RequestInfo, grant: Grant
    ) -> web.StreamResponse:
        accept = request.headers.get("Accept", "")
        found = await self._cache.answer(info, request.query, accept, grant)
        if found is not None:
            response, objects = found
            await self._recover(info, [obj["metadata"] for obj in objects], grant, response)
            return response
        hold = info.verb in {"get", "list"} and info.subresource in {"", "status"}
        asked = time.monotonic()
        upstream = await self._forwarder.send(request)
        if upstream.status == 404 and info.verb == "get" and not request.query:
            grant.absent[info.path] = asked
        answer, body = await self._forwarder.relay(request, upstream, hold=hold)
        if body is not None and upstream.status == 200:
            await self._recover_from(info, body, grant, answer)
        return answer

    async def _recover_from(
        self, info: RequestInfo, body: bytes, grant: Grant, answer: web.StreamResponse
    ) -> None:
        """Find dependents in a live answer; they show which watches a restart has lost."""
        if info.verb == "get":
            head = decode(body, Head)
            heads = [head] if head is not None else []
        else:
            listed = decode(body, Heads)
            heads = listed.items if listed is not None and listed.kind.endswith("List") else []
        await self._recover(info, [head.metadata.owners() for head in heads], grant, answer)

    async def _recover(
        self,
        info: RequestInfo,
        seen: Sequence[dict[str, object]],
        grant: Grant,
        answer: web.StreamResponse,
    ) -> None:
        """Have dependents' kind watched; add to a single one's answer what an apply gets added."""
        owned = [one for one in seen if one.get("ownerReferences") or one.get("annotations")]
        if not owned or not grant.limits.inject_owner:
            return
        resource = await self._known(info)
        if resource is None:
            return
        for metadata in owned:
            await self._dependents.recover(grant, resource, metadata, info.namespace)
        if info.verb == "get":
            style = style_for(grant.owner, resource, info.namespace)
            if is_owned({"metadata": owned[0]}, grant.owner, style):
                answer.headers[ADDED] = json.dumps(owner_metadata(grant.owner, style))

    async def _known(self, info: RequestInfo) -> ResourceType | None:
        try:
            resource = await self._mapper.by_plural(info.group, info.version, info.resource)
        except KubeError:
            return None
        return None if resource is None or resource.is_virtual else resource

    async def _discover(self, request: web.BaseRequest) -> web.StreamResponse:
        key = (origin_form(request.raw_path), request.headers.get("Accept", ""))
        async with self._discovery.lock(key):
            known = self._discovery.get(key)
            if known is not None:
                return web.Response(body=known.body, headers=known.headers)
            upstream = await self._forwarder.send(request)
            headers = response_headers(upstream)
            response, body = await self._forwarder.relay(request, upstream, hold=True)
            if body is not None and upstream.status == 200:
                headers.popall("Content-Length", None)
                self._discovery.put(key, headers, body)
            return response


def _acknowledge(request: web.BaseRequest) -> None:
    """Acknowledge a request at once, so that its body follows without delay.

    urllib3 uses Nagle's algorithm towards a proxy: it holds the body back until the packet with
    the headers is acknowledged, which the kernel delays by 40 ms by default, for
    every single request.
    """
    transport = request.transport
    connection = transport.get_extra_info("socket") if transport is not None else None
    if request.can_read_body and connection is not None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def _loopback(port: int) -> list[socket.socket]:
    """Sockets on 127.0.0.1 and, where there is one, on ::1 with the same port.

    ``localhost`` may mean either; were one left free, another process could take it and
    receive the tokens.

    Raises:
        ConfigError: the port is taken.
    """
    sockets: list[socket.socket] = []
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((address, port))
        except OSError as error:
            bound.close()
            if family is socket.AF_INET6 and error.errno != errno.EADDRINUSE:
                break
            for other in sockets:
                other.close()
            raise ConfigError(
                f"the proxy cannot listen on {address}:{port}: {error.strerror}; "
                "choose another port with --proxy-port"
            ) from error
        sockets.append(bound)
        port = bound.getsockname()[1]
    return sockets
