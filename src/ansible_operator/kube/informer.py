# SPDX-License-Identifier: Apache-2.0
"""List, then watch until cancelled: a local copy of all objects of a kind.

A break of any kind leads to another attempt with a growing, jittered delay; nothing is given up.
What the API server calls the kind is looked up before each: its CRD may have been deleted, and
created again with another scope or plural.
What cannot be read as an object is skipped, and a handler that fails takes no other one with it.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any
from urllib.parse import urlencode

import aiohttp

from ansible_operator.background import note_failure
from ansible_operator.errors import KubeError, OperatorError
from ansible_operator.kube.client import LONGEST_MESSAGE, HttpClient, kube_error
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.documents import (
    IncompleteObject,
    UnreadableAnswerError,
    decode,
    read_object,
)
from ansible_operator.kube.interface import EventType, InformerHandler, Object, ResourceType
from ansible_operator.logs import get_logger

PAGE_SIZE = 500
WATCH_SECONDS = (300, 600)
QUIET_SECONDS = 180.0
"""Longest silence of a watch (the server sends a bookmark about every minute)."""
FIRST_DELAY = 0.2
LONGEST_DELAY = 10.0
HEALTHY_SECONDS = 5.0
LONGEST_LINE = 64 << 20
"""Bytes of an event: etcd stores a fortieth of that."""
_MOST_REPORTED = 1000
_RETRYABLE_STATUSES = frozenset({401, 403, 429, 500, 502, 503, 504})
"""Answers after which a watch continues where it was; others need a new list."""

_CHANGES = ("ADDED", "MODIFIED", "DELETED")
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


class _RedefinedError(OperatorError):
    """A kind is not what it was when its watch began."""


class KindInformer:
    """A list-and-watch cache of one kind.

    With several namespaces each is listed and watched by itself, into one cache.

    Attributes:
        resource: the kind, as the API server serves it now.
        synced: set when every scope has been listed once, and while the kind is served.
        tried: set when every scope has been listed once, or the server has refused one.
        failure: why the last attempt broke; ``""`` while all is well.
    """

    def __init__(
        self,
        client: HttpClient,
        resource: ResourceType,
        mapper: DiscoveryMapper,
        *,
        namespaces: Sequence[str] = (),
        label_selector: str = "",
        metadata_only: bool = False,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self.tried = asyncio.Event()
        self.failure = ""
        self._now = resource
        self._client = client
        self._mapper = mapper
        self._namespaces = tuple(namespaces)
        self._scopes = self._scopes_of(resource)
        self._reached = dict.fromkeys(self._scopes, "")
        self._selector = label_selector
        self._accept = _METADATA if metadata_only else ("application/json",) * 2
        self._objects: dict[_Key, Object] = {}
        self._handlers: list[InformerHandler] = []
        self._redefinitions: list[Callable[[ResourceType], None]] = []
        self._reported: set[tuple[str, ...]] = set()

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
            self._call(handler, EventType.ADDED, None, item)
        self._handlers.append(handler)

        def unsubscribe() -> None:
            if handler in self._handlers:
                self._handlers.remove(handler)

        return unsubscribe

    def when_redefined(self, call: Callable[[ResourceType], None]) -> None:
        """Call a function when the kind has another scope or plural from now on.

        All objects of before have been reported as deleted then, and none of the others yet.
        """
        self._redefinitions.append(call)

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                async with asyncio.TaskGroup() as group:
                    for scope in self._scopes:
                        name = f"watch {self.resource.gvk} {scope}".rstrip()
                        group.create_task(self._follow(scope), name=name)
            except* _RedefinedError:
                self._redefine()

    def _scopes_of(self, resource: ResourceType) -> tuple[str, ...]:
        return self._namespaces if resource.namespaced and self._namespaces else ("",)

    def _redefine(self) -> None:
        """Begin anew with what the kind is now; its objects of before are gone with their CRD."""
        now = self._now
        _LOG.info("Kind was redefined", gvk=str(now.gvk), plural=now.plural, scope=_scope(now))
        self.synced.clear()
        self.tried.clear()
        for item in list(self._objects.values()):
            self._take(EventType.DELETED, item)
        self.resource, self._scopes = now, self._scopes_of(now)
        self._reached = dict.fromkeys(self._scopes, "")
        for call in tuple(self._redefinitions):
            call(now)

    async def _look_up(self) -> None:
        """See what the kind is now; what discovery does not say stays as it is.

        Raises:
            _RedefinedError: it has another scope, or another plural.
            KubeError: it is not served (404).
        """
        try:
            now = await self._mapper.read_again(self.resource.gvk)
        except (KubeError, UnreadableAnswerError, aiohttp.ClientError, TimeoutError) as error:
            _LOG.debug("Kind cannot be looked up", gvk=str(self.resource.gvk), error=str(error))
            return
        if now is None:
            self.synced.clear()  # nobody may be answered from the cache
            raise KubeError("the kind is not served: was its CRD deleted?", status=404)
        if (now.plural, now.namespaced) != (self.resource.plural, self.resource.namespaced):
            self._now = now
            raise _RedefinedError

    async def _follow(self, scope: str) -> None:
        failures, version, asked = 0, "", 0.0
        loop = asyncio.get_running_loop()
        while True:
            started = loop.time()
            try:
                version = await self._begin(scope, version)
                async for reached in self._watch(scope, version):
                    version = self._reached[scope] = reached or version
            except (KubeError, UnreadableAnswerError, aiohttp.ClientError, TimeoutError) as error:
                if isinstance(error, UnreadableAnswerError):
                    version = ""
                    self.tried.set()
                if isinstance(error, KubeError) and error.status:
                    version = version if error.status in _RETRYABLE_STATUSES else ""
                    asked = error.retry_after or 0.0
                    self.tried.set()
                self._note(error)
            except _RedefinedError:
                raise
            except Exception as error:  # noqa: BLE001  # no answer may end the informer
                version = ""
                self._note_unexpected(error)
            # An event proves nothing: a watch that ends after each of them would be a busy loop.
            failures = 0 if loop.time() - started > HEALTHY_SECONDS else failures + 1
            if failures:
                await asyncio.sleep(max(asked, _delay(failures)))
            asked = 0.0

    async def _begin(self, scope: str, version: str) -> str:
        """Look the kind up, and list it unless a watch can continue; the version to watch from."""
        if self.tried.is_set():
            await self._look_up()
        if not version:
            version = self._reached[scope] = await self._relist(scope)
            if all(self._reached.values()):
                self.synced.set()
                self.tried.set()
        return version

    def _note(self, error: Exception) -> None:
        text = str(error) or type(error).__name__
        expected = isinstance(error, TimeoutError) or (
            isinstance(error, KubeError) and error.is_gone
        )
        if expected or text == self.failure:
            return
        self.failure = text
        _LOG.info("Watch was interrupted", resource=str(self.resource.gvk), error=text)

    def _note_unexpected(self, error: Exception) -> None:
        self.tried.set()
        text = f"{type(error).__name__}: {error}"
        if text != self.failure:
            self.failure = text
            note_failure("informer", "Watch was interrupted", resource=str(self.resource.gvk))

    async def _relist(self, scope: str) -> str:
        """Read everything and report the differences to the handlers; the list's version."""
        found, version = await self._list_all(scope)
        for key in [key for key in self._objects if self._in_scope(key, scope)]:
            if key not in found:
                self._take(EventType.DELETED, self._objects[key])
        for item in found.values():
            self._take(EventType.MODIFIED, item)
        return version

    async def _list_all(self, scope: str) -> tuple[dict[_Key, Object], str]:
        """Read all pages of a list; the objects, and the version of the list.

        Raises:
            KubeError: the API server refuses or does not answer.
            UnreadableAnswerError: the answer is no list.
        """
        found: dict[_Key, Object] = {}
        query = {"limit": str(PAGE_SIZE)}
        if self._selector:
            query["labelSelector"] = self._selector
        path = self.resource.path(namespace=scope)
        while True:
            page = await self._client.request(
                "GET", path, query=query, timeout=60.0, accept=self._accept[0]
            )
            metadata = page.get("metadata")
            # A list of nothing may have null; one without items is none, and nothing is gone.
            items = [] if page.get("items", "") is None else page.get("items")
            if not isinstance(metadata, dict) or not isinstance(items, list):
                raise UnreadableAnswerError(f"LIST {path}: the answer is no list")
            for each in items:
                item = self._readable(each)
                if item is not None:
                    self._check_scope(item)
                    # Items of a list have no kind, or that of metadata.
                    item.setdefault("apiVersion", self.resource.gvk.api_version)
                    item.setdefault("kind", self.resource.gvk.kind)
                    found[_key(item)] = item
            token = metadata.get("continue")
            if not token or not isinstance(token, str):
                break
            if token == query.get("continue"):
                raise UnreadableAnswerError(f"LIST {path}: the list does not end")
            query["continue"] = token
        version = metadata.get("resourceVersion")
        if not version or not isinstance(version, str):
            raise UnreadableAnswerError(f"LIST {path}: the list has no resourceVersion")
        return found, version

    def _readable(self, item: Any) -> Object | None:
        """An object as handlers and caches may rely on it; None, and a line in the log, if not."""
        try:
            obj = read_object(item)
        except UnreadableAnswerError as error:
            if self._is_new("unreadable", str(error)):
                gvk = str(self.resource.gvk)
                _LOG.error("An object is skipped: it cannot be read", gvk=gvk, error=str(error))
            return None
        if isinstance(obj, IncompleteObject) and self._is_new(*_key(obj), obj.where):
            namespace, name = _key(obj)
            about = {"gvk": str(self.resource.gvk), "namespace": namespace, "name": name}
            _LOG.warning("An object is nested too deep to be read whole", **about, at=obj.where)
        return obj

    def _check_scope(self, item: Object) -> None:
        """Look the kind up again when its objects are not what discovery said.

        A cluster has several API servers, one of which may serve a new definition before another
        one says so.

        Raises:
            UnreadableAnswerError: an object is in a namespace, or is in none, against the scope.
        """
        if bool(item["metadata"].get("namespace")) != self.resource.namespaced:
            raise UnreadableAnswerError(
                f"{self.resource.gvk}: an object does not fit the scope {_scope(self.resource)}"
            )

    def _is_new(self, *about: str) -> bool:
        """Whether this is reported for the first time, of the last thousand or so."""
        if about in self._reported:
            return False
        if len(self._reported) >= _MOST_REPORTED:
            self._reported.clear()
        self._reported.add(about)
        return True

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
                yield self._event(decode(line)) or version

    def _event(self, event: dict[str, Any]) -> str:
        """Take an event; the version that is reached with it, ``""`` if it has none.

        Raises:
            KubeError: it reports an error.
            UnreadableAnswerError: it is no event.
        """
        kind, item = event.get("type"), event.get("object")
        if not isinstance(item, dict):
            raise UnreadableAnswerError(f"WATCH {self.resource.gvk}: an event has no object")
        if kind == "ERROR":
            code, reason = item.get("code"), item.get("reason")
            message = f"WATCH {self.resource.gvk}: {str(item.get('message'))[:LONGEST_MESSAGE]}"
            status = code if isinstance(code, int) and code >= 400 else 500
            reason = reason if isinstance(reason, str) else ""
            raise KubeError(message, status=status, reason=reason)
        if kind in _CHANGES and (obj := self._readable(item)) is not None:
            self._check_scope(obj)
            self._take(EventType(kind), obj)
        metadata = item.get("metadata")
        version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
        return version if isinstance(version, str) else ""

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
            self._call(handler, event, before, item)

    def _call(
        self, handler: InformerHandler, event: EventType, before: Object | None, item: Object
    ) -> None:
        try:
            handler(event, before, item)
        except Exception as error:  # noqa: BLE001  # one object must not stop those behind it
            namespace, name = _key(item)
            if self._is_new(namespace, name, type(error).__name__):
                about = {"gvk": str(self.resource.gvk), "namespace": namespace, "name": name}
                note_failure("event", "An event of an object cannot be handled", **about)


def _scope(resource: ResourceType) -> str:
    return "Namespaced" if resource.namespaced else "Cluster"


def _version(item: Object) -> Any:
    return item["metadata"].get("resourceVersion")


def _delay(failures: int) -> float:
    full = min(FIRST_DELAY * 2 ** (failures - 1), LONGEST_DELAY)
    return float(full * (0.5 + random.random()))  # noqa: S311


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Split a stream at line ends.

    Raises:
        UnreadableAnswerError: a line is longer than any event can be.
    """
    parts: list[bytes] = []
    size = 0
    async for chunk in stream.iter_any():
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            whole = b"".join([*parts, line])
            parts.clear()
            size = 0
            if whole.strip():
                yield whole
        if rest:
            parts.append(rest)
            size += len(rest)
            if size > LONGEST_LINE:
                raise UnreadableAnswerError(f"an event is longer than {LONGEST_LINE} bytes")
