# SPDX-License-Identifier: Apache-2.0
"""To which shard an object belongs, and what the queue knows of objects of other processes."""

from collections import Counter

from ansible_operator import metrics
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.queueing.shards import Shards

ONE, OTHER = Key("kind", "ns", "one"), Key("kind", "ns", "two")


def test_the_shard_of_an_object_is_the_same_in_every_process_and_for_every_kind() -> None:
    shards = Shards(16)
    assert shards.number(ONE) == shards.number(Key("another", "ns", "one")) == 8
    assert shards.number(OTHER) == 12
    assert shards.number(Key("kind", "other", "one")) == 7


def test_objects_are_spread_over_all_shards() -> None:
    shards = Shards(16)
    held = Counter(shards.number(Key("kind", "ns", f"object-{n}")) for n in range(1600))
    assert len(held) == 16
    assert max(held.values()) < 2 * min(held.values())
    few = {shards.number(Key("kind", "ns", f"object-{n}")) for n in range(10)}
    assert len(few) >= 6, "names that differ in a digit are spread, too"


def test_a_kind_with_one_run_at_a_time_is_in_one_shard() -> None:
    shards = Shards(16, whole={"kind"})
    assert len({shards.number(Key("kind", "ns", f"object-{n}")) for n in range(50)}) == 1


def test_without_shards_everything_is_run_here() -> None:
    assert Shards().include(ONE)
    assert not Shards(2).include(ONE)


async def test_the_queue_takes_objects_of_open_shards_only() -> None:
    shards = Shards(16)
    queue = WorkQueue(1, {"kind": 1}, includes=shards.include)
    shards.open.add(shards.number(ONE))
    queue.add(OTHER)
    queue.add_after(OTHER, 0.001)
    assert queue.waiting("kind") == 0
    queue.add(ONE)
    assert await queue.get() == ONE


async def test_what_waits_is_forgotten_with_its_shard_and_a_run_is_not_followed_by_another() -> (
    None
):
    shards = Shards(16)
    shards.open.update(range(16))
    queue = WorkQueue(2, {"kind": 2}, includes=shards.include)
    queue.add(ONE)
    running = await queue.get()
    queue.add(ONE, reason="while it runs")
    queue.retry(ONE)
    queue.add(OTHER)
    closed = shards.number(ONE)
    shards.open.discard(closed)
    queue.discard(lambda key: shards.number(key) == closed)
    assert queue.active() == [ONE]
    queue.done(running)
    assert queue.waiting("kind") == 1
    labels = {"name": "kind", "controller": "kind", "priority": "0"}
    assert metrics.REGISTRY.get_sample_value("workqueue_depth", labels) == 1
    assert await queue.get() == OTHER
    queue.done(OTHER)
    shards.open.add(closed)
    queue.add(ONE, reason="again")
    assert await queue.get() == ONE
    trigger = queue.trigger(ONE)
    assert (trigger.reason, trigger.failed) == ("again", False)
