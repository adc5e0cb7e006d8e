# SPDX-License-Identifier: Apache-2.0
"""Which claim gets which Pod, and why others wait."""

from dataclasses import replace

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import (
    Phase,
    Placement,
    StoreFacts,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.planning import plan_pool
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.responsibility import (
    responsible_pool,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.writes import ClaimWrite

from tests.pool.facts import NOW, POOL, SHARED, bound, claim, pod, served, snapshot


def _given(plan):
    return {
        one.name: one.spec["podName"]
        for one in plan.writes
        if isinstance(one, ClaimWrite) and one.spec.get("podName")
    }


def test_many_claims_get_their_pods_in_one_round():
    pods = [pod(f"p{number}", created=NOW - 100 + number) for number in range(50)]
    claims = [claim(f"c{number:02}") for number in range(50)]
    plan = plan_pool(snapshot(pods, claims))
    assert len(set(_given(plan).values())) == 50
    assert plan.waiting == ()


def test_the_oldest_claim_of_the_highest_priority_is_served_first():
    """Ages differ by whole times: the predecessor compared the seconds of the minute."""
    claims = [
        claim("younger", created=NOW - 61),
        claim("older", created=NOW - 119),
        claim("urgent", created=NOW, priority=1),
    ]
    assert list(_given(plan_pool(snapshot([pod("a"), pod("b")], claims)))) == ["urgent", "older"]


def test_a_claim_that_cannot_be_served_holds_up_no_other():
    picky = claim("picky", pool="p", created=NOW - 900, selector={"matchLabels": {"gpu": "y"}})
    plan = plan_pool(snapshot([pod("a")], [picky, claim("easy")]))
    assert _given(plan) == {"easy": "a"}
    assert [(one.claim, one.reason, one.message) for one in plan.waiting] == [
        ("picky", "NoIdleNode", "no idle node matches")
    ]


def test_a_pod_of_the_present_template_is_preferred():
    pods = [pod("old", generation="p-old", created=NOW - 900, last_owner="a"), pod("new")]
    claims = [claim("first", created=NOW - 90, owner="a"), claim("second")]
    plan = plan_pool(snapshot(pods, claims, replace(POOL, placement=Placement.PACKED)))
    assert _given(plan) == {"first": "new", "second": "old"}


def test_a_claim_that_replaces_one_of_an_earlier_template_waits_for_the_present_one():
    """Its claim set would replace it again, and so on until new Pods are idle."""
    pods = [bound("held", "outdated", generation="p-old"), pod("old", generation="p-old")]
    of_set = {"controller": "uid-set"}
    outdated = served("outdated", "held", "Outdated", **of_set)
    claims = [outdated, claim("surge", **of_set), claim("other", controller="uid-other")]
    plan = plan_pool(snapshot(pods, claims))
    assert _given(plan) == {"other": "old"}
    assert [one.claim for one in plan.waiting] == ["surge"]


def test_the_pod_that_the_owner_used_last_is_preferred_and_left_to_it():
    pods = [pod("warm", last_owner="a", created=NOW - 900), pod("cold")]
    first, second = claim("x", owner="b", created=NOW - 90), claim("y", owner="a")
    assert _given(plan_pool(snapshot(pods, [first, second]))) == {"x": "cold", "y": "warm"}


def test_of_several_warm_pods_an_owner_gets_the_one_that_it_returned_last() -> None:
    ages = {"earlier": 900, "lately": 5, "before": 60}
    pods = [pod(name, last_owner="a", returned_at=NOW - age) for name, age in ages.items()]
    assert _given(plan_pool(snapshot(pods, [claim("x", owner="a")]))) == {"x": "lately"}


def test_caches_of_an_owner_cool_down():
    pods = [pod("lukewarm", last_owner="a", returned_at=NOW - 61), pod("old", created=NOW - 900)]
    pool = replace(POOL, warm_seconds=60)
    assert _given(plan_pool(snapshot(pods, [claim("x", owner="a")], pool))) == {"x": "old"}


@pytest.mark.parametrize(
    ("placement", "node"), [(Placement.PACKED, "n1"), (Placement.SPREAD, "n2")]
)
def test_claims_are_packed_on_nodes_or_spread_over_them(placement, node):
    pods = [
        bound("used", "c", node="n1", owner="a"),
        pod("near", node="n1", created=NOW - 1),
        pod("far", node="n2", created=NOW - 2),
    ]
    pool = replace(POOL, placement=placement)
    plan = plan_pool(snapshot(pods, [served("c", "used", owner="a"), claim("d", owner="a")], pool))
    write = next(one for one in plan.writes if isinstance(one, ClaimWrite) and one.name == "d")
    assert write.spec["nodeName"] == node


def test_an_owner_gets_no_more_than_its_quota_and_others_do():
    pods = [bound("used", "c", owner="a"), pod("x"), pod("y")]
    claims = [served("c", "used", owner="a"), claim("d", owner="a"), claim("e", owner="b")]
    plan = plan_pool(snapshot(pods, claims, replace(POOL, quota=1)))
    assert list(_given(plan)) == ["e"]
    assert [one.message for one in plan.waiting] == ["quota of owner a: 1 nodes"]
    assert (
        len(_given(plan_pool(snapshot(pods, claims, replace(POOL, quota=1, quotas={"a": 2}))))) == 2
    )


@pytest.mark.parametrize(
    "unfit",
    [
        {"phase": Phase.DRAINING},
        {"phase": Phase.UNKNOWN},
        {"phase": Phase.TERMINATING},
        {"claim": "somebody"},
        {"ready": False},
        {"deleting": True},
        {"ended": True},
        {"pool": "other"},
        {"labels": {}},
    ],
    ids=str,
)
def test_only_a_pod_that_can_serve_is_given(unfit):
    assert _given(plan_pool(snapshot([replace(pod("a"), **unfit)], [claim("c")]))) == {}


@pytest.mark.parametrize("store", [StoreFacts(), StoreFacts(known=False)], ids=["unknown", "gone"])
def test_a_pod_whose_store_is_not_known_is_not_given(store):
    assert _given(plan_pool(snapshot([pod("a")], [claim("c")], stores={"a": store}))) == {}


def test_without_hakeeper_claims_wait_and_say_so():
    plan = plan_pool(snapshot([pod("a")], [claim("c")], stores={"a": StoreFacts()}, reached=False))
    assert [one.reason for one in plan.waiting] == ["HAKeeperUnreachable"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "a"),
        ({"pool": "b"}, "b"),
        ({"pool": "none"}, ""),
        ({"pool": "none", "status": {"phase": "Bound"}}, "a"),
        ({"pod": "of-b"}, "b"),
        ({"selector": {"matchLabels": {"x": "y"}}}, ""),
        ({"selector": None}, ""),
    ],
    ids=str,
)
def test_every_pool_finds_the_same_one_responsible(fields, expected):
    """The first by name that is not being deleted, if the claim names neither pool nor Pod."""
    pools = [
        replace(POOL, name="b"),
        replace(POOL, name="a"),
        replace(POOL, name="0", deleting=True),
    ]
    pods = {"of-b": pod("of-b", pool="b")}
    for order in (pools, pools[::-1]):
        assert responsible_pool(replace(claim("c"), **fields), order, pods) == expected
    assert POOL.pod_labels == SHARED
