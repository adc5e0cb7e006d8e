# SPDX-License-Identifier: Apache-2.0
"""What follows a reconcile: the next one, a retry, or nothing."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
import structlog.testing

from ansible_operator import metrics
from ansible_operator.errors import OperatorError
from ansible_operator.loop.queueing.queue import Key, Trigger, WorkQueue
from ansible_operator.loop.queueing.workers import ReconcileResult, Workers
from ansible_operator.watches import Retry
from tests.support.waiting import eventually_async

KEY = Key("k", "ns", "n")


class Reconciles:
    """Stands for a controller: counts, and does what it is told."""

    def __init__(self, outcome: Callable[[int], ReconcileResult]) -> None:
        self.count = 0
        self._outcome = outcome

    async def __call__(self, key: Key, trigger: Any) -> ReconcileResult:
        assert key == KEY
        assert trigger.reason
        self.count += 1
        return self._outcome(self.count)


async def work(outcome: Callable[[int], ReconcileResult], seconds: float) -> Reconciles:
    queue = WorkQueue(1, {"k": 1}, {"k": Retry(0.01, 0.02)})
    reconciles = Reconciles(outcome)
    workers = Workers(queue, {"k": reconciles})
    task = asyncio.create_task(workers.run())
    queue.add(KEY, reason="created")
    await asyncio.sleep(seconds)
    task.cancel()
    assert await workers.drain(1)
    return reconciles


def crash(_: int) -> ReconcileResult:
    raise ValueError("not foreseen")


def fail(_: int) -> ReconcileResult:
    raise OperatorError("event runner on failed")


@pytest.mark.parametrize(("outcome", "crashed"), [(crash, True), (fail, False)])
async def test_what_fails_is_tried_again_whatever_it_was(
    outcome: Callable[[int], ReconcileResult], crashed: bool
) -> None:
    panics = metrics.RECONCILE_PANICS.labels("k")._value.get()
    with structlog.testing.capture_logs() as lines:
        assert (await work(outcome, 0.3)).count > 3
    told = "Reconciler crashed" if crashed else "Reconciler error"
    assert {line["event"] for line in lines if line["log_level"] == "error"} == {told}
    assert (metrics.RECONCILE_PANICS.labels("k")._value.get() > panics) is crashed


@pytest.mark.parametrize("period", [None, 0.0, -1.0])
async def test_no_time_in_the_future_means_no_further_run(period: float | None) -> None:
    assert (await work(lambda _: ReconcileResult(requeue_after=period), 0.2)).count == 1


async def test_a_time_leads_to_the_next_run() -> None:
    done = await work(lambda count: ReconcileResult(requeue_after=0.02 if count < 3 else None), 0.3)
    assert done.count == 3


async def test_a_run_that_a_play_asks_for_says_so_and_is_in_time() -> None:
    """A check before the play must not swallow it, and no jitter of long periods applies."""
    seen: list[Trigger] = []
    queue = WorkQueue(1, {"k": 1})

    async def reconcile(_key: Key, trigger: Trigger) -> ReconcileResult:
        seen.append(trigger)
        return ReconcileResult(0.05 if len(seen) < 3 else None, requested=len(seen) == 1)

    workers = Workers(queue, {"k": reconcile})
    task = asyncio.create_task(workers.run())
    queue.add(KEY, reason="created", fresh=True)
    await eventually_async(lambda: len(seen) == 3)
    task.cancel()
    assert await workers.drain(1)
    assert seen == [
        Trigger("created", fresh=True),
        Trigger("requeue_after", fresh=False, requested=True),
        Trigger("period", fresh=False),
    ]


async def test_a_time_that_a_play_asked_for_outlives_a_run_that_a_check_answered() -> None:
    """Another event makes the check say that nothing is to be done; the play asked for more."""
    queue = WorkQueue(1, {"k": 1})
    seen: list[str] = []

    async def reconcile(_key: Key, trigger: Trigger) -> ReconcileResult:
        seen.append(trigger.reason)
        if trigger.reason == "created":
            return ReconcileResult(0.3, requested=True)
        if trigger.reason == "requeue_after":
            return ReconcileResult(None)
        return ReconcileResult(60, is_played=False)

    workers = Workers(queue, {"k": reconcile})
    task = asyncio.create_task(workers.run())
    queue.add(KEY, reason="created")
    await eventually_async(lambda: len(seen) == 1)
    began = time.monotonic()
    await asyncio.sleep(0.1)
    for count in (2, 3):
        queue.add(KEY, reason="Pod changed")
        await eventually_async(lambda count=count: len(seen) == count)
    await eventually_async(lambda: len(seen) == 4, seconds=5)
    assert seen == ["created", "Pod changed", "Pod changed", "requeue_after"]
    assert 0.2 < time.monotonic() - began < 2
    task.cancel()
    assert await workers.drain(1)


async def test_a_play_settles_what_an_earlier_one_asked_for() -> None:
    queue = WorkQueue(1, {"k": 1})
    queue.add_after(KEY, 0.05, reason="requeue_after")
    queue.add(KEY, reason="changed")
    assert await queue.get() == KEY
    queue.done(KEY)
    assert not queue.restore(KEY)
    await asyncio.sleep(0.1)
    assert queue.waiting("k") == 0
