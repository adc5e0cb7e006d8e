# SPDX-License-Identifier: Apache-2.0
"""Answers with objects that are nested too deep: these are bounded, and all others are whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import (
    RenderingError,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.plain import plain
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.documents import (
    DEEPEST,
    decode,
)
from hypothesis import given, settings

from tests.support import hostile
from tests.support.hostile import Deep


def depth(document: Any) -> int:
    levels, level = 0, [document]
    while level := [value for value in level if isinstance(value, dict | list)]:
        levels += 1
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    return levels


@pytest.mark.parametrize("levels", [DEEPEST - 3, DEEPEST - 2, 150, 500, 980, 2000, 9000])
@pytest.mark.parametrize("is_list", [False, True])
def test_a_deep_object_leaves_the_others_of_its_list_whole(levels: int, is_list: bool) -> None:
    whole = {"metadata": {"name": "b"}, "spec": {"]}": '"{['}}
    deep = {"spec": Deep(levels, is_list), "metadata": {"name": "a"}}
    document = decode(hostile.encode({"items": [deep, whole], "kind": "List"}))
    assert depth(document) <= DEEPEST
    assert document["items"][1] == whole
    assert document["items"][0]["metadata"] == {"name": "a"}
    assert (depth(document) == DEEPEST) == (levels + 3 >= DEEPEST)
    assert plain(document) == document


@settings(deadline=None)
@given(hostile.values)
def test_every_answer_is_bounded(value: Any) -> None:
    assert depth(decode(hostile.encode({"a": value}))) <= DEEPEST


@pytest.mark.parametrize("data", [b"{", b"[" * 100_000, b"[" * 2000, b"\xff", b'{"a":' * 5000])
def test_what_is_not_json_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(data)


def test_what_is_not_deep_is_as_it_was() -> None:
    document = {"a": [1, 2.5, None, True, {"b": []}], "c": {}}
    assert decode(json.dumps(document).encode()) == document


def test_a_manifest_that_is_too_deep_is_an_error_that_says_so() -> None:
    value: Any = "x"
    for _ in range(2000):
        value = {"a": value}
    with pytest.raises(RenderingError, match="nested too deep"):
        plain({"spec": value})
