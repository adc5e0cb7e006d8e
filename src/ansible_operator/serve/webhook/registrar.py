# SPDX-License-Identifier: Apache-2.0
"""Reconciles the API server's webhook configurations; every replica does."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ansible_operator.errors import KubeError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.interface import Object, ResourceType
from ansible_operator.logs import get_logger
from ansible_operator.serve.webhook.registration import (
    PHASES,
    Hook,
    Phase,
    Terms,
    configuration,
    configuration_path,
    covers,
    injections,
)

MANAGER = "ansible-operator-webhook"
_APPLY = "application/apply-patch+yaml"
_JSON_PATCH = "application/json-patch+json"
_log = get_logger("webhook")


class ConfigurationMode(StrEnum):
    """What the process does with webhook configurations."""

    MANAGE = "manage"
    """Create them and reconcile them with the watches."""
    INJECT = "inject"
    """Inject the CA into existing ones."""
    NONE = "none"
    """Nothing."""


CONFIGURATION_MODES = tuple(str(mode) for mode in ConfigurationMode)


@dataclass(frozen=True, slots=True)
class Registrar:
    """Compares and writes.

    Attributes:
        name: of the two configurations.
    """

    client: HttpClient
    mapper: DiscoveryMapper
    name: str
    mode: ConfigurationMode
    hooks: Sequence[Hook]

    async def ensure(self, terms: Terms, bundle: bytes | None) -> bool:
        """Write what differs.

        Args:
            terms: what all webhooks have in common.
            bundle: certificates to trust, PEM; None when another controller injects them.

        Returns:
            Whether that is all: False while a kind is not served yet.

        Raises:
            KubeError: the API server refuses.
        """
        if self.mode is ConfigurationMode.INJECT and bundle is not None:
            for phase in PHASES:
                await self._inject(phase, bundle)
        if self.mode is not ConfigurationMode.MANAGE:
            return True
        served = await self._served()
        for phase in PHASES:
            desired = configuration(phase, self.name, served, terms, bundle)
            await self._manage(phase, desired)
        return len(served) == len(self.hooks)

    async def _served(self) -> list[tuple[Hook, ResourceType]]:
        found = [(hook, await self.mapper.by_kind(hook.gvk)) for hook in self.hooks]
        return [(hook, resource) for hook, resource in found if resource is not None]

    async def _found(self, phase: Phase) -> Object | None:
        try:
            path = configuration_path(phase, self.name)
            return await self.client.request_object("GET", path)
        except KubeError as error:
            if error.is_not_found:
                return None
            raise

    async def _manage(self, phase: Phase, desired: Object) -> None:
        found = await self._found(phase)
        if found is None:
            if not desired["webhooks"]:
                return
        elif covers(found.get("webhooks", []), desired["webhooks"]):
            return
        query = {"fieldManager": MANAGER, "force": "true"}
        path = configuration_path(phase, self.name)
        await self.client.request("PATCH", path, query=query, body=desired, content_type=_APPLY)
        _log.info("Registered webhooks", kind=phase.kind, name=self.name)

    async def _inject(self, phase: Phase, bundle: bytes) -> None:
        found = await self._found(phase)
        operations = injections(found or {}, bundle)
        if operations:
            path = configuration_path(phase, self.name)
            await self.client.request("PATCH", path, body=operations, content_type=_JSON_PATCH)
            _log.info("Put certificates into webhooks", kind=phase.kind, name=self.name)
