# SPDX-License-Identifier: Apache-2.0
"""Puts the webhook together: functions that watches name, certificates, registration."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from ansible_operator.engine.admission import FunctionPool
from ansible_operator.errors import ConfigError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.lease import pod_namespace
from ansible_operator.logs import get_logger
from ansible_operator.loop.settings import gvk_of
from ansible_operator.options import Options, available_cpus, split_address
from ansible_operator.serve.webhook import (
    ConfigurationMode,
    FolderSource,
    FunctionJudge,
    Hook,
    Registrar,
    SecretSource,
    SharedSecret,
    Source,
    Terms,
    WebhookSettings,
    functions_of,
    webhooks,
)
from ansible_operator.watches import Watch

MOST_WORKERS = 4
"""Calls of functions at the same time, at most; they are to take milliseconds."""

_LOG = get_logger("webhook")


class Webhook:
    """The webhook of one process, served while :meth:`serve` runs.

    Attributes:
        ready: set when reviews are answered; from the beginning if there is nothing to answer.
    """

    def __init__(
        self,
        client: HttpClient,
        mapper: DiscoveryMapper,
        watches: Sequence[Watch],
        options: Options,
        namespaces: Sequence[str],
    ) -> None:
        self.ready = asyncio.Event()
        self._client = client
        self._mapper = mapper
        self._watches = [watch for watch in watches if watch.admission]
        self._options = options
        self._namespaces = namespaces
        self._address = split_address(options.webhook_bind_address)
        if not self.is_enabled:
            self.ready.set()
        if self._watches and self._address is None:
            kinds = [str(watch.kind) for watch in self._watches]
            _LOG.info("Admission functions are not called without a webhook", kinds=kinds)
        if self._address is not None and not self._watches:
            _LOG.info("No watch names admission functions, so no webhook is served")

    @property
    def is_enabled(self) -> bool:
        """Whether there is anything to serve."""
        return bool(self._watches) and self._address is not None

    @property
    def is_behind_a_service(self) -> bool:
        """Whether reviews arrive through a Service, which removes a replica late."""
        return self.is_enabled and bool(self._options.webhook_service)

    async def serve(self) -> None:
        """Load the functions, then answer reviews until cancelled.

        Raises:
            OperatorError: a function cannot be loaded, or the webhook not be set up.
        """
        if not self.is_enabled:
            return
        async with self._serving():
            self.ready.set()
            await asyncio.Event().wait()

    @contextlib.asynccontextmanager
    async def _serving(self) -> AsyncIterator[None]:
        functions = {gvk_of(watch.kind): functions_of(watch) for watch in self._watches}
        named = dict.fromkeys(
            function for each in functions.values() for function in (*each.default, *each.validate)
        )
        settings = self._settings()
        hooks = [
            Hook(gvk=gvk_of(watch.kind), admission=watch.admission, selector=watch.selector)
            for watch in self._watches
        ]
        name = self._options.webhook_name or f"{settings.service}.{settings.namespace}"
        mode = ConfigurationMode(self._options.webhook_configurations)
        registrar = Registrar(self._client, self._mapper, name, mode, hooks)
        size = max(2, min(MOST_WORKERS, available_cpus()))
        async with FunctionPool(named, size=size) as pool:
            judge = FunctionJudge(pool, functions)
            async with webhooks(settings, self._source(settings, name), registrar, judge):
                yield

    def _settings(self) -> WebhookSettings:
        options = self._options
        if self._address is None:
            raise ConfigError("--webhook-bind-address is not given")
        host, port = self._address
        return WebhookSettings(
            host=host,
            port=port,
            namespace=self._namespace(),
            service=options.webhook_service,
            service_port=options.webhook_service_port,
            url_host=options.webhook_url_host,
            terms=Terms(
                address={},
                failure_policy=options.webhook_failure_policy,
                timeout=round(options.webhook_timeout),
                namespaces=self._namespaces,
            ),
        )

    def _namespace(self) -> str:
        options = self._options
        needed = bool(options.webhook_service) or options.webhook_cert_dir is None
        namespace = options.webhook_namespace or pod_namespace()
        if needed and not namespace:
            raise ConfigError("not running in-cluster, please specify --webhook-namespace")
        return namespace

    def _source(self, settings: WebhookSettings, name: str) -> Source:
        folder = self._options.webhook_cert_dir
        if folder is not None:
            return FolderSource(folder)
        names = settings.names()
        return SecretSource(SharedSecret(self._client, settings.namespace, name, names))
