# SPDX-License-Identifier: Apache-2.0
"""What the small HTTP servers of the process have in common: an address, a start, a stop."""

import asyncio
import errno
import ssl
from typing import Self

from aiohttp import web

from ansible_operator.errors import ConfigError
from ansible_operator.logs import get_logger

STOP_TIMEOUT = 2.0
HANDSHAKE_SECONDS = 5.0
"""Longest time for TLS to be agreed on."""
FIRST_REQUEST_SECONDS = 5.0
"""Longest time until a new connection has sent the headers of its first request."""
IDLE_SECONDS = 120.0
"""Time after which a connection without requests is closed; API servers close theirs after 90 s,
and a server that is faster breaks a request now and then."""
LINGERING_SECONDS = 1.0
"""Time in which a client may go on to send what was answered before it was read."""
MOST_CONNECTIONS = 512
"""Connections to one address at the same time."""

_log = get_logger("serve")


class _ImpatientServer(web.Server):
    """Ends connections that only wait: whoever reaches the port could open any number of them."""

    def __init__(self, site: "Site") -> None:
        # A body is as large as it comes: nobody compresses what is sent here.
        super().__init__(
            self._first_of_all,
            access_log=None,
            handler_cancellation=True,
            auto_decompress=False,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=LINGERING_SECONDS,
        )
        self._site = site
        self._waiting: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self._connections) > MOST_CONNECTIONS:
            transport.abort()
            return
        loop = asyncio.get_running_loop()
        self._waiting[handler] = loop.call_later(FIRST_REQUEST_SECONDS, transport.abort)

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        self._has_come(handler)
        super().connection_lost(handler, exc)

    async def _first_of_all(self, request: web.BaseRequest) -> web.StreamResponse:
        self._has_come(request.protocol)
        return await self._site.serve(request)

    def _has_come(self, handler: web.RequestHandler) -> None:
        timer = self._waiting.pop(handler, None)
        if timer is not None:
            timer.cancel()


class Site:
    """One listening address; subclasses answer in :meth:`serve`.

    Args:
        what: name in messages.
        host: address; ``""`` for all.
        port: 0 takes a free one, see :attr:`port`.
        flag: the flag that changes the address, for error messages.
    """

    def __init__(self, what: str, host: str, port: int, *, flag: str) -> None:
        self.port = port
        self._what = what
        self._host = host
        self._flag = flag
        self._runner: web.ServerRunner | None = None
        self._listener: asyncio.Server | None = None

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        raise web.HTTPNotFound(text=request.path)

    async def tls(self) -> ssl.SSLContext | None:
        """How connections are encrypted; None for plain HTTP."""
        return None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen.

        Raises:
            ConfigError: the address cannot be listened on.
        """
        context = await self.tls()
        server = _ImpatientServer(self)
        runner = web.ServerRunner(server, shutdown_timeout=STOP_TIMEOUT)
        await runner.setup()
        try:
            self._listener = await asyncio.get_running_loop().create_server(
                server,
                self._host or None,
                self.port,
                ssl=context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS if context else None,
            )
        except OSError as error:
            await runner.cleanup()
            reason = "it is taken" if error.errno == errno.EADDRINUSE else str(error)
            raise ConfigError(
                f"the {self._what} cannot listen on {self._host}:{self.port}: {reason}; "
                f"choose another address with {self._flag}"
            ) from error
        self._runner = runner
        self.port = self._listener.sockets[0].getsockname()[1]
        _log.info(f"Starting {self._what}", address=f"{self._host}:{self.port}")

    async def stop(self) -> None:
        """Stop listening; bounded by :data:`STOP_TIMEOUT`."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
