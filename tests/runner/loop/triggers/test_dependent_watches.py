# SPDX-License-Identifier: Apache-2.0
"""When a watch on a dependent kind begins and ends."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ansible_operator.kube.informer import KindInformer
from ansible_operator.kube.interface import EventType, GroupVersionKind, Object, ResourceType
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.settings import Controlled
from ansible_operator.loop.triggers import dependents as module
from ansible_operator.loop.triggers.dependents import DependentWatches
from ansible_operator.loop.triggers.own_writes import ForeignChanges, OwnWrites
from ansible_operator.watches import KindName, PlayPath, Watch

KIND = KindName("g.example.com", "v1", "K")
OWNER = GroupVersionKind(*KIND)
MAPS = ResourceType(GroupVersionKind("", "v1", "ConfigMap"), "configmaps", namespaced=True)
GRACE = 0.2


class Informers:
    """The informers of the process, without the API server; tests send the events."""

    def __init__(self) -> None:
        self.running: dict[GroupVersionKind, KindInformer] = {}

    def start(self, resource: ResourceType) -> KindInformer:
        nobody: Any = None
        return self.running.setdefault(resource.gvk, KindInformer(nobody, resource, nobody))

    def peek(self, resource: ResourceType) -> KindInformer | None:
        return self.running.get(resource.gvk)

    def release(self, resource: ResourceType) -> bool:
        return self.running.pop(resource.gvk, None) is not None

    def send(self, event: EventType, obj: Object) -> None:
        self.running[MAPS.gvk]._take(event, obj)


def owned(name: str, owner: str, version: str) -> Object:
    reference = {"apiVersion": OWNER.api_version, "kind": "K", "name": owner, "uid": owner}
    names = {"name": name, "namespace": "ns", "resourceVersion": version, "uid": name}
    return {"kind": "ConfigMap", "metadata": {**names, "ownerReferences": [reference]}}


@pytest.fixture
def watches(monkeypatch: pytest.MonkeyPatch) -> tuple[DependentWatches, Informers, WorkQueue]:
    monkeypatch.setattr(module, "GRACE_SECONDS", GRACE)
    resource = ResourceType(OWNER, "ks", namespaced=True)
    watch = Watch(kind=KIND, play=PlayPath(playbook="/p"))
    controlled = Controlled(name="k", watch=watch, resource=resource, period=0, verbosity=0)
    queue, informers = WorkQueue(9, {"k": 9}), Informers()
    here: Any = informers
    foreign = ForeignChanges(queue, OwnWrites())
    return DependentWatches(here, queue, {OWNER: controlled}, foreign), informers, queue


Watches = tuple[DependentWatches, Informers, WorkQueue]


async def until(observe: Callable[[], Any]) -> None:
    async with asyncio.timeout(5):
        while not observe():  # noqa: ASYNC110  # a state, which sets no event
            await asyncio.sleep(0.01)


async def test_a_watch_outlives_the_last_dependent_while_another_is_being_created(
    watches: Watches,
) -> None:
    """The create of B's dependent was registered, and reaches the server after A's has gone."""
    dependents, informers, queue = watches
    assert dependents.watch(OWNER, MAPS, by_annotation=False)
    informers.send(EventType.ADDED, owned("of-a", "a", "1"))
    await asyncio.sleep(GRACE)

    assert dependents.watch(OWNER, MAPS, by_annotation=False)
    informers.send(EventType.DELETED, owned("of-a", "a", "2"))
    assert await queue.get() == Key("k", "ns", "a")
    await asyncio.sleep(0)
    assert MAPS.gvk in informers.running
    informers.send(EventType.ADDED, owned("of-b", "b", "3"))
    await asyncio.sleep(2 * GRACE)
    assert MAPS.gvk in informers.running
    informers.send(EventType.MODIFIED, {**owned("of-b", "b", "4"), "data": {"x": "y"}})
    assert await asyncio.wait_for(queue.get(), 1) == Key("k", "ns", "b")


async def test_a_watch_ends_with_its_last_dependent_after_a_while(watches: Watches) -> None:
    dependents, informers, _ = watches
    for name in ("a", "b"):
        assert dependents.watch(OWNER, MAPS, by_annotation=False)
        informers.send(EventType.ADDED, owned(f"of-{name}", name, "1"))
    informers.send(EventType.DELETED, owned("of-a", "a", "2"))
    await asyncio.sleep(2 * GRACE)
    assert MAPS.gvk in informers.running
    informers.send(EventType.DELETED, owned("of-b", "b", "3"))
    await until(lambda: MAPS.gvk not in informers.running)


async def test_watches_end_at_once_with_the_last_owner(watches: Watches) -> None:
    dependents, informers, _ = watches
    assert dependents.watch(OWNER, MAPS, by_annotation=False)
    informers.send(EventType.ADDED, owned("of-a", "a", "1"))
    informers.send(EventType.DELETED, owned("of-a", "a", "2"))
    dependents.end_all(OWNER)
    assert MAPS.gvk not in informers.running
    assert dependents.watch(OWNER, MAPS, by_annotation=False)
    informers.send(EventType.ADDED, owned("of-c", "c", "4"))
    await asyncio.sleep(2 * GRACE)
    assert MAPS.gvk in informers.running, "a check of the watch before must not end this one"
