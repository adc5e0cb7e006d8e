# SPDX-License-Identifier: Apache-2.0
"""Results of tasks that JSON cannot hold, or no reader of it: each is told, and ends nothing else."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_operator.engine import RunStatus
from ansible_operator.engine.event_json import DEEPEST, encoded
from ansible_operator.engine.runner_package import event_of_file
from ansible_operator.engine.warm.engine import readable_event
from ansible_operator.errors import EngineError
from ansible_operator.loop.reconciling.play_result import PlayResult
from tests.runner.engine.conftest import Played, Stage

played_in_a_loop = pytest.mark.asyncio(loop_scope="session")

ACTION = """
import sys
from ansible.plugins.action import ActionBase

def nested(depth, kind):
    value = "bottom"
    for _ in range(depth):
        value = [value] if kind is list else {"k": value}
    return value

def cycle():
    value = []
    value.append(value)
    return value

class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        return {"changed": False, "failed": %(failed)s, "msg": "odd", "odd": %(value)s}
"""
MODULE = """#!/usr/bin/python
print('{"changed": false, "odd": %s}')
"""
VALUES = {
    "NaN": "float('nan')",
    "infinity": "[float('inf'), -float('inf')]",
    "surrogate": "'a\\udcffb'",
    "bytes": "b'\\xff'",
    "a huge number": "10 ** 5000",
    "a number beyond a double": "10 ** 400",
    "300 lists": "nested(300, list)",
    "5000 lists": "nested(5000, list)",
    "300 mappings": "nested(300, dict)",
    "5000 mappings": "nested(5000, dict)",
    "a cycle": "cycle()",
    "keys that are no texts": "{1: 'a', None: 'b', True: 'c', 1.5: 'd'}",
    "a key that is NaN": "{float('nan'): 1}",
    "a key that is a tuple": "{(1, 2): 3}",
    "a set": "{1}",
    "a surrogate in a key": "{'a\\udcff': 1}",
}


def outcome(played: Played) -> PlayResult:
    """What the operator makes of a run, as it does."""
    result = PlayResult()
    for event in played.events:
        result.take(event)
    result.finish(played.result)
    return result


def check(played: Played, *, failed: bool) -> None:
    """The run came to an end that says what happened, and its files can be read."""
    found = outcome(played)
    if played.result.status is RunStatus.SUCCESSFUL:
        assert not failed
        assert not found.failures
    else:
        assert found.failures
        assert all(found.failures)
    for path in (played.artifacts / "job_events").glob("*.json"):
        json.loads(path.read_bytes())


@pytest.mark.parametrize("failed", [False, True], ids=["ok", "failed"])
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@played_in_a_loop
async def test_a_result_of_a_plugin_ends_at_most_its_own_run(
    warm: Stage, value: str, failed: bool
) -> None:
    warm.write(ACTION % {"value": value, "failed": failed}, "action_plugins/odd.py")
    path = warm.tasks("- odd:\n- ansible.builtin.debug: {msg: after}\n")
    check(await warm.play(path, timeout=60), failed=failed)
    good = await warm.play(warm.tasks("- ansible.builtin.debug: {msg: good}\n"))
    assert good.result.status is RunStatus.SUCCESSFUL


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "1e999", "1" * 5000, "[" * 300 + "]" * 300, '"\\\\udcff"']
)
@played_in_a_loop
async def test_what_a_module_prints_ends_at_most_its_own_run(warm: Stage, text: str) -> None:
    warm.write(MODULE % text, "library/odd.py")
    path = warm.tasks("- odd:\n  register: it\n- ansible.builtin.debug: {var: it}\n")
    check(await warm.play(path, timeout=60), failed=False)


@played_in_a_loop
async def test_a_number_that_is_none_is_a_text_in_the_result(warm: Stage) -> None:
    value = "[float('nan'), float('inf'), -float('inf'), 1.5]"
    warm.write(ACTION % {"value": value, "failed": False}, "action_plugins/odd.py")
    played = await warm.play(warm.tasks("- name: it\n  odd:\n"))
    assert played.results()["it"]["odd"] == ["NaN", "Infinity", "-Infinity", 1.5]


@pytest.mark.parametrize(
    "body", [b"", b"NaN", b"[1]", b"{}", b'{"counter": "a"}', b"{", b"\xff", b"[" * 5000]
)
def test_what_is_no_event_is_an_error_of_its_run(body: bytes) -> None:
    with pytest.raises(EngineError, match="run 7 sent"):
        readable_event("7", body)


@pytest.mark.parametrize("raw", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000])
def test_a_file_that_holds_no_event_is_an_error_of_its_run(raw: bytes) -> None:
    with pytest.raises(EngineError, match=r"1-a\.json"):
        event_of_file("1-a.json", raw)


def test_an_event_of_ansible_runner_is_as_strict_as_those_of_forks() -> None:
    """What stands in a message becomes a condition, which the API server has to take."""
    raw = json.dumps({"event": "e", "odd": [float("nan"), "a\udcffb"]}).encode()
    assert event_of_file("1-a.json", raw) == {"event": "e", "odd": ["NaN", "a?b"]}


ODD = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.text(alphabet=st.characters(categories=["Cs", "Lu"])),
        st.binary(),
        st.builds(pow, st.just(10), st.just(5000)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.text(), st.integers(), st.floats(), st.none()), inner),
        st.tuples(inner),
    ),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ODD)
def test_every_value_becomes_json_that_everybody_reads(value: Any) -> None:
    raw = encoded({"odd": value}, repr)
    assert json.loads(raw).keys() == msgspec.json.decode(raw).keys() == {"odd"}


@settings(deadline=None)
@given(
    st.recursive(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-(2**63), 2**63),
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(),
        ),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    )
)
def test_what_json_can_hold_is_not_changed(value: Any) -> None:
    raw = encoded({"usual": value}, repr)
    assert msgspec.json.decode(raw)["usual"] == value


@pytest.mark.parametrize("depth", [DEEPEST - 1, DEEPEST + 1, 100_000])
def test_what_is_nested_too_deep_is_cut_there(depth: int) -> None:
    value: Any = "bottom"
    for _ in range(depth):
        value = [value]
    text = encoded({"deep": value}, repr).decode()
    assert ("bottom" in text) == (depth < DEEPEST)
    assert text.count("[") <= DEEPEST
