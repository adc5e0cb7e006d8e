# SPDX-License-Identifier: Apache-2.0
"""The work queue: nothing lost, nothing twice at once, the right order."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_operator.loop.queueing.queue import Key, Priority, Trigger, WorkQueue
from ansible_operator.watches import Retry


def key(name: str, controller: str = "a") -> Key:
    return Key(controller, "default", name)


async def taken(queue: WorkQueue) -> str | None:
    try:
        return (await asyncio.wait_for(queue.get(), 0.01)).name
    except TimeoutError:
        return None


async def test_adds_of_one_key_collapse() -> None:
    queue = WorkQueue(10, {"a": 10})
    for _ in range(3):
        queue.add(key("x"))
    assert await taken(queue) == "x"
    assert await taken(queue) is None


async def test_an_add_during_a_run_leads_to_one_more_run_and_never_to_two_at_once() -> None:
    queue = WorkQueue(10, {"a": 10})
    queue.add(key("x"))
    assert await taken(queue) == "x"
    queue.add(key("x"))
    queue.add(key("x"))
    assert await taken(queue) is None
    queue.done(key("x"))
    assert await taken(queue) == "x"
    queue.done(key("x"))
    assert await taken(queue) is None


async def test_changed_objects_go_before_periodic_ones() -> None:
    queue = WorkQueue(10, {"a": 10})
    queue.add(key("old1"), Priority.PERIODIC)
    queue.add(key("old2"), Priority.PERIODIC)
    queue.add(key("new"))
    queue.add(key("old2"))
    assert [await taken(queue) for _ in range(4)] == ["new", "old2", "old1", None]


async def test_caps_of_a_kind_and_of_all_kinds() -> None:
    queue = WorkQueue(3, {"a": 2, "b": 2})
    for name in ("a1", "a2", "a3"):
        queue.add(key(name))
    for name in ("b1", "b2"):
        queue.add(key(name, "b"))
    assert [await taken(queue) for _ in range(4)] == ["a1", "a2", "b1", None]
    queue.done(key("b1", "b"))
    assert await taken(queue) == "b2"
    queue.done(key("a1"))
    assert await taken(queue) == "a3"


async def test_runs_that_wait_for_objects_of_other_kinds_leave_these_a_slot() -> None:
    """A play may create an object of another kind and wait for it, and that one's play likewise."""
    queue = WorkQueue(2, {"parent": 9, "child": 9, "grandchild": 9})
    for number in range(3):
        queue.add(key(f"p{number}", "parent"))
    assert [await taken(queue) for _ in range(3)] == ["p0", "p1", None]
    for name in ("c0", "c1"):
        queue.add(key(name, "child"), Priority.PERIODIC)
    assert [await taken(queue) for _ in range(2)] == ["c0", None]
    queue.add(key("g0", "grandchild"))
    assert [await taken(queue) for _ in range(2)] == ["g0", None]
    queue.done(key("g0", "grandchild"))
    queue.done(key("c0", "child"))
    assert [await taken(queue) for _ in range(2)] == ["c1", None]
    queue.done(key("p0", "parent"))
    queue.done(key("c1", "child"))
    assert [await taken(queue) for _ in range(2)] == ["p2", None]


async def test_while_a_result_is_written_the_next_object_runs_but_never_the_same_one() -> None:
    queue = WorkQueue(2, {"a": 1, "b": 1})
    for name in ("x", "y"):
        queue.add(key(name))
    assert [await taken(queue) for _ in range(2)] == ["x", None]
    queue.release_slot(key("x"))
    queue.add(key("x"))
    assert [await taken(queue) for _ in range(2)] == ["y", None]
    assert queue.is_active(key("x"))
    queue.done(key("y"))
    assert await taken(queue) is None
    queue.done(key("x"))
    assert [await taken(queue) for _ in range(2)] == ["x", None]


async def test_results_that_wait_for_a_slow_server_are_not_more_than_there_are_slots() -> None:
    queue = WorkQueue(2, {"a": 2})
    for number in range(6):
        queue.add(key(str(number)))
    begun = []
    while (name := await taken(queue)) is not None:
        begun.append(name)
        queue.release_slot(key(name))
    assert begun == ["0", "1", "2", "3"]
    queue.release_slot(key("not taken"))
    queue.done(key("3"))
    assert [await taken(queue) for _ in range(2)] == ["4", None]


async def test_of_several_delays_the_earliest_counts_and_a_run_settles_them_all() -> None:
    queue = WorkQueue(10, {"a": 10})
    queue.add_after(key("x"), 5)
    queue.add_after(key("x"), 0.02)
    queue.add_after(key("x"), 9)
    assert await taken(queue) is None
    assert (await asyncio.wait_for(queue.get(), 1)).name == "x"
    queue.add_after(key("y"), 0.03)
    queue.add(key("y"))
    assert await taken(queue) == "y"
    queue.done(key("y"))
    await asyncio.sleep(0.06)
    assert await taken(queue) is None


async def test_back_off_doubles_up_to_its_limit_and_is_reset_by_success() -> None:
    queue = WorkQueue(10, {"a": 10}, {"a": Retry(first=0.01, longest=0.05)})
    delays = [queue.retry(key("x")) for _ in range(5)]
    assert delays == pytest.approx([0.01, 0.02, 0.04, 0.05, 0.05])
    queue.forget(key("x"))
    assert queue.retry(key("x")) == pytest.approx(0.01)


async def test_many_retries_at_once_are_spread_by_the_bucket() -> None:
    queue = WorkQueue(10, {"a": 10}, clock=lambda: 0.0)
    delays = [queue.retry(key(str(number))) for number in range(120)]
    assert max(delays[:99]) < 0.01
    assert delays[-1] == pytest.approx(2.0)


async def test_the_default_back_off_ends_at_a_thousand_seconds() -> None:
    moment = 0.0
    queue = WorkQueue(1, {"a": 1}, clock=lambda: moment)
    delays = []
    for _ in range(30):
        delays.append(queue.retry(key("x")))
        moment += 1000
    assert delays[0] == pytest.approx(0.005)
    assert delays[-1] == 1000
    queue.close()


async def test_a_dropped_object_does_not_come_back() -> None:
    queue = WorkQueue(1, {"a": 1})
    queue.add_after(key("x"), 0.01)
    queue.drop(key("x"))
    await asyncio.sleep(0.03)
    assert await taken(queue) is None


@pytest.mark.parametrize("is_dropped", [True, False])
async def test_objects_that_are_gone_leave_nothing_behind(is_dropped: bool) -> None:
    moment = 0.0
    queue = WorkQueue(1, {"a": 1}, clock=lambda: moment)
    for number in range(50):
        queue.add(key(str(number)))
        found = await queue.get()
        queue.trigger(found)
        if is_dropped:
            queue.drop(found)
        queue.done(found)
    assert queue.cooldown(key("49"), 0.2) == 0.2
    moment += 60
    queue.add(key("last"))
    queue.done(await queue.get())
    kept = {item for held in vars(queue).values() if isinstance(held, dict) for item in held}
    assert not kept & {key(str(number)) for number in range(50)}


async def test_a_closed_queue_takes_and_gives_nothing() -> None:
    queue = WorkQueue(1, {"a": 1})
    queue.add(key("x"))
    queue.add_after(key("y"), 0.01)
    queue.close()
    queue.add(key("z"))
    await asyncio.sleep(0.03)
    assert await taken(queue) is None


async def test_reasons_are_joined_and_a_change_of_the_object_itself_is_kept() -> None:
    queue = WorkQueue(2, {"a": 2})
    queue.add(key("x"), Priority.PERIODIC)
    queue.add(key("x"), reason="spec changed", fresh=True)
    queue.add(key("x"), reason="Pod p modified")
    await queue.get()
    assert queue.trigger(key("x")) == Trigger("spec changed, Pod p modified", fresh=True)
    assert queue.trigger(key("x")) == Trigger("period", fresh=False)
    queue.retry(key("x"))
    assert queue.trigger(key("x")) == Trigger("retry", fresh=False, failed=True)


async def test_who_asks_for_a_run_gets_one_and_a_failure_is_known_until_a_success() -> None:
    queue = WorkQueue(2, {"a": 2})
    queue.add(key("x"), reason="created", fresh=True)
    assert queue.trigger(key("x")) == Trigger("created", fresh=True)
    queue.add(key("x"), reason="Pod p modified")
    queue.add(key("x"), reason="spec changed", fresh=True, requested=True)
    assert queue.trigger(key("x")).requested
    assert not queue.trigger(key("x")).requested
    queue.retry(key("x"))
    queue.add(key("x"), reason="Pod p modified")
    assert queue.trigger(key("x")) == Trigger("Pod p modified", fresh=False, failed=True)
    queue.forget(key("x"))
    assert not queue.trigger(key("x")).failed


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "periodic", "after", "retry", "conclude", "finish", "take"]),
        st.integers(min_value=0, max_value=4),
        st.sampled_from(["a", "b"]),
    ),
    max_size=80,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ACTIONS, st.integers(min_value=1, max_value=4))
def test_whatever_happens_nothing_is_lost_and_nothing_runs_twice(
    actions: list[tuple[str, int, str]], total: int
) -> None:
    asyncio.run(_play(actions, total))


class Driven:
    """A queue that is driven by random actions, and what is to be true of it.

    Attributes:
        owed: objects that must still get a run.
    """

    def __init__(self, total: int) -> None:
        self.queue = WorkQueue(total, {"a": 2, "b": 1}, {"a": Retry(0.001, 0.002)})
        self.owed: set[Key] = set()
        self._total = total
        self._running: set[Key] = set()
        self._without_slot: set[Key] = set()

    async def take(self) -> bool:
        try:
            found = await asyncio.wait_for(self.queue.get(), 0.003)
        except TimeoutError:
            return False
        assert found not in self._running, "an object runs twice at once"
        self._running.add(found)
        self.owed.discard(found)
        playing = self._running - self._without_slot
        kinds = {item.controller for item in playing}
        assert len(playing) <= max(self._total, 1) + len(kinds - {found.controller})
        assert sum(item.controller == "a" for item in playing) <= 2
        assert sum(item.controller == "b" for item in playing) <= 1
        return True

    def release_slot(self, number: int) -> None:
        for item in sorted(self._running)[number : number + 1]:
            self.queue.release_slot(item)
            if len(self._without_slot) < self._total:
                self._without_slot.add(item)

    def finish(self, number: int) -> None:
        for item in sorted(self._running)[number : number + 1]:
            self._running.discard(item)
            self._without_slot.discard(item)
            self.queue.done(item)

    def finish_all(self) -> None:
        while self._running:
            self.finish(0)


async def _play(actions: list[tuple[str, int, str]], total: int) -> None:
    driven = Driven(total)
    queue = driven.queue
    adding = {
        "add": queue.add,
        "periodic": lambda item: queue.add(item, Priority.PERIODIC),
        "after": lambda item: queue.add_after(item, 0.001),
        "retry": queue.retry,
    }
    for action, number, controller in actions:
        if action == "take":
            await driven.take()
        elif action in adding:
            item = key(str(number), controller)
            driven.owed.add(item)
            adding[action](item)
        else:
            {"conclude": driven.release_slot, "finish": driven.finish}[action](number)
    for _ in range(200):
        driven.finish_all()
        if not await driven.take() and not driven.owed:
            break
    assert not driven.owed, "an object was forgotten"
