# SPDX-License-Identifier: Apache-2.0
"""Which changes of members lead to runs of the objects that they concern."""

from typing import Any

import pytest

from ansible_operator.kube.informer import KindInformer
from ansible_operator.kube.interface import EventType, GroupVersionKind, Object, ResourceType
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.settings import Controlled
from ansible_operator.loop.triggers.members import MembersWatch
from ansible_operator.loop.triggers.own_writes import ForeignChanges, OwnWrites
from ansible_operator.watches import KindName, Members, PlayPath, Watch

KIND = KindName("g.example.com", "v1", "Pool")
REQUEST = KindName("g.example.com", "v1", "Request")
POD = KindName("", "v1", "Pod")
RESOURCE = ResourceType(GroupVersionKind(*KIND), "pools", namespaced=True)
OF_NAMESPACE = Members(REQUEST, "", "", labels=("size",), spec=True)
BY_LABEL = Members(POD, "", "pool", annotations=("cordon",))
BY_LABEL_WITH_SPEC = Members(REQUEST, "", "pool", spec=True)


class Primaries:
    """The cache of the watched kind."""

    def __init__(self, *keys: tuple[str, str]) -> None:
        nobody: Any = None
        self._informer = KindInformer(nobody, RESOURCE, nobody)
        for namespace, name in keys:
            metadata = {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1"}
            self._informer._take(EventType.ADDED, {"metadata": metadata})

    def peek(self, _resource: ResourceType) -> KindInformer:
        return self._informer


def member(version: str = "1", generation: int = 1, **metadata: Any) -> Object:
    about = {"name": "m", "namespace": "ns", "uid": "m", "resourceVersion": version}
    return {"metadata": {**about, "generation": generation, **metadata}}


class Trigger:
    """A watch on members of two pools in one namespace and one in another."""

    def __init__(self, members: Members) -> None:
        watch = Watch(kind=KIND, play=PlayPath(playbook="/p"))
        controlled = Controlled(name="k", watch=watch, resource=RESOURCE, period=0, verbosity=0)
        self.queue, self.own = WorkQueue(9, {"k": 9}), OwnWrites()
        primaries: Any = Primaries(("ns", "a"), ("ns", "b"), ("other", "c"))
        foreign = ForeignChanges(self.queue, self.own)
        self._watch = MembersWatch(controlled, members, primaries, self.queue, foreign)

    async def runs(self, event: EventType, before: Object | None, now: Object) -> set[str]:
        """Return which pools an event runs."""
        self._watch._on_event(event, before, now)
        found = set()
        while self.queue.waiting("k"):
            key = await self.queue.get()
            assert key.namespace == "ns"
            found.add(key.name)
        return found


LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
CREATED, DELETED, CHANGED = EventType.ADDED, EventType.DELETED, EventType.MODIFIED


@pytest.mark.parametrize(
    ("members", "event", "before", "now", "expected"),
    [
        pytest.param(OF_NAMESPACE, CREATED, None, member(), "ab", id="created"),
        pytest.param(OF_NAMESPACE, DELETED, member(), member("2"), "ab", id="deleted"),
        pytest.param(OF_NAMESPACE, CHANGED, member(), member("2", 2), "ab", id="spec"),
        pytest.param(OF_NAMESPACE, CHANGED, member(), member("2"), "", id="status"),
        pytest.param(OF_NAMESPACE, CHANGED, member(), member("2", **LEAVING), "ab", id="leaves"),
        pytest.param(
            OF_NAMESPACE, CHANGED, member(), member("2", labels={"size": "1"}), "ab", id="label"
        ),
        pytest.param(
            OF_NAMESPACE, CHANGED, member(), member("2", labels={"x": "1"}), "", id="other label"
        ),
        pytest.param(OF_NAMESPACE, CHANGED, member(), member("2", uid="n"), "ab", id="anew"),
        pytest.param(BY_LABEL, CREATED, None, member(labels={"pool": "a"}), "", id="a workload's"),
        pytest.param(
            BY_LABEL_WITH_SPEC, CREATED, None, member(labels={"pool": "a"}), "a", id="names one"
        ),
        pytest.param(BY_LABEL_WITH_SPEC, CREATED, None, member(), "", id="names none"),
        pytest.param(
            BY_LABEL,
            CHANGED,
            member(labels={"pool": "b"}),
            member("2", 2, labels={"pool": "b"}),
            "",
            id="spec was not asked for",
        ),
        pytest.param(
            BY_LABEL,
            CHANGED,
            member(labels={"pool": "b"}),
            member("2", labels={"pool": "b"}, annotations={"cordon": "y"}),
            "b",
            id="annotation",
        ),
    ],
)
async def test_what_runs(
    members: Members, event: EventType, before: Object | None, now: Object, expected: str
) -> None:
    assert await Trigger(members).runs(event, before, now) == set(expected)


async def test_a_run_is_not_run_again_because_of_what_it_wrote() -> None:
    """Otherwise each claim that a pool binds would run that pool once more."""
    trigger = Trigger(OF_NAMESPACE)
    trigger.own.note(Key("k", "ns", "a"), "m", "2")
    assert await trigger.runs(CHANGED, member(), member("2", 2)) == {"b"}
