# SPDX-License-Identifier: Apache-2.0
"""Runs objects again when something changes that names them in a label, such as their Pods.

An addition to the contract: ``members`` of a watch. Pods are created by workloads, not by plays, so
they are no dependents; only their metadata is read, and of that only what the watch lists.
"""

from collections.abc import Mapping
from typing import Any

from ansible_operator.kube.discovery import DiscoveryMapper, wait_until_served
from ansible_operator.kube.interface import EventType, GroupVersionKind, Object
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.settings import Controlled, gvk_of
from ansible_operator.watches import Members

_LOG = get_logger("members")


def what_matters(members: Members, obj: Object) -> tuple[Any, ...]:
    """The parts of an object's metadata whose change leads to a run."""
    metadata = obj["metadata"]
    annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
    return (
        bool(metadata.get("deletionTimestamp")),
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
    """

    def __init__(
        self,
        controlled: Controlled,
        members: Members,
        informers: SharedInformers,
        queue: WorkQueue,
    ) -> None:
        self._controlled = controlled
        self._members = members
        self._informers = informers
        self._queue = queue

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
        if event is not EventType.MODIFIED or before is None:
            # Creation and deletion change the status of the workload, which is watched already.
            return
        owner = owner_of(self._members, now)
        if owner is None or what_matters(self._members, before) == what_matters(self._members, now):
            return
        reason = f"{self.gvk.kind} {now['metadata']['name']} changed"
        self._queue.add(Key(self._controlled.name, *owner), reason=reason)
