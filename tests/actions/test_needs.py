# SPDX-License-Identifier: Apache-2.0
"""The check before a pass knows every task of it that acts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.precheck.needs import NEEDS

ROLES = Path(__file__).resolve().parents[2] / "roles"
Task = dict[str, Any]

BEGIN = "Report that work on a new spec begins"
REPORT = "Write the status"
APPLY_SET = "Decide what should exist, record that and apply it"
APPLY = {names.CLUSTER: "Apply the children and delete those that are no longer desired"}
TOLD_BY_PLAN_AND_REPORT = {BEGIN, REPORT, APPLY_SET, *APPLY.values()}

CHANGES_NOTHING = {
    *("ansible.builtin.assert", "ansible.builtin.fail", "ansible.builtin.set_fact"),
    *("ansible.builtin.meta", "ansible.builtin.debug"),
    "matrixorigin.matrixone.await_ready",
    "matrixorigin.matrixone.check",
    "matrixorigin.matrixone.health",
    "matrixorigin.matrixone.observe",
    "matrixorigin.matrixone.requeue_after",
}
KEYWORDS = {
    *("name", "when", "vars", "register", "block", "rescue", "loop", "loop_control"),
    *("failed_when", "no_log"),
}
INCLUDES = {"ansible.builtin.include_tasks", "ansible.builtin.import_tasks"}
ROLE_INCLUDES = {"ansible.builtin.include_role", "ansible.builtin.import_role"}


def tasks_of(role: str, file: str, kind: str) -> Iterator[Task]:
    """Yield the tasks that a role plays for a kind in the operator, includes followed."""
    yield from flat(yaml.safe_load((ROLES / role / "tasks" / file).read_text()), role, kind)


def flat(tasks: list[Task], role: str, kind: str) -> Iterator[Task]:
    for task in tasks:
        conditions = task.get("when", [])
        given = {str(one) for one in (conditions if isinstance(conditions, list) else [conditions])}
        if any(one.endswith("_state == 'absent'") for one in given):
            continue
        if any(one.startswith("not ") and one.endswith("_manage_status") for one in given):
            continue
        if "block" in task:
            yield from flat(task["block"], role, kind)
            continue
        (action,) = task.keys() - KEYWORDS
        arguments = task[action]
        if action in INCLUDES:
            yield from tasks_of(role, arguments, kind)
        elif action in ROLE_INCLUDES:
            name = arguments["name"].rpartition(".")[2]
            yield from tasks_of(name, arguments.get("tasks_from", "main.yml"), kind)
        else:
            yield task


def steps_of(kind: str) -> list[str]:
    """Return the names of the tasks that change something."""
    tasks = tasks_of(kind.lower(), "main.yml", kind)
    return [task["name"] for task in tasks if not task.keys() & CHANGES_NOTHING]


@pytest.mark.parametrize("kind", NEEDS)
def test_every_task_that_acts_is_known_to_the_check(kind: str) -> None:
    """Whoever adds a task to a role says when it is needed, unless plan and report tell that."""
    acting = set(steps_of(kind))
    assert acting - TOLD_BY_PLAN_AND_REPORT == NEEDS[kind].keys()
    assert acting & TOLD_BY_PLAN_AND_REPORT == {BEGIN, REPORT, APPLY.get(kind, APPLY_SET)}


def test_every_role_with_a_check_has_needs() -> None:
    """A role that ends early must have a kind whose needs are known."""
    ending = {"matrixonecluster"}
    for file in ROLES.glob("*/tasks/main.yml"):
        if "tasks_from: check.yml" in file.read_text():
            ending.add(file.parts[-3])
    assert ending == {kind.lower() for kind in NEEDS}


@pytest.mark.parametrize("kind", NEEDS)
def test_each_need_has_a_check_of_its_own(kind: str) -> None:
    """No two tasks of a kind are needed for the same reason."""
    assert len(set(NEEDS[kind].values())) == len(NEEDS[kind])
