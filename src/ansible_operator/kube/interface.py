# SPDX-License-Identifier: Apache-2.0
"""What the other rooms may expect of the Kubernetes client.

The implementations live beside this file; tests use the real ones against a real API server.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

import aiohttp

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object as decoded JSON, in Kubernetes' own spelling."""


@dataclass(frozen=True, slots=True)
class GroupVersionKind:
    """Group (``""`` for core), version and kind of an object."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """``group/version``, or ``version`` alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"


@dataclass(frozen=True, slots=True)
class ResourceType:
    """A served kind as discovery describes it."""

    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    verbs: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_virtual(self) -> bool:
        """Whether objects of the kind cannot be read back (``SelfSubjectAccessReview``, ...)."""
        return not {"get", "list", "watch"} <= self.verbs

    def path(self, name: str = "", namespace: str = "", subresource: str = "") -> str:
        """The URL path of one object, of a namespace's list or of the whole list."""
        root = f"/apis/{self.gvk.group}" if self.gvk.group else "/api"
        parts = [root, self.gvk.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/".join(parts)


class EventType(StrEnum):
    """What happened to an object, as told to informer handlers."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


InformerHandler: TypeAlias = Callable[[EventType, Object | None, Object], None]
"""Called with the type, the object before (None when new) and the object now (last known when
deleted). It must not block and must not change the objects."""


class Client(Protocol):
    """One authenticated HTTP session to one API server."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        timeout: float = 30.0,
    ) -> Any:
        """Send one request and return the decoded JSON answer.

        Raises:
            KubeError: for every status of 400 and above, and when no answer came.
        """
        ...

    async def open(
        self,
        method: str,
        path_and_query: str,
        *,
        headers: Mapping[str, str] | None = None,
        data: Any = None,
    ) -> aiohttp.ClientResponse:
        """Send a request as it is and return the open response, whatever its status.

        Credentials are added; the caller closes the response. For the proxy and for watches.
        """
        ...


class Mapper(Protocol):
    """Discovery: which kinds are served, and under which names."""

    async def by_kind(self, gvk: GroupVersionKind) -> ResourceType | None:
        """The served kind, looked up anew (at most every few seconds) when it is not known."""
        ...

    async def by_plural(self, group: str, version: str, plural: str) -> ResourceType | None:
        """The kind behind a URL path."""
        ...


class Informer(Protocol):
    """A list-and-watch cache of one kind in one scope.

    Attributes:
        resource: what is cached.
        synced: set while the cache is complete.
        resource_version: the newest version of the collection that the cache contains, taken from
            the list, then from every event and bookmark; ``""`` before the first list. The proxy
            compares it with the versions of its own writes before it answers from the cache.
            An informer over several namespaces gives the smallest of their versions.
    """

    resource: ResourceType
    synced: asyncio.Event

    @property
    def resource_version(self) -> str:
        """See above."""
        ...

    def get(self, namespace: str, name: str) -> Object | None:
        """The cached object (never to be changed by the caller)."""
        ...

    def list(self, namespace: str = "") -> Sequence[Object]:
        """All cached objects, of one namespace if given."""
        ...

    def subscribe(self, handler: InformerHandler) -> Callable[[], None]:
        """Tell the handler of every change from now on, after replaying the cache as ADDED.

        Returns:
            A function that ends the subscription.
        """
        ...


class InformerPool(Protocol):
    """All informers of the process; each kind is watched once."""

    def peek(self, resource: ResourceType) -> Informer | None:
        """The running informer of a kind, if there is one: reading never starts a watch."""
        ...

    async def get(self, resource: ResourceType) -> Informer:
        """The informer of a kind, started if needed, not necessarily synced yet."""
        ...
