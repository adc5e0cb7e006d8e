# SPDX-License-Identifier: Apache-2.0
"""``POST http://localhost:5050/metrics``: how roles report metrics of their own.

The module ``operator_sdk.util.osdk_metric`` sends no credentials, so anything on this machine may
report; it can only change numbers. A list of requests in one body is an addition.
"""

from typing import Any

import msgspec
from aiohttp import web

from ansible_operator.serve.listening import Site
from ansible_operator.serve.user_metrics import MetricError, UserMetrics

PORT = 5050
LARGEST_BODY = 1 << 16


class MetricsApi(Site):
    """The server; use as an async context.

    Args:
        metrics: where values are kept; share it with the metrics server.
        port: port on loopback; 0 takes a free one.
    """

    def __init__(self, metrics: UserMetrics, port: int = PORT) -> None:
        super().__init__("metrics API", "127.0.0.1", port, flag="--metrics-api-port")
        self._metrics = metrics

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if request.path != "/metrics":
            return web.Response(status=404, text="404 page not found\n")
        if request.method != "POST":
            return web.Response(status=405, text="Method not allowed\n")
        try:
            for one in _requests(await _body(request)):
                self._metrics.handle(one)
        except (msgspec.DecodeError, UnicodeDecodeError, MetricError) as error:
            return web.Response(status=400, text=f"{error}\n")
        return web.Response()


async def _body(request: web.BaseRequest) -> bytes:
    """Return the body of a request up to its limit; it may come in parts."""
    body = b""
    while len(body) < LARGEST_BODY:
        part = await request.content.read(LARGEST_BODY - len(body))
        if not part:
            break
        body += part
    return body


def _requests(body: bytes) -> list[dict[str, Any]]:
    """Return the requests of a body: an object, or a list of some.

    Raises:
        msgspec.DecodeError: it is neither.
        MetricError: the list is empty, or something in it is nested too deep.
    """
    try:
        found: dict[str, Any] | list[dict[str, Any]] = msgspec.json.decode(
            body, type=dict[str, Any] | list[dict[str, Any]]
        )
    except RecursionError as error:
        raise MetricError("a request is nested too deep") from error
    if found == []:
        raise MetricError("a request should be an object, or a list of objects")
    return found if isinstance(found, list) else [found]
