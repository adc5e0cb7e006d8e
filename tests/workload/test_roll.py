# SPDX-License-Identifier: Apache-2.0
"""Which Pods of a StatefulSet go next: the broken ones at once, the serving ones one by one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.roll import (
    Turn,
    is_rolling,
    next_turn,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builders import pod, workload

NOW = datetime(2026, 1, 2, 4, 0, 0, tzinfo=UTC)
LONG_AGO = "2026-01-02T03:04:05Z"


def store(
    number: int, revision: str = "old", *, ready: bool = True, age: float = 600, **how: Any
) -> dict[str, Any]:
    since = (NOW - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"labels": {"controller-revision-hash": revision}, **how.pop("metadata", {})}
    return pod(f"mo-log-{number}", ready=ready, since=since, metadata=metadata, **how)


def stateful_set(**numbers: int) -> dict[str, Any]:
    made = workload(**numbers)
    made["spec"]["minReadySeconds"] = 5
    made["status"]["updateRevision"] = "new"
    return made


def turn(*pods: dict[str, Any], **numbers: int) -> Turn:
    return next_turn(stateful_set(**numbers), pods, NOW)


GOING = {"metadata": {"deletionTimestamp": LONG_AGO}}


@pytest.mark.parametrize(
    ("pods", "candidates"),
    [
        ([store(0), store(1), store(2)], ("mo-log-2", "mo-log-1", "mo-log-0")),
        ([store(0), store(1), store(2, "new")], ("mo-log-1", "mo-log-0")),
        # the one that is down costs nothing, and may come up with the new template
        ([store(0, ready=False), store(1), store(2)], ("mo-log-0",)),
    ],
)
def test_one_of_those_that_serve_may_go_while_all_others_serve(pods, candidates):
    assert turn(*pods) == Turn(
        tuple(name for name in ("mo-log-2", "mo-log-1", "mo-log-0")
              if name in {one["metadata"]["name"] for one in pods
                          if one["metadata"]["labels"]["controller-revision-hash"] == "old"}),
        candidates=candidates,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("pods", "waiting"),
    [
        ([store(0), store(1), store(2, "new", ready=False)], "mo-log-2 (not ready yet)"),
        ([store(0), store(1), store(2, "new", age=3)], "mo-log-2 to be ready for 5 s"),
        ([store(0), store(1)], "mo-log-2 (not created yet)"),
        ([store(0), store(1), store(2, **GOING)], "mo-log-2 (Terminating)"),
        ([store(0), store(1), store(2), store(3)], "mo-log-3 to leave"),
        ([store(0), store(1), store(2), store(3, "new")], "mo-log-3 to leave"),
        ([store(0), store(1), store(2), store(3, **GOING)], "mo-log-3 to leave"),
        ([store(0), store(1, "new", ready=False), store(2)], "mo-log-1 (not ready yet)"),
        (
            [store(0), store(1), store(2, "new", ready=False, waiting="CrashLoopBackOff")],
            "mo-log-2 (CrashLoopBackOff)",
        ),
    ],
)
def test_nothing_goes_while_another_one_is_away(pods, waiting):
    found = turn(*pods)

    assert (found.replace, found.candidates, found.waiting) == ((), (), waiting)


@pytest.mark.parametrize("reason", ["ImagePullBackOff", "CrashLoopBackOff", "InvalidImageName"])
def test_what_a_bad_template_broke_is_replaced_at_once(reason):
    """All of them together: log stores of a new cluster need each other to come up."""
    broken = [store(number, "bad", ready=False, waiting=reason) for number in range(3)]

    assert turn(*broken).replace == ("mo-log-2", "mo-log-1", "mo-log-0")
    assert turn(store(0), store(1), broken[2]).replace == ("mo-log-2",)


def test_without_a_majority_all_that_do_not_serve_are_replaced():
    down = [store(number, ready=False) for number in range(2)]

    assert turn(*down, store(2)).replace == ("mo-log-1", "mo-log-0")
    assert turn(store(0, ready=False), wanted=1).replace == ("mo-log-0",)


def after(least: int, *pods: dict[str, Any]) -> Turn:
    made = stateful_set()
    made["spec"]["minReadySeconds"] = least
    return next_turn(made, pods, NOW)


@pytest.mark.parametrize(
    ("least", "ages", "waiting", "seconds"),
    [
        (0, (600, 600, 0), "", 0),
        (60, (600, 600, 60), "", 0),
        (60, (600, 600, 59), "mo-log-2 to be ready for 60 s", 1),
        (60, (600, 18, 20), "mo-log-1, mo-log-2 to be ready for 60 s", 42),
        (3600, (600, 600, 20), "mo-log-0, mo-log-1, mo-log-2 to be ready for 3600 s", 3580),
    ],
)
def test_the_next_one_waits_until_all_have_been_ready_for_long_enough(
    least, ages, waiting, seconds
):
    found = after(least, *(store(n, "new" if n == 2 else "old", age=ages[n]) for n in range(3)))

    assert (found.waiting, found.seconds) == (waiting, seconds)
    assert found.candidates == (() if waiting else ("mo-log-1", "mo-log-0"))
    assert not found.replace


def test_stores_that_serve_make_a_majority_however_long_they_are_ready():
    """Those that come up by themselves are left to it, while one of them may be lost."""
    pods = store(0, ready=False), store(1, "new", age=9), store(2, "new", age=600)

    assert after(3600, *pods).waiting == "mo-log-1, mo-log-2 to be ready for 3600 s"
    assert after(3600, pods[0], store(1, ready=False), pods[2]).replace == ("mo-log-1", "mo-log-0")


@pytest.mark.parametrize(
    "seen",
    [
        stateful_set(generation=2, observedGeneration=1),
        {**stateful_set(), "metadata": {"name": "mo-log", **GOING["metadata"]}},
        {**stateful_set(), "status": {}},
    ],
)
def test_a_template_that_the_controller_has_not_seen_moves_nothing(seen):
    assert next_turn(seen, [store(0), store(1), store(2)], NOW) == Turn()
    assert not is_rolling(seen, [store(0)])


def test_the_highest_ordinal_goes_first_by_number():
    pods = [store(number) for number in range(11)]

    assert turn(*pods, wanted=11).candidates[:2] == ("mo-log-10", "mo-log-9")


def test_only_stateful_sets_with_older_pods_roll():
    assert is_rolling(stateful_set(), [store(0, "new"), store(1)])
    assert not is_rolling(stateful_set(), [store(0, "new"), store(1, **GOING)])
    assert not is_rolling({**stateful_set(), "kind": "Deployment"}, [store(0)])
    assert not is_rolling(None, [])


@pytest.mark.parametrize(
    ("pods", "partition", "candidates"),
    [
        ([store(0), store(1), store(2)], 1, ("mo-log-2", "mo-log-1")),
        ([store(0), store(1), store(2)], 2, ("mo-log-2",)),
        ([store(0), store(1), store(2)], 3, ()),
        ([store(0), store(1), store(2, "new")], 2, ()),
        ([store(0), store(1), store(2, "new")], 1, ("mo-log-1",)),
        ([store(2), store(10)], 10, ()),
    ],
)
def test_a_partition_leaves_the_lower_ordinals_alone(pods, partition, candidates):
    found = next_turn(stateful_set(), pods, NOW, partition)

    assert found.candidates == candidates
    assert found.replace == ()
    if len(pods) == 3:
        assert is_rolling(stateful_set(), pods, partition) == bool(candidates)


def test_a_broken_store_below_the_partition_is_left_alone():
    broken = store(0, "bad", ready=False, waiting="ImagePullBackOff")

    assert next_turn(stateful_set(), [broken, store(1), store(2)], NOW, 1).replace == ()


@pytest.mark.parametrize("broken", [True, False])
@pytest.mark.parametrize("changed", [1, 2])
def test_a_spec_that_is_taken_back_brings_back_only_what_was_changed(changed, broken):
    """Kubernetes finds the revision of before again when the template is the same again."""
    how = {"ready": False, "waiting": "ImagePullBackOff"} if broken else {}
    pods = [store(number, "old") for number in range(3 - changed)]
    pods += [store(number, "new", **how) for number in range(3 - changed, 3)]
    taken_back = stateful_set()
    taken_back["status"]["updateRevision"] = "old"

    found = next_turn(taken_back, pods, NOW)

    names = tuple(f"mo-log-{number}" for number in range(2, 2 - changed, -1))
    assert found.outdated == names
    assert (found.replace if broken else found.candidates) == names


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["old", "new"]),
            st.sampled_from(["ready", "young", "unready", "stuck", "going", "missing"]),
        ),
        min_size=1,
        max_size=7,
    )
)
def test_a_serving_store_goes_only_while_all_others_serve(states):
    """Whatever the states: with a candidate that serves, everybody else serves as well."""
    pods = []
    for number, (revision, state) in enumerate(states):
        how: dict[str, Any] = {"ready": state in {"ready", "young", "going"}}
        how |= {"age": 1} if state == "young" else {}
        how |= {"waiting": "CrashLoopBackOff"} if state == "stuck" else {}
        how |= GOING if state == "going" else {}
        if state != "missing":
            pods.append(store(number, revision, **how))
    found = turn(*pods, wanted=len(states))
    up = {f"mo-log-{number}" for number, (_, state) in enumerate(states) if state == "ready"}
    goes = {*found.replace, *found.candidates}
    serving = goes & (up | {f"mo-log-{n}" for n, (_, s) in enumerate(states) if s == "young"})
    assert not serving & set(found.replace)
    if serving:
        assert len(up) == len(states)
    assert goes <= set(found.outdated)
    assert bool(found.outdated) == bool(goes or found.waiting)
