# SPDX-License-Identifier: Apache-2.0
"""How many Pods a pool has, and which ones go."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import (
    IdleWindow,
    Phase,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.planning import plan_pool
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.sizing import (
    Size,
    deletion_order,
    idle_target,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.writes import (
    GenerationDelete,
    PodCreate,
    PodDelete,
    PodWrite,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.pool.facts import NOW, POOL, bound, claim, pod, served, snapshot


def _terminated(plan):
    return [
        one.name
        for one in plan.writes
        if isinstance(one, PodWrite)
        and one.labels.get("pool.matrixorigin.io/phase") == "Terminating"
    ]


def _created(plan):
    return sum(one.count for one in plan.writes if isinstance(one, PodCreate))


def test_the_desired_size_is_what_is_used_what_is_waited_for_and_what_is_kept():
    assert Size(in_use=3, pending=1, idle=2).desired == 6


def test_scale_in_takes_the_first_idle_pods_by_order():
    """Appendix A: 10 Pods, 6 desired, 7 idle: 4 go."""
    pods = [pod(f"idle-{number}", created=NOW - number) for number in range(7)]
    users = [served(f"c{number}", f"used-{number}") for number in range(3)]
    pods += [bound(f"used-{number}", f"c{number}") for number in range(3)]
    plan = plan_pool(snapshot(pods, users, replace(POOL, max_idle=3)))
    assert _terminated(plan) == ["idle-0", "idle-1", "idle-2", "idle-3"]
    assert not [one for one in plan.writes if isinstance(one, PodDelete)]


def test_what_is_of_least_use_is_deleted_first():
    pods = [
        pod("idle-older", created=NOW - 9),
        pod("idle-newer", created=NOW - 1),
        pod("claimed", Phase.IDLE, claim="c"),
        pod("unknown", Phase.UNKNOWN),
        pod("terminating", Phase.TERMINATING),
        pod("bound", Phase.BOUND),
    ]
    order = ["terminating", "unknown", "idle-newer", "idle-older", "claimed", "bound"]
    assert [one.name for one in sorted(pods, key=deletion_order)] == order


def test_a_pod_that_was_returned_lately_is_kept_for_the_time_of_the_pool():
    pods = [pod("warm", returned_at=NOW - 50), pod("cold", returned_at=NOW - 101)]
    plan = plan_pool(snapshot(pods, pool=replace(POOL, reclaim_timeout=100)))
    assert _terminated(plan) == ["cold"]
    assert plan.requeue == 50


@pytest.mark.parametrize("returned_at", [None, NOW - 50], ids=["never bound", "returned lately"])
def test_a_pod_that_is_not_ready_goes_before_one_that_is(returned_at):
    """A pool once kept the one that was returned lately, and had nothing for the next claim."""
    broken = pod("broken", ready=False, created=NOW - 900, returned_at=returned_at)
    pods = [broken, pod("ready", created=NOW - 1)]
    plan = plan_pool(snapshot(pods, pool=replace(POOL, max_idle=1, reclaim_timeout=100)))
    assert _terminated(plan) == ["broken"]


def test_a_pod_that_a_claim_names_is_not_deleted():
    """Its deletion would be a race that the claim loses."""
    plan = plan_pool(snapshot([pod("a"), pod("b")], [claim("c", pod="a")]))
    assert "a" not in _terminated(plan)


def test_a_pool_at_its_limit_says_so_and_goes_on():
    """The predecessor stopped its whole pass there, and nothing shrank or rolled any more."""
    users = [served(f"c{number}", f"p{number}") for number in range(3)]
    pods = [bound(f"p{number}", f"c{number}") for number in range(3)]
    old = pod("old", generation="p-old", labels={"pool": "former"})
    plan = plan_pool(
        snapshot([*pods, old], [*users, claim("new")], replace(POOL, max_idle=2, max_pods=4))
    )
    assert "maxPods" in plan.limited
    assert _created(plan) == 0
    assert _terminated(plan) == ["old"]
    assert [one.reason for one in plan.waiting] == ["PoolAtMaxPods"]


def test_nothing_is_created_or_deleted_by_what_a_cache_shows():
    plan = plan_pool(snapshot([], [claim("c")], replace(POOL, max_idle=2), fresh=False))
    assert plan.wants_fresh
    assert _created(plan) == 0


def test_claims_that_no_pod_of_the_pool_would_serve_create_none():
    other = claim("c", pool="p", selector={"matchLabels": {"pool": "other"}})
    assert _created(plan_pool(snapshot([], [other]))) == 0


@given(
    used=st.integers(0, 5),
    free=st.integers(0, 8),
    others=st.integers(0, 4),
    pending=st.integers(0, 4),
    idle=st.integers(0, 4),
    most=st.none() | st.integers(0, 12),
)
def test_a_size_never_passes_its_limit_nor_touches_what_is_used(
    used, free, others, pending, idle, most
):
    size = Size(used, free, others, pending, idle, most)
    after = used + free + size.to_create - size.surplus
    assert not (size.to_create and size.surplus)
    assert size.surplus <= free
    if most is not None and size.to_create:
        assert after + others <= most
    if most is None:
        assert after == size.desired


def test_older_generations_keep_what_is_in_use_and_go_when_they_are_empty():
    used = [bound("old-used", "c", generation="p-old"), pod("old-idle", generation="p-old")]
    plan = plan_pool(
        snapshot(used, [served("c", "old-used")], generations=("p-new", "p-old", "p-oldest"))
    )
    assert _terminated(plan) == ["old-idle"]
    assert [one for one in plan.writes if isinstance(one, GenerationDelete)] == [
        GenerationDelete("p-oldest")
    ]


def test_a_template_that_comes_back_uses_its_generation_again():
    plan = plan_pool(snapshot([pod("a")], pool=replace(POOL, max_idle=1)))
    assert plan.writes == ()


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-11-23T07:59", 1),
        ("2026-11-23T08:00", 5),
        ("2026-11-23T17:59", 5),
        ("2026-11-23T18:00", 1),
        ("2026-11-24T12:00", 1),
        ("2026-11-27T23:00", 9),
        ("2026-11-28T01:59", 9),
        ("2026-11-28T02:00", 1),
        ("2026-11-28T23:00", 1),
    ],
)
def test_other_numbers_of_idle_pods_at_other_times(moment, expected):
    """Mondays from 8 to 18, and Fridays over midnight."""
    windows = (
        IdleWindow(frozenset({0}), 480, 1080, 5),
        IdleWindow(frozenset({4}), 1320, 120, 9),
    )
    at = datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()
    assert idle_target(replace(POOL, max_idle=1, windows=windows), 0, at) == expected


def test_idle_pods_may_be_a_share_of_those_in_use():
    pool = replace(POOL, max_idle=2, max_idle_percent=10)
    assert [idle_target(pool, used, NOW) for used in (0, 20, 21, 50)] == [2, 2, 3, 5]


def test_pods_of_earlier_templates_are_in_use_too():
    users = [served(f"c{number}", f"used-{number}", "Outdated") for number in range(4)]
    pods = [bound(f"used-{number}", f"c{number}", generation="p-old") for number in range(4)]
    assert _created(plan_pool(snapshot(pods, users, replace(POOL, max_idle_percent=50)))) == 2
