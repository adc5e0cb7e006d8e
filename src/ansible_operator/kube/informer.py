# SPDX-License-Identifier: Apache-2.0
"""List, then watch until cancelled: a local copy of all objects of a kind.

A break of any kind leads to another attempt with a growing, jittered delay; nothing is given up.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any
from urllib.parse import urlencode

import aiohttp
import msgspec

from ansible_operator.errors import KubeError
from ansible_operator.kube.client import HttpClient, kube_error
from ansible_operator.kube.interface import EventType, InformerHandler, Object, ResourceType
from ansible_operator.logs import get_logger

PAGE_SIZE = 500
WATCH_SECONDS = (300, 600)
QUIET_SECONDS = 180.0
"""Longest silence of a watch (the server sends a bookmark about every minute)."""
FIRST_DELAY = 0.2
LONGEST_DELAY = 10.0
HEALTHY_SECONDS = 5.0
_PASSING = frozenset({401, 403, 429, 500, 502, 503, 504})
"""Answers after which a watch continues where it was; others need a new list."""

_METADATA = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
)
"""What to accept of a list and of a watch for the metadata alone."""

_LOG = get_logger("informer")
_Key = tuple[str, str]


def _key(item: Object) -> _Key:
    metadata = item["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


class KindInformer:
    """A list-and-watch cache of one kind.

    With several namespaces each is listed and watched by itself, into one cache.

    Attributes:
        resource: the kind.
        synced: set when every scope has been listed once.
        tried: set when every scope has been listed once, or the server has refused one.
        failure: why the last attempt broke; ``""`` while all is well.
    """

    def __init__(
        self,
        client: HttpClient,
        resource: ResourceType,
        *,
        namespaces: Sequence[str] = (),
        label_selector: str = "",
        metadata_only: bool = False,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self.tried = asyncio.Event()
        self.failure = ""
        self._client = client
        self._scopes = tuple(namespaces) if resource.namespaced and namespaces else ("",)
        self._reached = dict.fromkeys(self._scopes, "")
        self._selector = label_selector
        self._accept = _METADATA if metadata_only else ("application/json",) * 2
        self._objects: dict[_Key, Object] = {}
        self._handlers: list[InformerHandler] = []

    def get(self, namespace: str, name: str) -> Object | None:
        """The cached object (never to be changed by the caller)."""
        return self._objects.get((namespace, name))

    def list(self, namespace: str = "") -> Sequence[Object]:
        """All cached objects, of one namespace if given."""
        if not namespace:
            return tuple(self._objects.values())
        return tuple(item for key, item in self._objects.items() if key[0] == namespace)

    @property
    def resource_version(self) -> str:
        """The version that every scope has reached; ``""`` if there is none.

        It comes from the list, then from every event and bookmark. The proxy compares it with the
        versions of its own writes before it answers from the cache. There is none before the first
        list is complete, and for several scopes if their versions are not numbers: those of other
        servers than Kubernetes' own, such as ``12/34``, have no order.
        """
        if not self.synced.is_set():
            return ""
        reached = set(self._reached.values())
        if len(reached) == 1:
            return reached.pop()
        is_ordered = all(version.isdecimal() for version in reached)
        return min(reached, key=int) if is_ordered else ""

    @property
    def subscribers(self) -> int:
        """How many handlers are called for changes."""
        return len(self._handlers)

    def subscribe(self, handler: InformerHandler) -> Callable[[], None]:
        """Call the handler for every change from now on, after replaying the cache as ADDED.

        Returns:
            A function that ends the subscription.
        """
        for item in list(self._objects.values()):
            handler(EventType.ADDED, None, item)
        self._handlers.append(handler)

        def unsubscribe() -> None:
            if handler in self._handlers:
                self._handlers.remove(handler)

        return unsubscribe

    async def run(self) -> None:
        """List and watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for scope in self._scopes:
                name = f"watch {self.resource.gvk} {scope}".rstrip()
                group.create_task(self._follow(scope), name=name)

    async def _follow(self, scope: str) -> None:
        failures, version, asked = 0, "", 0.0
        loop = asyncio.get_running_loop()
        while True:
            started = loop.time()
            try:
                if not version:
                    version = self._reached[scope] = await self._relist(scope)
                    if all(self._reached.values()):
                        self.synced.set()
                        self.tried.set()
                async for reached in self._watch(scope, version):
                    version = self._reached[scope] = reached
                    failures = 0
            except (KubeError, aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
                if isinstance(error, KubeError) and error.status:
                    version = version if error.status in _PASSING else ""
                    asked = error.retry_after or 0.0
                    self.tried.set()
                self._note(error)
            failures = 0 if loop.time() - started > HEALTHY_SECONDS else failures + 1
            if failures:
                await asyncio.sleep(max(asked, _delay(failures)))
            asked = 0.0

    def _note(self, error: Exception) -> None:
        text = str(error) or type(error).__name__
        expected = isinstance(error, TimeoutError) or (
            isinstance(error, KubeError) and error.is_gone
        )
        if expected or text == self.failure:
            return
        self.failure = text
        _LOG.info("Watch was interrupted", resource=str(self.resource.gvk), error=text)

    async def _relist(self, scope: str) -> str:
        """Read everything and report the differences to the handlers; the list's version."""
        found: dict[_Key, Object] = {}
        query = {"limit": str(PAGE_SIZE)}
        if self._selector:
            query["labelSelector"] = self._selector
        path = self.resource.path(namespace=scope)
        while True:
            page = await self._client.request(
                "GET", path, query=query, timeout=60.0, accept=self._accept[0]
            )
            for item in page.get("items") or ():
                # Items of a list have no kind, or that of metadata.
                item.setdefault("apiVersion", self.resource.gvk.api_version)
                item.setdefault("kind", self.resource.gvk.kind)
                found[_key(item)] = item
            token = page["metadata"].get("continue")
            if not token:
                break
            query["continue"] = token
        for key in [key for key in self._objects if self._in_scope(key, scope)]:
            if key not in found:
                self._take(EventType.DELETED, self._objects[key])
        for item in found.values():
            self._take(EventType.MODIFIED, item)
        return str(page["metadata"]["resourceVersion"])

    def _in_scope(self, key: _Key, scope: str) -> bool:
        return not scope or key[0] == scope

    async def _watch(self, scope: str, version: str) -> AsyncIterator[str]:
        """Follow changes after ``version``; yields the version reached."""
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(random.randint(*WATCH_SECONDS)),  # noqa: S311
        }
        if self._selector:
            query["labelSelector"] = self._selector
        path = f"{self.resource.path(namespace=scope)}?{urlencode(query)}"
        response = await self._client.open(
            "GET", path, headers={"Accept": self._accept[1]}, read_timeout=QUIET_SECONDS
        )
        async with response:
            if response.status >= 400:
                payload = await response.read()
                raise kube_error(f"WATCH {path}", response.status, response.headers, payload)
            self.failure = ""
            async for line in _lines(response.content):
                yield self._event(msgspec.json.decode(line))

    def _event(self, event: dict[str, Any]) -> str:
        kind, item = event["type"], event["object"]
        if kind == "ERROR":
            message = f"WATCH {self.resource.gvk}: {item.get('message')}"
            raise KubeError(message, status=item.get("code") or 500, reason=item.get("reason", ""))
        if kind != "BOOKMARK":
            self._take(EventType(kind), item)
        return str(item["metadata"]["resourceVersion"])

    def _take(self, event: EventType, item: Object) -> None:
        """Put one object into the cache and report what that changes to the handlers."""
        key = _key(item)
        before = self._objects.get(key)
        if event is EventType.DELETED:
            if before is None:
                return
            del self._objects[key]
        else:
            if before is not None and _version(before) == _version(item):
                return
            event = EventType.MODIFIED if before is not None else EventType.ADDED
            self._objects[key] = item
        for handler in tuple(self._handlers):
            handler(event, before, item)


def _version(item: Object) -> Any:
    return item["metadata"].get("resourceVersion")


def _delay(failures: int) -> float:
    full = min(FIRST_DELAY * 2 ** (failures - 1), LONGEST_DELAY)
    return float(full * (0.5 + random.random()))  # noqa: S311


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Split a stream at line ends; lines may be as long as they like."""
    parts: list[bytes] = []
    async for chunk in stream.iter_any():
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            whole = b"".join([*parts, line])
            parts.clear()
            if whole:
                yield whole
        if rest:
            parts.append(rest)
