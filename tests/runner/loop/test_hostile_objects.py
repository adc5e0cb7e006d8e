# SPDX-License-Identifier: Apache-2.0
"""Objects as tenants may write them: no trigger, condition or variable trips over one."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_operator.kube.documents import decode, read_object
from ansible_operator.kube.interface import EventType, GroupVersionKind, Object, ResourceType
from ansible_operator.loop.queueing.queue import Key, Trigger, WorkQueue
from ansible_operator.loop.reconciling.conditions import AnsibleResult, Transitions, current
from ansible_operator.loop.reconciling.controller import has_failed
from ansible_operator.loop.reconciling.reporting import has_succeeded
from ansible_operator.loop.reconciling.variables import extra_vars
from ansible_operator.loop.settings import Controlled
from ansible_operator.loop.triggers.changes import conditions_differ, differs
from ansible_operator.loop.triggers.dependents import DependentWatches
from ansible_operator.loop.triggers.members import MembersWatch
from ansible_operator.loop.triggers.own_writes import ForeignChanges, OwnWrites
from ansible_operator.loop.triggers.polling import ReferencePoll
from ansible_operator.loop.triggers.primaries import PrimaryTrigger
from ansible_operator.loop.triggers.references import ReferenceWatch
from ansible_operator.watches import Finalizer, KindName, Members, PlayPath, Reference, Watch
from tests.support import hostile

KIND = KindName("app.example.com", "v1", "Database")
GVK = GroupVersionKind(*KIND)
FUZZ = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def stored(obj: Any) -> Object:
    """The object as an informer has it."""
    return read_object(decode(hostile.encode(obj)))


objects = hostile.objects().map(stored)


def controlled(*, namespaced: bool = True, **more: Any) -> Controlled:
    watch = Watch(kind=KIND, play=PlayPath(playbook="/p.yml"), **more)
    resource = ResourceType(GVK, "databases", namespaced)
    return Controlled(name="c", watch=watch, resource=resource, period=0, verbosity=0)


class Informers:
    """Stands in for all informers: one kind with the given objects."""

    def __init__(self, *objects: Object) -> None:
        self.objects = objects
        self.handlers: list[Any] = []

    def peek(self, _resource: ResourceType) -> "Informers":
        return self

    def start(self, _resource: ResourceType) -> "Informers":
        return self

    def subscribe(self, handler: Any) -> Any:
        self.handlers.append(handler)
        return lambda: None

    def list(self, _namespace: str = "") -> tuple[Object, ...]:
        return self.objects


class Asked:
    """Stands in for the API server: nothing exists, and paths are recorded."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def request_object(self, _method: str, path: str, **_more: Any) -> Object:
        self.paths.append(path)
        return {"metadata": {"name": "x"}}


@FUZZ
@given(objects, objects)
def test_triggers_take_any_change(before: Object, now: Object) -> None:
    async def change() -> None:
        informers: Any = Informers(before, now)
        queue = WorkQueue(9, {"c": 9})
        foreign = ForeignChanges(queue, OwnWrites())
        kind = controlled(
            finalizer=Finalizer("f", PlayPath()),
            watch_annotations_changes=True,
            watch_dependent_status=True,
        )
        reference = Reference(KIND, "spec.name", namespace="spec.namespace", conditions=("Ready",))
        polled = Reference(KindName("", "v1", "Secret"), "spec.name", poll=1)
        watches: list[Any] = [
            PrimaryTrigger(kind, queue, foreign, lambda _kind, _key: None),
            ReferenceWatch(kind, reference, informers, queue)._on_event,
            ReferenceWatch(kind, polled, informers, queue)._on_event,
            MembersWatch(
                kind, Members(KIND, "", "n", ("a",), ()), informers, queue, foreign
            )._on_event,
        ]
        dependents = DependentWatches(informers, queue, {GVK: kind}, foreign)
        for by_annotation in (False, True):
            dependents.watch(GVK, kind.resource, by_annotation)
        for handler in [*watches, *informers.handlers]:
            handler(EventType.ADDED, None, now)
            handler(EventType.MODIFIED, before, now)
            handler(EventType.DELETED, before, now)
        asked: Any = Asked()
        secrets = ResourceType(GroupVersionKind("", "v1", "Secret"), "secrets", True)
        await ReferencePoll(kind, polled, informers, asked, queue).ask(secrets)
        assert all(path.count("/") == 6 for path in asked.paths)

    asyncio.run(change())


@FUZZ
@given(objects, objects)
def test_comparisons_take_anything(before: Object, now: Object) -> None:
    before["metadata"]["resourceVersion"] = "1"
    now["metadata"]["resourceVersion"] = "2"
    differs(before, now, with_status=True)
    differs(before, now, with_status=False)
    conditions_differ(before, now, ("Running", "Failure"))


@FUZZ
@given(objects)
def test_conditions_are_written_over_anything(obj: Object) -> None:
    has_failed(obj)
    has_succeeded(obj)
    steps = Transitions()
    found = current(obj.get("status"))
    for after in (
        steps.running(found),
        steps.succeeded(found, AnsibleResult()),
        steps.failed(found, "no", AnsibleResult()),
        steps.errored(found, "no"),
    ):
        assert json.loads(json.dumps(after)) == after


@FUZZ
@given(objects, st.booleans(), st.booleans())
def test_variables_are_made_of_anything(obj: Object, unsafe: bool, snake: bool) -> None:
    watch = controlled(mark_unsafe=unsafe, snake_case_parameters=snake).watch
    variables = extra_vars(watch, obj, Trigger("x", fresh=True), finalizing=False)
    variables.check()
    assert json.dumps([variables.data, variables.templates])


NOWHERE = [
    ({"path": "a/b/../../../../secrets/x"}, True),
    ({"path": "../../x"}, True),
    ({"path": "ns/"}, True),
    ({"path": "ns/.."}, True),
    ({"path": "x"}, True),
    ({"path": "ns/name"}, False),
    ({"path": "ns/a\x00b"}, True),
    ({"name": "../../../secrets/x"}, True),
    ({"name": ".."}, False),
    ({"name": ""}, True),
]


@pytest.mark.parametrize(("named", "namespaced"), NOWHERE)
async def test_an_owner_that_cannot_exist_is_not_run(
    named: dict[str, str], namespaced: bool
) -> None:
    """A key becomes a path: in requests with the operator's rights, and of folders to remove."""
    informers: Any = Informers()
    queue = WorkQueue(9, {"c": 9})
    kind = controlled(namespaced=namespaced)
    foreign = ForeignChanges(queue, OwnWrites())
    dependents = DependentWatches(informers, queue, {GVK: kind}, foreign)
    for by_annotation in (False, True):
        dependents.watch(GVK, kind.resource, by_annotation)
    metadata: dict[str, Any] = {"name": "d", "namespace": "ns"}
    if "path" in named:
        metadata["annotations"] = {
            "operator-sdk/primary-resource": named["path"],
            "operator-sdk/primary-resource-type": "Database.app.example.com",
        }
    else:
        owner = {"apiVersion": "app.example.com/v1", "kind": "Database", "uid": "u", **named}
        metadata["ownerReferences"] = [owner]
    for handler in informers.handlers:
        handler(EventType.DELETED, {"metadata": metadata}, {"metadata": metadata})
    assert queue.waiting("c") == 0


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a%2f", "a\n"])
async def test_the_queue_takes_names_only(name: str) -> None:
    queue = WorkQueue(9, {"c": 9})
    queue.add(Key("c", "ns", name))
    queue.add_after(Key("c", name or "..", "a"), 0.0)
    assert queue.waiting("c") == 0
    queue.add(Key("c", "", "a"))
    assert queue.waiting("c") == 1
