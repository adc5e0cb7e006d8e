# SPDX-License-Identifier: Apache-2.0
"""What is read of a pass: tasks from job events, the end from conditions; and its table."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compat.passes import Pass, Played, conditions, events, has_ended, played, status
from compat.report import compared, table


def event(kind: str, task: str = "a", **data: Any) -> dict[str, Any]:
    return {"event": f"runner_on_{kind}", "event_data": {"task": task, **data}}


RUNS = [
    pytest.param([], Played({}), id="nothing"),
    pytest.param(
        [event("start"), event("ok"), event("skipped")], Played({"ok": 1, "skipped": 1}), id="tasks"
    ),
    pytest.param(
        [event("failed", "b", ignore_errors=True, res={"msg": "no"}), event("ok")],
        Played({"ignored": 1, "ok": 1}),
        id="ignored",
    ),
    pytest.param(
        [event("ok"), event("failed", "Exec", res={"msg": "no container"})],
        Played({"ok": 1, "failed": 1}, "Exec", "no container"),
        id="failed",
    ),
    pytest.param(
        [event("unreachable", "Ping", res={"msg": "away"})],
        Played({"failed": 1}, "Ping", "away"),
        id="unreachable",
    ),
]


@pytest.mark.parametrize(("recorded", "expected"), RUNS)
def test_tasks_of_a_play(recorded: list[dict[str, Any]], expected: Played) -> None:
    assert played(recorded) == expected


def test_a_playbook_that_cannot_be_played_has_a_reason() -> None:
    output = "PLAY\nERROR! the role 'a' was not found\n\nThe error appears"
    assert played([], output) == Played({}, "the start", "ERROR! the role 'a' was not found")
    assert played([event("ok")], output) == Played({"ok": 1})


def test_events_come_in_their_order(tmp_path: Path) -> None:
    folder = tmp_path / "job_events"
    folder.mkdir()
    for number in (10, 2, 1):
        (folder / f"{number}-x.json").write_text(json.dumps({"counter": number}))
    (folder / "3-partial.json.tmp").write_text("{")

    assert [one["counter"] for one in events(tmp_path)] == [1, 2, 10]


def with_conditions(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"status": {"conditions": list(entries)}}


RUNNING = {"type": "Running", "status": "True", "message": "Running reconciliation"}
AWAITING = {**RUNNING, "ansibleResult": {"ok": 1}, "message": "Awaiting next reconciliation"}
FAILURE = {"type": "Failure", "status": "True", "message": "no"}
OTHERS = {"type": "Ready", "status": "True"}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({}, False),
        (with_conditions(RUNNING), False),
        (with_conditions(OTHERS), False),
        (with_conditions(AWAITING), True),
        (with_conditions({**RUNNING, "reason": "Running"}), False),
        (with_conditions({"type": "Running", "status": "True", "reason": "Successful"}), True),
        (with_conditions(RUNNING, FAILURE), True),
    ],
)
def test_a_play_has_ended_when_the_conditions_say_so(obj: dict[str, Any], expected: bool) -> None:
    assert has_ended(obj) is expected


def test_conditions_of_others_are_left_out() -> None:
    assert conditions(with_conditions(FAILURE, OTHERS)) == {"Failure": "True: no"}


def test_the_status_is_compared_without_times_and_order() -> None:
    first = {**AWAITING, "lastTransitionTime": "1", "ansibleResult": {"ok": 1, "completion": "1"}}
    second = {**AWAITING, "lastTransitionTime": "2", "ansibleResult": {"ok": 1, "completion": "2"}}
    obj, other = with_conditions(first, OTHERS), with_conditions(OTHERS, second)

    assert status(obj) == status(other)
    assert status(obj)["conditions"]["Running"]["ansibleResult"] == {"ok": 1}
    assert status({"status": {"url": "a"}}) == {"url": "a", "conditions": {}}


def one_pass(runner: str, **objects: Any) -> Pass:
    found = {f"ConfigMap/{name}": value for name, value in objects.items()}
    played_ = Played({"ok": 3, "failed": 1}, "Exec", "a | b")
    return Pass(runner, 1.25, 0.5, False, played_, {}, found)


def test_the_table_has_a_column_per_runner() -> None:
    lines = table([one_pass("ours", a={}, b={}), one_pass("go")]).splitlines()
    assert lines[0] == "|  | ours | go |"
    assert "| tasks | 1 failed, 3 ok | 1 failed, 3 ok |" in lines
    assert "| objects | 2 ConfigMap |  |" in lines
    assert "| ended at | Exec: a \\| b | Exec: a \\| b |" in lines


def test_fields_that_differ_are_named_with_both_values() -> None:
    def config(value: str) -> dict[str, Any]:
        return {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": value}}

    ours, theirs = one_pass("ours", a=config("1")), one_pass("go", a=config("2"))
    assert compared(ours, theirs) == "ConfigMap/a data.x: 1 (ours), 2 (go)"
    assert compared(ours, ours) == "no field differs"


def test_a_status_that_differs_is_named_if_both_plays_have_ended() -> None:
    ours = replace(one_pass("ours"), status={"url": "a"}, conditions={"Running": "True: no"})
    theirs = replace(one_pass("go"), status={})

    assert compared(ours, theirs) == "status url: a (ours), (not there) (go)"
    assert compared(ours, replace(theirs, ended=False)) == "no field differs"
    assert "| conditions | Running True |  |" in table([ours, theirs]).splitlines()


def test_a_play_that_took_too_long_counts_as_far_as_it_came() -> None:
    """Objects that it had yet to create are no difference; fields of the others are."""

    def config(name: str, value: str) -> dict[str, Any]:
        return {"kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": value}}

    ours = one_pass("ours", a=config("a", "1"), b=config("b", "1"))
    theirs = replace(one_pass("go", a=config("a", "2")), ended=False)

    assert "| ended at | Exec: a \\| b | not within 1 s |" in table([ours, theirs]).splitlines()
    assert compared(ours, theirs) == "ConfigMap/a data.x: 1 (ours), 2 (go)"
    assert "ConfigMap/b : there (ours)" in compared(ours, replace(theirs, ended=True))
