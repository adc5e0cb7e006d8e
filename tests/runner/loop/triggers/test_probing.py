# SPDX-License-Identifier: Apache-2.0
"""Probes: who is asked, how often, and what a "no" leads to."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ansible_operator.kube.interface import GroupVersionKind, Object, ResourceType
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.settings import Controlled
from ansible_operator.loop.triggers.probing import MOST_AT_ONCE, Probing
from ansible_operator.watches import KindName, PlayPath, Probe, Watch

KIND = KindName("g.example.com", "v1", "K")
Ask = Callable[[Object], Awaitable[bool]]


class Cached:
    """The cache of one kind."""

    def __init__(self, *objects: Object) -> None:
        self._objects = {obj["metadata"]["name"]: obj for obj in objects}

    def peek(self, _resource: ResourceType) -> "Cached":
        return self

    def list(self) -> list[Object]:
        return list(self._objects.values())

    def get(self, _namespace: str, name: str) -> Object | None:
        return self._objects.get(name)


def named(name: str, **metadata: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "ns", **metadata}}


def probing(cached: Cached, ask: Ask, queue: WorkQueue, period: float = 0.02) -> Probing:
    watch = Watch(
        kind=KIND,
        play=PlayPath(playbook="/p"),
        probe=Probe("a.b.c", period),
        ignored_namespaces=frozenset({"ignored"}),
    )
    resource = ResourceType(GroupVersionKind(*KIND), "ks", True)
    controlled = Controlled(name="k", watch=watch, resource=resource, period=0, verbosity=0)
    return Probing(controlled, cached, ask, queue)  # type: ignore[arg-type]


async def run_for(found: Probing, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(found.run(), seconds)


async def test_only_what_is_not_as_reported_is_run_and_without_a_check_before() -> None:
    queue = WorkQueue(4, {"k": 4})

    async def ask(obj: Object) -> bool:
        return bool(obj["metadata"]["name"] != "frozen")

    await run_for(probing(Cached(named("fine"), named("frozen")), ask, queue), 0.1)

    assert await queue.get() == Key("k", "ns", "frozen")
    trigger = queue.trigger(Key("k", "ns", "frozen"))
    assert (trigger.reason, trigger.probed, trigger.requested, trigger.fresh) == (
        "probe",
        True,
        False,
        False,
    )
    assert queue.waiting("k") == 0


@pytest.mark.parametrize(
    "metadata",
    [{"deletionTimestamp": "2026-01-01T00:00:00Z"}, {"namespace": "ignored"}],
    ids=["being deleted", "left alone"],
)
async def test_what_is_not_to_be_run_is_not_asked(metadata: dict[str, Any]) -> None:
    asked: list[str] = []

    async def ask(obj: Object) -> bool:
        asked.append(obj["metadata"]["name"])
        return False

    queue = WorkQueue(4, {"k": 4})
    await run_for(probing(Cached(named("x", **metadata)), ask, queue), 0.1)

    assert asked == []
    assert queue.waiting("k") == 0


async def test_what_runs_is_not_asked() -> None:
    queue = WorkQueue(4, {"k": 4})
    queue.add(Key("k", "ns", "x"))
    await queue.get()

    async def ask(_obj: Object) -> bool:
        raise AssertionError("asked")

    await run_for(probing(Cached(named("x")), ask, queue), 0.1)


async def test_a_run_that_began_meanwhile_is_not_repeated() -> None:
    queue = WorkQueue(4, {"k": 4})

    async def ask(_obj: Object) -> bool:
        queue.add(Key("k", "ns", "x"))
        await queue.get()
        return False

    await run_for(probing(Cached(named("x")), ask, queue), 0.1)
    queue.done(Key("k", "ns", "x"))

    assert queue.waiting("k") == 0


async def test_probes_that_wait_hold_up_others_but_are_never_many() -> None:
    at_once, most = 0, 0

    async def ask(_obj: Object) -> bool:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.02)
        at_once -= 1
        return True

    everything = Cached(*(named(f"x{number}") for number in range(10)))
    await run_for(probing(everything, ask, WorkQueue(4, {"k": 4}), 0.001), 0.15)

    assert most == MOST_AT_ONCE


async def test_questions_are_spread_over_the_period() -> None:
    """None comes before its turn; on a busy machine they may come later."""
    moments, asked = [], asyncio.Event()

    async def ask(_obj: Object) -> bool:
        moments.append(time.monotonic())
        if len(moments) == 5:
            asked.set()
        return True

    everything = Cached(*(named(f"x{number}") for number in range(4)))
    began = time.monotonic()
    rounds = asyncio.create_task(probing(everything, ask, WorkQueue(4, {"k": 4}), 0.4).run())
    await asyncio.wait_for(asked.wait(), 30)
    rounds.cancel()

    assert all(moment - began >= 0.1 * number for number, moment in enumerate(moments))


async def test_with_no_objects_it_waits() -> None:
    async def ask(_obj: Object) -> bool:
        raise AssertionError("asked")

    await run_for(probing(Cached(), ask, WorkQueue(4, {"k": 4})), 0.1)
