# SPDX-License-Identifier: Apache-2.0
"""Which steps take a cluster over from the Go operator, and what stands in the way."""

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.adoption.facts import (
    Bucket,
    Claim,
    Cluster,
    Owner,
    Pod,
    Set,
    Workload,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.adoption.planning import (
    plan_adoption,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.adoption.returning import (
    plan_return,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.adoption.steps import (
    DELETING,
    Action,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.adoption.worlds import adopted, after, kruise_cluster, kruise_set

STRANGER = Owner("StatefulSet", "other", "other", controller=True)


def of(one: Set, **changes: Any) -> Set:
    """Return a set whose workload of OpenKruise is changed."""
    assert one.foreign
    return replace(one, foreign=replace(one.foreign, **changes))


def first_pod(one: Set, **changes: Any) -> Set:
    """Return a set whose first Pod is changed."""
    return replace(one, pods=(replace(one.pods[0], **changes), *one.pods[1:]))


def first_claim(one: Set, **changes: Any) -> Set:
    """Return a set whose first claim is changed."""
    return replace(one, claims=(replace(one.claims[0], **changes), *one.claims[1:]))


def test_the_steps_of_a_log_service():
    """Claims are kept before the workload goes, and the record comes before our workload."""
    plan = plan_adoption(kruise_cluster(kruise_set()))

    assert plan.refusals == ()
    assert [(step.action, step.name) for step in plan.steps] == [
        (Action.KEEP_CLAIMS, "mo-log"),
        (Action.FREE_CLAIM, "mo-data-mo-log-0"),
        (Action.FREE_CLAIM, "mo-data-mo-log-1"),
        (Action.FREE_CLAIM, "mo-data-mo-log-2"),
        (Action.ORPHAN, "mo-log"),
        (Action.HAND_OVER, "mo"),
        (Action.AWAIT_SERVING, "mo"),
        (Action.COMPLETE, "mo"),
    ]


def test_the_steps_of_compute_nodes():
    """Their Pods would never end with a finalizer that nobody takes off."""
    plan = plan_adoption(kruise_cluster(kruise_set(), kruise_set("CNSet", 1)))
    steps = [step for step in plan.steps if step.part == "CNSet mo-tp"]

    assert [step.action for step in steps] == [
        Action.RELEASE_POD,
        Action.ORPHAN,
        Action.HAND_OVER,
        Action.AWAIT_SERVING,
        Action.COMPLETE,
    ]
    assert steps[0].removes == ("matrixorigin.io/cn-draining",)


def test_the_order_of_a_cluster():
    """What others depend on comes first, whatever the order in which it was found."""
    cluster = kruise_cluster()
    cluster = replace(cluster, sets=tuple(reversed(cluster.sets)))
    parts = list(dict.fromkeys(step.part for step in plan_adoption(cluster).steps))

    assert parts == ["LogSet mo", "DNSet mo", "CNSet mo-tp", "ProxySet mo"]


def test_our_operator_has_to_know_first():
    """Before anything is changed, it has to have said of every set that it leaves it alone."""
    cluster = kruise_cluster(kruise_set(held=False), kruise_set("CNSet", 1, held=False))
    first = plan_adoption(cluster).steps[:3]

    assert [step.action for step in first] == [
        Action.AWAIT_HELD,
        Action.AWAIT_HELD,
        Action.KEEP_CLAIMS,
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"exists": False, "sets": ()}, "does not exist"),
        ({"is_deleted": True}, "is being deleted"),
        ({"paused": True}, "is paused"),
        ({"operators": ("Deployment mo-system/matrixone-operator",)}, "Go operator is at work"),
        ({"webhooks": ("ValidatingWebhookConfiguration x",)}, "webhook of the Go operator"),
        ({"pools": ("pool",)}, "CNPool pool"),
        ({"buckets": (Bucket("bucket-1", "bucket-2"),)}, "BucketClaim bucket-1"),
        ({"sets": (kruise_set("CNSet", 1),)}, "has no LogSet"),
    ],
)
def test_what_of_a_cluster_stands_in_the_way(change: dict[str, Any], says: str):
    plan = plan_adoption(replace(kruise_cluster(), **change))

    assert any(says in text for text in plan.refusals)
    assert plan.steps == ()


OWN = Workload("apps/v1", "StatefulSet", "mo-log", "own", 3)
PLAIN = kruise_set()


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (replace(PLAIN, is_deleted=True), "is being deleted"),
        (replace(PLAIN, paused=True), "is paused"),
        (of(PLAIN, owner_uid="other"), "does not belong to LogSet mo"),
        (of(PLAIN, owner_uid=""), "does not belong to LogSet mo"),
        (of(PLAIN, is_deleted=True), "is being deleted"),
        (of(PLAIN, settled=False), "in the middle of an update"),
        (of(PLAIN, reserved=(1,)), "leaves out the ordinals 1"),
        (of(PLAIN, replicas=2), "asks for 3"),
        (replace(PLAIN, replicas=5), "asks for 5"),
        (replace(PLAIN, own=OWN), "exist both"),
        (first_pod(PLAIN, ready=False), "is not ready"),
        (first_pod(PLAIN, image="other"), "runs other"),
        (first_pod(PLAIN, owner=STRANGER), "its controller is StatefulSet other"),
        (first_pod(PLAIN, owner=None), "it has no controller"),
        (first_pod(PLAIN, claims=()), "does not mount the claim mo-data-mo-log-0"),
        (first_pod(PLAIN, name="mo-log-7"), "Pod mo-log-0 of LogSet mo does not exist"),
        (replace(PLAIN, pods=PLAIN.pods[1:]), "should have 3 Pods and has 2"),
        (replace(PLAIN, pods=()), "should have 3 Pods and has 0"),
        (replace(PLAIN, claims=PLAIN.claims[1:]), "mo-data-mo-log-0 does not exist"),
        (first_claim(PLAIN, bound=False), "is not bound"),
        (first_claim(PLAIN, owners=(STRANGER,)), "is owned by StatefulSet other"),
        (first_claim(PLAIN, regrouped=False), "gives no group the files"),
        (replace(PLAIN, in_folder=True), "share a folder"),
    ],
)
def test_what_of_a_set_stands_in_the_way(one: Set, says: str):
    plan = plan_adoption(kruise_cluster(one))

    assert any(says in text for text in plan.refusals), plan.refusals
    assert plan.steps == ()


@pytest.mark.parametrize(
    "one",
    [
        replace(first_claim(PLAIN, regrouped=False), as_root=True),
        replace(PLAIN, in_folder=True, as_root=True),
        replace(
            first_claim(PLAIN, regrouped=False),
            pods=tuple(replace(pod, as_root=False) for pod in PLAIN.pods),
        ),
    ],
)
def test_files_that_new_pods_may_open_do_not_stand_in_the_way(one: Set):
    assert plan_adoption(kruise_cluster(one)).refusals == ()


def test_a_cluster_that_was_taken_over_needs_nothing():
    cluster = kruise_cluster()
    plan = plan_adoption(replace(cluster, sets=tuple(map(adopted, cluster.sets))))

    assert (plan.refusals, plan.steps) == ((), ())
    assert "nothing is to be done" in plan.notes[0]


def test_a_cluster_that_openkruise_never_ran_needs_nothing():
    sets = tuple(replace(adopted(one), adoption="") for one in kruise_cluster().sets)

    assert plan_adoption(replace(kruise_cluster(), sets=sets)).steps == ()


def test_a_later_failure_does_not_stand_in_the_way_of_the_rest():
    """Pods that our operator is replacing at this moment are its own business."""
    log_set = replace(adopted(PLAIN), serves=False, adoption="under-way")
    log_set = first_pod(log_set, ready=False)
    plan = plan_adoption(kruise_cluster(log_set, kruise_set("DNSet", 1)))

    assert plan.refusals == ()
    assert [step.action for step in plan.steps[:2]] == [Action.AWAIT_SERVING, Action.COMPLETE]


def carried_out(cluster: Cluster, count: int) -> Cluster:
    """Return a cluster after so many steps of its plan."""
    for step in plan_adoption(cluster).steps[:count]:
        cluster = after(cluster, step)
    return cluster


@given(st.integers(0, 60))
def test_what_was_interrupted_goes_on_to_the_same_end(count: int):
    """After any number of steps, a new plan does the rest, and the next one nothing."""
    begun = carried_out(kruise_cluster(), count)
    plan = plan_adoption(begun)
    ended = begun
    for step in plan.steps:
        ended = after(ended, step)

    assert plan.refusals == ()
    assert plan_adoption(ended).steps == ()
    assert all(one.foreign is None and one.own is not None for one in ended.sets)


@given(st.integers(0, 60))
def test_no_workload_goes_while_it_would_take_claims_with_it(count: int):
    """Whenever a workload is deleted, no claim of a stateful set has an owner any more."""
    cluster = kruise_cluster()
    for step in plan_adoption(cluster).steps[:count]:
        if step.action is Action.ORPHAN:
            (part,) = [one for one in cluster.sets if one.title == step.part]
            assert not part.stateful or all(not claim.owners for claim in part.claims)
            assert not part.stateful or (part.foreign and part.foreign.keeps_claims)
        cluster = after(cluster, step)


def sets() -> st.SearchStrategy[Set]:
    """Return sets in any state, also in those that cannot be."""
    owners = st.sampled_from([None, STRANGER, PLAIN.pods[0].owner])
    pods = st.builds(
        Pod,
        name=st.sampled_from(["mo-log-0", "mo-log-1", "x"]),
        uid=st.sampled_from(["a", "b"]),
        ready=st.booleans(),
        owner=owners,
        finalizers=st.sampled_from([(), ("matrixorigin.io/cn-draining",)]),
        claims=st.sampled_from([(), ("mo-data-mo-log-0",)]),
        left_behind=st.booleans(),
    )
    claims = st.builds(Claim, name=st.just("mo-data-mo-log-0"), uid=st.just("c"))
    workloads = st.sampled_from([None, PLAIN.foreign, OWN])
    return st.builds(
        Set,
        kind=st.sampled_from(["LogSet", "DNSet", "CNSet", "ProxySet"]),
        name=st.just("mo"),
        uid=st.just("uid-LogSet"),
        replicas=st.sampled_from([None, 0, 1, 3]),
        foreign=workloads,
        own=workloads,
        pods=st.lists(pods, max_size=3).map(tuple),
        claims=st.lists(claims, max_size=1).map(tuple),
        held=st.booleans(),
        serves=st.booleans(),
        adoption=st.sampled_from(["", "under-way", "complete"]),
    )


@given(st.lists(sets(), max_size=4).map(tuple), st.sampled_from([plan_adoption, plan_return]))
def test_no_step_deletes_a_claim_or_a_bucket(found: tuple[Set, ...], planner: Any):
    """In whatever state a cluster is, only workloads and Pods are deleted, each by its uid."""
    for step in planner(kruise_cluster(*found)).steps if found else ():
        if step.action in DELETING:
            assert step.kind in {"StatefulSet", "CloneSet", "Deployment", "Pod", "NetworkPolicy"}
            assert step.uid
        if step.action is Action.ORPHAN:
            assert step.part.split()[0] in {"LogSet", "DNSet"} or "kruise" in step.api_version


@given(st.lists(sets(), max_size=4).map(tuple))
def test_a_refusal_leaves_no_step(found: tuple[Set, ...]):
    for planner in (plan_adoption, plan_return):
        plan = planner(replace(kruise_cluster(), sets=found))
        assert not (plan.refusals and plan.steps)


def test_no_log_store_or_transaction_node_is_ended_by_a_step():
    """Only our operator replaces them, one at a time, when the others can spare them."""
    steps = plan_adoption(kruise_cluster()).steps
    ended = {step.part for step in steps if step.action is Action.END_POD}

    assert ended == {"ProxySet mo"}


def test_the_way_back_keeps_claims_and_our_operator_away():
    cluster = kruise_cluster()
    cluster = replace(cluster, sets=tuple(map(adopted, cluster.sets)))
    plan = plan_return(cluster)

    begin = [step.action for step in plan.steps[:5]]
    assert begin == [Action.PAUSE] * 5
    orphaned = [step.name for step in plan.steps if step.action is Action.ORPHAN]
    assert orphaned == ["mo-dn", "mo-log"]
    assert Action.END_WORKLOAD not in {step.action for step in plan.steps}
    assert "start the Go operator again" in plan.notes[0]


def test_the_go_operator_can_reach_the_pods_again():
    """It asks HAKeeper from another namespace, which our NetworkPolicies do not admit."""
    plan = plan_return(kruise_cluster(replace(adopted(PLAIN), policy="np"), paused=True))
    (step,) = [one for one in plan.steps if one.action is Action.END_POLICY]

    assert (step.kind, step.name, step.uid) == ("NetworkPolicy", "mo-log", "np")


def test_our_deployments_end_when_the_others_serve():
    theirs = kruise_set("CNSet", 2)
    one = replace(theirs, own=replace(OWN, kind="Deployment", name="mo-tp-cn"), paused=True)
    plan = plan_return(kruise_cluster(one, paused=True))
    assert [step.action for step in plan.steps] == [Action.END_WORKLOAD]

    waiting = first_pod(one, ready=False)
    assert plan_return(kruise_cluster(waiting, paused=True)).steps == ()


def test_there_is_no_way_back_once_a_log_store_was_replaced():
    plan = plan_return(kruise_cluster(replace(adopted(PLAIN), replaced=True)))

    assert "have been replaced" in plan.refusals[0]
