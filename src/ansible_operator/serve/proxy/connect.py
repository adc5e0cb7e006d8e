# SPDX-License-Identifier: Apache-2.0
"""``CONNECT`` to ourselves: how Go clients open upgraded connections through a ``proxy-url``.

Such a client authenticates when it connects; what it then sends through the connection carries no
credentials. So the requests of the connection count as those of the run that has opened it. A
client that connects without credentials (Python's WebSockets) has to send them with each request.
"""

import asyncio
from typing import Any

from aiohttp import web

from ansible_operator.errors import KubeError
from ansible_operator.serve.proxy.answers import status_response
from ansible_operator.serve.proxy.sessions import Grant, Sessions, UnauthorizedError
from ansible_operator.serve.proxy.upgrade import carry

_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


def is_own(authority: str, port: int) -> bool:
    """Whether ``host:port`` is this proxy."""
    return authority in {f"{host}:{port}" for host in ("localhost", "127.0.0.1", "[::1]")}


class Connections:
    """Which connections to the proxy belong to which run."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._grants: dict[Any, Grant] = {}

    def grant(self, request: web.BaseRequest) -> Grant:
        """The session of a request: by its own credentials, else by its connection's.

        Raises:
            UnauthorizedError: it belongs to no run that is under way.
        """
        try:
            return self._sessions.find(request.headers)
        except UnauthorizedError:
            origin = request.transport and request.transport.get_extra_info("peername")
            grant = self._grants.get(origin and origin[:2])
            if grant is None or not grant.is_open or "Authorization" in request.headers:
                raise
            return grant

    async def open(self, request: web.BaseRequest, port: int) -> web.StreamResponse:
        """Relay a connection of a client to this proxy.

        Raises:
            KubeError: the proxy does not answer itself.
        """
        if not is_own(request.raw_path, port):
            return status_response(403, "this proxy leads to the API server only")
        grant = None
        if "Proxy-Authorization" in request.headers:
            try:
                grant = self._sessions.find(request.headers)
            except UnauthorizedError as error:
                return status_response(407, str(error))
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            raise KubeError(f"CONNECT {request.raw_path}: {error}") from error
        name = writer.get_extra_info("sockname")[:2]
        if grant is not None:
            self._grants[name] = grant
            grant.track()
        try:
            return await carry(request, _ESTABLISHED, (reader, writer))
        finally:
            self._grants.pop(name, None)
            writer.close()
