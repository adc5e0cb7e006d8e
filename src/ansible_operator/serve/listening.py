# SPDX-License-Identifier: Apache-2.0
"""What the small HTTP servers of the process have in common: an address, a start, a stop."""

import errno
import ssl
from typing import Self

from aiohttp import web

from ansible_operator.errors import ConfigError
from ansible_operator.logs import get_logger

STOP_TIMEOUT = 2.0

_log = get_logger("serve")


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
        server = web.Server(self.serve, access_log=None, handler_cancellation=True)
        runner = web.ServerRunner(server, shutdown_timeout=STOP_TIMEOUT)
        await runner.setup()
        site = web.TCPSite(runner, self._host or None, self.port, ssl_context=context)
        try:
            await site.start()
        except OSError as error:
            await runner.cleanup()
            reason = "it is taken" if error.errno == errno.EADDRINUSE else str(error)
            raise ConfigError(
                f"the {self._what} cannot listen on {self._host}:{self.port}: {reason}; "
                f"choose another address with {self._flag}"
            ) from error
        self._runner = runner
        self.port = runner.addresses[0][1]
        _log.info(f"Starting {self._what}", address=f"{self._host}:{self.port}")

    async def stop(self) -> None:
        """Stop listening; bounded by :data:`STOP_TIMEOUT`."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
