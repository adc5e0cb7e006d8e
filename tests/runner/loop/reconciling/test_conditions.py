# SPDX-License-Identifier: Apache-2.0
"""Sequences of conditions: the vectors of the Go runner, with order and times."""

import datetime
from collections.abc import Callable

import pytest

from ansible_operator.loop.reconciling.conditions import (
    AnsibleResult,
    Condition,
    Transitions,
    completion_time,
    current,
)

RESULT = AnsibleResult(ok=3, changed=1, completion="2026-01-01T10:00:03.418862+00:00")
Step = Callable[[Transitions, list[Condition]], list[Condition]]


def running(transitions: Transitions, now: list[Condition]) -> list[Condition]:
    return transitions.running(now)


def done(transitions: Transitions, now: list[Condition]) -> list[Condition]:
    return transitions.succeeded(now, RESULT)


def failed(transitions: Transitions, now: list[Condition]) -> list[Condition]:
    return transitions.failed(now, "new failure message", RESULT)


def errored(transitions: Transitions, now: list[Condition]) -> list[Condition]:
    return transitions.errored(now, "text")


def play(*steps: Step) -> list[Condition]:
    """Apply steps, one per second after 10:00:00."""
    conditions: list[Condition] = []
    for second, step in enumerate(steps):
        moment = datetime.datetime(2026, 1, 1, 10, 0, second, tzinfo=datetime.UTC)
        conditions = step(Transitions(lambda moment=moment: moment), conditions)
    return conditions


def brief(conditions: list[Condition]) -> str:
    return ", ".join(f"{c['type']}={c['status']}/{c['reason'] or '-'}" for c in conditions)


SUCCESS = "Running=True/Successful, Successful=True/Successful, Failure=False/-"
BROKEN = "Running=False/Running, Failure=True/Failed, Successful=False/-"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([running], "Running=True/Running"),
        ([running, done], SUCCESS),
        (
            [running, done, running],
            "Failure=False/-, Successful=False/Successful, Running=True/Running",
        ),
        ([running, done, running, done], SUCCESS),
        ([running, done, running, failed], BROKEN),
        ([running, failed], BROKEN),
        (
            [running, failed, running],
            "Failure=True/Failed, Successful=False/-, Running=True/Running",
        ),
        ([running, failed, running, done], SUCCESS),
        (
            [running, done, errored],
            "Running=False/Successful, Successful=False/Successful, Failure=True/Failed",
        ),
    ],
)
def test_sequences(steps: list[Step], expected: str) -> None:
    assert brief(play(*steps)) == expected


def times(conditions: list[Condition]) -> dict[str, str]:
    return {item["type"]: item["lastTransitionTime"][-3:-1] for item in conditions}


def test_running_keeps_its_first_time_and_successful_moves_on() -> None:
    assert times(play(running, done)) == {"Running": "00", "Successful": "01", "Failure": "01"}
    again = play(running, done, running, done)
    assert times(again) == {"Running": "00", "Successful": "03", "Failure": "01"}


def test_a_lowered_condition_keeps_its_time_although_its_status_changed() -> None:
    assert times(play(running, done, running))["Successful"] == "01"
    assert times(play(running, failed))["Running"] == "00"


def test_messages_and_results() -> None:
    by_type = {item["type"]: item for item in play(running, done)}
    assert by_type["Running"]["message"] == "Awaiting next reconciliation"
    assert by_type["Running"]["ansibleResult"] == {
        "ok": 3,
        "changed": 1,
        "skipped": 0,
        "failures": 0,
        "completion": "2026-01-01T10:00:03.418862+00:00",
    }
    assert by_type["Successful"]["message"] == "Last reconciliation succeeded"
    assert by_type["Failure"] == {
        "type": "Failure",
        "status": "False",
        "lastTransitionTime": "2026-01-01T10:00:01Z",
        "reason": "",
        "message": "",
    }
    broken = {item["type"]: item for item in play(running, failed)}
    assert broken["Failure"]["message"] == "new failure message"
    assert broken["Failure"]["ansibleResult"]["ok"] == 3
    assert broken["Running"]["message"] == "Running reconciliation"
    assert "ansibleResult" not in play(running, done, running)[-1]
    assert "ansibleResult" not in play(running, done, errored)[-1]


def test_foreign_conditions_keep_place_and_fields() -> None:
    mine = {"type": "Mine", "status": "Unknown", "observedGeneration": 4}
    transitions = Transitions()
    after = transitions.succeeded(transitions.running([mine]), RESULT)
    assert after[0] == mine


def test_what_is_no_condition_is_dropped_and_gaps_are_filled() -> None:
    status = {"conditions": ["text", {"reason": "x"}, {"type": "Mine", "status": "False"}]}
    assert current(status) == [
        {"type": "Running", "status": "True", "reason": "x"},
        {"type": "Mine", "status": "False"},
    ]
    for nothing in (None, {}, {"conditions": None}, {"conditions": {}}, "text"):
        assert current(nothing) == []


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        ("2026-01-01T10:00:03.418862+00:00", "2026-01-01T10:00:03.418862+00:00"),
        ("2026-01-01T10:00:03.410000+00:00", "2026-01-01T10:00:03.41+00:00"),
        ("2026-01-01T10:00:03.123456789+00:00", "2026-01-01T10:00:03.12345678+00:00"),
        ("2026-01-01T10:00:03+00:00", "2026-01-01T10:00:03+00:00"),
        ("2026-01-01T10:00:03.000000Z", "2026-01-01T10:00:03+00:00"),
    ],
)
def test_completion_time(created: str, expected: str) -> None:
    assert completion_time(created) == expected
