# SPDX-License-Identifier: Apache-2.0
"""Claims and Pods, step by step: binding, healing, release, drain, migration."""

from dataclasses import replace

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.records import (
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.drain import Locks
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.load import Load
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import (
    Phase,
    StoreFacts,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.planning import plan_pool
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.writes import (
    ClaimStatus,
    ClaimWrite,
    HandOver,
    OpenGate,
    PodDelete,
    PodWrite,
    StoreWrite,
)

from tests.pool.facts import (
    CLEAN,
    IDLE_LOAD,
    NOW,
    POOL,
    WORKING,
    bound,
    claim,
    pod,
    served,
    snapshot,
)

ACCOUNT = {"account": ("a",)}
PHASE = "pool.matrixorigin.io/phase"
KEEPS = replace(POOL, max_idle=9)
"""A pool that neither creates nor deletes Pods in these tests."""


def _plan(pods, claims, **more):
    return plan_pool(snapshot(pods, claims, **{"pool": KEEPS, "generations": (), **more}))


def _of(plan, kind):
    return [one for one in plan.writes if isinstance(one, kind)]


def _one(plan, kind):
    (found,) = _of(plan, kind)
    return found


def _phases(plan):
    return {one.name: one.labels[PHASE] for one in _of(plan, PodWrite) if PHASE in one.labels}


def _drained(**more):
    """A Pod whose drain began a minute ago."""
    times = {"reclaimed_at": NOW - 60, "draining_since": NOW - 60}
    return pod("a", Phase.DRAINING, **{**times, **more})


def _sampled(load=IDLE_LOAD, **more):
    return {"a": replace(CLEAN, load=load, sampled_at=NOW, **more)}


# --- binding ------------------------------------------------------------------------------------


def test_a_pod_is_bound_on_the_condition_of_its_version_to_the_claim_that_names_it():
    labels = {"matrixorigin.io/claimset": "s"}
    one = claim("c", pod="a", owner="me", labels=labels, pod_labels={"tier": "gold"})
    write = _one(_plan([pod("a", last_owner="you")], [one]), PodWrite)
    assert (write.uid, write.version) == ("uid-a", "1")
    assert write.labels == {
        PHASE: "Bound",
        "pool.matrixorigin.io/claimed-by": "c",
        "matrixorigin.io/owner": "me",
        "matrixorigin.io/claimset": "s",
        "tier": "gold",
    }
    assert write.annotations["pool.matrixorigin.io/claim-uid"] == "uid-c"
    assert write.annotations["pool.matrixorigin.io/claim-labels"] == "tier"


def test_a_claim_cannot_set_labels_of_the_operator_or_of_the_pool():
    """Else a claim could take its Pod out of the pool, or keep it for ever."""
    given = {PHASE: "Idle", "pool": "other", "tier": "gold"}
    write = _one(_plan([pod("a")], [claim("c", pod="a", pod_labels=given)]), PodWrite)
    assert write.labels[PHASE] == "Bound"
    assert "pool" not in write.labels


def test_of_two_claims_that_name_a_pod_the_first_gets_it():
    older, younger = claim("z", pod="a", created=NOW - 90), claim("b", pod="a")
    assert (
        _one(_plan([pod("a")], [younger, older]), PodWrite).labels[
            "pool.matrixorigin.io/claimed-by"
        ]
        == "z"
    )


def test_the_store_works_with_the_labels_of_the_claim_before_that_is_reported():
    one = claim("c", pod="a", pool="p", cn_labels=ACCOUNT)
    plan = _plan([bound("a", "c")], [one], stores={"a": CLEAN})
    write = _one(plan, StoreWrite)
    assert (write.state, write.labels) == (WorkState.WORKING, ACCOUNT)
    assert _of(plan, ClaimStatus) == []


def test_a_bound_claim_reports_its_store():
    one = claim(
        "c", pod="a", pool="p", cn_labels=ACCOUNT, labels={"pool.matrixorigin.io/pool-name": "p"}
    )
    store = replace(WORKING, labels=ACCOUNT, service_id="id", sql_address="h:6001")
    status = _one(_plan([bound("a", "c")], [one], stores={"a": store}), ClaimStatus).status
    assert status["phase"] == "Bound"
    assert status["store"] == {
        "serviceID": "id",
        "podName": "a",
        "string": "a",
        "sqlAddress": "h:6001",
        "workState": 1,
        "labels": [{"key": "account", "values": ["a"]}],
        "boundTime": "2027-01-15T07:55:00Z",
    }
    assert status["conditions"][0]["status"] == "True"


def test_a_restarted_node_gets_its_labels_again_and_keeps_its_claim():
    plan = _plan([bound("a", "c")], [served("c", "a", cn_labels=ACCOUNT)], stores={"a": CLEAN})
    assert _one(plan, StoreWrite).labels == ACCOUNT


def test_a_claim_whose_pod_is_of_an_older_template_is_outdated():
    old = bound("a", "c", generation="p-old")
    status = _one(_plan([old], [served("c", "a")]), ClaimStatus).status
    assert status["phase"] == "Outdated"


# --- healing ------------------------------------------------------------------------------------


def test_a_pod_that_a_crash_left_bound_is_recorded():
    write = next(one for one in _of(_plan([bound("a", "c", node="n")], [claim("c")]), ClaimWrite))
    assert (write.spec["podName"], write.spec["nodeName"], write.spec["poolName"]) == (
        "a",
        "n",
        "p",
    )


def test_a_claim_is_never_given_the_pod_of_another():
    """It goes back to waiting, if it never had that Pod."""
    plan = _plan([bound("a", "owner")], [served("owner", "a"), claim("thief", pod="a", pool="p")])
    assert _phases(plan) == {}
    write = next(one for one in _of(plan, ClaimWrite) if one.name == "thief")
    assert write.spec["podName"] is None


@pytest.mark.parametrize(
    "there",
    [
        [],
        [bound("a", "c", ended=True)],
        [bound("a", "c", deleting=True)],
        [bound("a", "c", claim_uid="of-another-c")],
        [bound("a", "other")],
    ],
    ids=["gone", "failed", "deleting", "other uid", "other claim"],
)
def test_a_claim_whose_pod_is_gone_is_lost_and_lets_go_of_it(there):
    plan = _plan(there, [served("c", "a"), claim("other")])
    status = next(one for one in _of(plan, ClaimStatus) if one.name == "c").status
    assert status["phase"] == "Lost"
    lost = claim("c", pod="a", status=status)
    write = next(
        one for one in _of(_plan(there, [lost, claim("other")]), ClaimWrite) if one.name == "c"
    )
    assert write.spec["podName"] is None


def test_nothing_is_lost_by_what_a_cache_shows():
    plan = _plan([], [served("c", "a")], fresh=False)
    assert plan.wants_fresh
    assert plan.writes == ()


def test_of_two_pods_of_a_claim_the_newer_one_is_released():
    pods = [bound("newer", "c", claimed_at=NOW - 1), bound("older", "c", claimed_at=NOW - 9)]
    plan = _plan(pods, [claim("c")], stores={"newer": CLEAN})
    assert _phases(plan) == {"newer": "Draining"}


# --- release ------------------------------------------------------------------------------------


def test_a_released_pod_takes_no_new_sessions_before_it_is_called_draining():
    """Else one could come after it had been counted as drained."""
    plan = _plan([bound("a", "gone")], [])
    write = _one(plan, StoreWrite)
    assert (write.state, write.labels) == (WorkState.DRAINING, None)
    assert _phases(plan) == {}


def test_a_store_keeps_its_labels_until_its_pod_is_called_draining():
    """A call that comes late must not take them from a store that another process lets work."""
    store = {"a": replace(CLEAN, labels=ACCOUNT)}
    assert _phases(_plan([bound("a", "gone")], [], stores=store)) == {"a": "Draining"}
    write = _one(_plan([_drained()], [], stores=store), StoreWrite)
    assert (write.state, write.labels) == (WorkState.DRAINING, {})


def test_a_released_pod_keeps_nothing_of_its_claim():
    held = bound(
        "a", "gone", owner="me", claim_set="s", claim_labels=("tier",),
        labels={"pool": "shared", "tier": "gold"},
    )  # fmt: skip
    write = _one(_plan([held], [], stores={"a": CLEAN}), PodWrite)
    assert write.labels == {
        PHASE: "Draining",
        "pool.matrixorigin.io/claimed-by": None,
        "matrixorigin.io/claimset": None,
        "matrixorigin.io/owner": None,
        "matrixorigin.io/last-owner": "me",
        "tier": None,
    }
    assert write.annotations["matrixorigin.io/reclaimed-at"] == "2027-01-15T08:00:00Z"


@pytest.mark.parametrize("there", [[], [claim("c", deleting=True)], [claim("c", uid="another")]])
def test_a_pod_whose_claim_is_gone_is_released_without_it(there):
    assert _phases(_plan([bound("a", "c")], there, stores={"a": CLEAN})) == {"a": "Draining"}


def test_without_hakeeper_a_released_pod_drains_from_when_it_answers():
    plan = _plan([bound("a", "gone")], [], stores={"a": StoreFacts()}, reached=False)
    write = _one(plan, PodWrite)
    assert write.labels[PHASE] == "Draining"
    assert write.annotations["pool.matrixorigin.io/draining-since"] is None


# --- drain --------------------------------------------------------------------------------------


def test_a_drained_pod_is_idle_again():
    write = _one(_plan([_drained()], [], stores=_sampled()), PodWrite)
    assert write.labels == {PHASE: "Idle"}
    assert write.annotations["matrixorigin.io/reclaimed-at"] is None
    assert write.annotations["pool.matrixorigin.io/returned-at"]


def test_a_claim_that_waits_gets_a_drained_pod_and_no_new_one():
    plan = plan_pool(snapshot([_drained()], [claim("c")], POOL, _sampled()))
    assert [type(one) for one in plan.writes] == [PodWrite, ClaimStatus]


@pytest.mark.parametrize(
    ("draining", "stores"),
    [
        (_drained(), _sampled(Load(1, 0, 0))),
        (_drained(), _sampled(Load(0, 1, 0))),
        (_drained(), _sampled(Load(0, 0, 1))),
        (_drained(), _sampled(Load())),
        (_drained(), _sampled(Load(0, None, 0))),
        (_drained(), {"a": CLEAN}),
        (_drained(), {"a": replace(CLEAN, load=IDLE_LOAD, sampled_at=NOW - 50)}),
        (_drained(draining_since=NOW - 14), _sampled()),
        (_drained(draining_since=None), _sampled()),
        (_drained(), _sampled(labels=ACCOUNT)),
        (_drained(), _sampled(state=WorkState.WORKING)),
        (_drained(), _sampled(known=False)),
        (_drained(), {"a": StoreFacts()}),
    ],
    ids=[
        "sessions", "pipelines", "replicas", "unknown", "partly unknown", "not asked",
        "asked too early", "too soon", "unknown since", "labels", "working", "gone", "no answer",
    ],
)  # fmt: skip
def test_what_may_have_work_left_is_not_idle(draining, stores):
    assert "a" not in _phases(_plan([draining], [], stores=stores))


def test_a_node_is_asked_for_its_load_when_proxies_know_that_it_drains():
    assert _plan([_drained()], []).sample == ("a",)
    assert _plan([_drained(draining_since=NOW - 14)], []).sample == ()


def test_a_drain_ends_at_its_deadline():
    late = _drained(reclaimed_at=NOW - 300)
    plan = _plan([late], [], stores=_sampled(Load(3, 0, 0)))
    write = _one(plan, PodWrite)
    assert write.labels == {PHASE: "Terminating"}
    assert "3 sessions" in write.why
    assert write.reason == "DrainTimedOut"


@pytest.mark.parametrize(
    "fields", [{"delete_on_reclaim": True}, {"direct": True}, {"generation": "p-old"}], ids=str
)
def test_some_pods_are_deleted_after_their_drain(fields):
    assert _phases(_plan([_drained(**fields)], [], stores=_sampled())) == {"a": "Terminating"}
    assert _phases(_plan([_drained(**fields)], [])) == {}


@pytest.mark.parametrize(("seen_at", "phases"), [(NOW - 101, {}), (NOW, {"a": "Terminating"})])
def test_a_pod_to_delete_goes_without_a_drain_if_hakeeper_lacks_its_store_since(seen_at, phases):
    """An answer from before the drain says nothing: the store may have registered again."""
    leaving = _drained(delete_on_reclaim=True, reclaimed_at=NOW - 100)
    gone = {"a": StoreFacts(known=False, seen_at=seen_at)}
    assert _phases(_plan([leaving], [], stores=gone)) == phases


def test_a_drain_that_somebody_undid_begins_anew():
    """The note of its beginning is removed first: else a crash would leave it too old."""
    working = {"a": replace(WORKING, labels=ACCOUNT)}
    first = _plan([_drained()], [], stores=working)
    assert _one(first, PodWrite).annotations == {"pool.matrixorigin.io/draining-since": None}
    assert _of(first, StoreWrite) == []
    second = _plan([_drained(draining_since=None)], [], stores=working)
    assert _one(second, StoreWrite).state is WorkState.DRAINING
    third = _plan([_drained(draining_since=None)], [])
    assert _one(third, PodWrite).annotations["pool.matrixorigin.io/draining-since"]


def test_an_idle_pod_that_was_not_drained_drains():
    """E.g. one that the predecessor left working with the labels of a tenant."""
    assert _phases(_plan([pod("a")], [], stores={"a": WORKING})) == {"a": "Draining"}


def test_a_draining_pod_of_the_predecessor_drains_by_its_own_time():
    write = _one(_plan([pod("a", Phase.DRAINING)], []), PodWrite)
    assert write.annotations == {"matrixorigin.io/reclaimed-at": "2027-01-15T08:00:00Z"}


# --- new and old Pods ---------------------------------------------------------------------------


def test_a_new_pod_is_idle_when_it_is_ready_and_hakeeper_knows_it():
    new = pod("a", Phase.UNKNOWN)
    assert _phases(_plan([new], [])) == {"a": "Idle"}
    assert _phases(_plan([replace(new, ready=False)], [])) == {}
    assert _phases(_plan([new], [], stores={"a": StoreFacts(known=False)})) == {}


def test_the_gate_of_a_pod_opens_when_hakeeper_knows_its_store():
    gated = pod("a", Phase.UNKNOWN, ready=False, gated=True)
    assert _of(_plan([gated], []), OpenGate) == [OpenGate("a", "uid-a")]
    assert _of(_plan([gated], [], stores={"a": StoreFacts()}), OpenGate) == []


def test_a_terminating_pod_is_deleted_on_the_condition_of_its_version():
    (delete,) = _of(_plan([pod("a", Phase.TERMINATING)], []), PodDelete)
    assert (delete.uid, delete.version) == ("uid-a", "1")


def test_a_pod_that_ended_is_deleted_whatever_its_phase():
    assert _of(_plan([bound("a", "c", ended=True)], []), PodDelete)


@pytest.mark.parametrize(("age", "seconds"), [(1, 2), (50, 5), (3600, 60)])
def test_hakeeper_is_asked_again_about_a_new_pod(age, seconds):
    """No event says that it has learnt of a store; one that never registers is asked for rarely."""
    new = pod("a", Phase.UNKNOWN, created=NOW - age)
    stores = {"a": StoreFacts(known=False)}
    assert _plan([new], [], stores=stores, generations=("p-new",)).requeue == seconds


# --- migration ----------------------------------------------------------------------------------


def _migration(target, seconds, **more):
    """A claim that moves from ``old`` to ``new``, which it has had for so many seconds."""
    moving = served("c", "new", source="old")
    pods = [bound("old", "c"), replace(target, claimed_at=NOW - seconds)]
    return _plan(pods, [replace(moving, **more)])


def test_a_migration_binds_its_target_first():
    moving = served("c", "old", source="old")
    plan = _plan([bound("old", "c"), pod("new")], [replace(moving, pod="new")])
    assert _phases(plan) == {"new": "Bound"}
    assert _of(plan, StoreWrite) == []


def test_the_source_is_left_when_proxies_know_the_target():
    assert _of(_migration(bound("new", "c"), 14), StoreWrite) == []
    assert _one(_migration(bound("new", "c"), 15), StoreWrite).pod == "old"


def test_the_source_is_not_left_before_the_target_serves():
    plan = _migration(bound("new", "c"), 99, status={"phase": "Pending"})
    assert [one for one in _of(plan, StoreWrite) if one.pod == "old"] == []


def test_a_migration_reports_what_is_left_on_its_source():
    moving = served("c", "new", source="old")
    old = pod("old", Phase.DRAINING, reclaimed_at=NOW - 5, draining_since=NOW - 5)
    store = replace(CLEAN, load=Load(4, 1, None))
    plan = _plan([old, bound("new", "c")], [moving], stores={"old": store})
    assert _one(plan, ClaimStatus).status["migrate"] == {
        "source": {"connections": 4, "pipelines": 1}
    }


@pytest.mark.parametrize("phase", [Phase.IDLE, Phase.TERMINATING])
def test_a_migration_is_over_when_its_source_is_drained(phase):
    moving = served("c", "new", source="old")
    plan = _plan([pod("old", phase), bound("new", "c")], [moving])
    assert _one(plan, ClaimWrite).spec == {"sourcePod": None}


def test_a_pod_named_without_a_source_is_a_migration_from_the_present_one():
    """The predecessor left the former Pod bound for ever."""
    plan = _plan([bound("old", "c"), pod("new")], [replace(served("c", "old"), pod="new")])
    write = _one(plan, ClaimWrite)
    assert write.spec["sourcePod"]["podName"] == "old"
    assert _phases(plan) == {}


@pytest.mark.parametrize(
    "target",
    [[], [bound("new", "other")], [pod("new", Phase.DRAINING, reclaimed_at=NOW)]],
    ids=["missing", "of another claim", "draining"],
)
def test_a_migration_to_what_cannot_be_had_goes_back(target):
    moving = replace(served("c", "old", source="old"), pod="new")
    plan = _plan([bound("old", "c"), *target], [moving, served("other", "new")])
    write = next(one for one in _of(plan, ClaimWrite) if one.name == "c")
    assert (write.spec["podName"], write.spec["sourcePod"]) == ("old", None)


ELSEWHERE = {"pool": "b", "labels": {"pool": "b"}, "generation": "b-new"}
OTHER = replace(POOL, name="b", pod_labels={"pool": "b"}, generation="b-new", quotas={"a": 0})
ANYTHING = {"selector": {}}


@pytest.mark.parametrize(
    ("asking", "named", "taken"),
    [
        ({}, {"labels": {}}, []),
        ({"pool": "p"}, ELSEWHERE, []),
        ({"pool": "p", **ANYTHING}, ELSEWHERE, []),
        ({"pool": "b", "owner": "a", **ANYTHING}, ELSEWHERE, []),
        ({"pool": "p", "owner": "a"}, {}, [bound("other", "d", owner="a")]),
    ],
    ids=["not selected", "of another pool", "named pool", "no quota there", "quota is used up"],
)
def test_a_claim_that_names_a_pod_gets_no_more_than_one_that_names_none(asking, named, taken):
    thief, owner = claim("c", pod="x", **asking), served("d", "other", owner="a")
    for pool in (replace(POOL, quotas={"a": 1}), OTHER):
        pools = (replace(POOL, quotas={"a": 1}), OTHER)
        plan = _plan([pod("x", **named), *taken], [thief, owner], pool=pool, pools=pools)
        assert [one.why for one in _of(plan, PodWrite) if "CNClaim c" in one.why] == []
        writes = [one for one in _of(plan, ClaimWrite) if one.name == "c"]
        if pool.name == asking.get("pool", "p"):
            assert [one.spec["podName"] for one in writes] == [None]


def test_a_migration_may_use_the_quota_that_its_source_uses():
    moving = served("c", "old", source="old", owner="a", pod="new")
    pool = replace(POOL, quotas={"a": 1})
    plan = _plan([bound("old", "c", owner="a"), pod("new")], [moving], pool=pool)
    assert _one(plan, PodWrite).why == "bound to CNClaim c"


def test_two_claims_of_one_owner_that_name_pods_share_its_quota():
    pods, pool = [pod("x"), pod("y")], replace(POOL, quotas={"a": 1})
    claims = [claim(name, pod=named, owner="a") for name, named in (("c", "x"), ("d", "y"))]
    assert _of(_plan(pods, claims, pool=pool), PodWrite) == []
    both = replace(pool, quotas={"a": 2})
    assert len(_of(_plan(pods, claims, pool=both), PodWrite)) == 2


def test_a_cancelled_migration_releases_its_target():
    plan = _plan([bound("old", "c"), bound("new", "c")], [served("c", "old")])
    assert [(one.pod, one.state) for one in _of(plan, StoreWrite)] == [("new", WorkState.DRAINING)]


# --- the end of a pool --------------------------------------------------------------------------


def test_a_deleted_pool_drains_its_pods_and_ends_after_them():
    leaving = replace(KEEPS, deleting=True)
    pods = [bound("a", "c"), pod("b")]
    plan = _plan(pods, [served("c", "a")], pool=leaving, stores={"a": CLEAN})
    assert _phases(plan) == {"a": "Draining", "b": "Terminating"}
    assert not plan.finished
    lost = claim("c", pool="p", status={"phase": "Lost"})
    assert _plan([], [lost], pool=leaving, generations=()).finished


def test_a_deleted_pool_without_hakeeper_does_not_wait():
    leaving = replace(KEEPS, deleting=True)
    plan = _plan([_drained()], [], pool=leaving, stores={"a": StoreFacts()}, reached=False)
    assert _phases(plan) == {"a": "Terminating"}


def test_claims_of_a_deleted_pool_go_to_another_one_or_are_lost():
    leaving, other = replace(KEEPS, deleting=True), replace(POOL, name="q")
    plan = _plan([], [served("c", "a")], pool=leaving, pools=(leaving, other))
    assert _one(plan, ClaimWrite).spec["poolName"] is None
    plan = _plan([], [served("c", "a")], pool=leaving)
    assert _one(plan, ClaimStatus).status["phase"] == "Lost"


# --- Pods that are being deleted ----------------------------------------------------------------

LOCKS_ASKED_AT = "pool.matrixorigin.io/locks-asked-at"


def _terminating(phase=Phase.TERMINATING, **more):
    """A used Pod whose deletion began a minute ago, while its hook keeps it up."""
    times = {"deleted_at": NOW - 60, "returned_at": NOW - 300}
    return pod("a", phase, deleting=True, **{**times, **more})


@pytest.mark.parametrize(
    ("terminating", "store", "sampled", "asked"),
    [
        (_terminating(), {}, ("a",), ()),
        (_terminating(), {"load": IDLE_LOAD, "sampled_at": NOW}, (), (HandOver("a", True),)),
        (_terminating(), {"load": Load(1, 0, 0), "sampled_at": NOW}, (), ()),
        (_terminating(), {"load": Load(), "sampled_at": NOW}, (), ()),
        (
            _terminating(locks_asked_at=NOW - 5),
            {"load": IDLE_LOAD, "sampled_at": NOW},
            (),
            (HandOver("a", False),),
        ),
        (_terminating(), {"locks": Locks.HANDED_OVER}, (), ()),
        (_terminating(), {"known": False}, (), ()),
        (_terminating(), {"known": None}, (), ()),
        (_terminating(returned_at=None), {}, (), ()),
        (_terminating(ended=True), {}, (), ()),
        (_terminating(Phase.BOUND, claim="c", draining_since=NOW - 14), {}, (), ()),
        (_terminating(Phase.BOUND, claim="c", draining_since=NOW - 15), {}, ("a",), ()),
    ],
    ids=[
        "asks what is left",
        "asks for its locks",
        "it has sessions",
        "it does not say what is left",
        "it was asked already",
        "it has none any more",
        "HAKeeper does not know it",
        "HAKeeper does not answer",
        "no claim ever had it",
        "it has ended",
        "proxies may still send sessions",
        "all proxies know",
    ],
)
def test_a_pod_that_is_deleted_hands_over_its_locks(terminating, store, sampled, asked):
    """Else statements of all compute nodes wait for them for a minute after it has gone."""
    plan = _plan([terminating], [], stores={"a": replace(CLEAN, **store)})
    assert (plan.sample, plan.hand_over) == (sampled, asked)


def test_locks_are_asked_for_once():
    """Asking twice undoes it, so it is on record before anything else."""
    stores = {"a": replace(CLEAN, locks=Locks.HELD, locks_asked=True)}
    write = _one(_plan([_terminating()], [], stores=stores), PodWrite)
    assert set(write.annotations) == {LOCKS_ASKED_AT}
    assert not _of(_plan([_terminating(locks_asked_at=NOW)], [], stores=stores), PodWrite)


def test_a_bound_pod_that_somebody_deletes_drains_when_a_set_had_time_to_replace_it():
    young = _terminating(Phase.BOUND, claim="c", deleted_at=NOW - 4)
    assert not _of(_plan([young], [], stores={"a": WORKING}), StoreWrite)
    old = _terminating(Phase.BOUND, claim="c")
    (drains,) = _of(_plan([old], [], stores={"a": WORKING}), StoreWrite)
    assert (drains.state, drains.labels) == (WorkState.DRAINING, {})
    (noted,) = _of(_plan([old], [], stores={"a": CLEAN}), PodWrite)
    assert set(noted.annotations) == {"pool.matrixorigin.io/draining-since"}


# --- silence ------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [Phase.UNKNOWN, Phase.IDLE, Phase.DRAINING])
def test_a_compute_node_that_may_be_refused_is_replaced(phase: Phase) -> None:
    """Its commits may fail for a day: no claim may get it, however well it answers."""
    refused = {"a": replace(CLEAN, silent=True, refused=True)}
    plan = _plan([pod("a", phase)], [claim("c", pod="a")], stores=refused)
    assert _phases(plan) == {"a": "Terminating"}
    assert _one(plan, PodWrite).reason == "Replaced"


def test_a_claim_loses_a_compute_node_that_may_be_refused() -> None:
    """Its claim set makes another one, which gets another Pod."""
    one = served("c", by="a", cn_labels=ACCOUNT)
    refused = {"a": replace(WORKING, refused=True)}
    assert _phases(_plan([bound("a", "c")], [one], stores=refused)) == {"a": "Terminating"}
    ending = replace(bound("a", "c"), phase=Phase.TERMINATING)
    after = _plan([ending], [one], stores=refused)
    assert [write.name for write in _of(after, PodDelete)] == ["a"]
    (status,) = _of(after, ClaimStatus)
    assert status.status["phase"] == "Lost"


def test_a_silent_compute_node_is_given_to_no_claim_and_waited_for() -> None:
    """HAKeeper may have lost its leader: then nothing is wrong with the compute node."""
    silent = {"a": replace(CLEAN, silent=True)}
    plan = _plan([pod("a")], [claim("c")], stores=silent)
    assert _of(plan, PodWrite) == []
    assert _of(plan, ClaimWrite) == []
    assert [one.claim for one in plan.waiting] == ["c"]
