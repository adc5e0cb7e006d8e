# SPDX-License-Identifier: Apache-2.0
"""Which log store is replaced, which may leave: tables first, then what must always hold."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.digests import log_uuid
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import (
    failover as log_stores,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.failover import (
    LogStore,
    Policy,
    Repair,
    Step,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.presence import (
    Presence,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.scaling import (
    ScaleIn,
    scale_in,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.view import (
    Shard,
    View,
    incarnation_of,
    ordinal_of,
)
from hypothesis import given
from hypothesis import strategies as st

NOW = 10_000.0
POLICY = Policy(timeout=600, shard_replicas=3)
LONG_AGO = NOW - 700


def uuids(*ordinals: int) -> frozenset[str]:
    return frozenset(log_uuid(ordinal) for ordinal in ordinals)


def view(
    members: Sequence[int] = (0, 1, 2),
    alive: Sequence[int] = (0, 1, 2),
    *,
    running: bool = True,
    heard: Sequence[int] | None = None,
    replicas: int = 3,
) -> View:
    """HAKeeper's view of two shards with the same members."""
    silent = {log_uuid(one): 1.0 for one in (alive if heard is None else heard)}
    silent |= {log_uuid(one): 700.0 for one in members if log_uuid(one) not in silent}
    return View(
        running,
        silent,
        [Shard(number, uuids(*members), uuids(*alive), replicas) for number in (0, 1)],
    )


def stores(*down: int, count: int = 3, since: float = LONG_AGO) -> list[LogStore]:
    return [LogStore(f"mo-log-{one}", one, since if one in down else None) for one in range(count)]


def step(
    listed: list[LogStore], seen: View | None, repair: Repair | None = None, policy: Policy = POLICY
) -> Step:
    return log_stores.next_repair(listed, seen, policy, repair, NOW).step


def there(count: int, *, without: Sequence[int] = (), ready: float = 900.0) -> Presence:
    """So many Pods that are ready for long, but for some that do not exist."""
    ordinals = [one for one in range(count) if one not in without]
    return Presence(
        frozenset(ordinals), dict.fromkeys(ordinals, 900.0), dict.fromkeys(ordinals, ready)
    )


LOST = view(alive=(0, 1))


def heard_before(seconds: float) -> View:
    """HAKeeper heard store 2 so many seconds ago, and has missed it after ten."""
    seen = LOST if seconds > 10 else view()
    return replace(seen, silent={**seen.silent, log_uuid(2): seconds})


def without_the_last(seconds: float, alive: Sequence[int] = (0, 1)) -> View:
    """HAKeeper has removed the replicas of store 2, which it heard so many seconds ago."""
    seen = view((0, 1), alive, heard=(0, 1))
    return replace(seen, silent={**seen.silent, log_uuid(2): seconds})


@pytest.mark.parametrize(
    ("listed", "seen", "wanted"),
    [
        (stores(), view(), Step.NOTHING),
        (stores(), None, Step.NOTHING),
        (stores(2, since=NOW - 599), LOST, Step.WAIT),
        (stores(2, since=NOW - 600), LOST, Step.RECORD),
        (stores(2), None, Step.BLOCKED),
        (stores(2), view(alive=(0, 1), running=False), Step.BLOCKED),
        (stores(2), view(), Step.BLOCKED),
        (stores(1, 2), view(alive=(0,)), Step.BLOCKED),
        (stores(2), view(alive=(0,)), Step.BLOCKED),
        (stores(2), view(alive=(0, 1), heard=(0, 1, 2)), Step.RECORD),
        (stores(2), without_the_last(700), Step.RECORD),
        (stores(2), without_the_last(599), Step.WAIT),
        (stores(2), without_the_last(5), Step.BLOCKED),
        (stores(2), without_the_last(700, alive=(0,)), Step.BLOCKED),
        (stores(3, count=5), view(heard=(0, 1, 2, 4)), Step.RECORD),
        (stores(2, 4, count=5), view(alive=(0, 1), heard=(0, 1, 3)), Step.RECORD),
        (stores(0, 1, 2), view(alive=()), Step.BLOCKED),
    ],
    ids=[
        "all are up",
        "all are up and HAKeeper is silent",
        "not for long enough",
        "just long enough",
        "HAKeeper is silent",
        "never bootstrapped",
        "HAKeeper still hears it",
        "two of three are down",
        "another one is not counted on by HAKeeper",
        "it runs without its data",
        "it came back after it had been removed",
        "HAKeeper heard it later than its Pod is down",
        "HAKeeper hears it, and will give it replicas",
        "it was removed, and another one fails",
        "it has no replica",
        "another one that has no replica is down, too",
        "all are down",
    ],
)
def test_a_store_is_replaced_only_when_it_is_lost_and_the_others_carry_on(
    listed: list[LogStore], seen: View | None, wanted: Step
) -> None:
    assert step(listed, seen) is wanted


def test_a_set_that_never_served_replaces_nothing() -> None:
    verdict = log_stores.next_repair(stores(2), LOST, replace(POLICY, served=False), None, NOW)
    assert verdict.step is Step.BLOCKED
    assert verdict.message == (
        "mo-log-2 is not replaced: the log service has never been up as a whole"
    )


def test_a_single_replica_is_never_given_up() -> None:
    seen = view(members=(0,), alive=(), replicas=1)
    assert step(stores(0, count=1), seen, policy=Policy(600, 1)) is Step.BLOCKED


def test_where_a_new_store_would_not_come_up_either_the_old_one_stays() -> None:
    listed = [replace(one, obstacle="its image is being pulled") for one in stores(2)]
    verdict = log_stores.next_repair(listed, LOST, POLICY, None, NOW)
    assert verdict.step is Step.BLOCKED
    assert "its image is being pulled" in verdict.message


@pytest.mark.parametrize("since", [LONG_AGO, NOW], ids=["overdue", "just now"])
@pytest.mark.parametrize("seen", [LOST, None], ids=["a quorum", "silence"])
def test_a_store_whose_pod_is_refused_is_neither_announced_nor_replaced(
    since: float, seen: View | None
) -> None:
    """A quota would refuse the Pod of a new store, too, and the volume of the old one is fine."""
    listed = stores(2, since=since)
    listed[2] = replace(listed[2], is_created=False, obstacle="Kubernetes has not created its Pod")
    verdict = log_stores.next_repair(listed, seen, POLICY, None, NOW)
    assert (verdict.step, verdict.message) == (Step.NOTHING, "")


def test_a_store_whose_pod_is_refused_counts_as_down_for_the_others() -> None:
    listed = stores(1, 2)
    listed[2] = replace(listed[2], is_created=False)
    verdict = log_stores.next_repair(listed, view(alive=(0,)), POLICY, None, NOW)
    assert (verdict.step, verdict.pod) == (Step.BLOCKED, "mo-log-1")
    assert "mo-log-1 and mo-log-2 are down" in verdict.message


def test_a_new_store_whose_pod_is_refused_is_not_replaced_in_its_turn() -> None:
    listed = stores(2)
    listed[2] = replace(listed[2], is_created=False)
    repair = Repair("mo-log-2", 2, 1, began=LONG_AGO, removed=True, touched=True, rendered=True)
    verdict = log_stores.next_repair(listed, LOST, POLICY, repair, NOW)
    assert verdict.step is Step.AWAIT_STORE
    assert "create the Pod" in verdict.message


@pytest.mark.parametrize(
    ("placed", "wanted"),
    [(uuids(0, 1, 2), Step.BLOCKED), (uuids(0), Step.BLOCKED), (uuids(2), Step.RECORD)],
    ids=["all have a locality", "it is being taken out", "the lost one had one of before"],
)
def test_a_store_whose_replicas_nobody_would_get_is_not_replaced(
    placed: frozenset[str], wanted: Step
) -> None:
    verdict = log_stores.next_repair(stores(2), replace(LOST, placed=placed), POLICY, None, NOW)
    assert verdict.step is wanted
    assert ("locality" in verdict.message) == (wanted is Step.BLOCKED)


def test_a_store_whose_replicas_nobody_would_get_does_not_leave() -> None:
    four = view(members=(0, 1, 3), alive=(0, 1, 3), heard=(0, 1, 2, 3))
    assert scale_in(4, 3, four, there(4)).leaves == 3
    kept = scale_in(4, 3, replace(four, placed=uuids(0, 1, 2, 3)), there(4))
    assert (kept.leaves, kept.replicas) == (None, 4)
    assert "locality" in kept.message
    spare = view(heard=(0, 1, 2, 3))
    assert scale_in(4, 3, replace(spare, placed=uuids(0, 1, 2, 3)), there(4)).leaves == 3


def test_one_that_can_be_replaced_does_not_wait_for_one_that_cannot() -> None:
    seen = View(
        True,
        {log_uuid(one): 1.0 for one in range(3)},
        [Shard(0, uuids(0, 1, 2), uuids(0, 1, 2), 3)],
    )
    listed = stores(3, 4, count=5)
    listed[3] = replace(listed[3], obstacle="its Pod waits for a node")
    verdict = log_stores.next_repair(listed, seen, POLICY, None, NOW)
    assert (verdict.step, verdict.pod) == (Step.RECORD, "mo-log-4")


@pytest.mark.parametrize(
    ("changes", "silence", "wanted", "due"),
    [
        ({}, 700, Step.RECORD, None),
        ({"attempted": NOW - 700}, 700, Step.RECORD, None),
        ({"attempted": NOW - 1}, 700, Step.WAIT, NOW + 599),
        ({}, 100, Step.WAIT, NOW + 500),
        ({"fails_repeatedly": True}, 100, Step.RECORD, None),
        ({"fails_repeatedly": True}, 3, Step.BLOCKED, None),
        ({"fails_repeatedly": True, "attempted": NOW - 1}, 700, Step.WAIT, NOW + 599),
    ],
    ids=[
        "down for long",
        "its Pod was in place for as long",
        "its Pod ended, found a node or pulled its image until a moment ago",
        "clocks say that it is down for long, HAKeeper that it lived lately",
        "it starts and fails again and again",
        "it starts, and HAKeeper hears it at this moment",
        "it failed twice, on a node that it has only just got",
    ],
)
def test_a_store_has_all_of_its_time_to_come_up(
    changes: dict[str, float], silence: float, wanted: Step, due: float | None
) -> None:
    listed = [replace(one, **changes) if one.ordinal == 2 else one for one in stores(2)]
    verdict = log_stores.next_repair(listed, heard_before(silence), POLICY, None, NOW)
    assert (verdict.step, verdict.due) == (wanted, due)


def test_the_time_of_the_next_look_is_when_the_first_store_is_due() -> None:
    listed = [*stores(2, since=NOW - 100)[1:], LogStore("mo-log-0", 0, NOW - 50)]
    assert log_stores.next_repair(listed, None, POLICY, None, NOW).due == NOW + 500


REPAIR = Repair("mo-log-2", 2, 1, began=NOW - 10)
TAKEN = replace(REPAIR, removed=True, touched=True, rendered=True)
NEW = log_uuid(2, 1)


def replaced(members: Sequence[str], alive: Sequence[str]) -> View:
    silent = {log_uuid(0): 1.0, log_uuid(1): 1.0, log_uuid(2): 900.0, NEW: 1.0}
    return View(True, silent, [Shard(0, frozenset(members), frozenset(alive), 3)])


@pytest.mark.parametrize(
    ("listed", "seen", "repair", "wanted"),
    [
        (stores(2), LOST, REPAIR, Step.RENDER),
        (stores(2), LOST, replace(REPAIR, rendered=True), Step.TAKE_AWAY),
        (stores(2), None, replace(REPAIR, rendered=True), Step.BLOCKED),
        (stores(1, 2), view(alive=(0,)), replace(REPAIR, rendered=True), Step.BLOCKED),
        (stores(), view(), replace(REPAIR, rendered=True), Step.CALL_OFF),
        (stores(2, since=NOW - 5), LOST, replace(REPAIR, rendered=True), Step.CALL_OFF),
        (stores(2), heard_before(5), replace(REPAIR, rendered=True), Step.BLOCKED),
        (stores(2), heard_before(50), replace(REPAIR, rendered=True), Step.CALL_OFF),
        (stores(2, since=NOW - 5), LOST, replace(REPAIR, touched=True), Step.RENDER),
        (stores(2), LOST, TAKEN, Step.AWAIT_STORE),
        (stores(2), None, TAKEN, Step.AWAIT_STORE),
        (stores(2), LOST, replace(TAKEN, began=NOW - 600), Step.RECORD),
        (stores(2), LOST, replace(TAKEN, began=NOW - 600, created=NOW - 599), Step.AWAIT_STORE),
        (stores(2), None, replace(TAKEN, began=NOW - 600), Step.BLOCKED),
        (stores(), None, TAKEN, Step.AWAIT_REPLICAS),
        (stores(), replaced(uuids(0, 1, 2), uuids(0, 1)), TAKEN, Step.AWAIT_REPLICAS),
        (stores(), replaced(uuids(0, 1), uuids(0, 1)), TAKEN, Step.AWAIT_REPLICAS),
        (stores(), replaced([*uuids(0, 1), NEW], uuids(0, 1)), TAKEN, Step.AWAIT_REPLICAS),
        (stores(), replaced([*uuids(0, 1), NEW], [*uuids(0, 1), NEW]), TAKEN, Step.FINISH),
        (stores(1), replaced([*uuids(0, 1), NEW], [*uuids(0), NEW]), TAKEN, Step.FINISH),
    ],
    ids=[
        "recorded",
        "rendered",
        "HAKeeper has fallen silent since",
        "another one was lost since",
        "it came back by itself",
        "it was up in the meantime",
        "HAKeeper hears it",
        "HAKeeper heard it a moment ago",
        "there is no way back",
        "taken away",
        "taken away and HAKeeper is silent",
        "the new one does not come up for as long",
        "it took a while until there was a new one",
        "the same, and HAKeeper is silent",
        "up, and HAKeeper is silent",
        "up, the old one is still a member",
        "up, a member is missing",
        "up, its replica does not run yet",
        "done",
        "done, though another one was lost since",
    ],
)
def test_a_replacement_goes_on_from_where_it_is(
    listed: list[LogStore], seen: View | None, repair: Repair, wanted: Step
) -> None:
    assert step(listed, seen, repair) is wanted


@pytest.mark.parametrize(
    ("recorded", "seen", "number"),
    [
        ({}, None, 1),
        ({"2": 4}, None, 5),
        ({"1": 4}, LOST, 1),
        ({}, View(True, {log_uuid(2, 7): 1.0}, []), 8),
        ({"2": 9}, View(True, {log_uuid(2, 7): 1.0}, []), 10),
    ],
)
def test_no_incarnation_is_used_twice(
    recorded: dict[str, int], seen: View | None, number: int
) -> None:
    assert log_stores.next_incarnation(2, recorded, seen) == number


def test_uuids_of_others_belong_to_no_ordinal() -> None:
    assert ordinal_of(log_uuid(11, 3)) == 11
    assert incarnation_of(log_uuid(11, 3)) == 3
    for foreign in ("", "abc", "11111111-0000-0000-0000-000000000001", "00000000-0000-0000-0-z"):
        assert ordinal_of(foreign) is None
        assert incarnation_of(foreign) == 0


FIVE = view(members=(0, 1, 4), alive=(0, 1, 4), heard=(0, 1, 2, 3, 4))


@pytest.mark.parametrize(
    ("present", "wanted", "seen", "result"),
    [
        (3, 3, None, (3, None)),
        (3, 5, None, (5, None)),
        (3, 0, None, (0, None)),
        (5, 3, None, (5, None)),
        (5, 3, FIVE, (4, 4)),
        (4, 3, FIVE, (4, None)),
        (4, 3, view(members=(0, 1, 4), alive=(0, 1)), (4, None)),
        (4, 3, view(members=(0, 1), alive=(0, 1)), (4, None)),
        (4, 3, view(members=(0, 1, 3), alive=(0, 1)), (3, 3)),
        (4, 3, view(members=(0, 1, 3), alive=(0, 3)), (4, None)),
        (4, 3, view(), (3, 3)),
        (2, 1, view(members=(1,), alive=(1,), replicas=1), (2, None)),
        (3, 1, view(), (3, None)),
    ],
    ids=[
        "as it should be",
        "more",
        "a stop",
        "HAKeeper is silent",
        "one of two goes",
        "others hold what it would have to",
        "the one before is still a member",
        "a replica has not been placed yet",
        "the one that goes is dead already",
        "another one is dead",
        "the one that goes has no replica",
        "it has the only replica",
        "a log shard has three replicas",
    ],
)
def test_one_log_store_leaves_when_nothing_depends_on_it(
    present: int, wanted: int, seen: View | None, result: tuple[int, int | None]
) -> None:
    found = scale_in(present, wanted, seen, there(present))
    assert (found.replicas, found.leaves) == result
    assert bool(found.message) == (found.replicas != wanted)


ON_FOUR = view(members=(1, 2, 3), alive=(1, 2, 3), heard=(0, 1, 2, 3))
SURPLUS = Presence(frozenset(range(5)), {4: 9.0}, dict.fromkeys(range(4), 900.0))


@pytest.mark.parametrize(
    ("around", "leaves", "said"),
    [
        (there(4), 3, ""),
        (there(4, without=[3]), 3, ""),
        (there(4, without=[0]), None, "log store 0 is not ready or still leaving"),
        (there(4, without=[2]), None, "log store 2 is not ready or still leaving"),
        (SURPLUS, None, "log store 4 is not ready or still leaving"),
        (there(4, ready=0.5), None, "HAKeeper is placing replicas of log shard 0, 1"),
    ],
    ids=[
        "all are there",
        "who leaves has gone already",
        "one without a replica is away",
        "one is away, and HAKeeper has not missed it yet",
        "the one before is still leaving",
        "they came back a moment ago and have not been heard since",
    ],
)
def test_no_store_leaves_while_another_one_is_away(
    around: Presence, leaves: int | None, said: str
) -> None:
    found = scale_in(4, 3, ON_FOUR, around)
    assert found.leaves == leaves
    assert said in found.message


def test_a_store_that_has_left_is_no_help_to_one_that_is_lost() -> None:
    """HAKeeper has not missed store 3 yet; without 2 as well, the shard would have no majority."""
    seen = view(members=(1, 2, 3), alive=(1, 3), heard=(0, 1, 3))
    assert step(stores(2), seen) is Step.RECORD
    assert step(stores(2), seen.within(3)) is Step.BLOCKED


shards = st.lists(
    st.builds(
        lambda members, dead: Shard(0, uuids(*members), uuids(*(set(members) - set(dead))), 3),
        st.sets(st.integers(0, 5), min_size=1, max_size=5),
        st.sets(st.integers(0, 5)),
    ),
    min_size=1,
    max_size=3,
)
views = st.none() | st.builds(
    View,
    st.booleans(),
    st.dictionaries(st.integers(0, 5).map(log_uuid), st.floats(0, 1000)),
    shards,
)
downs = st.lists(st.none() | st.floats(0, NOW), min_size=1, max_size=6).map(
    lambda listed: [LogStore(f"mo-log-{n}", n, since) for n, since in enumerate(listed)]
)
repairs = st.none() | st.builds(
    Repair,
    pod=st.just("mo-log-0"),
    ordinal=st.just(0),
    incarnation=st.integers(1, 9),
    began=st.floats(0, NOW),
    removed=st.booleans(),
    rendered=st.booleans(),
)


@given(downs, views, repairs)
def test_nothing_is_taken_away_that_a_quorum_needs(
    listed: list[LogStore], seen: View | None, repair: Repair | None
) -> None:
    verdict = log_stores.next_repair(listed, seen, POLICY, repair, NOW)
    if verdict.step not in {Step.RECORD, Step.TAKE_AWAY}:
        return
    assert seen is not None
    assert seen.running
    store = next(one for one in listed if one.pod == verdict.pod)
    assert store.down_since is not None
    gone = seen.stores_of(store.ordinal)
    for shard in seen.shards:
        assert 2 * len(shard.alive - gone) > len(shard.members)


@given(st.integers(1, 6), st.integers(0, 6), views)
def test_a_set_never_shrinks_by_more_than_one_nor_below_a_quorum(
    present: int, wanted: int, seen: View | None
) -> None:
    found: ScaleIn = scale_in(present, wanted, seen, there(present))
    if 0 < wanted < present:
        assert present - 1 <= found.replicas <= present
        if found.leaves is not None:
            assert seen is not None
            gone = seen.stores_of(found.leaves)
            assert all(shard.survives_without(gone) for shard in seen.shards)
    else:
        assert found.replicas == wanted
