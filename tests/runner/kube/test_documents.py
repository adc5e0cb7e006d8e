# SPDX-License-Identifier: Apache-2.0
"""Documents as they enter: no deeper than promised, with metadata that can be relied on."""

import json
from typing import Any

import pytest
from hypothesis import given, settings

from ansible_operator.kube.documents import (
    IncompleteObject,
    UnreadableAnswerError,
    cut,
    decode,
    read_object,
)
from ansible_operator.kube.interface import GroupVersionKind, ResourceType
from ansible_operator.kube.names import InvalidNameError, api_path, is_name
from ansible_operator.nesting import OBJECT_LEVELS
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


def obj(**rest: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "namespace": "d", "resourceVersion": "1"}, **rest}


@pytest.mark.parametrize(
    "levels", [OBJECT_LEVELS - 2, OBJECT_LEVELS - 1, OBJECT_LEVELS, 500, 980, 2000, 9000]
)
@pytest.mark.parametrize("is_list", [False, True])
def test_what_is_too_deep_is_left_out_and_named(levels: int, is_list: bool) -> None:
    document = obj(spec={"probe": Deep(levels, is_list)}, status={"phase": "Ready"})
    read = read_object(decode(hostile.encode(document)))
    assert depth(read) <= OBJECT_LEVELS
    assert isinstance(read, IncompleteObject) == (levels + 2 > OBJECT_LEVELS)
    assert read["metadata"] == document["metadata"]
    assert read["status"] == {"phase": "Ready"}
    if isinstance(read, IncompleteObject):
        step = "[0]" if is_list else ".a"
        assert read.where == f"spec.probe{step * 4}..."
        assert "levels deep at spec.probe" in read.problem


def test_managed_fields_are_bounded_and_make_no_object_incomplete() -> None:
    document = obj(spec={"a": 1})
    document["metadata"]["managedFields"] = [{"fieldsV1": Deep(2000)}]
    read = read_object(decode(hostile.encode(document)))
    assert not isinstance(read, IncompleteObject)
    assert depth(read) == OBJECT_LEVELS
    document["spec"] = {"probe": Deep(2000)}
    read = read_object(decode(hostile.encode(document)))
    assert isinstance(read, IncompleteObject)
    assert read.where.startswith("spec.probe")


def test_brackets_in_texts_do_not_hide_the_depth() -> None:
    raw = hostile.encode(obj(spec={'}"]\\': [Deep(2000), '"}]}'], "x}": '{[\\"'}))
    read = read_object(decode(raw))
    assert isinstance(read, IncompleteObject)
    assert read["spec"]["x}"] == '{[\\"'
    assert read["spec"]['}"]\\'][1] == '"}]}'


def test_items_of_a_list_are_looked_at_one_by_one() -> None:
    raw = hostile.encode({"items": [obj(), obj(spec=Deep(3000)), obj(spec={"a": 1})]})
    first, second, third = map(read_object, decode(raw)["items"])
    assert not isinstance(first, IncompleteObject)
    assert isinstance(second, IncompleteObject)
    assert third["spec"] == {"a": 1}


@settings(deadline=None)
@given(hostile.values)
def test_every_document_is_bounded(value: Any) -> None:
    document = decode(hostile.encode({"a": value}))
    where = cut(document, OBJECT_LEVELS)
    assert depth(document) <= OBJECT_LEVELS
    again = json.loads(json.dumps(document))
    assert cut(again, OBJECT_LEVELS) == ""
    assert len(where) < 300


@settings(deadline=None)
@given(hostile.odd_objects())
def test_an_object_has_a_name_and_metadata_of_the_right_types_or_is_refused(value: Any) -> None:
    try:
        read = read_object(json.loads(json.dumps(decode(hostile.encode({"x": value}))["x"])))
    except UnreadableAnswerError:
        return
    metadata = read["metadata"]
    assert is_name(metadata["name"])
    assert isinstance(metadata.get("labels") or {}, dict)
    assert all(isinstance(each, str) for each in metadata.get("finalizers") or [])


@pytest.mark.parametrize("payload", hostile.PAYLOADS)
def test_a_body_is_an_object_or_refused(payload: bytes) -> None:
    try:
        assert isinstance(decode(payload), dict)
    except UnreadableAnswerError as error:
        assert len(str(error)) < 300  # noqa: PT017  # the message goes into logs


NAMELESS = ["", ".", "..", "a/b", "../../../../livez", "a%2fb", "a\x00", "a\nb", "\ud800", "\u202e"]


@pytest.mark.parametrize("text", NAMELESS)
def test_what_names_nothing_gets_no_path(text: str) -> None:
    assert not is_name(text)
    with pytest.raises(InvalidNameError):
        api_path("api", "v1", text)
    kind = ResourceType(GroupVersionKind("", "v1", "Secret"), "secrets", True)
    if text:
        with pytest.raises(InvalidNameError):
            kind.path(text, "d")
        with pytest.raises(InvalidNameError):
            kind.path("a", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a.b-c", "a.b-c"), ("system:x", "system:x"), ("a b?c#d", "a%20b%3Fc%23d"), ("é", "%C3%A9")],
)
def test_names_are_quoted(text: str, expected: str) -> None:
    assert api_path("api", "v1", text) == f"/api/v1/{expected}"


@given(hostile.names)
def test_a_path_has_as_many_segments_as_it_was_given(text: str) -> None:
    if is_name(text):
        path = api_path("apis", "g", "v1", "things", text)
        assert path.count("/") == 5
        assert path.isascii()
