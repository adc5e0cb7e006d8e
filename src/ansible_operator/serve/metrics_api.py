# SPDX-License-Identifier: Apache-2.0
"""``POST http://localhost:5050/metrics``: how roles report metrics of their own (runner.md §2.21).

The module ``operator_sdk.util.osdk_metric`` sends no credentials, so anything on this machine may
report; it can only change numbers.
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
        body = await request.content.read(LARGEST_BODY)
        try:
            document: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
            self._metrics.handle(document)
        except (msgspec.DecodeError, UnicodeDecodeError, MetricError) as error:
            return web.Response(status=400, text=f"{error}\n")
        return web.Response()
