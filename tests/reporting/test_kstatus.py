# SPDX-License-Identifier: Apache-2.0
"""Reconciling and Stalled follow from the other conditions, as kstatus reads them."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.conditions import (
    completed,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.events import (
    transitions,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.kstatus import (
    with_kstatus,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.reasons import (
    EarlyReason,
    Reason,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.report import (
    beginning,
    deleting,
)
from hypothesis import given
from hypothesis import strategies as st

NOW, LATER = "2026-11-22T15:00:00Z", "2026-11-22T15:00:10Z"
READY = ("Ready", "True", "EnoughReadyStores")
SYNCED = ("Synced", "True", "Applied")
STILL = ("Progressing", "False", "Settled")
FINE = ("Degraded", "False", "AsExpected")


def conditions(*states: tuple[str, str, str]) -> list[dict[str, Any]]:
    names = ("type", "status", "reason")
    return [
        {
            **dict(zip(names, one, strict=True)),
            "message": f"about {one[0]}",
            "observedGeneration": 3,
        }
        for one in states
    ]


def derived(*states: tuple[str, str, str]) -> list[tuple[str, str, str, str]]:
    found = with_kstatus(conditions(*states))[len(states) :]
    return [(one["type"], one["status"], one["reason"], one["message"]) for one in found]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ((READY, SYNCED, STILL, FINE), None),
        ((READY, SYNCED, STILL, ("Degraded", "True", "HAKeeperUnreachable")), None),
        (
            (READY, ("Synced", "False", "RollingOut"), ("Progressing", "True", "RollingOut"), FINE),
            ("Reconciling", "RollingOut", "Progressing"),
        ),
        (
            (READY, SYNCED, ("Progressing", "True", "Draining"), FINE),
            ("Reconciling", "Draining", "Progressing"),
        ),
        (
            (("Ready", "Unknown", "Reconciling"), SYNCED, STILL, FINE),
            ("Reconciling", "Reconciling", "Ready"),
        ),
        (
            (READY, ("Synced", "False", "ApplyFailed"), STILL, FINE),
            ("Reconciling", "ApplyFailed", "Synced"),
        ),
        (
            (READY, ("Synced", "False", "InvalidSpec"), STILL, FINE),
            ("Stalled", "InvalidSpec", "Synced"),
        ),
        (
            (READY, ("Synced", "False", "VolumeRefused"), STILL, FINE),
            ("Stalled", "VolumeRefused", "Synced"),
        ),
        (
            (
                ("Ready", "False", "NoEnoughReadyStores"),
                ("Synced", "False", "RollingOut"),
                ("Progressing", "True", "RollingOut"),
                ("Degraded", "True", "RolloutStuck"),
            ),
            ("Stalled", "RolloutStuck", "Degraded"),
        ),
        (
            (("Ready", "False", "NoEnoughReadyStores"), SYNCED, ("Progressing", "True", "X"),
             ("Degraded", "True", "FailoverBlocked")),
            ("Stalled", "FailoverBlocked", "Degraded"),
        ),
        (
            (("Accepted", "False", "UnsupportedReplicas"), READY, SYNCED, STILL, FINE),
            ("Stalled", "UnsupportedReplicas", "Accepted"),
        ),
        # somebody wants it so
        ((READY, ("Synced", "False", "Paused"), ("Progressing", "False", "Paused"), FINE), None),
        ((("Ready", "False", "Stopped"), SYNCED, STILL, FINE), None),
        (
            (("Ready", "False", "NoEnoughReadyStores"), ("Synced", "False", "InvalidSpec"), STILL,
             FINE, ("Paused", "True", "PausedByAnnotation")),
            None,
        ),
    ],
)  # fmt: skip
def test_they_follow_from_the_others(states: Any, expected: tuple[str, str, str] | None) -> None:
    if expected is None:
        assert derived(*states) == []
    else:
        kind, reason, source = expected
        assert derived(*states) == [(kind, "True", reason, f"about {source}")]


_REASONS = [*Reason, *EarlyReason]
_STATES = st.tuples(
    *(
        st.tuples(
            st.just(kind),
            st.sampled_from(["True", "False", "Unknown"]),
            st.sampled_from([reason.value for reason in _REASONS]),
        )
        for kind in ("Ready", "Synced", "Progressing", "Degraded")
    )
)


@given(_STATES)
def test_they_are_never_true_together_and_say_nothing_when_all_is_well(states: Any) -> None:
    found = [kind for kind, *_rest in derived(*states)]
    assert len(found) <= 1
    ready, synced, progressing, degraded = (status for _kind, status, _reason in states)
    if (ready, synced, progressing, degraded) == ("True", "True", "False", "False"):
        assert found == []
    once = with_kstatus(conditions(*states))
    assert with_kstatus(once) == once


def test_a_status_that_was_up_to_date_is_not_written_again() -> None:
    """An operator that is upgraded finds idle resources as it would leave them."""
    before = completed({"conditions": conditions(READY, SYNCED, STILL, FINE)}, {}, NOW)
    assert (
        completed({"conditions": conditions(READY, SYNCED, STILL, FINE)}, before, LATER) == before
    )


def test_they_come_and_go_with_a_change() -> None:
    live: dict[str, Any] = {"metadata": {"generation": 4}}
    live["status"] = completed({"conditions": conditions(READY, SYNCED, STILL, FINE)}, {}, NOW)
    begun = completed(beginning(live), live["status"], LATER)
    assert [one["type"] for one in begun["conditions"]][-1] == "Reconciling"
    assert begun["conditions"][-1]["lastTransitionTime"] == LATER
    done = completed({"conditions": conditions(READY, SYNCED, STILL, FINE)}, begun, LATER)
    assert {one["type"] for one in done["conditions"]} == {
        one[0] for one in (READY, SYNCED, STILL, FINE)
    }


def test_a_resource_that_is_deleted_is_reconciled() -> None:
    status = completed(deleting({"metadata": {"generation": 2}}, ["pod/a"]), {}, NOW)
    (found,) = [one for one in status["conditions"] if one["type"] == "Reconciling"]
    assert found["reason"] == "Deleting"


def test_they_add_no_events() -> None:
    stalled = conditions(READY, ("Synced", "False", "InvalidSpec"), STILL, FINE)
    plain = transitions({}, {"conditions": stalled})
    assert transitions({}, completed({"conditions": stalled}, {}, NOW)) == plain
