# SPDX-License-Identifier: Apache-2.0
"""Which kinds the API server serves; requested per group and version, and only when needed.

One broken aggregated API therefore never affects the others.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ansible_operator.errors import KubeError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.interface import GroupVersionKind, ResourceType
from ansible_operator.kube.names import api_path, is_name

REFRESH_INTERVAL = 1.0
KNOWN_SECONDS = 60.0
"""How long a kind stays known: its CRD may be deleted, and created again with another scope."""
LOOKUP_SECONDS = (0.5, 10.0)
"""First and longest time between two lookups of a kind that is not served: CRDs that are applied
together with the operator are served within a second."""
LOG_AFTER_SECONDS = 2.0


class _GroupVersion:
    """The kinds of one group and version, and when they were read."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.read_at = float("-inf")
        self.failed_at = float("-inf")
        self.kinds: dict[str, ResourceType] = {}
        self.plurals: dict[str, ResourceType] = {}


class DiscoveryMapper:
    """Which kinds are served, and under which names; with a cache.

    Known kinds are requested again after a minute, and stay known if discovery fails then; unknown
    ones at most once a second.
    """

    def __init__(self, client: HttpClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._known: dict[tuple[str, str], _GroupVersion] = {}

    async def by_kind(self, gvk: GroupVersionKind) -> ResourceType | None:
        """The served kind, or None.

        Raises:
            KubeError: discovery of this group and version failed for another reason than 404.
        """
        entry = self._entry(gvk.group, gvk.version)
        await self._ensure(gvk.group, gvk.version, entry, is_known=gvk.kind in entry.kinds)
        return entry.kinds.get(gvk.kind)

    async def read_again(self, gvk: GroupVersionKind) -> ResourceType | None:
        """The served kind, or None, as discovery answers now.

        Raises:
            KubeError: see :meth:`by_kind`.
        """
        entry = self._entry(gvk.group, gvk.version)
        await self._refresh(gvk.group, gvk.version, entry, interval=0.0)
        return entry.kinds.get(gvk.kind)

    async def by_plural(self, group: str, version: str, plural: str) -> ResourceType | None:
        """The kind behind a URL path, or None.

        Raises:
            KubeError: see :meth:`by_kind`.
        """
        entry = self._entry(group, version)
        await self._ensure(group, version, entry, is_known=plural in entry.plurals)
        return entry.plurals.get(plural)

    def _entry(self, group: str, version: str) -> _GroupVersion:
        return self._known.setdefault((group, version), _GroupVersion())

    async def _ensure(
        self, group: str, version: str, entry: _GroupVersion, *, is_known: bool
    ) -> None:
        """Read a group version that does not have what is looked up, or was read long ago."""
        if not is_known:
            await self._refresh(group, version, entry)
        elif self._clock() - max(entry.read_at, entry.failed_at) > KNOWN_SECONDS:
            try:
                await self._refresh(group, version, entry)
            except KubeError:
                entry.failed_at = self._clock()

    async def _refresh(
        self, group: str, version: str, entry: _GroupVersion, interval: float = REFRESH_INTERVAL
    ) -> None:
        asked_at = self._clock()
        async with entry.lock:
            if entry.read_at >= asked_at or self._clock() - entry.read_at < interval:
                return
            path = api_path("apis", group, version) if group else api_path("api", version)
            try:
                answer = await self._client.request("GET", path)
            except KubeError as error:
                if not error.is_not_found:
                    raise
                answer = {"resources": []}
            entry.read_at = self._clock()
            found = list(_resources(group, version, answer.get("resources")))
            entry.kinds = {resource.gvk.kind: resource for resource in found}
            entry.plurals = {resource.plural: resource for resource in found}


class _Served(msgspec.Struct):
    """An APIResource."""

    name: str
    kind: str
    namespaced: bool = False
    verbs: list[str] | None = None


def _resources(group: str, version: str, listed: object) -> Iterator[ResourceType]:
    """Yield the kinds that an answer describes; subresources and what is malformed are left out."""
    for item in listed if isinstance(listed, list) else ():
        try:
            served = msgspec.convert(item, _Served)
        except msgspec.ValidationError:
            continue
        if served.kind and is_name(served.name):
            yield ResourceType(
                gvk=GroupVersionKind(group, version, served.kind),
                plural=served.name,
                namespaced=served.namespaced,
                verbs=frozenset(served.verbs or ()),
            )


async def wait_until_served(
    mapper: DiscoveryMapper, gvk: GroupVersionKind, log: Callable[..., Any]
) -> ResourceType:
    """What the API server calls a kind, as soon as it serves it.

    Args:
        mapper: discovery.
        gvk: the kind.
        log: a method of a logger: how much it matters that the kind is not there.
    """
    pause, longest = LOOKUP_SECONDS
    logged = False
    while True:
        try:
            resource = await mapper.by_kind(gvk)
        except KubeError as error:
            log("Kind cannot be looked up", gvk=str(gvk), error=str(error))
            resource = None
        if resource is not None:
            return resource
        if not logged and pause >= LOG_AFTER_SECONDS:
            logged = True
            log("Kind is not served: is its CRD installed?", gvk=str(gvk))
        await asyncio.sleep(pause)
        pause = min(2 * pause, longest)
