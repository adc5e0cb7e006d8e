# SPDX-License-Identifier: Apache-2.0
"""Runs objects again when an object that they name has changed, without a watch on its kind.

An addition to the contract: ``poll`` of a reference. A watch needs permission to list and watch
all objects of a kind, which nobody should have on Secrets; this reads the metadata of those that
are named, one after the other, and remembers nothing but their resource versions.
"""

import asyncio
from collections.abc import Iterable

from ansible_operator.background import note_failure
from ansible_operator.errors import KubeError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper, wait_until_served
from ansible_operator.kube.interface import GroupVersionKind, Object, ResourceType
from ansible_operator.kube.names import InvalidNameError
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.settings import Controlled, gvk_of
from ansible_operator.loop.triggers.references import field_text
from ansible_operator.watches import Reference

_LOG = get_logger("references")
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_NOT_FOUND = 404

Target = tuple[str, str]
"""Namespace and name of an object that is named."""


class ReferencePoll:
    """Asks at intervals whether objects that a controller's objects refer to have changed.

    Args:
        controlled: the kind that is run.
        reference: what its objects refer to; ``poll`` is the interval.
        informers: knows the objects of the controlled kind.
        client: reads the others.
        queue: where runs wait.
    """

    def __init__(
        self,
        controlled: Controlled,
        reference: Reference,
        informers: SharedInformers,
        client: HttpClient,
        queue: WorkQueue,
    ) -> None:
        self._controlled = controlled
        self._reference = reference
        self._informers = informers
        self._client = client
        self._queue = queue
        self._versions: dict[Target, str] = {}
        self._has_begun = False

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind that is followed."""
        return gvk_of(self._reference.kind)

    async def run(self, mapper: DiscoveryMapper) -> None:
        """Ask until cancelled, while the API server serves the kind."""
        while True:
            resource = await wait_until_served(mapper, self.gvk, _LOG.info)
            try:
                await self.ask(resource)
            except Exception:  # noqa: BLE001  # the next round asks again
                note_failure("poll", "References cannot be polled", kind=str(self.gvk))
            await asyncio.sleep(self._reference.poll)

    async def ask(self, resource: ResourceType) -> None:
        """Ask once for every object that is named, and queue those that name a changed one.

        What is there in the first round leads to no run: its objects are about to be run. What is
        named later does: it may have changed between the run of its object and this round.
        """
        primaries = self._informers.peek(self._controlled.resource)
        if primaries is None:
            return
        named = self._named(primaries.list())
        known = self._versions
        self._versions = {target: known[target] for target in named.keys() & known.keys()}
        for target, keys in named.items():
            version = await self._version(resource, target)
            if version is None:
                continue
            before = self._versions.get(target)
            self._versions[target] = version
            if before is None and not self._has_begun:
                continue
            if before != version:
                what = "is referred to" if before is None else "changed"
                for key in keys:
                    self._queue.add(key, reason=f"{self.gvk.kind} {target[1]} {what}")
        self._has_begun = True

    def _named(self, objects: Iterable[Object]) -> dict[Target, list[Key]]:
        found: dict[Target, list[Key]] = {}
        for obj in objects:
            metadata = obj["metadata"]
            name, own = field_text(obj, self._reference.name), metadata.get("namespace", "")
            if not name or not self._controlled.watch.selects(metadata):
                continue
            namespace = field_text(obj, self._reference.namespace) or own
            key = Key(self._controlled.name, own, metadata["name"])
            if not self._queue.includes(key):
                continue
            found.setdefault((namespace, name), []).append(key)
        return found

    async def _version(self, resource: ResourceType, target: Target) -> str | None:
        """The version of an object; ``""`` when there is none, None when nobody knows.

        There is none of a name that no object can have.
        """
        namespace, name = target
        try:
            found = await self._client.request_object(
                "GET", resource.path(name, namespace), accept=_METADATA
            )
        except InvalidNameError:
            return ""
        except KubeError as error:
            if error.status == _NOT_FOUND:
                return ""
            _LOG.debug("Cannot read what is referred to", kind=self.gvk.kind, error=str(error))
            return None
        return str(found["metadata"].get("resourceVersion", ""))
