# SPDX-License-Identifier: Apache-2.0
"""What follows a reconcile: the next one, a retry, or nothing (runner.md §2.6)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import structlog.testing

from ansible_operator import metrics
from ansible_operator.errors import OperatorError
from ansible_operator.loop.queueing.queue import Key, Why, WorkQueue
from ansible_operator.loop.queueing.workers import ReconcileResult, Workers
from ansible_operator.watches import Retry
from tests.support.waiting import eventually_async

KEY = Key("k", "ns", "n")


class Reconciles:
    """Stands for a controller: counts, and does what it is told."""

    def __init__(self, outcome: Callable[[int], ReconcileResult]) -> None:
        self.count = 0
        self._outcome = outcome

    async def __call__(self, key: Key, why: Any) -> ReconcileResult:
        assert key == KEY
        assert why.reason
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
    seen: list[Why] = []
    queue = WorkQueue(1, {"k": 1})

    async def reconcile(_key: Key, why: Why) -> ReconcileResult:
        seen.append(why)
        return ReconcileResult(0.05 if len(seen) < 3 else None, requested=len(seen) == 1)

    workers = Workers(queue, {"k": reconcile})
    task = asyncio.create_task(workers.run())
    queue.add(KEY, reason="created", fresh=True)
    await eventually_async(lambda: len(seen) == 3)
    task.cancel()
    assert await workers.drain(1)
    assert seen == [
        Why("created", fresh=True),
        Why("requeue_after", fresh=False, requested=True),
        Why("period", fresh=False),
    ]
