# SPDX-License-Identifier: Apache-2.0
"""The servers that every replica runs, leader or not: metrics, metrics API, probes."""

import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

from ansible_operator import metrics
from ansible_operator.kube.client import HttpClient
from ansible_operator.serve.metrics_api import MetricsApi
from ansible_operator.serve.metrics_server import Gatekeeper, MetricsServer
from ansible_operator.serve.probes import Check, Probes
from ansible_operator.serve.user_metrics import UserMetrics

Address = tuple[str, int]

METRICS_API: Final = "ANSIBLE_OPERATOR_METRICS_API"
"""Environment variable of runs: URL of the metrics API, whose port is an option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where they listen; None for a server that is switched off.

    Attributes:
        metrics: host (``""`` for all) and port of ``--metrics-bind-address``.
        metrics_secure: ``--metrics-secure``.
        metrics_require_rbac: ``--metrics-require-rbac``.
        metrics_api_port: port of the metrics API on loopback.
        probes: host and port of ``--health-probe-bind-address``.
    """

    metrics: Address | None
    metrics_secure: bool = False
    metrics_require_rbac: bool = False
    metrics_api_port: int = 5050
    probes: Address | None = ("", 6789)


@contextlib.asynccontextmanager
async def small_servers(
    client: HttpClient,
    settings: ServerSettings,
    ready: Mapping[str, Check],
    warnings: Mapping[str, Check],
) -> AsyncIterator[None]:
    """Run them while the context lasts.

    Args:
        client: for access reviews of those who read metrics.
        settings: where they listen.
        ready: checks of ``/readyz``: name and a function that returns what is missing, or ``""``.
        warnings: the same for what is shown there and makes nothing unready.

    Raises:
        ConfigError: an address cannot be listened on.
    """
    user_metrics = UserMetrics(metrics.REGISTRY)
    async with contextlib.AsyncExitStack() as stack:
        if settings.metrics is not None:
            await stack.enter_async_context(
                MetricsServer(
                    metrics.REGISTRY,
                    user_metrics,
                    *settings.metrics,
                    is_secure=settings.metrics_secure,
                    gatekeeper=Gatekeeper(client) if settings.metrics_require_rbac else None,
                )
            )
        api = MetricsApi(user_metrics, settings.metrics_api_port)
        await stack.enter_async_context(api)
        os.environ[METRICS_API] = f"http://127.0.0.1:{api.port}/metrics"
        if settings.probes is not None:
            await stack.enter_async_context(
                Probes(*settings.probes, ready=ready, warnings=warnings)
            )
        yield
