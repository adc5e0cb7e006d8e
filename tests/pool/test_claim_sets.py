# SPDX-License-Identifier: Apache-2.0
"""Claims of a claim set: how many, which go, and whose they are."""

from dataclasses import replace

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.claim_sets import (
    deletion_order,
    plan_claim_set,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import ClaimSetFacts
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.writes import (
    ClaimCreate,
    ClaimDelete,
    ClaimWrite,
)

from tests.pool.facts import NOW, bound, claim, pod, served

SET = ClaimSetFacts("s", uid="uid-s", replicas=2, template={"spec": {"selector": {}}})


def _own(name, phase, **more):
    labels = {"matrixorigin.io/claimset": "s", "claim.matrixorigin.io/instance-id": name}
    one = (
        claim(name, status={"phase": phase})
        if phase == "Pending"
        else served(name, f"p-{name}", phase)
    )
    return replace(one, controller="uid-s", labels=labels, **more)


def _plan(claims, facts=SET, *, fresh=True):
    return plan_claim_set(facts, claims, {}, fresh=fresh)


def _names(plan, kind):
    return [one.name for one in plan.writes if isinstance(one, kind)]


def test_a_claim_of_the_new_template_is_created_before_an_outdated_one_leaves():
    """Appendix A: 2 replicas, 1 bound and 1 outdated: create 1."""
    plan = _plan([_own("a", "Bound"), _own("b", "Outdated")])
    assert (len(_names(plan, ClaimCreate)), _names(plan, ClaimDelete)) == (1, [])


def test_the_outdated_claim_leaves_when_enough_are_up_to_date():
    """Appendix A: 2 replicas, 2 bound and 1 outdated: delete the outdated one."""
    plan = _plan([_own("a", "Bound"), _own("b", "Outdated"), _own("c", "Bound")])
    assert (_names(plan, ClaimCreate), _names(plan, ClaimDelete)) == ([], ["b"])


def test_a_surge_waits_for_its_pod():
    plan = _plan([_own("a", "Bound"), _own("b", "Outdated"), _own("c", "Pending")])
    assert plan.writes == ()


def test_pending_claims_that_are_too_many_leave_at_once():
    claims = [_own("a", "Bound"), _own("b", "Pending"), _own("c", "Pending", created=NOW)]
    assert _names(_plan(claims), ClaimDelete) == ["c"]


def test_lost_claims_are_replaced_at_once():
    plan = _plan([_own("a", "Bound"), _own("b", "Lost")])
    assert (len(_names(plan, ClaimCreate)), _names(plan, ClaimDelete)) == (1, ["b"])


def test_migrating_claims_are_not_deleted_and_no_better_one_in_their_place():
    moving = _own("a", "Outdated", source="elsewhere")
    claims = [moving, _own("b", "Bound"), _own("c", "Bound")]
    assert _plan(claims).writes == ()
    assert _names(_plan(claims, replace(SET, replicas=1)), ClaimDelete) == ["b"]
    assert len(_names(_plan(claims, replace(SET, replicas=0)), ClaimDelete)) == 3


def test_what_does_not_select_itself_creates_no_claims_for_ever():
    """Owner references count, and not a selector that selects nothing."""
    facts = replace(SET, selector={"matchLabels": {"no": "claim"}})
    assert _plan([_own("a", "Bound"), _own("b", "Bound")], facts).writes == ()


def test_a_template_without_labels_or_metadata_is_fine():
    (first, second) = (one.manifest for one in _plan([]).writes)
    assert first["metadata"]["labels"]["matrixorigin.io/claimset"] == "s"
    assert first["metadata"]["ownerReferences"][0]["uid"] == "uid-s"
    assert first["spec"]["ownerName"] == "s"
    assert first["metadata"]["name"] != second["metadata"]["name"]


def test_a_stale_list_leads_to_the_same_names():
    """What a cache does not show yet has the name already: the server refuses a second one."""
    assert _names(_plan([], fresh=False), ClaimCreate) == _names(_plan([]), ClaimCreate)


def test_a_template_cannot_choose_pods():
    template = {"spec": {"podName": "p", "sourcePod": {"podName": "q"}, "selector": {}}}
    (one, _other) = _plan([], replace(SET, template=template)).writes
    assert set(one.manifest["spec"]) == {"selector", "ownerName"}


def test_nothing_is_deleted_by_what_a_cache_shows():
    plan = _plan([_own("a", "Bound"), _own("b", "Bound"), _own("c", "Bound")], fresh=False)
    assert plan.wants_fresh
    assert plan.writes == ()


def test_claims_of_the_set_that_nobody_controls_are_adopted():
    orphan = replace(_own("a", "Bound"), controller="")
    (write,) = (one for one in _plan([orphan]).writes if isinstance(one, ClaimWrite))
    assert write.owner_references[0]["uid"] == "uid-s"
    assert not any(isinstance(one, ClaimWrite) for one in _plan([claim("a")]).writes)


def test_a_deleted_set_deletes_its_claims_and_no_others():
    leaving = replace(SET, deleting=True)
    plan = _plan([_own("a", "Bound"), claim("b")], leaving)
    assert (_names(plan, ClaimDelete), plan.finished) == (["a"], False)
    assert _plan([claim("b")], leaving).finished


def test_the_status_counts_owned_and_served_claims():
    status = _plan([_own("a", "Bound"), _own("b", "Outdated"), _own("c", "Lost")]).status
    assert (status["replicas"], status["readyReplicas"]) == (2, 2)
    assert status["labelSelector"] == "matrixorigin.io/claimset=s,pool.matrixorigin.io/phase=Bound"


def test_claims_of_least_use_are_deleted_first():
    pods = [
        replace(pod("unscheduled"), running=False),
        bound("starting", "x", node="n", running=False, ready=False),
        bound("unready", "x", node="n", ready=False),
        bound("busy", "x", node="n", cost=9),
        bound("quiet", "x", node="n", cost=1),
        bound("quiet-newer", "x", node="n", cost=1),
        bound("outdated", "x", node="n"),
    ]
    claims = [
        _own("older-pending", "Pending"),
        _own("pending", "Pending", created=NOW),
        *(replace(_own(one.name, "Bound"), pod=one.name) for one in pods),
    ]
    claims = [
        replace(one, created=NOW if one.name == "quiet-newer" else one.created) for one in claims
    ]
    claims[-1] = replace(claims[-1], status={"phase": "Outdated"})
    by_name = {one.name: one for one in pods}
    ordered = sorted(claims, key=lambda one: deletion_order(one, by_name))
    assert [one.name for one in ordered] == [
        "pending",
        "older-pending",
        "outdated",
        "unscheduled",
        "starting",
        "unready",
        "quiet-newer",
        "quiet",
        "busy",
    ]


@pytest.mark.parametrize("replicas", [0, 1, 5])
def test_a_set_reaches_its_size(replicas):
    claims = [_own("a", "Bound"), _own("b", "Bound"), _own("c", "Bound")]
    plan = _plan(claims, replace(SET, replicas=replicas))
    change = len(_names(plan, ClaimCreate)) - len(_names(plan, ClaimDelete))
    assert 3 + change == replicas
