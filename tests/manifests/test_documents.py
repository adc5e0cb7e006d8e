# SPDX-License-Identifier: Apache-2.0
"""Manifests are read as kubectl reads them, whatever YAML's other readers make of them."""

import json
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.plugin_utils.manifests.documents import (
    ManifestError,
    read_documents,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support.places import ROOT


def read(text: str) -> list[tuple[str, Any]]:
    return [(document.place, document.content) for document in read_documents(text, "x.yaml")]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        # What kubectl sends to the server: `kubectl create --dry-run=client -o json`.
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z"),
        ("2026-01-31 10:00:00 +1", "2026-01-31 10:00:00 +1"),
        ("12:30", "12:30"),
        ("190:20:30.15", "190:20:30.15"),
        ("1.0.0", "1.0.0"),
        ("1.10", 1.1),
        ("1e3", 1000.0),
        ("010", 8),
        ("0o10", 8),
        ("089", 89.0),
        ("0x1F", 31),
        ("1_000", 1000),
        ("-5", -5),
        ("yes", True),
        ("off", False),
        ("y", True),
        ("~", None),
        ("", None),
        ("'{{ 1 + 1 }}'", "{{ 1 + 1 }}"),
        ('"yes"', "yes"),
        ("=", "="),
        ("<<", "<<"),
    ],
)
def test_a_value_is_the_one_that_kubectl_sends(written: str, value: Any) -> None:
    assert read(f"kind: X\nvalue: {written}\n")[0][1].get("value") == value


def test_keys_are_texts_and_merges_are_done() -> None:
    text = "base: &base {a: 1}\n2: one\ntrue: two\nmerged: {<<: *base, b: 2}\n"
    content = read(text)[0][1]
    assert content == {
        "base": {"a": 1},
        "2": "one",
        "true": "two",
        "merged": {"a": 1, "b": 2},
    }


def test_documents_and_lists_are_taken_apart() -> None:
    text = """
---
---
kind: Secret
---
kind: List
items:
- {kind: A}
- {kind: BList, items: [{kind: B}]}
---
"""
    assert read(text) == [
        ("x.yaml (document 2)", {"kind": "Secret"}),
        ("x.yaml (document 3, item 1)", {"kind": "A"}),
        ("x.yaml (document 3, item 2, item 1)", {"kind": "B"}),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.yaml: holds no object"),
        ("---\n---\n", "x.yaml: holds no object"),
        ("a: [", "x.yaml: is not valid YAML: "),
        ("- a", "x.yaml: is not an object with apiVersion, kind and metadata"),
        ("text", "x.yaml: is not an object with apiVersion, kind and metadata"),
        ("kind: List\nitems: [1]", "x.yaml (item 1): is not an object"),
        ("a: !!python/object/apply:os.system [id]", "x.yaml: is not valid YAML: "),
        ("a: !!set {b, c}", "x.yaml: is not valid YAML: set is not JSON"),
        ("? [a]\n: b", "x.yaml: is not valid YAML: "),
        ("a: &a [*a]", "x.yaml: is nested too deeply"),
        ("a: " + "[" * 5000 + "]" * 5000, "x.yaml: is nested too deeply"),
    ],
)
def test_what_is_no_object_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as caught:
        read(text)
    assert str(caught.value).startswith(message)


_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\uffff\ufffe")
)
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(_TEXT, inner),
    max_leaves=20,
)


@given(st.dictionaries(_TEXT, _JSON, min_size=1))
def test_json_is_read_as_it_is(content: dict[str, Any]) -> None:
    content = {**content, "kind": "X"}
    assert read(json.dumps(content, ensure_ascii=False)) == [("x.yaml", content)]


@given(st.text())
def test_no_text_raises_another_error(text: str) -> None:
    try:
        documents = read(text)
    except ManifestError:
        return
    assert json.dumps(documents)


def test_every_example_reads_as_by_pyyaml() -> None:
    for path in (ROOT / "examples").glob("*.yaml"):
        text = path.read_text()
        contents = [content for content in yaml.safe_load_all(text) if content]
        assert [content for _place, content in read(text)] == contents, path
