# SPDX-License-Identifier: Apache-2.0
"""Which log store a roll replaces next: one that every log shard can do without."""

from datetime import UTC, datetime

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.digests import log_uuid
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.presence import (
    Presence,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.replaceable_stores import (
    next_log_stores,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.roll import (
    dispensable,
    next_stores,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.view import (
    Shard,
    View,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.roll import Turn

NOW = datetime(2026, 1, 2, 4, 0, 0, tzinfo=UTC)

OLD = ("mo-log-2", "mo-log-1", "mo-log-0")
ALL = frozenset(map(log_uuid, range(3)))


def view(lost=(), leaders=(0, 0), *, silent=None, **more):
    """Two shards on three stores; ``lost`` names a store for each."""
    gone = [{log_uuid(one)} if one is not None else set() for one in lost or (None, None)]
    heard = silent or dict.fromkeys(ALL, 1.0)
    shards = [
        Shard(number, ALL, ALL - gone[number], 3, log_uuid(leaders[number])) for number in (0, 1)
    ]
    return View(True, heard, shards, **more)


@pytest.mark.parametrize(
    ("lost", "leaders", "chosen"),
    [
        ((), (0, 0), "mo-log-2"),
        ((), (2, 1), "mo-log-0"),
        ((), (2, 2), "mo-log-1"),
        ((None, 0), (1, 1), "mo-log-0"),
        ((0, 1), (2, 2), ""),
        ((None, 7), (0, 0), "mo-log-2"),
        ((), (1, 2), "mo-log-0"),
    ],
)
def test_a_log_store_goes_when_all_shards_have_their_other_replicas(lost, leaders, chosen):
    """Leaders go last; a store whose replicas are lost already goes first."""
    pod_name, waiting = dispensable(OLD, view(lost, leaders))

    assert pod_name == chosen
    assert bool(waiting) != bool(chosen)


@pytest.mark.parametrize(("hakeeper", "database", "chosen"), [(1, 2, 1), (2, 1, 2), (2, 2, 1)])
def test_whom_writers_would_wait_for_is_the_last(hakeeper, database, chosen):
    """What leads the shard of the transaction node leads it once more if another is replaced."""
    pod_name, _waiting = dispensable(OLD[:2], view((), (hakeeper, database)))

    assert pod_name == f"mo-log-{chosen}"


def test_who_is_missing_is_named():
    _pod, waiting = dispensable(("mo-log-2",), view((None, 1)))

    assert waiting == "log shard 1 to have its replica on store 1 back"


def test_a_shard_that_lacks_a_member_can_spare_nobody():
    short = View(True, dict.fromkeys(ALL, 1.0), [Shard(1, ALL - {log_uuid(2)}, ALL, 3)])

    assert dispensable(OLD, short) == ("", "log shard 1 to get all its replicas (2 of 3)")


def test_the_only_replica_goes_as_there_is_no_other():
    alone = frozenset({log_uuid(0)})
    shard = Shard(1, alone, alone, 1)

    assert dispensable(("mo-log-0",), View(True, {log_uuid(0): 1.0}, [shard]))[0] == "mo-log-0"


def stores(*ordinals, ready=600.0, age=600.0):
    return Presence(
        frozenset(ordinals), dict.fromkeys(ordinals, age), dict.fromkeys(ordinals, ready)
    )


def chosen(turn, seen, around, present=3, desired=3):
    return next_stores(turn, seen, around, present=present, desired=desired)


ROLLS = Turn(OLD, candidates=OLD)


@pytest.mark.parametrize(
    ("around", "seen"),
    [
        (stores(1, 2), view()),
        (Presence(frozenset(range(3)), {}, {1: 600.0, 2: 600.0}), view()),
        (stores(0, 1, 2, ready=6.0), view(silent={**dict.fromkeys(ALL, 1.0), log_uuid(0): 9.0})),
    ],
    ids=["it is gone", "it is going", "it came back and has not been heard since"],
)
def test_what_hakeeper_has_not_missed_yet_counts_as_away(around, seen):
    """HAKeeper takes ten seconds to miss a store."""
    turn = Turn(OLD, candidates=OLD[:2])

    assert chosen(turn, seen, around) == ((), "log shard 0 to have its replica on store 0 back")


def test_a_raised_incarnation_makes_nobody_wait_for_itself():
    """A failover that was called off leaves the store what it was, whatever number is recorded."""
    first = {log_uuid(0, 3): 1.0, log_uuid(1): 1.0, log_uuid(2): 1.0}
    seen = View(True, first, [Shard(1, frozenset(first), frozenset(first), 3)])

    assert chosen(ROLLS, seen, stores(0, 1, 2)) == (("mo-log-2",), "")


@pytest.mark.parametrize(
    ("present", "desired", "placed", "goes"),
    [(4, 3, (), False), (4, 0, (), True), (4, 5, (), True), (4, 3, ALL, True)],
    ids=["it shrinks", "it stops", "it grows", "only the roll can take the locality away"],
)
def test_a_roll_waits_for_a_scale_in(present, desired, placed, goes):
    seen = view(placed=frozenset(placed))
    found, waiting = chosen(ROLLS, seen, stores(0, 1, 2, 3), present, desired)

    assert bool(found) is goes
    assert waiting == ("" if goes else "the log service to be scaled in to 3 stores")


BROKEN = Turn(OLD, replace=OLD[:2])


@pytest.mark.parametrize(
    ("seen", "around", "goes"),
    [
        (view((1, 1), silent={log_uuid(0): 1.0, log_uuid(2): 1.0}), (0, 1, 2), ("mo-log-1",)),
        (view(), (0, 1, 2), ("mo-log-2",)),
        (view(), (1, 2), ()),
    ],
    ids=["one is silent", "both are heard", "a third one is away"],
)
def test_of_those_that_are_not_ready_but_heard_one_goes_at_a_time(seen, around, goes):
    """Probes that fail are no reason to end a majority that works."""
    found, waiting = chosen(BROKEN, seen, stores(*around))

    assert found == goes
    assert bool(waiting) != bool(goes)


@pytest.mark.parametrize(
    ("turn", "replicas", "found"),
    [
        (ROLLS, 3, (("mo-log-2",), "")),
        (ROLLS, 4, ((), "the log service to be scaled in to 3 stores")),
        (BROKEN, 4, (OLD[:2], "")),
    ],
    ids=["one by one", "not while it shrinks", "all that do not serve"],
)
def test_without_a_way_to_the_stores_what_kubernetes_reports_suffices(turn, replicas, found):
    log_set, workload = {"spec": {"replicas": 3}}, {"spec": {"replicas": replicas}}

    assert next_log_stores(log_set, workload, [], turn, NOW) == found
