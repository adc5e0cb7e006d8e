# SPDX-License-Identifier: Apache-2.0
"""What an object says reaches plays as it is, and nothing of it is evaluated.

Each string and key of the payloads is a template that leaves a trace, or looks like one of Ansible's
own marks. ``dev/ansible_versions.sh`` plays these under every supported release of ansible-core.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible import context
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.utils.context_objects import CLIArgs
from ansible.utils.vars import load_extra_vars
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.engine import ExtraVars
from ansible_operator.engine.extra_vars import as_json, file_for_ansible
from ansible_operator.engine.patches import versions
from ansible_operator.errors import EngineError
from ansible_operator.loop.queueing.queue import Trigger
from ansible_operator.loop.reconciling import variables as reconciling
from ansible_operator.nesting import VALUE_LEVELS
from ansible_operator.watches import KindName, PlayPath, Watch
from tests.runner.engine.conftest import Stage

async_ = pytest.mark.asyncio(loop_scope="session")
KIND = KindName("demo.example.com", "v1", "Demo")
WHOLE = "_demo_example_com_demo"


def nested(levels: int, leaf: Any = "x") -> Any:
    value = leaf
    for number in range(levels):
        value = [value] if number % 2 else {"a": value}
    return value


def trace(path: Path, number: int = 0) -> str:
    """A template that leaves a file when it is evaluated."""
    return f"{{{{ lookup('ansible.builtin.pipe', 'touch {path}/trace-{number}; id -un') }}}}"


def traces(path: Path) -> list[str]:
    return [file.name for file in path.glob("trace-*")]


MARKS: dict[str, Any] = {
    "type": {"__ansible_type": "TrustedAsTemplate"},
    "unknown type": {"__ansible_type": "x"},
    "type that is no text": {"__ansible_type": {"a": 1}},
    "tagged text": {
        "__ansible_type": "_AnsibleTaggedStr",
        "value": "TRACE",
        "tags": [{"__ansible_type": "TrustedAsTemplate"}],
    },
    "unsafe": {"__ansible_unsafe": "TRACE"},
    "unsafe list": {"__ansible_unsafe": ["TRACE"]},
    "unsafe mapping": {"__ansible_unsafe": {"a": "TRACE"}},
    "unsafe number": {"__ansible_unsafe": 5},
    "vault": {"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n3132"},
    "vault list": {"__ansible_vault": ["TRACE"]},
    "two marks": {"__ansible_unsafe": "a", "__ansible_vault": "b"},
    "mark of tomorrow": {"__ansible_trusted": "TRACE"},
}
"""Mappings by which Ansible serializes values of its own types; ``TRACE`` becomes a template."""
PAYLOADS: dict[str, Any] = {
    "marks": {**MARKS, **MARKS["type"], **MARKS["unsafe list"], **MARKS["vault"]},
    "texts": {
        "yaml": {"!unsafe": "!unsafe TRACE", "<<": {"*a": "&a"}, "? x": "---\n- TRACE\n", "=": 1},
        "yaml tag": {"tag": "!!python/object/apply:os.system ['id']"},
        "words": {"a": "true", "b": "5", "c": "null", "d": "2026-01-01", "e": "1e3", "f": "~"},
        "unicode": {"\u00e9\u2028": "\ufeff\u0085\x7f\ufffe\U0001f600", "null": "\0\x1b[31m"},
        "like a key": {"a": '", "b": {"__ansible_unsafe": "TRACE"}, "c": "'},
    },
    "sizes": {
        "numbers": {"large": 10**4000, "float": 1e300, "small": 5e-324, "negative": -0.0},
        "deep": nested(100),
        "long key": {"k" * 2000: "v" * 100_000},
    },
}
"""What an author may write anywhere."""
PLAY = """
- name: Value
  ansible.builtin.debug: {msg: "{{ victim }}"}
- name: Text
  ansible.builtin.debug: {msg: "of {{ victim }}"}
- name: Whole
  ansible.builtin.debug: {var: WHOLE}
- name: Parameter
  ansible.builtin.debug: {var: payload}
- name: Keys
  ansible.builtin.debug: {msg: "{{ payload | dict2items }}"}
- name: Each key
  ansible.builtin.debug: {msg: "{{ item.key }} {{ item.value }}"}
  loop: "{{ payload | dict2items }}"
- name: Again
  ansible.builtin.set_fact: {copied: "{{ WHOLE }}", text: "a {{ victim }}"}
- name: Copied
  ansible.builtin.debug: {msg: "{{ copied }} {{ text }}"}
- name: As arguments
  ansible.builtin.set_fact: "{{ payload }}"
  ignore_errors: true
- name: Through a module
  acme.tools.echo: {text: "{{ victim }}"}
- name: Names
  ansible.builtin.debug: {msg: "{{ ansible_operator_meta.name }} {{ ansible_operator_meta.namespace }}"}
""".replace("WHOLE", WHOLE)


def demo(payload: Any, victim: str) -> dict[str, Any]:
    """An object with a payload wherever its author may write something."""
    return {
        "apiVersion": "demo.example.com/v1",
        "kind": "Demo",
        "metadata": {
            "name": "sample",
            "namespace": "space",
            "labels": {"a": victim, **payload},
            "annotations": {"payload": victim},
        },
        "spec": {"victim": victim, "payload": payload, "items": [{"deep": [payload, victim]}]},
        "status": {"conditions": [{"message": victim, "payload": payload}]},
    }


def without_reserved(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: without_reserved(item)
            for key, item in value.items()
            if not key.startswith("__ansible_")
        }
    return [without_reserved(item) for item in value] if isinstance(value, list) else value


@async_
@pytest.mark.parametrize("name", PAYLOADS)
async def test_a_run_gets_an_object_as_it_is_and_evaluates_nothing(stage: Stage, name: str) -> None:
    victim = trace(stage.folder, 1)
    payload = json.loads(json.dumps(PAYLOADS[name]).replace("TRACE", trace(stage.folder, 2)))
    obj = demo(payload, victim)
    watch = Watch(kind=KIND, play=PlayPath(playbook="/p"), snake_case_parameters=False)
    variables = reconciling.extra_vars(watch, obj, Trigger("x", fresh=True), finalizing=False)
    played = await stage.play(
        stage.tasks(PLAY), data=variables.data, extra_vars=variables.templates, timeout=60
    )

    assert traces(stage.folder) == []
    assert played.result.rc == 0, played.result.stdout
    results = played.results()
    assert results["Value"]["msg"] == victim
    assert results["Text"]["msg"] == f"of {victim}"
    assert results["Whole"][WHOLE] == without_reserved(obj)
    assert results["Parameter"]["payload"] == without_reserved(payload)
    assert results["Through a module"]["text"] == victim.upper()
    assert results["Names"]["msg"] == "sample space"


@async_
async def test_keys_that_are_templates(stage: Stage) -> None:
    """They reach plays of the warm engine; ansible-runner is given none that it may evaluate."""
    key = trace(stage.folder)
    told = {"ansible_operator_meta": {"name": key, "namespace": key}, WHOLE: [key], "victim": ""}
    for data in (
        {**told, "payload": {key: {key: key}}},
        {**told, "payload": {}, key: 1},
    ):
        if stage.kind == "warm":
            played = await stage.play(stage.tasks(PLAY), data=data)
            assert played.result.rc == 0, played.result.stdout
            assert played.results()["Parameter"]["payload"] == data["payload"]
        else:
            with pytest.raises(
                EngineError, match=r"the variable .* has the key .* the warm engine"
            ):
                await stage.play(stage.tasks(PLAY), data=data)
    assert traces(stage.folder) == []


@async_
async def test_templates_of_the_watch_are_evaluated(stage: Stage) -> None:
    """With ``markUnsafe: false`` those of the object are, too."""
    played = await stage.play(
        stage.tasks('- name: All\n  ansible.builtin.debug: {msg: "{{ [a, b, c.d[0]] }}"}'),
        extra_vars={"a": "{{ 6 * 7 }}", "b": "{{ data }}", "c": {"d": ["{{ a }}{{ 1 }}"]}},
        data={"data": "{{ 6 * 7 }}"},
    )
    assert [str(part) for part in played.results()["All"]["msg"]] == ["42", "{{ 6 * 7 }}", "421"]


@async_
@pytest.mark.parametrize("name", [*MARKS, "too deep", "far too deep", "half a pair", "set"])
@pytest.mark.parametrize("where", ["data", "extra_vars"])
async def test_an_engine_refuses_what_it_cannot_hand_over(
    stage: Stage, name: str, where: str
) -> None:
    """Whatever calls it has left the keys out that Ansible reserves."""
    others = {
        "too deep": nested(VALUE_LEVELS + 2),
        "far too deep": nested(50_000),
        "half a pair": "\ud800",
        "set": {1, 2},
    }
    value = others[name] if name in others else MARKS[name]
    with pytest.raises(EngineError) as refused:
        await stage.play(stage.tasks(PLAY), **{where: {"field": {"a": value}}})

    message = str(refused.value)
    if name in MARKS:
        assert message.startswith("the variable field.a.__ansible_")
    assert len(message) < 400


@async_
async def test_the_deepest_object_plays(stage: Stage) -> None:
    """Unless a task takes it apart: from 2.19 on Ansible itself has a lower limit for that."""
    played = await stage.play(
        stage.tasks('- name: Kind\n  ansible.builtin.debug: {msg: "{{ demo.kind }}"}'),
        data={"demo": {"kind": "Demo", "deep": nested(VALUE_LEVELS - 2)}},
        timeout=60,
    )
    assert played.results()["Kind"]["msg"] == "Demo"


TEXTS = (
    *("{{ 6 * 7 }}", "{% if 1 %}a{% endif %}", "{# gone #}", "{{", "}}", "%}", "#jinja2:", "- a"),
    *("\\{{ 1 }}", "!unsafe x", "True", "5", "[1, 2]", "{'a': 1}", "\0", "a\nb", "{{ '{{ 1 }}' }}"),
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(TEXTS)
scalars = st.one_of(
    *(texts, st.none(), st.booleans(), st.integers()),
    *(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**300), 10**300)),
)


def values(keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=12,
    )


def is_reserved(key: str) -> bool:
    return key.startswith("__ansible_")


def has_template(key: str) -> bool:
    return any(mark in key for mark in ("{{", "{%", "{#"))


def in_a_fork(variables: ExtraVars, _folder: Path) -> dict[str, Any]:
    """The variables as a play of the warm engine has them."""
    read = [json.loads(as_json(part).encode()) for part in (variables.data, variables.templates)]
    return versions.extra_vars(*read)


def from_the_file(variables: ExtraVars, folder: Path) -> dict[str, Any]:
    """The variables as stock Ansible has them, which reads a file."""
    file = folder / "extravars"
    file.write_text(file_for_ansible(variables))
    return read_by_ansible(file)


def read_by_ansible(file: Path) -> dict[str, Any]:
    reader: Any = load_extra_vars
    vars(reader).clear()
    before = context.CLIARGS
    context.CLIARGS = CLIArgs({"extra_vars": [f"@{file}"]})
    try:
        return reader(DataLoader())
    finally:
        context.CLIARGS = before
        vars(reader).clear()


def templated(text: str, variables: dict[str, Any]) -> Any:
    return Templar(loader=DataLoader(), variables=variables).template(versions.trusted(text))


def check_as_it_is(
    value: Any, read: Callable[[ExtraVars, Path], dict[str, Any]], folder: Path
) -> None:
    variables = ExtraVars({"victim": {"v": value}}, {"number": "{{ 6 * 7 }}"})
    variables.check()
    known = read(variables, folder)
    for expression in ("{{ victim }}", "{{ victim | combine({}) }}", "{{ {'v': victim.v} }}"):
        found = templated(expression, known)
        assert repr(plain(found)) == repr({"v": value})
    assert str(templated("{{ number }}", known)) == "42"


def plain(value: Any) -> Any:
    """A value without the types by which Ansible marks it."""
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    for kind in (bool, str, int, float):
        if isinstance(value, kind):
            return kind(value)
    return value


@given(values(texts.filter(lambda key: not is_reserved(key))))
def test_any_value_stays_as_it_is_in_a_fork(value: Any) -> None:
    check_as_it_is(value, in_a_fork, Path())


@given(value=values(texts.filter(lambda key: not is_reserved(key) and not has_template(key))))
def test_any_value_stays_as_it_is_in_a_file(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    check_as_it_is(value, from_the_file, tmp_path_factory.getbasetemp())


HOLES = ('{"__ansible_type": "x"}', "[" * 5000 + "]" * 5000, "1" * 5000, "NaN,", "[}")


@pytest.mark.parametrize("hole", HOLES)
def test_a_file_that_ansible_cannot_read_as_json_is_not_read_at_all(
    tmp_path: Path, hole: str
) -> None:
    """As YAML all of it would be templates."""
    text = file_for_ansible(ExtraVars({"victim": "{{ 1 }}"}))
    file = tmp_path / "extravars"
    file.write_text(text.replace("{", f'{{"hole": {hole}, ', 1))
    try:
        known = read_by_ansible(file)
    except Exception:  # noqa: BLE001 (which one depends on the release)
        return
    assert templated("{{ victim }}", known) == "{{ 1 }}"
