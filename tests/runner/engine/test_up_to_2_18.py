# SPDX-License-Identifier: Apache-2.0
"""What is made faster under ansible-core 2.18 only, against what stock Ansible answers."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.engine.patches.versions import HAS_PROFILES

if HAS_PROFILES:
    pytest.skip("later releases have neither", allow_module_level=True)

from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.yaml.objects import AnsibleMapping, AnsibleSequence, AnsibleUnicode
from ansible.playbook.conditional import Conditional
from ansible.template import AnsibleEnvironment, Templar
from ansible.template.native_helpers import ansible_eval_concat
from ansible.utils.unsafe_proxy import AnsibleUnsafeText
from jinja2 import Environment, pass_context

from ansible_operator.engine.patches import folded_templates
from ansible_operator.engine.patches.copies import isolated
from ansible_operator.engine.patches.plain_data import templating
from ansible_operator.engine.patches.read_back import concatenation

texts = st.text() | st.sampled_from(
    ["True", "{'a': 1}", "[1", "a\ud800", "\0", "null", "{{ a }}", "< b >"]
)
scalars = (
    st.one_of(texts, texts.map(AnsibleUnicode), texts.map(AnsibleUnsafeText))
    | st.one_of(st.none(), st.booleans(), st.integers(), st.floats())
    | st.sampled_from([1 << 70, datetime.date(2026, 1, 1), b"bytes", (1, [2]), {3}])
)
keys = st.one_of(texts, texts.map(AnsibleUnicode), texts.map(AnsibleUnsafeText), st.integers())
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(AnsibleSequence)
        | st.dictionaries(keys, inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=4).map(AnsibleMapping)
    ),
    max_leaves=12,
)
ours = concatenation(ansible_eval_concat)


def typed(value: Any) -> Any:
    """A value that equals another one of the same types only."""
    if isinstance(value, dict):
        return type(value), [(typed(key), typed(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [typed(item) for item in value]
    return type(value), repr(value)


@given(st.lists(values, max_size=3))
def test_values_are_those_that_ansible_reads(parts: list[Any]) -> None:
    assert typed(ours(part for part in parts)) == typed(ansible_eval_concat(part for part in parts))
    assert typed(ours(parts)) == typed(ansible_eval_concat(parts))


our_template = templating(Templar.template)


def answer(template: Any, value: Any, marks: dict[str, str], **options: Any) -> Any:
    """What a value is templated to, or the error."""
    templar = Templar(loader=DataLoader(), variables={"a": AnsibleUnsafeText("{{ b }}"), "b": [1]})
    with templar.set_temporary_context(**marks):
        try:
            return typed(template(templar, value, **options))
        except AnsibleError as error:
            return type(error), str(error)


@given(values, st.sampled_from([{}, {"variable_start_string": "<", "variable_end_string": ">"}]))
def test_values_are_templated_as_ansible_does_it(value: Any, marks: dict[str, str]) -> None:
    assert answer(our_template, value, marks) == answer(Templar.template, value, marks)


@pytest.mark.parametrize(
    "value",
    [
        {"a": "{{ a }}", "b": [AnsibleUnsafeText("{{ a }}"), "{{ b }}", {"c": "{# no #}d"}]},
        {"a": "<< a >>", "b": ["{{ b }}"]},
        [
            {"a": 1},
            (1, "{{ b }}"),
            AnsibleMapping({"b": AnsibleUnicode("x{% if a %}y{% endif %}")}),
        ],
        {"a": "{{ missing }}"},
    ],
)
@pytest.mark.parametrize(
    ("marks", "options"),
    [
        ({}, {}),
        ({"variable_start_string": "<<", "variable_end_string": ">>"}, {}),
        ({}, {"overrides": {"variable_start_string": "<<", "variable_end_string": ">>"}}),
        ({}, {"fail_on_undefined": False}),
    ],
)
def test_templates_in_values_are_found(
    value: Any, marks: dict[str, str], options: dict[str, Any]
) -> None:
    expected = answer(Templar.template, value, marks, **options)
    assert answer(our_template, value, marks, **options) == expected


def test_a_templated_value_shares_nothing_that_can_change() -> None:
    value = {"a": [AnsibleUnsafeText("{{ a }}")]}
    copy = our_template(Templar(loader=DataLoader(), variables={}), value)
    copy["a"].append(2)
    assert value == {"a": ["{{ a }}"]}
    assert type(copy["a"][0]) is AnsibleUnsafeText


def nested(levels: int) -> list[Any]:
    return [nested(levels - 1)] if levels else []


@pytest.mark.parametrize("levels", [39, 41, 150, 250])
def test_deep_values_are_those_that_ansible_reads(levels: int) -> None:
    value = nested(levels)

    assert typed(ours(part for part in [value])) == typed(
        ansible_eval_concat(part for part in [value])
    )


def test_a_value_is_a_copy() -> None:
    value = {"a": [1]}
    copied = ours(part for part in [value])
    copied["a"].append(2)

    assert value == {"a": [1]}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The sources that were compiled, with the patch in place."""
    sources: list[str] = []

    def compile_source(self: Any, source: Any, *arguments: Any, **options: Any) -> Any:
        sources.append(source)
        return Environment.compile(self, source, *arguments, **options)

    monkeypatch.setattr(AnsibleEnvironment, "compile", compile_source, raising=False)
    folded_templates.install()
    yield sources
    assert AnsibleEnvironment.compile is not compile_source


def templated(source: str, /, **variables: Any) -> Any:
    return Templar(DataLoader(), variables).template(source)


@pytest.mark.usefixtures("compiled")
def test_what_a_filter_answers_is_not_kept() -> None:
    assert len({templated("{{ 1000000000 | random }}") for _ in range(3)}) > 1


def test_a_template_is_compiled_once(compiled: list[str]) -> None:
    source = "{{ a | default(b) }}{% if a is defined %}!{% endif %}"

    assert [templated(source, b=1), templated(source, a=2, b=1)] == ["1", "2!"]
    assert compiled == [source]


def test_other_delimiters_are_another_template(compiled: list[str]) -> None:
    templar = Templar(DataLoader(), {"a": 1})
    source = "{{ a }} [[ a ]]"

    assert templar.template(source) == "1 [[ a ]]"
    with templar.set_temporary_context(variable_start_string="[[", variable_end_string="]]"):
        assert templar.template(source) == "{{ a }} 1"
    assert compiled == [source] * 2


def test_a_filter_of_the_same_name_may_want_something_else(compiled: list[str]) -> None:
    def plain(value: str) -> str:
        return f"plain {value}"

    @pass_context
    def with_context(context: Any, value: str) -> str:
        return f"{context['b']} {value}"

    said = []
    for function in (plain, with_context, plain):
        templar = Templar(DataLoader(), {"a": "A", "b": "B"})
        templar.environment.filters["of_two_roles"] = function
        said.append(templar.template("{{ a | of_two_roles }}"))

    assert said == ["plain A", "B A", "plain A"]
    assert len(compiled) == 3


@pytest.mark.parametrize(
    ("source", "is_condition"),
    [
        ("x is defined and x == 'a\\\\b'", True),
        ("{{ x | default('a\\b') }} {{ x }}", False),
    ],
)
def test_what_is_compiled_ahead_is_what_a_play_uses(
    compiled: list[str], source: str, is_condition: bool
) -> None:
    folded_templates.compiler(DataLoader())(source, is_condition)
    ahead = list(compiled)
    loader, variables = DataLoader(), {"x": "a\\b"}
    if is_condition:
        condition = Conditional(loader=loader)
        condition._when = [source]
        assert condition.evaluate_conditional(Templar(loader, variables), variables)
    else:
        assert templated(source, **variables) == "a\\b a\\b"

    assert len(ahead) == 1
    assert compiled == ahead


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{% if x %}\n{{ x }}\\n\r\n{% endif %}\n", "a\\n\n"),
        ("#jinja2: trim_blocks: False\n{% if x %}\n{{ x }}{% endif %}", "\na"),
    ],
)
def test_a_file_that_is_compiled_ahead_is_what_the_lookup_uses(
    compiled: list[str], tmp_path: Path, text: str, rendered: str
) -> None:
    file = tmp_path / "file.j2"
    file.write_bytes(text.encode())
    folded_templates.file_compiler(DataLoader())(str(file))
    (ahead,) = compiled

    assert templated("{{ lookup('template', file) }}", file=str(file), x="a") == rendered
    assert compiled.count(ahead) == 1


@pytest.mark.parametrize("source", ["{{ a | no.such.filter }}", "{{ a", "{{ a | nothing }}"])
def test_what_cannot_be_compiled_is_left_to_the_play(tmp_path: Path, source: str) -> None:
    file = tmp_path / "file.j2"
    file.write_text(source)
    folded_templates.compiler(DataLoader())(source, False)
    folded_templates.file_compiler(DataLoader())(str(file))

    with pytest.raises(AnsibleError):
        templated("{{ lookup('template', file) }}", file=str(file))


def test_containers_of_files_are_copied_with_their_places() -> None:
    inner = AnsibleSequence([AnsibleUnicode("a")])
    outer = AnsibleMapping({"key": inner})
    inner.ansible_pos, outer.ansible_pos = ("file", 2, 3), ("file", 1, 1)
    copied = isolated(outer)
    copied["key"].append("b")

    assert outer == {"key": ["a"]}
    assert [type(copied), type(copied["key"])] == [AnsibleMapping, AnsibleSequence]
    assert [copied.ansible_pos, copied["key"].ansible_pos] == [("file", 1, 1), ("file", 2, 3)]
