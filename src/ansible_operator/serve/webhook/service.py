# SPDX-License-Identifier: Apache-2.0
"""The running webhook: a TLS server whose certificate and registration stay right."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from ansible_operator.errors import KubeError, OperatorError
from ansible_operator.kube.interface import Client, ResourceType
from ansible_operator.logs import get_logger
from ansible_operator.serve.certificates import KeyPair, load, server_context
from ansible_operator.serve.listening import Site
from ansible_operator.serve.webhook.registration import TIMEOUT, register
from ansible_operator.serve.webhook.review import (
    Judge,
    MalformedReviewError,
    make_answer,
    parse_review,
)
from ansible_operator.serve.webhook.shared_secret import SharedSecret

LARGEST_REVIEW = 8 << 20
CHECK_INTERVAL = 60.0
"""Seconds between two looks at certificates and registration."""

_log = get_logger("webhook")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """Where the server listens and how the API server reaches it.

    Attributes:
        host: address to listen on; ``""`` for all.
        port: 0 takes a free one.
        name: of the Secret and of the two configurations.
        namespace: of the Secret, and of the Service.
        service: name of the Service in front; ``""`` to be reached at ``url_host`` directly.
        url_host: host name or address for a process outside the cluster.
    """

    host: str = ""
    port: int = 9443
    name: str
    namespace: str
    service: str = ""
    url_host: str = "127.0.0.1"

    def names(self) -> list[str]:
        """What the serving certificate has to cover."""
        if self.service:
            return [f"{self.service}.{self.namespace}.svc", self.service]
        return [self.url_host]

    def address(self, port: int) -> dict[str, Any]:
        """The API server's way to a server on this port."""
        if self.service:
            return {"service": {"namespace": self.namespace, "name": self.service, "port": 443}}
        return {"url": f"https://{self.url_host}:{port}"}


class WebhookServer(Site):
    """Answers AdmissionReviews on ``/mutate`` and ``/validate``.

    Args:
        settings: where it listens.
        pair: the certificate to begin with.
        judge: answers the questions.
    """

    def __init__(self, settings: WebhookSettings, pair: KeyPair, judge: Judge) -> None:
        super().__init__("webhook", settings.host, settings.port, flag="--webhook-bind-address")
        self._judge = judge
        self._pair = pair
        self._context = server_context(pair)

    async def tls(self) -> ssl.SSLContext:
        """The context whose certificate :meth:`use` replaces."""
        return self._context

    def use(self, pair: KeyPair) -> None:
        """Show this certificate from the next connection on."""
        if pair != self._pair:
            load(self._context, pair)
            self._pair = pair
            _log.info("The serving certificate was replaced")

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one review."""
        if request.method != "POST" or request.path not in {"/mutate", "/validate"}:
            return web.Response(status=404, text="404 page not found\n")
        try:
            async with asyncio.timeout(TIMEOUT):
                question = parse_review(await _body(request))
                verdict = await self._judge(question)
        except MalformedReviewError as error:
            return web.Response(status=400, text=f"{error}\n")
        except (OperatorError, TimeoutError) as error:
            _log.error("An admission review was not answered", err=str(error) or "timeout")
            return web.Response(status=500, text=f"{error or 'timeout'}\n")
        answer = make_answer(question, verdict, may_change=request.path == "/mutate")
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")


async def _body(request: web.BaseRequest) -> bytes:
    parts, size = [], 0
    while part := await request.content.readany():
        size += len(part)
        if size > LARGEST_REVIEW:
            raise MalformedReviewError(f"longer than {LARGEST_REVIEW} bytes")
        parts.append(part)
    return b"".join(parts)


@contextlib.asynccontextmanager
async def webhooks(
    client: Client,
    settings: WebhookSettings,
    resources: Sequence[ResourceType],
    judge: Judge,
    *,
    interval: float = CHECK_INTERVAL,
) -> AsyncIterator[WebhookServer]:
    """Run the webhook of some kinds while the context lasts. Every replica runs one.

    Raises:
        OperatorError: it cannot be set up.
    """
    secret = SharedSecret(client, settings.namespace, settings.name, settings.names())
    credentials = await secret.refresh()
    async with WebhookServer(settings, credentials.serving, judge) as server:
        address = settings.address(server.port)
        await register(client, settings.name, resources, address, credentials.bundle)

        async def keep() -> None:
            while True:
                await asyncio.sleep(interval)
                try:
                    now = await secret.refresh()
                    await register(client, settings.name, resources, address, now.bundle)
                    server.use(now.serving)
                except KubeError as error:
                    _log.error("Could not check the webhook's registration", err=str(error))

        keeping = asyncio.create_task(keep(), name="webhook certificates")
        try:
            yield server
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])
