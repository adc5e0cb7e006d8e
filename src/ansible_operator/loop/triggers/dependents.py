# SPDX-License-Identifier: Apache-2.0
"""Watches on what plays create: a change of a dependent runs its owner again."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ansible_operator.kube.interface import EventType, GroupVersionKind, Object, ResourceType
from ansible_operator.kube.owners import PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE, owner_type
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.settings import Controlled
from ansible_operator.loop.triggers.changes import differs
from ansible_operator.loop.triggers.own_writes import ForeignChanges
from ansible_operator.loop.triggers.primaries import EVENT_NAMES

GRACE_SECONDS = 60.0
"""How long after a registration a watch remains although no dependent is there: the create that was
registered may still be on its way, through admission webhooks with time limits of their own."""

_LOG = get_logger("dependents")


@dataclass(frozen=True, slots=True)
class Link:
    """One owner kind, one dependent kind, one way of naming the owner."""

    owner: GroupVersionKind
    dependent: GroupVersionKind
    by_annotation: bool


@dataclass(slots=True)
class _Active:
    """A watch that runs.

    Attributes:
        end: ends the subscription.
        registered: when a run registered it last, in the event loop's time.
        is_checked_later: whether a check for dependents is planned.
    """

    resource: ResourceType
    end: Callable[[], None]
    registered: float = 0.0
    is_checked_later: bool = False


def owners_by_reference(controlled: Controlled, obj: Object) -> Iterator[tuple[str, str]]:
    """Namespace and name of each owner of the controlled kind that an object refers to."""
    gvk = controlled.gvk
    for reference in obj["metadata"].get("ownerReferences") or ():
        parts = str(reference.get("apiVersion", "")).split("/")
        if len(parts) > 2:
            return
        group = parts[0] if len(parts) == 2 else ""
        if (group, reference.get("kind")) == (gvk.group, gvk.kind):
            namespace = obj["metadata"].get("namespace", "")
            yield (namespace if controlled.resource.namespaced else "", reference["name"])


def owners_by_annotation(controlled: Controlled, obj: Object) -> Iterator[tuple[str, str]]:
    """Namespace and name of the owner that an object's annotations name."""
    annotations = obj["metadata"].get("annotations") or {}
    if annotations.get(PRIMARY_RESOURCE_TYPE) != owner_type(controlled.gvk):
        return
    path = str(annotations.get(PRIMARY_RESOURCE, "")).strip()
    if not path:
        return
    namespace, slash, name = path.partition("/")
    yield (namespace, name) if slash else ("", namespace)


def _matters(controlled: Controlled, before: Object, now: Object) -> bool:
    """Whether a dependent has changed in what its owner's watch follows."""
    return differs(
        before,
        now,
        with_status=controlled.watch.watch_dependent_status,
        annotations=controlled.watch.watch_dependent_annotations,
    )


class DependentWatches:
    """Starts watches when a play creates something, and ends those that nothing needs any more."""

    def __init__(
        self,
        informers: SharedInformers,
        queue: WorkQueue,
        controlled: Mapping[GroupVersionKind, Controlled],
        foreign: ForeignChanges,
    ) -> None:
        self._informers = informers
        self._queue = queue
        self._controlled = controlled
        self._foreign = foreign
        self._links: dict[Link, _Active] = {}

    def watch(self, owner: GroupVersionKind, dependent: ResourceType, by_annotation: bool) -> bool:
        """Watch a kind for an owner's kind; whether it is watched now.

        Conditions are those of the owner's watch: dependents at all, its blacklist, and for
        cluster-scoped dependents ``watchClusterScopedResources``.
        """
        controlled = self._controlled.get(owner)
        if controlled is None or not self._should_watch(controlled, dependent, by_annotation):
            _LOG.info("Resource will not be watched/cached.", gvk=str(dependent.gvk))
            return False
        link = Link(owner, dependent.gvk, by_annotation)
        if link not in self._links:
            _LOG.info("Watching child resource", kind=str(dependent.gvk), owner=str(owner))
            handler = self._handler(link, controlled)
            end = self._informers.start(dependent).subscribe(handler)
            self._links[link] = _Active(dependent, end)
        self._links[link].registered = asyncio.get_running_loop().time()
        return True

    def _should_watch(
        self, owner: Controlled, dependent: ResourceType, by_annotation: bool
    ) -> bool:
        watch = owner.watch
        listed = any(GroupVersionKind(*kind) == dependent.gvk for kind in watch.blacklist)
        if not watch.watch_dependent_resources or listed:
            return False
        reachable = dependent.namespaced or watch.watch_cluster_scoped_resources
        return reachable if by_annotation else True

    def _handler(
        self, link: Link, controlled: Controlled
    ) -> Callable[[EventType, Object | None, Object], None]:
        find = owners_by_annotation if link.by_annotation else owners_by_reference

        def handle(event: EventType, before: Object | None, now: Object) -> None:
            if event is EventType.ADDED:
                return
            updated = event is EventType.MODIFIED and before is not None
            if updated and not _matters(controlled, before or {}, now):
                return
            both = (before, now) if before is not None else (now,)
            owners = dict.fromkeys(owner for obj in both for owner in find(controlled, obj))
            for namespace, name in owners:
                if not controlled.can_have(namespace, name):
                    continue
                _log_event(link, event, now, (namespace, name))
                self._trigger(Key(controlled.name, namespace, name), event, now)
            if event is EventType.DELETED:
                self._check_later(link)

        return handle

    def _trigger(self, key: Key, event: EventType, now: Object) -> None:
        reason = f"{now.get('kind')} {now['metadata']['name']} {event.lower()}"
        if event is EventType.DELETED:
            self._queue.add(key, reason=reason)
        else:
            self._foreign.consider(key, now, reason)

    def _check_later(self, link: Link) -> None:
        """Check whether a watch is used, once nothing that was registered is on its way."""
        active = self._links.get(link)
        if active is None or active.is_checked_later:
            return
        active.is_checked_later = True
        loop = asyncio.get_running_loop()
        due = max(loop.time(), active.registered + GRACE_SECONDS)
        loop.call_at(due, self._end_if_unused, link, active)

    def _end_if_unused(self, link: Link, active: _Active) -> None:
        """End a watch when no object of its kind has an owner of the owner's kind."""
        informer = self._informers.peek(active.resource)
        if self._links.get(link) is not active or informer is None:
            return
        active.is_checked_later = False
        if asyncio.get_running_loop().time() < active.registered + GRACE_SECONDS:
            self._check_later(link)
            return
        find = owners_by_annotation if link.by_annotation else owners_by_reference
        controlled = self._controlled[link.owner]
        if not any(True for obj in informer.list() for _ in find(controlled, obj)):
            self._end(link)

    def end_all(self, owner: GroupVersionKind) -> None:
        """End all watches of an owner's kind: its last object was deleted."""
        for link in [link for link in self._links if link.owner == owner]:
            self._end(link)

    def _end(self, link: Link) -> None:
        active = self._links.pop(link)
        active.end()
        self._informers.release(active.resource)
        _LOG.info("Child resource is no longer watched", kind=str(link.dependent))


def _log_event(link: Link, event: EventType, obj: Object, owner: tuple[str, str]) -> None:
    """Log which dependent triggers which owner."""
    metadata = obj["metadata"]
    keys = {
        "Event type": EVENT_NAMES[event],
        "GroupVersionKind": str(link.dependent),
        "Name": metadata["name"],
        "Namespace": metadata.get("namespace", ""),
        "Owner GroupVersionKind": str(link.owner),
        "Owner Name": owner[1],
        "Owner Namespace": owner[0],
    }
    way = "Annotation" if link.by_annotation else "OwnerReference"
    _LOG.debug(f"{way} handler event", **keys)
