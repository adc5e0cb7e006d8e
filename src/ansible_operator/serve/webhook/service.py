# SPDX-License-Identifier: Apache-2.0
"""The running webhook: a TLS server whose certificate and registration are kept up to date."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from ansible_operator import metrics
from ansible_operator.background import note_failure
from ansible_operator.errors import ConfigError, KubeError, OperatorError
from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.logs import get_logger
from ansible_operator.serve.certificates import KeyPair, load, server_context
from ansible_operator.serve.listening import Site
from ansible_operator.serve.webhook.overlap import Overlap
from ansible_operator.serve.webhook.registrar import Registrar
from ansible_operator.serve.webhook.registration import MUTATING, PHASES, Hook, Terms
from ansible_operator.serve.webhook.request_limits import Intake, UnansweredError
from ansible_operator.serve.webhook.review import (
    Judge,
    MalformedReviewError,
    make_answer,
    parse_review,
    verdict_on_depth,
)
from ansible_operator.serve.webhook.sources import Source, Trust
from ansible_operator.watches import parse_duration

CHECK_INTERVAL = 15.0
"""Seconds between two checks of certificates and registration."""
SOON = 2.0
"""Seconds between two checks while something is missing."""
SPREAD = 5.0
"""Seconds in which API servers observe a change of their configuration."""
CHECKS_OF_OVERLAP = 3
"""Checks for which a replaced authority stays trusted: all replicas notice the change meanwhile."""
START_SECONDS = 60.0
SHARE = 0.9
"""Part of the API server's timeout that functions may use; the rest is for the network."""
_REGISTER_ATTEMPTS = 5

T = TypeVar("T")
_log = get_logger("webhook")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """Where the server listens and how the API server reaches it.

    Attributes:
        host: address to listen on; ``""`` for all.
        port: 0 takes a free one.
        namespace: of the Service.
        service: name of the Service in front; ``""`` to be reached at ``url_host`` directly.
        service_port: of that Service.
        url_host: host name or address for a process outside the cluster.
        terms: the rest of what is registered.
    """

    host: str = ""
    port: int = 9443
    namespace: str = ""
    service: str = ""
    service_port: int = 443
    url_host: str = ""
    terms: Terms

    def names(self) -> list[str]:
        """What the serving certificate has to cover."""
        if self.service:
            return [f"{self.service}.{self.namespace}.svc", self.service]
        return [self.url_host]

    def terms_at(self, port: int) -> Terms:
        """The terms with the address of a server on this port."""
        if self.service:
            address: dict[str, Any] = {
                "service": {
                    "namespace": self.namespace,
                    "name": self.service,
                    "port": self.service_port,
                }
            }
        else:
            host = f"[{self.url_host}]" if ":" in self.url_host else self.url_host
            address = {"url": f"https://{host}:{port}"}
        return replace(self.terms, address=address)


class WebhookServer(Site):
    """Answers AdmissionReviews.

    Args:
        settings: where it listens.
        pair: the certificate to begin with.
        kinds: what it reviews.
        judge: answers the questions.
    """

    def __init__(
        self,
        settings: WebhookSettings,
        pair: KeyPair,
        kinds: Sequence[GroupVersionKind],
        judge: Judge,
    ) -> None:
        super().__init__("webhook", settings.host, settings.port, flag="--webhook-bind-address")
        self._judge = judge
        self._pair = pair
        self._context = server_context(pair)
        self._timeout = float(settings.terms.timeout)
        self._intake = Intake()
        self._paths = {phase.path(gvk): (phase, gvk) for gvk in kinds for phase in PHASES}

    async def tls(self) -> ssl.SSLContext:
        """The context whose certificate :meth:`use` replaces."""
        return self._context

    def serves(self, pair: KeyPair) -> bool:
        """Whether this certificate is the one in use."""
        return pair == self._pair

    def use(self, pair: KeyPair) -> None:
        """Serve this certificate from the next connection on."""
        load(self._context, pair)
        self._pair = pair
        _log.info("The serving certificate was replaced")

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one review."""
        if request.method != "POST" or request.path not in self._paths:
            return web.Response(status=404, text="404 page not found\n")
        begin, path = time.monotonic(), request.path
        in_flight = metrics.WEBHOOK_IN_FLIGHT.labels(path)
        in_flight.inc()
        try:
            response = await self._answer(request)
        finally:
            in_flight.dec()
        metrics.WEBHOOK_REQUESTS.labels(path, str(response.status)).inc()
        metrics.WEBHOOK_SECONDS.labels(path).observe(time.monotonic() - begin)
        return response

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        deadline = time.monotonic() + self._time_left(request) * SHARE
        try:
            async with self._intake.body(request, deadline) as body:
                answer = await self._judged(request.path, body, deadline)
        except MalformedReviewError as error:
            return web.Response(status=400, text=f"{error}\n")
        except OperatorError as error:
            _log.error("A review was not answered", path=request.path, error=str(error))
            return web.Response(status=500, text=f"{error}\n")
        return web.Response(body=answer, content_type="application/json")

    async def _judged(self, path: str, body: bytes, deadline: float) -> bytes:
        """The answer to a review.

        Raises:
            OperatorError: there is none; the message names the object.
        """
        phase, gvk = self._paths[path]
        is_default = phase is MUTATING
        question = parse_review(body, gvk)
        try:
            verdict = verdict_on_depth(question)
            if verdict is None:
                verdict = await self._judge(question, is_default, deadline - time.monotonic())
        except OperatorError as error:
            name = f"{question.namespace}/{question.name}"
            raise UnansweredError(f"{name}: {error}") from error
        return msgspec.json.encode(make_answer(question, verdict, may_change=is_default))

    def _time_left(self, request: web.BaseRequest) -> float:
        """Seconds that the API server waits for this answer, from the URL."""
        given = request.query.get("timeout", "")
        try:
            seconds = parse_duration(given)
        except ConfigError:
            return self._timeout
        return min(max(seconds, 0.1), 30.0)


@dataclass(slots=True)
class _Maintenance:
    """Keeps certificates and registration up to date."""

    source: Source
    registrar: Registrar
    settings: WebhookSettings
    server: WebhookServer
    trusted: bytes | None
    overlap: Overlap

    async def check(self, *, spread: float) -> bool:
        """Check once; whether nothing is missing.

        Raises:
            OperatorError: the API server refuses, or there are no certificates.
        """
        trust, complete = await self._register()
        if not self.server.serves(trust.serving):
            if trust.bundle != self.trusted:
                # A certificate of another authority is served once it is trusted everywhere.
                await asyncio.sleep(spread)
            self.server.use(trust.serving)
        self.trusted = trust.bundle
        return complete

    async def _register(self) -> tuple[Trust, bool]:
        """Register what all replicas trust, even when another one changes it meanwhile."""
        terms = self.settings.terms_at(self.server.port)
        trust = await self.source.refresh()
        for _ in range(_REGISTER_ATTEMPTS):
            bundle = self.overlap.with_previous(trust.bundle)
            complete = await self.registrar.ensure(terms, bundle)
            now = await self.source.refresh()
            if now.bundle == trust.bundle:
                return now, complete
            trust = now
        raise ConfigError("the webhook's certificates change too often")

    async def run(self, interval: float, spread: float, *, complete: bool) -> None:
        """Check at intervals until cancelled."""
        reported = ""
        while True:
            await asyncio.sleep(interval if complete else min(interval, SOON))
            try:
                complete = await self.check(spread=spread)
                reported = ""
            except OperatorError as error:
                if str(error) != reported:
                    reported = str(error)
                    _log.error("Could not check the webhook's registration", error=reported)
            except Exception:  # noqa: BLE001  # certificates are still to be renewed
                note_failure("webhook", "Could not check the webhook's registration")


@contextlib.asynccontextmanager
async def webhooks(
    settings: WebhookSettings,
    source: Source,
    registrar: Registrar,
    judge: Judge,
    *,
    interval: float = CHECK_INTERVAL,
    spread: float = SPREAD,
) -> AsyncIterator[WebhookServer]:
    """Run the webhook of some kinds while the context lasts. Every replica runs one.

    Raises:
        OperatorError: it cannot be set up.
    """
    hooks: Sequence[Hook] = registrar.hooks
    trust = await _with_retries(source.refresh)
    kinds = [hook.gvk for hook in hooks]
    async with WebhookServer(settings, trust.serving, kinds, judge) as server:
        overlap = Overlap(trust.bundle, CHECKS_OF_OVERLAP * interval + spread)
        maintenance = _Maintenance(source, registrar, settings, server, trust.bundle, overlap)
        complete = await _with_retries(lambda: maintenance.check(spread=spread))
        maintaining = asyncio.create_task(
            maintenance.run(interval, spread, complete=complete), name="webhook certificates"
        )
        try:
            yield server
        finally:
            maintaining.cancel()
            await asyncio.wait([maintaining])


async def _with_retries(attempt: Callable[[], Awaitable[T]]) -> T:
    """Try until the API server answers; a refusal is raised at once.

    Raises:
        ConfigError: it refuses, or does not answer in time.
    """
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return await attempt()
        except KubeError as error:
            passing = error.status in {0, 409, 429} or error.status >= 500
            if not passing or time.monotonic() > deadline:
                raise ConfigError(
                    f"the webhook cannot be set up: {error}; the rights that it needs are in "
                    "docs/reference/admission.md"
                ) from error
        await asyncio.sleep(1)
