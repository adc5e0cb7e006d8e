# SPDX-License-Identifier: Apache-2.0
"""One reconcile against an object that changes between its steps."""

import asyncio
import contextlib
import copy
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_operator.errors import KubeError
from ansible_operator.kube.documents import IncompleteObject
from ansible_operator.kube.interface import EventType, GroupVersionKind, Object, ResourceType
from ansible_operator.loop.queueing.queue import Key, Trigger
from ansible_operator.loop.queueing.workers import ReconcileResult
from ansible_operator.loop.reconciling import reporting
from ansible_operator.loop.reconciling.conditions import Transitions
from ansible_operator.loop.reconciling.controller import Controller, ReconcileError
from ansible_operator.loop.reconciling.objects import ObjectStore
from ansible_operator.loop.reconciling.play_result import PlayResult
from ansible_operator.loop.settings import Controlled
from ansible_operator.watches import Finalizer, KindName, PlayPath, Watch, parse_duration

KIND = KindName("g.example.com", "v1", "K")
RESOURCE = ResourceType(GroupVersionKind(*KIND), "ks", namespaced=True)
FINALIZER, FOREIGN = "ours.example.com/clean", "theirs.example.com/clean"
KEY = Key("k", "ns", "o")
CHANGED = Trigger("changed", fresh=True)


class World:
    """One object on a server, with the rules of versions and finalizers, and the runs of it.

    Attributes:
        obj: the object; None once it is gone.
        requests: methods and paths, in order.
        before: called before each request, with its method and path.
        played: for each run, whether it was the one before the deletion.
        is_cached: whether the cache of its kind has it.
        seconds: that a run takes.
        given: the objects as they were played.
        triggers: what led to each play.
        answer: that the watch's check gives; None if it gives none.
        asked: how often it was asked.
        looks: how often a run asks for objects of its kind.
        looked: what it was answered.
        concluded: of which objects the play had ended, after how many requests.
    """

    def __init__(self, **metadata: Any) -> None:
        names = {"name": "o", "namespace": "ns", "uid": "u", "resourceVersion": "1"}
        self.obj: Object | None = {"metadata": {**names, **metadata}, "spec": {}}
        self.requests: list[tuple[str, str]] = []
        self.before: Callable[[str, str], None] = lambda _method, _path: None
        self.during: Callable[[], None] = lambda: None
        self.played: list[bool] = []
        self.failures: list[str] = []
        self.failed_task = ""
        self.changed = 1
        self.requeue_after: float | None = None
        self.forgotten = 0
        self.is_cached = False
        self.seconds = 0.0
        self.concluded: list[tuple[Key, int]] = []
        self.given: list[Object] = []
        self.triggers: list[Trigger] = []
        self.answer: bool | None = None
        self.asked = 0
        self.looks = 0
        self.looked: list[str] = []

    async def request_object(
        self, method: str, path: str, *, body: Any = None, content_type: str = ""
    ) -> Object:
        self.before(method, path)
        self.requests.append((method, path))
        if self.obj is None:
            raise KubeError("not found", status=404)
        if method == "PATCH":
            self.write(body, in_status=path.endswith("/status"))
        left = self.obj or {"metadata": {}}
        return copy.deepcopy(left)

    def write(self, body: Any, *, in_status: bool) -> None:
        assert self.obj is not None
        metadata = self.obj["metadata"]
        if body["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
            raise KubeError("conflict", status=409, reason="Conflict")
        self.touch()
        if in_status:
            status = self.obj.get("status")
            self.obj["status"] = {**(status if isinstance(status, dict) else {}), **body["status"]}
            return
        metadata["finalizers"] = body["metadata"]["finalizers"]
        if metadata.get("deletionTimestamp") and not metadata["finalizers"]:
            self.obj = None

    def touch(self) -> None:
        assert self.obj is not None
        metadata = self.obj["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)

    def delete(self) -> None:
        """A user deletes the object, which its finalizers keep."""
        assert self.obj is not None
        if self.obj["metadata"].get("finalizers"):
            self.obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            self.touch()
        else:
            self.obj = None

    def delete_before(self, method: str, ending: str) -> None:
        """Delete the object just before the first such request arrives."""

        def hook(given: str, path: str) -> None:
            if (given, path.endswith(ending)) == (method, True) and self.obj is not None:
                self.before = lambda _method, _path: None
                self.delete()

        self.before = hook

    def peek(self, _resource: ResourceType) -> "World | None":
        return self if self.is_cached else None

    def get(self, _namespace: str, _name: str) -> Object | None:
        return copy.deepcopy(self.obj)

    async def play(
        self, obj: Object, trigger: Trigger, look: Callable[[], Awaitable[str]], *, finalizing: bool
    ) -> PlayResult:
        self.triggers.append(trigger)
        self.played.append(finalizing)
        self.given.append(obj)
        self.during()
        self.looked += [await look() for _ in range(self.looks)]
        await asyncio.sleep(self.seconds)
        outcome = PlayResult(failures=list(self.failures), requeue_after=self.requeue_after)
        outcome.result = type(outcome.result)(ok=1, changed=self.changed)
        outcome.failed_task = self.failed_task
        return outcome

    async def is_up_to_date(self, _obj: Object, _trigger: Trigger) -> bool | None:
        self.asked += 1
        return self.answer

    async def forget(self, _namespace: str, _name: str) -> None:
        self.forgotten += 1

    def record(self, *_: Any) -> None:
        """Events are of no interest here."""

    def controller(self, finalizer: Finalizer | None, **settings: Any) -> Controller:
        watch = Watch(
            kind=KIND, play=PlayPath(playbook="/main.yml"), finalizer=finalizer, **settings
        )
        controlled = Controlled(name="k", watch=watch, resource=RESOURCE, period=60, verbosity=0)
        here: Any = self
        return Controller(
            controlled=controlled,
            objects=ObjectStore(here, controlled, here),
            runs=here,
            recorder=here,
            transitions=Transitions(),
            release_slot=lambda key: self.concluded.append((key, len(self.requests))),
        )


OURS = Finalizer(FINALIZER, PlayPath(playbook="/clean.yml"))


async def test_deleted_before_the_first_status_write_the_clean_up_is_played() -> None:
    world = World(finalizers=[FINALIZER])
    world.delete_before("PATCH", "/status")
    result = await world.controller(OURS).reconcile(KEY, CHANGED)
    assert world.played == [True]
    assert world.obj is None
    assert result.deleted


@pytest.mark.parametrize("failures", [[], ["no"]])
async def test_the_next_play_need_not_wait_for_the_status_of_this_one(failures: list[str]) -> None:
    world = World()
    world.failures = failures
    controller = world.controller(None)
    with contextlib.suppress(ReconcileError):
        await controller.reconcile(KEY, CHANGED)
    ending = ("PATCH", RESOURCE.path("o", "ns", "status"))
    assert world.concluded == [(KEY, len(world.requests) - 1)]
    assert world.requests[-1] == ending


async def test_deleted_during_a_run_the_finalizer_stays_until_the_next_one() -> None:
    world = World(finalizers=[FINALIZER])
    world.during = world.delete
    result = await world.controller(OURS).reconcile(KEY, CHANGED)
    assert world.played == [False]
    assert world.obj is not None
    assert world.obj["metadata"]["finalizers"] == [FINALIZER]
    assert result.requeue_after == 5.0

    world.during = lambda: None
    result = await world.controller(OURS).reconcile(KEY, CHANGED)
    assert (world.played, world.obj, result.deleted) == ([False, True], None, True)


async def test_the_play_is_told_of_a_deletion_without_dependents_and_kubernetes_is_not() -> None:
    """The garbage collector has removed its finalizer since; it must not come back with ours."""
    world = World(finalizers=[FINALIZER, FOREIGN])
    world.delete()
    controller = world.controller(OURS)
    seen: Object = copy.deepcopy(world.obj)  # type: ignore[assignment]
    seen["metadata"]["finalizers"].append("orphan")
    controller.orphaning(EventType.MODIFIED, None, seen)
    await controller.reconcile(KEY, CHANGED)
    assert world.given[0]["metadata"]["finalizers"] == [FINALIZER, FOREIGN, "orphan"]
    assert world.obj is not None
    assert world.obj["metadata"]["finalizers"] == [FOREIGN]


async def test_deleted_before_our_finalizer_was_added_nothing_is_played() -> None:
    world = World(finalizers=[FOREIGN])
    world.delete_before("PATCH", "/o")
    await world.controller(OURS).reconcile(KEY, CHANGED)
    assert world.played == []
    assert world.obj is not None
    assert world.obj["metadata"]["finalizers"] == [FOREIGN]


async def test_a_failed_clean_up_keeps_the_finalizer() -> None:
    world = World(finalizers=[FINALIZER], deletionTimestamp="2026-01-01T00:00:00Z")
    world.failures = ["no route to the bucket"]
    with pytest.raises(ReconcileError):
        await world.controller(OURS).reconcile(KEY, CHANGED)
    assert world.played == [True]
    assert world.obj is not None
    assert world.obj["metadata"]["finalizers"] == [FINALIZER]


async def test_without_a_finalizer_of_ours_a_deletion_meanwhile_releases_nothing() -> None:
    world = World(finalizers=[FOREIGN])
    world.delete_before("PATCH", "/status")
    await world.controller(None).reconcile(KEY, CHANGED)
    assert world.played == [False]
    assert world.obj is not None
    assert world.obj["metadata"]["finalizers"] == [FOREIGN]


SETTLED = {
    "conditions": [
        {"type": "Running", "status": "True", "reason": "Successful"},
        {"type": "Successful", "status": "True", "reason": "Successful"},
        {"type": "Failure", "status": "False", "reason": ""},
    ]
}


async def test_an_error_that_nobody_foresaw_leaves_no_run_under_way_in_the_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A quiet run marks itself in the status once it takes long; not after it has ended."""
    monkeypatch.setattr(reporting, "MOMENT_SECONDS", 0.05)
    world = World()
    assert world.obj is not None
    world.obj["status"] = copy.deepcopy(SETTLED)

    def crash() -> None:
        raise ValueError("not foreseen")

    world.during = crash
    with pytest.raises(ValueError, match="not foreseen"):
        await world.controller(None).reconcile(KEY, Trigger("period", fresh=False))
    await asyncio.sleep(0.2)
    holding = {item["type"]: item["status"] for item in world.obj["status"]["conditions"]}
    assert holding == {"Running": "False", "Successful": "False", "Failure": "True"}
    failure = world.obj["status"]["conditions"][-1]
    assert failure["message"] == "The operator failed on this object (ValueError), see its log"


@pytest.mark.parametrize("is_cached", [False, True])
@pytest.mark.parametrize("managed", [False, True])
async def test_what_is_nested_too_deep_is_reported_and_never_played(
    is_cached: bool, managed: bool
) -> None:
    world = World()
    assert world.obj is not None
    world.obj = IncompleteObject(world.obj, "spec.probe.a...")
    world.is_cached = is_cached
    controller = world.controller(OURS, manage_status=managed)
    for _ in range(2):
        assert await controller.reconcile(KEY, CHANGED) == ReconcileResult()
    assert world.played == []
    if managed:
        [failure] = world.obj["status"]["conditions"]
        assert failure["status"] == "True"
        assert "more than 100 levels deep at spec.probe.a..." in failure["message"]
    writes = [method for method, _ in world.requests if method == "PATCH"]
    assert len(writes) == int(managed), "the same report is written once"


async def test_what_is_nested_too_deep_and_cannot_be_written_is_not_tried_again() -> None:
    world = World()
    assert world.obj is not None
    world.obj = IncompleteObject(world.obj, "spec")

    def refuse(method: str, _path: str) -> None:
        if method == "PATCH":
            raise KubeError("its status is a text", status=422)

    world.before = refuse
    assert await world.controller(None).reconcile(KEY, CHANGED) == ReconcileResult()


@pytest.mark.parametrize("status", ["text", 1, [], [1], {"conditions": "x"}, {"conditions": {}}])
@pytest.mark.parametrize("is_cached", [False, True])
async def test_an_odd_status_is_replaced(status: Any, is_cached: bool) -> None:
    world = World()
    assert world.obj is not None
    world.obj["status"] = status
    world.is_cached = is_cached
    await world.controller(None).reconcile(KEY, CHANGED)
    assert world.played == [False]
    assert running(world.obj) == "Successful"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.0, ["Successful"]), (0.3, ["Running", "Successful"])],
    ids=["short", "long"],
)
async def test_a_first_run_is_reported_as_under_way_if_it_takes_longer_than_a_moment(
    monkeypatch: pytest.MonkeyPatch, seconds: float, expected: list[str]
) -> None:
    monkeypatch.setattr(reporting, "MOMENT_SECONDS", 0.05)
    world = World()
    world.is_cached, world.seconds, world.changed = True, seconds, 0
    reasons = []

    def written(_method: str, _path: str) -> None:
        reasons.append(running(world.obj))

    world.before = written
    await world.controller(None).reconcile(KEY, CHANGED)

    after = [*reasons[1:], running(world.obj)]
    assert after == expected
    assert world.requests == [("PATCH", RESOURCE.path("o", "ns", "status"))] * len(expected)


async def test_a_first_run_that_looks_at_its_object_finds_it_reported_as_under_way() -> None:
    world = World()
    world.is_cached, world.looks = True, 2
    seen = []
    world.before = lambda _method, _path: seen.append(running(world.obj))
    await world.controller(None).reconcile(KEY, CHANGED)
    assert world.looked == ["2", "2"]
    assert [*seen, running(world.obj)] == ["", "Running", "Successful"]


async def test_a_play_is_given_its_object_as_under_way_whoever_looks() -> None:
    world = World()
    world.is_cached = True
    await world.controller(None).reconcile(KEY, CHANGED)
    assert [running(obj) for obj in world.given] == ["Running"]
    assert len(world.requests) == 1


async def test_a_later_run_takes_an_earlier_result_back_at_once() -> None:
    world = World()
    world.is_cached = True
    await world.controller(None).reconcile(KEY, CHANGED)
    seen = []
    world.during = lambda: seen.append(running(world.obj))
    await world.controller(None).reconcile(KEY, CHANGED)
    assert seen == ["Running"]


def running(obj: Object | None) -> str:
    """Return the reason of the condition Running; empty without one."""
    found = {one["type"]: one for one in ((obj or {}).get("status") or {}).get("conditions", [])}
    return str(found.get("Running", {}).get("reason", ""))


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([], {"result": "Succeeded", "changed": 1, "failedTask": None}),
        (["broken"], {"result": "Failed", "changed": 1, "failedTask": "Create it"}),
    ],
)
async def test_the_last_run_is_in_the_status_if_the_watch_asks_for_it(
    failures: list[str], expected: dict[str, Any]
) -> None:
    """It is written with the conditions, and not by itself."""
    world = World()
    world.failures, world.failed_task = failures, "Create it" if failures else ""
    with contextlib.suppress(ReconcileError):
        await world.controller(None, report_last_run=True).reconcile(KEY, CHANGED)

    assert world.obj is not None
    told = dict(world.obj["status"]["lastRun"])
    assert datetime.fromisoformat(told.pop("startTime")) <= datetime.now(UTC)
    assert parse_duration(told.pop("duration")) < 5
    assert told == expected
    assert [method for method, _path in world.requests].count("PATCH") == 2


async def test_the_last_run_is_not_in_the_status_else() -> None:
    world = World()
    await world.controller(None).reconcile(KEY, CHANGED)
    assert world.obj is not None
    assert "lastRun" not in world.obj["status"]


async def test_a_run_that_a_play_asks_for_is_not_a_periodic_one() -> None:
    world = World()
    world.requeue_after = 7.0
    result = await world.controller(None).reconcile(KEY, CHANGED)
    assert (result.requeue_after, result.requested) == (7.0, True)
    world.requeue_after = None
    result = await world.controller(None).reconcile(KEY, CHANGED)
    assert (result.requeue_after, result.requested) == (60, False)


ASKS: dict[str, tuple[Trigger, bool | None, int]] = {
    "it has found something to do": (Trigger("Pod p modified", fresh=False), False, 1),
    "it has not answered": (Trigger("Pod p modified", fresh=False), None, 1),
    "it is not asked when the object has changed": (
        Trigger("spec changed", fresh=True, requested=True),
        False,
        0,
    ),
}


@pytest.mark.parametrize("case", ASKS)
async def test_a_play_is_told_what_the_check_has_found(case: str) -> None:
    """Only a "no" spares the play its own check."""
    trigger, answer, asked = ASKS[case]
    world = World()
    world.answer = answer
    controller = world.controller(None, precheck="acme.tools.calm", manage_status=False)

    await controller.reconcile(KEY, trigger)

    assert world.asked == asked
    assert world.triggers == [replace(trigger, prechecked=answer is False and asked == 1)]


async def test_what_the_check_finds_up_to_date_is_not_played() -> None:
    world = World()
    world.answer = True
    controller = world.controller(None, precheck="acme.tools.calm", manage_status=False)

    result = await controller.reconcile(KEY, Trigger("Pod p modified", fresh=False))

    assert world.triggers == []
    assert (result.is_played, result.requeue_after) == (False, 60)
