# SPDX-License-Identifier: Apache-2.0
"""Which kinds the API server serves; requested per group and version, and only when needed.

One broken aggregated API therefore never affects the others (runner.md §5.3).
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
LOOKUP_SECONDS = (0.5, 10.0)
"""First and longest time between two lookups of a kind that is not served: CRDs that are applied
together with the operator are served within a second."""
LOG_AFTER_SECONDS = 2.0


class _GroupVersion:
    """The kinds of one group and version, and when they were read."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.read_at = float("-inf")
        self.kinds: dict[str, ResourceType] = {}
        self.plurals: dict[str, ResourceType] = {}


class DiscoveryMapper:
    """Which kinds are served, and under which names; with a cache.

    Known kinds stay known; unknown ones are requested again, at most once a second.
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
        if gvk.kind not in entry.kinds:
            await self._refresh(gvk.group, gvk.version, entry)
        return entry.kinds.get(gvk.kind)

    async def by_plural(self, group: str, version: str, plural: str) -> ResourceType | None:
        """The kind behind a URL path, or None.

        Raises:
            KubeError: see :meth:`by_kind`.
        """
        entry = self._entry(group, version)
        if plural not in entry.plurals:
            await self._refresh(group, version, entry)
        return entry.plurals.get(plural)

    def _entry(self, group: str, version: str) -> _GroupVersion:
        return self._known.setdefault((group, version), _GroupVersion())

    async def _refresh(self, group: str, version: str, entry: _GroupVersion) -> None:
        asked_at = self._clock()
        async with entry.lock:
            if entry.read_at >= asked_at or self._clock() - entry.read_at < REFRESH_INTERVAL:
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
