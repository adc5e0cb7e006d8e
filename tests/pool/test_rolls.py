# SPDX-License-Identifier: Apache-2.0
"""How idle Pods of a new template replace those of earlier ones."""

from dataclasses import replace

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import Phase
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.planning import plan_pool
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.writes import (
    PodCreate,
    PodDelete,
    PodWrite,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.pool.facts import NOW, POOL, bound, claim, pod, served, snapshot

_PHASE = "pool.matrixorigin.io/phase"


def _terminated(plan):
    return [
        one.name
        for one in plan.writes
        if isinstance(one, PodWrite) and one.labels.get(_PHASE) == "Terminating"
    ]


def _created(plan):
    return sum(one.count for one in plan.writes if isinstance(one, PodCreate))


def _rolling(new, old, **pool):
    """The names that go of a pool with idle Pods of two templates; "-" is one that starts."""
    pods = [
        replace(
            pod(name, generation=of),
            **({"phase": Phase.UNKNOWN, "ready": False} if "-" in name else {}),
        )
        for names, of in ((new, "p-new"), (old, "p-old"))
        for name in names
    ]
    plan = plan_pool(snapshot(pods, pool=replace(POOL, **pool), generations=("p-new", "p-old")))
    return _terminated(plan), _created(plan)


@pytest.mark.parametrize(
    ("new", "old", "pool", "leave", "created"),
    [
        ([], ["a", "b"], {"max_idle": 2}, [], 2),
        (["x-", "y-"], ["a", "b"], {"max_idle": 2}, [], 0),
        (["x", "y-"], ["a", "b"], {"max_idle": 2}, ["a"], 0),
        (["x", "y"], ["b"], {"max_idle": 2}, ["b"], 0),
        (["x-"], ["a-", "b"], {"max_idle": 1}, ["a-"], 0),
        ([], ["a", "b"], {"max_idle": 1}, ["a"], 1),
        ([], ["a", "b"], {"max_idle": 2, "max_pods": 3}, [], 1),
        ([], ["a", "b"], {"max_idle": 2, "max_pods": 2}, ["a"], 0),
        (["x-"], ["b"], {"max_idle": 2, "max_pods": 2}, [], 0),
        (["x"], ["b"], {"max_idle": 2, "max_pods": 2}, ["b"], 0),
        ([], ["a"], {"max_idle": 2, "max_pods": 1}, ["a"], 0),
        (["w-", "x-", "y-"], ["b"], {"max_idle": 1, "max_pods": 3}, ["w-", "x-"], 0),
    ],
)
def test_warm_pods_of_an_earlier_template_stay_until_new_ones_are_warm(
    new, old, pool, leave, created
):
    """Beside them, as many are created as the limit allows, but at least one."""
    assert _rolling(new, old, **pool) == (leave, created)


def test_the_room_of_a_drained_pod_is_not_made_a_second_time():
    drained = pod("drained", Phase.DRAINING, generation="p-old", reclaimed_at=NOW - 7200)
    pods = [drained, pod("old", generation="p-old")]
    plan = plan_pool(snapshot(pods, pool=replace(POOL, max_idle=1, max_pods=2)))
    assert _terminated(plan) == ["drained"]


def test_a_pod_that_is_not_ready_is_not_warm():
    pods = [pod("new", ready=False), pod("old", generation="p-old")]
    assert _terminated(plan_pool(snapshot(pods, pool=replace(POOL, max_idle=1)))) == []
    pods = [pod("new"), pod("old", generation="p-old", ready=False)]
    assert _terminated(plan_pool(snapshot(pods, pool=replace(POOL, max_idle=2)))) == ["old"]


def test_a_pool_that_is_deleted_keeps_no_warm_pods():
    pods = [pod("new"), pod("old", generation="p-old")]
    plan = plan_pool(snapshot(pods, pool=replace(POOL, max_idle=2, deleting=True)))
    assert sorted(_terminated(plan)) == ["new", "old"]


def test_a_claim_that_gets_a_pod_of_an_earlier_template_needs_no_new_one():
    pods = [pod("old", generation="p-old"), pod("new", Phase.UNKNOWN)]
    plan = plan_pool(snapshot(pods, [claim("c")], replace(POOL, max_idle=1)))
    assert (_created(plan), _terminated(plan)) == (0, [])
    named = plan_pool(snapshot(pods, [claim("c", pod="old")], replace(POOL, max_idle=1)))
    assert _created(named) == 0


@given(
    old=st.integers(0, 5),
    used=st.integers(0, 3),
    idle=st.integers(0, 5),
    most=st.none() | st.integers(1, 8),
)
def test_a_roll_ends_whatever_the_limit_and_keeps_warm_what_it_can(old, used, idle, most):
    """One Pod starts or ends at a time; the others wait, as long as they like."""
    pool = replace(POOL, max_idle=idle, max_pods=most)
    claims = [served(f"c{number}", f"used-{number}", "Outdated") for number in range(used)]
    in_use = [bound(f"used-{number}", f"c{number}", generation="p-old") for number in range(used)]
    pods = {one.name: one for one in in_use}
    pods |= {f"old-{number}": pod(f"old-{number}", generation="p-old") for number in range(old)}
    room = idle if most is None else min(idle, max(0, most - used - 1))
    for number in range(60):
        plan = plan_pool(snapshot(pods.values(), claims, pool, generations=("p-new", "p-old")))
        if not plan.writes and all(one.phase is not Phase.UNKNOWN for one in pods.values()):
            break
        _happens(pods, plan, number)
        warm = sum(one.phase is Phase.IDLE for one in pods.values())
        assert warm >= min(old, room)
        old = max(old, warm)
    left = [one.generation for one in pods.values() if one.phase is Phase.IDLE]
    assert left == ["p-new"] * (idle if most is None else min(idle, max(0, most - used)))


def _happens(pods, plan, number):
    """What a round wrote, and one Pod that starts or has ended."""
    waiting = [name for name, one in pods.items() if not one.ready]
    if waiting:
        pods[waiting[0]] = replace(pods[waiting[0]], ready=True)
    for write in plan.writes:
        if isinstance(write, PodWrite):
            pods[write.name] = replace(pods[write.name], phase=Phase(write.labels[_PHASE]))
        elif isinstance(write, PodDelete):
            del pods[write.name]
        elif isinstance(write, PodCreate):
            names = [f"new-{number}-{count}" for count in range(write.count)]
            pods |= {name: pod(name, Phase.UNKNOWN, ready=False) for name in names}
