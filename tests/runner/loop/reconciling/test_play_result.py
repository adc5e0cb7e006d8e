# SPDX-License-Identifier: Apache-2.0
"""What counts as a failure, and when to run again."""

from typing import Any

import pytest

from ansible_operator.engine.interface import RunResult, RunStatus
from ansible_operator.loop.reconciling.play_result import PlayResult

OK = RunResult(status=RunStatus.SUCCESSFUL, rc=0)


def failure(host: str = "localhost", message: Any = "broken", **more: Any) -> dict[str, Any]:
    data = {"host": host, "task_action": "k8s", "res": {"msg": message}, **more}
    return {"event": "runner_on_failed", "event_data": data}


def ok(action: str, **result: Any) -> dict[str, Any]:
    data = {"host": "localhost", "task_action": action, "res": result}
    return {"event": "runner_on_ok", "event_data": data}


def stats(**counts: Any) -> dict[str, Any]:
    created = "2026-01-01T10:00:00.500000+00:00"
    return {
        "event": "playbook_on_stats",
        "event_data": counts,
        "created": created,
        "stdout": "RECAP",
    }


def outcome(*events: dict[str, Any], run: RunResult = OK) -> PlayResult:
    found = PlayResult()
    for event in events:
        found.take(event)
    found.finish(run)
    return found


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([stats(ok={"localhost": 1})], []),
        ([failure(), stats(failures={"localhost": 1})], ["broken"]),
        (
            [failure(message={"a": 1}), stats(failures={"localhost": 1})],
            ["unknown playbook failure"],
        ),
        (
            [
                failure(res={"reason": "Could not find or access 'a.yml'"}),
                stats(failures={"localhost": 1}),
            ],
            ["Could not find or access 'a.yml'"],
        ),
        (
            [failure(res={"msg": "m", "reason": "r"}), stats(failures={"localhost": 1})],
            ["m"],
        ),
        (
            [failure(res={"msg": None, "reason": "r"}), stats(failures={"localhost": 1})],
            ["r"],
        ),
        (
            [
                failure("localhost", "Task failed: Action failed: Unknown error."),
                stats(failures={"localhost": 1}),
            ],
            ["Task failed: Action failed: Unknown error."],
        ),
        (
            [
                failure(res={"msg": "Task failed: Action failed: Unknown error.", "message": "m"}),
                stats(failures={"localhost": 1}),
            ],
            ["m"],
        ),
        (
            [
                failure(res={"msg": "Unknown error. It is full.", "message": "m"}),
                stats(failures={"localhost": 1}),
            ],
            ["Unknown error. It is full."],
        ),
        (
            [
                failure(res={"censored": "the output has been hidden"}),
                stats(failures={"localhost": 1}),
            ],
            ["the output has been hidden"],
        ),
        ([failure(ignore_errors=True), stats(ignored={"localhost": 1})], []),
        ([failure(message="caught"), stats(rescued={"localhost": 1})], []),
        (
            [
                failure(message="caught"),
                failure(message="final"),
                stats(rescued={"localhost": 1}, failures={"localhost": 1}),
            ],
            ["final"],
        ),
        (
            [failure("a", "x"), failure("b", "y"), stats(failures={"a": 1, "b": 1})],
            ["x", "y"],
        ),
        (
            [{"event": "runner_item_on_failed", "event_data": {"res": {"msg": "item"}}}, stats()],
            [],
        ),
        ([stats()], []),
        ([stats(failures={"localhost": 1})], ["unknown playbook failure"]),
        (
            [
                {
                    "event": "runner_on_unreachable",
                    "event_data": {"host": "far", "res": {"msg": "no route"}},
                },
                stats(dark={"far": 1}),
            ],
            ["no route"],
        ),
    ],
)
def test_failures(events: list[dict[str, Any]], expected: list[str]) -> None:
    assert outcome(*events).failures == expected


def test_the_recap_of_localhost_alone_is_reported() -> None:
    found = outcome(stats(ok={"localhost": 3, "far": 9}, changed={"localhost": 1}, skipped={}))
    assert found.result.to_json() == {
        "ok": 3,
        "changed": 1,
        "skipped": 0,
        "failures": 0,
        "completion": "2026-01-01T10:00:00.5+00:00",
    }
    assert found.recap == "RECAP"


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (
            RunResult(status=RunStatus.FAILED, rc=1, error="the role 'x' was not found"),
            "the role 'x' was not found",
        ),
        (RunResult(status=RunStatus.TIMEOUT, rc=254), "the run was ended at its time limit"),
        (RunResult(status=RunStatus.CANCELED, rc=254), "the run was canceled"),
        (
            RunResult(status=RunStatus.FAILED, rc=4, stdout="a\nERROR! no\n"),
            "the play ended with code 4 before its recap: a\nERROR! no",
        ),
    ],
)
def test_a_run_without_recap_is_a_failure_with_a_message(run: RunResult, expected: str) -> None:
    assert outcome(run=run).failures == [expected]


@pytest.mark.parametrize(
    "action", ["requeue_after", "operator_sdk.util.requeue_after", "a.b.requeue_after"]
)
def test_requeue_after_of_any_collection_is_remembered(action: str) -> None:
    found = outcome(ok(action, period="1h30m"), ok("debug"), stats(ok={"localhost": 2}))
    assert found.requeue_after == 5400
    assert found.failures == []


def test_the_last_requeue_after_counts_and_skipped_ones_do_not() -> None:
    skipped = {
        "event": "runner_on_skipped",
        "event_data": {"task_action": "requeue_after", "res": {"period": "9s"}},
    }
    assert outcome(ok("requeue_after", period="5s"), skipped, stats()).requeue_after == 5
    assert outcome(stats()).requeue_after is None


def test_an_unreadable_period_is_a_failure() -> None:
    found = outcome(ok("requeue_after", period="soon"), stats(ok={"localhost": 1}))
    assert found.failures == ['requeue_after: time: invalid duration "soon"']


def test_a_message_that_fits_no_status_is_cut() -> None:
    (message,) = outcome(failure(message="x" * 100_000), stats(failures={"localhost": 1})).failures
    assert len(message) < 20_000


@pytest.mark.parametrize(
    ("events", "task"),
    [
        ([stats(ok={"localhost": 1})], ""),
        ([failure(task="r : Create it"), stats(failures={"localhost": 1})], "r : Create it"),
        ([failure(task="r : Create it"), stats(rescued={"localhost": 1})], ""),
        (
            [
                failure(task="r : Create it"),
                failure(task="r : Report it"),
                stats(rescued={"localhost": 1}, failures={"localhost": 1}),
            ],
            "r : Report it",
        ),
        ([failure(task="r : Try it", ignore_errors=True), stats(ignored={"localhost": 1})], ""),
        ([failure(), stats(failures={"localhost": 1})], ""),
    ],
)
def test_the_task_that_failed_is_known(events: list[dict[str, Any]], task: str) -> None:
    assert outcome(*events).failed_task == task
