# SPDX-License-Identifier: Apache-2.0
"""Compute nodes in HAKeeper: who gets sessions, who goes, and when the draining is over."""

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.records import (
    CNStoreRecord,
    Labels,
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.drain import (
    Drain,
    Locks,
    Policy,
    Step,
    next_step,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.load import (
    Load,
    user_sessions,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pods import (
    records,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.scaling import (
    pods_to_delete,
    replicas_to_keep,
    unusable,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.stores import (
    CNStore,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.work_states import (
    Change,
    change_needed,
    desired_state,
    opens_gate,
)
from hypothesis import given
from hypothesis import strategies as st

UNHEARD = "matrixorigin.io/store-unheard"
UNANSWERED = "matrixorigin.io/store-unanswered"
DRAINING_SINCE = "matrixorigin.io/store-draining-start"
PROCESS = "2026-01-01T00:00:10Z"
IDLE = Load(0, 0, 0)
POLICY = Policy(drains=True, delay=15, timeout=300)


def registered(state: WorkState, labels: Labels, *, expired: bool = False) -> CNStoreRecord:
    return CNStoreRecord(
        uuid="",
        tick=0,
        expired=expired,
        silent=0.0,
        work_state=state,
        labels=labels,
        **dict.fromkeys(("service_address", "sql_address", "lock_address"), ""),
        query_address="",
        commit="",
        config_data=b"",
    )


def store(pod: str = "cn-a", **values: Any) -> CNStore:
    defaults: dict[str, Any] = {
        "pod": pod,
        "uuid": f"uuid-of-{pod}",
        "ready": True,
        "is_terminating": False,
        "cordoned": False,
        "created": "2026-01-01T00:00:00Z",
        "process": PROCESS,
        "draining_since": None,
        "asked_process": "",
        "desired_labels": {},
        "record": registered(WorkState.WORKING, {}),
    }
    return CNStore(**{**defaults, **values})


OLD, NEW = {"created": "2026-01-01T00:00:00Z"}, {"created": "2026-02-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("stores", "wanted", "gone"),
    [
        ([store("a"), store("b")], 2, set()),
        ([store("a"), store("b")], 3, set()),
        ([store("a"), store("b")], 0, {"a", "b"}),
        ([store("a", **NEW), store("b", **OLD)], 1, {"a"}),
        ([store("a", **OLD), store("b", **NEW)], 1, {"b"}),
        ([store("a", **OLD, cordoned=True), store("b", **NEW)], 1, {"a"}),
        ([store("a", cordoned=True, **NEW), store("b", ready=False, **OLD)], 1, {"b"}),
        ([store("a", draining_since=5.0, **OLD), store("b", ready=False, **NEW)], 1, {"a"}),
        ([store("a", asked_process=PROCESS), store("b", draining_since=1.0)], 1, {"a"}),
        ([store("a", asked_process="another"), store("b", draining_since=1.0)], 1, {"b"}),
        ([store("a", is_terminating=True), store("b")], 1, set()),
        ([store("a", is_terminating=True), store("b"), store("c", **NEW)], 1, {"c"}),
    ],
)
def test_victims(stores: list[CNStore], wanted: int, gone: set[str]) -> None:
    assert pods_to_delete(stores, wanted, len(stores)) == gone


A, B = {"template": "old", **OLD}, {"template": "new", **NEW}


@pytest.mark.parametrize(
    ("stores", "present", "wanted", "gone"),
    [
        ([store("a", **A), store("b", **A), store("c", **B)], 2, 2, set()),
        ([store("a", **A), store("b", **B), store("c", **B)], 2, 2, set()),
        ([store("a", **A), store("b", **A), store("c", ready=False, **B)], 2, 1, {"b"}),
        ([store("a", draining_since=5.0, **A), store("b", **A), store("c", **B)], 2, 1, {"a"}),
        ([store("a", draining_since=5.0, **A), store("b", **A), store("c", **B)], 1, 1, {"a"}),
        ([store("a", **A), store("b", **B), store("c", **B)], 3, 1, {"a"}),
        ([store("a", **B), store("b", **B)], 2, 1, {"b"}),
    ],
    ids=[
        "a roll begins",
        "a roll ends",
        "a roll of a set that shrinks",
        "which goes is chosen already",
        "the set has shrunk and the roll goes on",
        "those of the new template stay until it is over",
        "no roll",
    ],
)
def test_a_roll_has_no_victims_but_those_of_a_set_that_shrinks(
    stores: list[CNStore], present: int, wanted: int, gone: set[str]
) -> None:
    """Pods of the newer template are there to stay: they are too many only for a time."""
    assert pods_to_delete(stores, wanted, present) == gone


@given(st.lists(st.booleans(), max_size=8), st.integers(0, 9), st.randoms())
def test_victims_do_not_depend_on_the_order_and_stay_chosen(
    ready: list[bool], wanted: int, chance: Any
) -> None:
    stores = [store(f"cn-{i}", ready=one) for i, one in enumerate(ready)]
    chosen = pods_to_delete(stores, wanted, len(stores))
    assert len(chosen) == max(0, len(stores) - wanted)
    later = [replace(one, draining_since=1.0) if one.pod in chosen else one for one in stores]
    later = [one if one.pod in chosen else replace(one, ready=False) for one in later]
    chance.shuffle(later)
    assert pods_to_delete(later, wanted, len(stores)) == chosen


@pytest.mark.parametrize(
    ("one", "leaves", "state"),
    [
        (store(), False, WorkState.WORKING),
        (store(), True, WorkState.DRAINING),
        (store(cordoned=True), False, WorkState.DRAINING),
        (store(is_terminating=True), False, WorkState.DRAINING),
        (store(draining_since=5.0), False, WorkState.WORKING),
    ],
)
def test_desired_state(one: CNStore, leaves: bool, state: WorkState) -> None:
    assert desired_state(one, leaves=leaves) is state


A, B = {"account": ("a",)}, {"account": ("b",), "role": ("tp",)}


@pytest.mark.parametrize(
    ("known", "labels", "state", "change"),
    [
        (registered(WorkState.WORKING, {}), {}, WorkState.WORKING, None),
        (registered(WorkState.WORKING, A), A, WorkState.WORKING, None),
        (registered(WorkState.WORKING, {}), A, WorkState.WORKING, Change.LABELS),
        (registered(WorkState.WORKING, A), B, WorkState.WORKING, Change.LABELS),
        (registered(WorkState.WORKING, A), {}, WorkState.WORKING, Change.LABELS),
        (registered(WorkState.DRAINING, A), A, WorkState.WORKING, Change.STATE),
        (registered(WorkState.DRAINING, {}), A, WorkState.WORKING, Change.BOTH),
        (registered(WorkState.DRAINING, A), {}, WorkState.WORKING, Change.BOTH),
        (registered(WorkState.UNKNOWN, {}), {}, WorkState.WORKING, Change.STATE),
        (registered(WorkState.DRAINED, {}), {}, WorkState.WORKING, Change.STATE),
        (registered(WorkState.WORKING, A), A, WorkState.DRAINING, Change.STATE),
        (registered(WorkState.WORKING, A), {}, WorkState.DRAINING, Change.STATE),
        (registered(WorkState.DRAINING, A), {}, WorkState.DRAINING, None),
        (registered(WorkState.WORKING, {}, expired=True), A, WorkState.WORKING, None),
        (None, A, WorkState.WORKING, None),
    ],
)
def test_calls_that_are_needed(
    known: CNStoreRecord | None, labels: Any, state: WorkState, change: Change | None
) -> None:
    one = store(record=known, desired_labels=labels)
    assert change_needed(one, state, POLICY) is change


@pytest.mark.parametrize(
    ("one", "state", "change"),
    [
        (store(record=registered(WorkState.DRAINING, {})), WorkState.WORKING, None),
        (store(record=registered(WorkState.DRAINING, A)), WorkState.WORKING, Change.LABELS),
        (
            store(record=registered(WorkState.DRAINING, {}), marked="Draining"),
            WorkState.WORKING,
            Change.STATE,
        ),
        (store(), WorkState.DRAINING, Change.STATE),
    ],
)
def test_a_set_that_does_not_drain_undoes_only_what_it_did(
    one: CNStore, state: WorkState, change: Change | None
) -> None:
    policy = Policy(drains=False, delay=15, timeout=300)
    assert change_needed(one, state, policy) is change


UP = registered(WorkState.WORKING, {})


@pytest.mark.parametrize(
    ("one", "opens"),
    [
        (store(gated=True, ready=False, record=UP), True),
        (store(gated=True, ready=False, record=registered(WorkState.DRAINING, {})), True),
        (store(gated=False, record=UP), False),
        (store(gated=True, ready=False, record=None), False),
        (store(gated=True, record=registered(WorkState.WORKING, {}, expired=True)), False),
        (store(gated=True, is_terminating=True, record=UP), False),
    ],
)
def test_the_gate_opens_when_hakeeper_knows_the_store(one: CNStore, opens: bool) -> None:
    assert opens_gate(one) is opens


DRAINING = store(draining_since=1000.0, record=registered(WorkState.DRAINING, {}))


@pytest.mark.parametrize(
    ("one", "load", "locks", "age", "step"),
    [
        (DRAINING, IDLE, Locks.HANDED_OVER, 0, Step.SPREADING),
        (DRAINING, IDLE, Locks.HANDED_OVER, 14, Step.SPREADING),
        (DRAINING, IDLE, Locks.HANDED_OVER, 15, Step.DONE),
        (DRAINING, IDLE, Locks.UNSUPPORTED, 15, Step.DONE),
        (DRAINING, IDLE, Locks.HELD, 15, Step.ASK_FOR_LOCKS),
        (DRAINING, IDLE, Locks.UNKNOWN, 15, Step.WAIT_FOR_LOCKS),
        (replace(DRAINING, asked_process=PROCESS), IDLE, Locks.HELD, 15, Step.WAIT_FOR_LOCKS),
        (replace(DRAINING, asked_process="older"), IDLE, Locks.HELD, 15, Step.ASK_FOR_LOCKS),
        (replace(DRAINING, asked_process=PROCESS), IDLE, Locks.HANDED_OVER, 15, Step.DONE),
        (DRAINING, Load(1, 0, 0), Locks.UNKNOWN, 20, Step.BUSY),
        (DRAINING, Load(0, 1, 0), Locks.HANDED_OVER, 20, Step.BUSY),
        (DRAINING, Load(0, 0, 1), Locks.HANDED_OVER, 20, Step.BUSY),
        (DRAINING, Load(None, 0, 0), Locks.HANDED_OVER, 20, Step.BUSY),
        (DRAINING, Load(0, None, 0), Locks.HANDED_OVER, 20, Step.BUSY),
        (DRAINING, Load(0, 0, None), Locks.HANDED_OVER, 20, Step.BUSY),
        (DRAINING, Load(), Locks.HANDED_OVER, 299, Step.BUSY),
        (DRAINING, Load(), Locks.UNKNOWN, 300, Step.GIVEN_UP),
        (DRAINING, Load(5, 0, 0), Locks.HELD, 301, Step.GIVEN_UP),
        (replace(DRAINING, process=""), Load(), Locks.UNKNOWN, 0, Step.DONE),
        (replace(DRAINING, record=None), Load(), Locks.UNKNOWN, 0, Step.DONE),
        (replace(DRAINING, record=None, asked=False), Load(), Locks.UNKNOWN, 20, Step.BUSY),
        (replace(DRAINING, draining_since=None), IDLE, Locks.HANDED_OVER, 0, Step.SPREADING),
    ],
)
def test_steps_of_a_drain(one: CNStore, load: Load, locks: Locks, age: float, step: Step) -> None:
    drain = next_step(one, load, locks, POLICY, 1000 + age)
    assert drain.step is step
    assert drain.message
    assert drain.until == 1300
    assert drain.finished is (step in {Step.DONE, Step.GIVEN_UP})


@pytest.mark.parametrize(
    ("asked", "locks", "age", "needed", "step"),
    [
        (PROCESS, Locks.HELD, 45, False, Step.DONE),
        (PROCESS, Locks.HELD, 44, False, Step.WAIT_FOR_LOCKS),
        (PROCESS, Locks.HELD, 299, True, Step.WAIT_FOR_LOCKS),
        (PROCESS, Locks.UNKNOWN, 299, False, Step.WAIT_FOR_LOCKS),
        ("", Locks.HELD, 299, False, Step.ASK_FOR_LOCKS),
    ],
)
def test_locks_that_nobody_needs_are_not_waited_for(
    asked: str, locks: Locks, age: float, needed: bool, step: Step
) -> None:
    """No compute node is left; MatrixOne does not always find the end of a transaction."""
    one = replace(DRAINING, asked_process=asked)
    drain = next_step(one, IDLE, locks, POLICY, 1000 + age, needed=needed)
    assert drain.step is step
    busy = next_step(one, Load(1, 0, 0), locks, POLICY, 1000 + age, needed=needed)
    assert busy.step is Step.BUSY


def test_a_set_that_does_not_drain_waits_for_nothing() -> None:
    policy = Policy(drains=False, delay=15, timeout=300)
    assert next_step(DRAINING, Load(), Locks.UNKNOWN, policy, 1000).finished


def test_a_delay_longer_than_the_timeout_is_kept() -> None:
    policy = Policy(drains=True, delay=60, timeout=10)
    spreading = next_step(DRAINING, IDLE, Locks.HELD, policy, 1030)
    assert (spreading.step, spreading.until) == (Step.SPREADING, 1060)
    assert next_step(DRAINING, IDLE, Locks.HELD, policy, 1060).step is Step.GIVEN_UP


@given(
    st.builds(Load, *[st.none() | st.integers(0, 3)] * 3), st.sampled_from(Locks), st.floats(0, 299)
)
def test_nothing_unknown_ever_ends_a_drain_early(load: Load, locks: Locks, age: float) -> None:
    drain = next_step(DRAINING, load, locks, POLICY, 1000 + age)
    if drain.finished:
        assert load == IDLE
        assert locks in {Locks.HANDED_OVER, Locks.UNSUPPORTED}
        assert age >= POLICY.delay


BUSY, DONE = Drain(Step.BUSY, "1 sessions"), Drain(Step.DONE, "drained")


@pytest.mark.parametrize(
    ("present", "wanted", "drains", "kept"),
    [
        (3, 3, [], 3),
        (2, 3, [], 3),
        (3, 2, [BUSY], 3),
        (3, 2, [DONE], 2),
        (3, 1, [DONE, BUSY], 3),
        (3, 1, [DONE, Drain(Step.GIVEN_UP, "")], 1),
        (3, 0, [DONE] * 3, 0),
        (3, 2, [], 2),
    ],
)
def test_replicas_to_keep(present: int, wanted: int, drains: list[Drain], kept: int) -> None:
    assert replicas_to_keep(present, wanted, drains) == kept


def test_a_drain_called_off_after_the_locks_were_taken_needs_another_pod() -> None:
    asked = replace(DRAINING, asked_process=PROCESS)
    assert unusable([asked], frozenset()) == {"cn-a"}
    assert not unusable([asked], frozenset({"cn-a"}))
    assert not unusable([replace(asked, is_terminating=True)], frozenset())
    assert not unusable([replace(asked, process="newer")], frozenset())
    assert not unusable([DRAINING], frozenset())


REFUSED = {"unheard_process": PROCESS}
SILENT = {"unheard": 10.5}
CUT_OFF = {"unheard": 10.5, "peers_heard": False}


@pytest.mark.parametrize(
    ("stores", "gone"),
    [
        ([store("a", **REFUSED), store("b")], {"a"}),
        ([store("a", **REFUSED, **SILENT), store("b")], set()),
        ([store("a", unheard_process="an earlier one"), store("b")], set()),
        ([store("a", **REFUSED), store("b", **REFUSED), store("c")], {"a"}),
        (
            [store("a", **REFUSED), store("b", **REFUSED), store("c", is_terminating=True)],
            {"a", "b"},
        ),
        ([store("a", **REFUSED), store("b"), store("c", ready=False)], set()),
        ([store("a", **REFUSED), store("b", is_terminating=True), store("c")], set()),
        ([store("a", **REFUSED), store("b", **REFUSED)], {"a", "b"}),
        ([store("a", **REFUSED), store("b", **SILENT)], {"a"}),
        ([store("a", **REFUSED, resumes=True), store("b", **REFUSED)], {"b"}),
        ([store("a", **REFUSED, resumes=True), store("b", is_terminating=True)], set()),
        ([store("a", **REFUSED, asked=False, record=None)], set()),
        ([store("a", **REFUSED, **CUT_OFF), store("b", **REFUSED, **CUT_OFF)], set()),
    ],
    ids=[
        "heard again",
        "still silent",
        "restarted since",
        "one at a time",
        "the one that serves goes",
        "not while another is not ready",
        "not while another goes",
        "all at once when none serves",
        "the other is silent",
        "one that resumes serves",
        "one that resumes stays",
        "HAKeeper does not answer",
        "silent like all others",
    ],
)
def test_who_was_not_heard_is_replaced_when_it_is_back(
    stores: list[CNStore], gone: set[str]
) -> None:
    """Its process goes on, but its commits are refused for a day."""
    assert unusable(stores, frozenset()) == gone


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (store(**SILENT), {UNHEARD: PROCESS}),
        (store(unresponsive=True), {UNHEARD: PROCESS, UNANSWERED: PROCESS}),
        (store(unresponsive=True, **REFUSED), {UNANSWERED: PROCESS}),
        (store(unresponsive=True, **REFUSED, unanswered_process=PROCESS), {}),
        (store(**REFUSED, unanswered_process=PROCESS), {}),
        (store(unanswered_process="an earlier one"), {UNANSWERED: None}),
        (store(**REFUSED, resumes=True), {UNHEARD: None}),
        (store(**REFUSED, resumes=True, draining_since=5.0), {UNHEARD: None, DRAINING_SINCE: None}),
        (store(**SILENT, **REFUSED), {}),
        (store(**CUT_OFF), {}),
        (store(**REFUSED), {}),
        (store(unheard_process="an earlier one"), {UNHEARD: None}),
        (store(**SILENT, process=""), {}),
        (store(record=None), {}),
        (store(**SILENT, is_terminating=True), {}),
    ],
)
def test_silence_is_recorded_on_the_pod(one: CNStore, expected: dict[str, str | None]) -> None:
    """Of the process that was silent: the next one is another."""
    assert records(one, leaves=False, now=0.0) == expected


@pytest.mark.parametrize(
    ("one", "asked"),
    [
        (store(**REFUSED), True),
        (store(), False),
        (store(**REFUSED, **SILENT), False),
        (store(**REFUSED, record=None), False),
        (store(**REFUSED, is_terminating=True), False),
        (store(**REFUSED, unresponsive=True), False),
        (store(**REFUSED, unanswered_process=PROCESS), False),
        (store(**REFUSED, unanswered_process="an earlier one"), True),
        (store(unheard_process="an earlier one"), False),
        (store(**REFUSED, resumes=True), False),
    ],
)
def test_who_is_asked_whether_it_resumes(one: CNStore, *, asked: bool) -> None:
    """Not who answers no login: that is another fault, which no resuming ends."""
    assert one.may_resume is asked


@pytest.mark.parametrize(
    ("load", "text"),
    [
        (IDLE, ""),
        (Load(2, 0, 1), "2 sessions, 1 replicas"),
        (Load(None, 3, None), "unknown sessions and replicas"),
    ],
)
def test_what_is_left(load: Load, text: str) -> None:
    assert load.text() == text
    assert load.idle is (load == IDLE)


def test_sessions_that_a_drain_waits_for() -> None:
    sessions = [("sys", True), ("sys", False), ("", False), ("acc", False), ("acc", True)]
    assert user_sessions(sessions) == 3
