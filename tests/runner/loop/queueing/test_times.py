# SPDX-License-Identifier: Apache-2.0
"""The queue's numbers are client-go's."""

from ansible_operator.loop.queueing.queue import Key, Priority, WorkQueue
from ansible_operator.metrics import REGISTRY


def value(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, {"name": "q", "controller": "q", **labels})


async def test_waiting_and_work_are_measured() -> None:
    now = 100.0
    queue = WorkQueue(10, {"q": 10}, clock=lambda: now)
    key, other = Key("q", "n", "a"), Key("q", "n", "b")
    adds = value("workqueue_adds_total") or 0
    queue.add(key)
    queue.add(key)
    queue.add(other, Priority.PERIODIC)
    assert value("workqueue_adds_total") == adds + 2
    assert value("workqueue_depth", priority="0") == 1
    assert value("workqueue_depth", priority="-100") == 1
    now = 103.0
    assert await queue.get() == key
    assert value("workqueue_queue_duration_seconds_sum") == 3
    now = 107.0
    queue.add(key)
    queue.add(key)
    assert value("workqueue_adds_total") == adds + 3
    assert value("workqueue_unfinished_work_seconds") == 4
    assert await queue.get() == other
    now = 108.0
    assert value("workqueue_unfinished_work_seconds") == 6
    assert value("workqueue_longest_running_processor_seconds") == 5
    queue.done(key)
    assert value("workqueue_work_duration_seconds_sum") == 5
    assert value("workqueue_adds_total") == adds + 3
    now = 110.0
    assert await queue.get() == key
    assert value("workqueue_queue_duration_seconds_sum") == 3 + 7 + 3
    queue.retry(key)
    assert value("workqueue_retries_total") == 1
    errors = "controller_runtime_reconcile_errors_total"
    assert REGISTRY.get_sample_value(errors, {"controller": "q"}) == 1
    queue.done(key)
    queue.done(other)
    queue.close()
    assert value("workqueue_longest_running_processor_seconds") == 0
