# SPDX-License-Identifier: Apache-2.0
"""All informers of the process: each kind is watched at most once, and only while needed."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from ansible_operator.background import keep_running
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.informer import KindInformer
from ansible_operator.kube.interface import GroupVersionKind, ResourceType


class SharedInformers:
    """Starts and stops informers; use as a context.

    An informer that breaks begins again.
    """

    def __init__(
        self, client: HttpClient, mapper: DiscoveryMapper, namespaces: Sequence[str] = ()
    ) -> None:
        self.namespaces = tuple(namespaces)
        self._client = client
        self._mapper = mapper
        self._group = asyncio.TaskGroup()
        self._running: dict[GroupVersionKind, tuple[KindInformer, asyncio.Task[None]]] = {}

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for _, task in self._running.values():
            task.cancel()
        await self._group.__aexit__(kind, error, trace)

    def peek(self, resource: ResourceType) -> KindInformer | None:
        """The running informer of a kind, if there is one: reading never starts a watch."""
        entry = self._running.get(resource.gvk)
        return entry[0] if entry else None

    def start(self, resource: ResourceType) -> KindInformer:
        """The informer of a kind, started if needed, not necessarily synced yet."""
        entry = self._running.get(resource.gvk)
        if entry is None:
            informer = KindInformer(
                self._client, resource, self._mapper, namespaces=self.namespaces
            )
            task = self._group.create_task(
                keep_running("informer", informer.run), name=f"informer {resource.gvk}"
            )
            entry = self._running[resource.gvk] = (informer, task)
        return entry[0]

    def metadata_of(self, resource: ResourceType, label_selector: str) -> KindInformer:
        """An informer of its own, of the metadata of some objects; the caller runs it."""
        return KindInformer(
            self._client,
            resource,
            self._mapper,
            namespaces=self.namespaces,
            label_selector=label_selector,
            metadata_only=True,
        )

    def release(self, resource: ResourceType) -> bool:
        """Stop the informer of a kind if nobody is subscribed to it; whether it was stopped."""
        entry = self._running.get(resource.gvk)
        if entry is None or entry[0].subscribers:
            return False
        entry[1].cancel()
        del self._running[resource.gvk]
        return True
