# SPDX-License-Identifier: Apache-2.0
"""``/metrics`` for Prometheus: plain or TLS, for everybody or by RBAC."""

import contextlib
import hashlib
import ssl
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from ansible_operator.errors import KubeError
from ansible_operator.kube.client import HttpClient
from ansible_operator.logs import get_logger
from ansible_operator.serve.certificates import found_in, self_signed, server_context
from ansible_operator.serve.listening import Site
from ansible_operator.serve.user_metrics import UserMetrics

DECISION_LIFETIME = 60.0
"""Seconds that the API server's decision on a token is cached."""
MOST_DECISIONS = 256
REVIEW_TIMEOUT = 10.0

_log = get_logger("metrics-server")


def certificate_folder() -> Path:
    """Where a certificate may be mounted."""
    return Path(tempfile.gettempdir()) / "k8s-metrics-server" / "serving-certs"


@dataclass(slots=True)
class Gatekeeper:
    """Authenticates tokens and authorizes reading ``/metrics`` by reviews of the API server.

    Attributes:
        client: needs create on ``tokenreviews`` and ``subjectaccessreviews``.
        clock: monotonic seconds.
    """

    client: HttpClient
    clock: Callable[[], float] = time.monotonic
    _decisions: dict[bytes, tuple[float, int]] = field(default_factory=dict)

    async def status(self, authorization: str) -> int:
        """200, 401 or 403 for an ``Authorization`` header.

        Raises:
            KubeError: the API server gave no answer.
        """
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return 401
        key = hashlib.sha256(token.strip().encode()).digest()
        until, decision = self._decisions.get(key, (0.0, 0))
        if self.clock() < until:
            return decision
        decision = await self._decide(token.strip())
        if len(self._decisions) >= MOST_DECISIONS:
            self._decisions.clear()
        self._decisions[key] = (self.clock() + DECISION_LIFETIME, decision)
        return decision

    async def _decide(self, token: str) -> int:
        review = await self.client.request(
            "POST",
            "/apis/authentication.k8s.io/v1/tokenreviews",
            body={
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "spec": {"token": token},
            },
            timeout=REVIEW_TIMEOUT,
        )
        status = review.get("status") or {}
        if not status.get("authenticated"):
            return 401
        user = status.get("user") or {}
        access = await self.client.request(
            "POST",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            body={
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {
                    "user": user.get("username", ""),
                    "groups": user.get("groups") or [],
                    "uid": user.get("uid", ""),
                    "extra": user.get("extra") or {},
                    "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
                },
            },
            timeout=REVIEW_TIMEOUT,
        )
        return 200 if (access.get("status") or {}).get("allowed") else 403


class MetricsServer(Site):
    """The server; use as an async context.

    Args:
        registry: metrics of the process; ``process_*`` are added to it.
        user_metrics: metrics of roles, shown with them.
        host: address; ``""`` for all.
        port: 0 takes a free one.
        is_secure: TLS, with the certificate in :func:`certificate_folder` or a self-signed one.
        gatekeeper: who may read; None for everybody.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        user_metrics: UserMetrics,
        host: str,
        port: int,
        *,
        is_secure: bool = False,
        gatekeeper: Gatekeeper | None = None,
    ) -> None:
        super().__init__("metrics server", host, port, flag="--metrics-bind-address")
        self._registry = registry
        self._user_metrics = user_metrics
        self._is_secure = is_secure
        self._gatekeeper = gatekeeper
        disable_created_metrics()  # type: ignore[no-untyped-call]
        with contextlib.suppress(ValueError):  # another server of this process has added it
            ProcessCollector(registry=registry)

    async def tls(self) -> ssl.SSLContext | None:
        """The mounted certificate, or one of our own."""
        if not self._is_secure:
            return None
        return server_context(found_in(certificate_folder()) or self_signed("localhost"))

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one scrape."""
        if self._gatekeeper is not None:
            try:
                code = await self._gatekeeper.status(request.headers.get("Authorization", ""))
            except KubeError as error:
                _log.error("Authentication failed", err=str(error))
                return web.Response(status=500, text="Authentication failed\n")
            if code != 200:
                return web.Response(status=code, text=_REFUSALS[code])
        if request.path != "/metrics":
            return web.Response(status=404, text="404 page not found\n")
        body = generate_latest(self._registry) + self._user_metrics.exposition()
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})


_REFUSALS = {401: "Unauthorized\n", 403: "Authorization denied for this token\n"}
