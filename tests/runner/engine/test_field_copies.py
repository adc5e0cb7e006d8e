# SPDX-License-Identifier: Apache-2.0
"""Copies of tasks and their like, against those that stock Ansible makes."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.base import FieldAttributeBase
from ansible.playbook.block import Block
from ansible.playbook.handler import Handler
from ansible.playbook.play import Play
from ansible.playbook.task import Task
from ansible.playbook.task_include import TaskInclude

from ansible_operator.engine.patches import field_copies

TASK = "{name: A, debug: {msg: '{{ a }}'}, when: [b, c], async: 3, vars: {d: [1]}, tags: e}"
PARSED = {
    Task: TASK,
    Handler: TASK.replace("name: A", "name: A, listen: [f]"),
    TaskInclude: "{name: A, include_tasks: other.yml, loop: [1, 2], no_log: true}",
    Block: f"{{block: [{TASK}], rescue: [{TASK}], environment: {{G: h}}}}",
    Play: f"{{hosts: localhost, tasks: [{TASK}], vars: {{i: j}}}}",
}


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Any]]:
    """How Ansible copies fields, with the patch in place."""
    before = FieldAttributeBase.copy
    monkeypatch.setattr(FieldAttributeBase, "copy", before)
    field_copies.install()
    yield before
    assert FieldAttributeBase.copy is not before


@pytest.fixture(params=PARSED, ids=lambda kind: kind.__name__)
def parsed(request: pytest.FixtureRequest) -> Any:
    """An object of a playbook."""
    loader = DataLoader()
    return request.param.load(loader.load(PARSED[request.param]), loader=loader)


def test_a_copy_is_that_of_ansible(stock: Callable[[Any], Any], parsed: Any) -> None:
    before = dict(vars(parsed))
    found, expected = FieldAttributeBase.copy(parsed), stock(parsed)

    assert type(found) is type(expected)
    assert vars(found) == vars(expected)
    assert vars(parsed) == before


@pytest.mark.usefixtures("stock")
def test_a_copy_shares_no_field_that_can_be_changed(parsed: Any) -> None:
    copied = FieldAttributeBase.copy(parsed)

    fields = [f"_{name}" for name in parsed.fattributes]
    changeable = [name for name in fields if isinstance(vars(copied).get(name), dict | list)]
    assert changeable
    assert not [name for name in changeable if vars(copied)[name] is vars(parsed)[name]]
