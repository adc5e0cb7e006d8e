# SPDX-License-Identifier: Apache-2.0
"""Runs objects again when something changes that concerns them, such as Pods that name them.

An addition to the contract: ``members`` of a watch. Pods are created by workloads, not by plays, so
they are no dependents; only their metadata is read, and of that only what the watch lists. A member
names its object in a label, or concerns all objects of the watch in its namespace, as requests do
that any of them may serve.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_operator.kube.discovery import DiscoveryMapper, wait_until_served
from ansible_operator.kube.interface import EventType, GroupVersionKind, Object
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.settings import Controlled, gvk_of
from ansible_operator.loop.triggers.own_writes import ForeignChanges
from ansible_operator.watches import Members

_LOG = get_logger("members")


def what_matters(members: Members, obj: Object) -> tuple[Any, ...]:
    """The parts of an object's metadata whose change leads to a run."""
    metadata = obj["metadata"]
    annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
    return (
        bool(metadata.get("deletionTimestamp")),
        (metadata.get("uid"), metadata.get("generation")) if members.spec else None,
        [annotations.get(name) for name in members.annotations],
        [labels.get(name) for name in members.labels],
    )


def owner_of(members: Members, obj: Object) -> tuple[str, str] | None:
    """Namespace and name of the object that a member names; None if it names none."""
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    name = labels.get(members.name)
    return (obj["metadata"].get("namespace", ""), name) if name else None


class MembersWatch:
    """Follows one kind whose objects name objects of a controller.

    Args:
        controlled: the kind that is run.
        members: what is followed.
        informers: creates informers.
        queue: where runs wait.
        foreign: distinguishes changes by an object's own run from others.
    """

    def __init__(
        self,
        controlled: Controlled,
        members: Members,
        informers: SharedInformers,
        queue: WorkQueue,
        foreign: ForeignChanges,
    ) -> None:
        self._controlled = controlled
        self._members = members
        self._informers = informers
        self._queue = queue
        self._foreign = foreign

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind that is followed."""
        return gvk_of(self._members.kind)

    async def run(self, mapper: DiscoveryMapper) -> None:
        """Follow the kind until cancelled, as soon as the API server serves it."""
        resource = await wait_until_served(mapper, self.gvk, _LOG.info)
        informer = self._informers.metadata_of(resource, self._members.selector)
        informer.subscribe(self._on_event)
        await informer.run()

    def _on_event(self, event: EventType, before: Object | None, now: Object) -> None:
        members = self._members
        if event is not EventType.MODIFIED or before is None:
            # Those of a workload are counted in its status, which is watched already.
            if members.spec:
                self._run(now, f"{self.gvk.kind} {now['metadata']['name']} {event.lower()}")
            return
        if what_matters(members, before) == what_matters(members, now):
            return
        reason = f"{self.gvk.kind} {now['metadata']['name']} changed"
        for key in self._concerned(now):
            self._foreign.consider(key, now, reason)

    def _run(self, member: Object, reason: str) -> None:
        for key in self._concerned(member):
            self._queue.add(key, reason=reason)

    def _concerned(self, member: Object) -> Iterator[Key]:
        """The objects that a member names, or all of its namespace if it names none."""
        if self._members.name:
            owner = owner_of(self._members, member)
            if owner is not None and self._controlled.can_have(*owner):
                yield Key(self._controlled.name, *owner)
            return
        namespace = member["metadata"].get("namespace", "")
        primaries = self._informers.peek(self._controlled.resource)
        for one in primaries.list(namespace) if primaries is not None else ():
            yield Key(self._controlled.name, namespace, one["metadata"]["name"])
