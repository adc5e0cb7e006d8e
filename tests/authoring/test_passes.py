# SPDX-License-Identifier: Apache-2.0
"""What a run has changed, as its author sees it."""

import os
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.authoring.changes import changed, fingerprint
from ansible_operator.authoring.developing import shown
from ansible_operator.authoring.passes import TaskResult, results, told


def event(kind: str, counter: int = 1, task: str = "Do it", **res: Any) -> dict[str, Any]:
    return {"event": kind, "counter": counter, "event_data": {"task": task, "res": res}}


def deployment(**more: Any) -> dict[str, Any]:
    return {"kind": "Deployment", "metadata": {"name": "x", "namespace": "n", **more}}


def of(**res: Any) -> tuple[str, ...]:
    (one,) = results([event("runner_on_ok", changed=True, **res)])
    assert one.outcome == "changed"
    return one.lines


def diff(before: Any, after: Any) -> dict[str, Any]:
    return {"diff": {"before": before, "after": after}}


@pytest.mark.parametrize(
    ("res", "lines"),
    [
        ({"method": "create", "result": deployment()}, ("created Deployment n/x",)),
        ({"method": "delete", "result": {}}, ("deleted",)),
        (
            {"method": "patch", "result": deployment(), **diff({"spec": {"a": 1}}, {"spec": {"a": 2}})},
            (" spec:", "-  a: 1", "+  a: 2"),
        ),
        (diff({"metadata": {"generation": 1}}, {"metadata": {"generation": 2}}), ()),
        (diff({"status": 1}, {"status": 2}), ()),
        (diff({}, {"spec": {"a": 1}}), ("+spec:", "+  a: 1")),
        (diff("a\nb\n", "a\nc\n"), (" a", "-b", "+c")),
        ({"diff": {"prepared": "-x\n+y\n"}}, ("-x", "+y")),
        ({"diff": [{"before": "a", "after": "b"}, {}]}, ("-a", "+b")),
        ({"diff": None}, ()),
        ({"result": "text"}, ()),
        ({}, ()),
        (
            {"result": {"results": [{"method": "create", "result": deployment()}, {"method": "delete"}]}},
            ("created Deployment n/x", "deleted"),
        ),
    ],
)  # fmt: skip
def test_the_difference_that_a_task_makes(res: dict[str, Any], lines: tuple[str, ...]) -> None:
    assert of(**res) == lines


@pytest.mark.parametrize("method", ["create", "patch", "delete"])
@pytest.mark.parametrize("is_one_of_several", [False, True])
def test_the_content_of_a_secret_is_not_shown(method: str, is_one_of_several: bool) -> None:
    res: dict[str, Any] = {
        "method": method,
        "result": {"kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "hidden"}},
        **diff({"data": {"a": "hidden"}}, {"data": {"a": "hidden2"}}),
    }
    lines = of(result={"results": [res]}) if is_one_of_several else of(**res)
    assert lines == ("Secret x: its content is not shown",)


def test_tasks_in_their_order() -> None:
    events = [
        event("runner_on_failed", 5, "Fails", msg="first\nsecond"),
        event("runner_on_skipped", 4, "Skipped"),
        event("runner_on_ok", 3, "Loop", changed=True, results=[{}]),
        event("runner_item_on_ok", 2, "Loop", changed=False, _ansible_item_label="a"),
        event("runner_on_ok", 1, "Unchanged", changed=False),
        event("playbook_on_stats", 6),
        {"event": "verbose"},
    ]
    found = list(results(events))
    assert found == [
        TaskResult("Unchanged", "ok"),
        TaskResult("Loop (item=a)", "ok"),
        TaskResult("Fails", "failed", ("first", "second")),
    ]
    assert list(told("n/x: created", found)) == [
        "n/x: created",
        "  failed: Fails",
        "    first",
        "    second",
        "  2 tasks ok",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", []),
        ("no JSON", ["no JSON"]),
        ('{"level":"info","msg":"Starting"}', []),
        ('{"level":"error","msg":"Bad","error":"why"}', ["error: Bad: why"]),
        ('{"level":"error","msg":"Reconciler error","error":"event runner on failed"}', []),
        (
            '{"level":"info","msg":"Ansible-runner exited successfully","name":"x","namespace":"n","reason":"period","job":"1"}',
            ["n/x: period", "  0 tasks ok"],
        ),
        (
            '{"level":"error","msg":"Run ended with failures","name":"x","namespace":"","reason":"retry","job":"../1","error":"no role"}',
            ["x: retry", "  0 tasks ok", "error: Run ended with failures: no role"],
        ),
        ('"text"', ['"text"']),
        ("[1]", ["[1]"]),
    ],
)
def test_lines_of_the_log(line: str, expected: list[str], tmp_path: Path) -> None:
    assert list(shown(line, tmp_path)) == expected


def test_changes_of_files(tmp_path: Path) -> None:
    for name in ("watches.yaml", "roles/x/tasks/main.yml", "tests/t.py", ".git/x", "config/crd/x.yaml",
                 "config/rbac/x.yaml", "roles/.main.yml.swp", "roles/x~", "a.log"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    (tmp_path / "roles/dangling").symlink_to("nowhere")
    before = fingerprint(tmp_path)
    assert sorted(before) == ["config/crd/x.yaml", "roles/x/tasks/main.yml", "watches.yaml"]
    assert changed(before, fingerprint(tmp_path)) == []
    os.utime(tmp_path / "watches.yaml", ns=(1, 1))
    (tmp_path / "roles/x/tasks/main.yml").unlink()
    (tmp_path / "roles/new.yml").write_text("")
    (tmp_path / "tests/t.py").write_text("other")
    assert changed(before, fingerprint(tmp_path)) == [
        "roles/new.yml",
        "roles/x/tasks/main.yml",
        "watches.yaml",
    ]
