# SPDX-License-Identifier: Apache-2.0
"""Runs objects again when an object that they name in a field changes.

An addition to the contract: ``references`` of a watch (``group, version, kind, name`` and perhaps
``namespace``, both dotted paths into the object, and ``conditions``).
"""

from collections.abc import Mapping
from typing import Any

from ansible_operator.kube.discovery import DiscoveryMapper, wait_until_served
from ansible_operator.kube.interface import EventType, GroupVersionKind, Object
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.settings import Controlled, gvk_of
from ansible_operator.loop.triggers.changes import conditions_differ, differs
from ansible_operator.watches import Reference

_LOG = get_logger("references")


def field_text(obj: Mapping[str, Any], path: str) -> str:
    """The string at a dotted path of an object; ``""`` if there is none."""
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""


def refers_to(reference: Reference, obj: Object, target: Object) -> bool:
    """Whether an object names the target; without a namespace in the field, its own counts."""
    name = field_text(obj, reference.name)
    if not name or name != target["metadata"]["name"]:
        return False
    namespace = field_text(obj, reference.namespace) if reference.namespace else ""
    own = str(obj["metadata"].get("namespace", ""))
    return target["metadata"].get("namespace", "") in {"", namespace or own}


class ReferenceWatch:
    """Follows one kind that objects of a controller refer to."""

    def __init__(
        self,
        controlled: Controlled,
        reference: Reference,
        informers: SharedInformers,
        queue: WorkQueue,
    ) -> None:
        self._controlled = controlled
        self._reference = reference
        self._informers = informers
        self._queue = queue

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind that is followed."""
        return gvk_of(self._reference.kind)

    async def start(self, mapper: DiscoveryMapper) -> None:
        """Begin to follow the kind, as soon as the API server serves it."""
        resource = await wait_until_served(mapper, self.gvk, _LOG.info)
        self._informers.start(resource).subscribe(self._on_event)

    def _matters(self, before: Object, now: Object) -> bool:
        if self._reference.conditions:
            return conditions_differ(before, now, self._reference.conditions)
        return differs(before, now, with_status=True)

    def _on_event(self, event: EventType, before: Object | None, now: Object) -> None:
        if event is EventType.MODIFIED and before is not None and not self._matters(before, now):
            return
        primaries = self._informers.peek(self._controlled.resource)
        for obj in primaries.list() if primaries is not None else ():
            if refers_to(self._reference, obj, now):
                metadata = obj["metadata"]
                key = Key(self._controlled.name, metadata.get("namespace", ""), metadata["name"])
                target = now["metadata"]["name"]
                self._queue.add(key, reason=f"{self.gvk.kind} {target} changed")
