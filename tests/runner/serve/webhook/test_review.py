# SPDX-License-Identifier: Apache-2.0
"""Reviews and patches of the webhook, without a server."""

import base64
import contextlib
import json

import pytest
from hypothesis import given, settings

from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.serve.webhook.review import (
    MalformedReviewError,
    Mistake,
    Question,
    Verdict,
    json_patch,
    make_answer,
    parse_review,
    verdict_on_depth,
)
from tests.support import hostile
from tests.support.hostile import Deep

KIND = GroupVersionKind("g.example.com", "v1", "K")


QUESTION = Question(uid="u", gvk=KIND, operation="CREATE", object={"spec": {}}, old=None, name="a")


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ({}, {}, []),
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, [("replace", "/a", True)]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [("replace", "/a/b", 2)]),
        ({"a": 1}, {}, [("remove", "/a")]),
        ({}, {"a": {"b": 1}}, [("add", "/a", {"b": 1})]),
        ({"l": [1, 2]}, {"l": [1, 3]}, [("replace", "/l", [1, 3])]),
        ({"l": [1]}, {"l": [True]}, [("replace", "/l", [True])]),
        ({}, {"x/y~z": 1}, [("add", "/x~1y~0z", 1)]),
        ({"a": None}, {"a": {}}, [("replace", "/a", {})]),
    ],
)
def test_patches(before, after, operations):
    expected = [dict(zip(("op", "path", "value"), entry, strict=False)) for entry in operations]
    assert json_patch(before, after) == expected


def test_defaults_are_a_patch():
    verdict = Verdict(object={"spec": {"size": 3}}, warnings=("small",))
    response = make_answer(QUESTION, verdict, may_change=True)["response"]
    assert (response["uid"], response["allowed"], response["warnings"]) == ("u", True, ["small"])
    assert response["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(response["patch"])) == [
        {"op": "add", "path": "/spec/size", "value": 3}
    ]


def test_validation_changes_nothing():
    verdict = Verdict(object={"spec": {"size": 3}})
    response = make_answer(QUESTION, verdict, may_change=False)["response"]
    assert response == {"uid": "u", "allowed": True}


def test_a_refusal_gives_all_reasons():
    mistakes = (Mistake("is bad", "spec.a"), Mistake("all is worse", reason="FieldValueForbidden"))
    verdict = Verdict(object={"spec": {"size": 3}}, mistakes=mistakes)
    response = make_answer(QUESTION, verdict, may_change=False)["response"]
    assert response["allowed"] is False
    assert response["status"]["message"] == "spec.a: is bad; all is worse"
    assert response["status"]["code"] == 422
    assert response["status"]["details"]["name"] == "a"
    assert response["status"]["details"]["causes"] == [
        {"reason": "FieldValueInvalid", "message": "is bad", "field": "spec.a"},
        {"reason": "FieldValueForbidden", "message": "all is worse", "field": ""},
    ]
    assert "patch" not in response


def test_mistakes_do_not_stand_in_the_way_of_defaults():
    """What is wrong is said after the schema has had its say."""
    verdict = Verdict(object={"spec": {"size": 3}}, mistakes=(Mistake("bad"),))
    response = make_answer(QUESTION, verdict, may_change=True)["response"]
    assert response["allowed"] is True
    assert "patch" in response


def test_reviews():
    request = {
        "uid": "u",
        "kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
        "operation": "UPDATE",
        "name": "a",
        "namespace": "ns",
        "subResource": "scale",
        "dryRun": True,
        "userInfo": {"username": "alice"},
        "object": {"spec": {"replicas": 2}},
        "oldObject": {"spec": {"replicas": 1}},
    }
    question = parse_review(json.dumps({"request": request}).encode(), KIND)
    assert question == Question(
        uid="u",
        gvk=KIND,
        operation="UPDATE",
        object={"spec": {"replicas": 2}},
        old={"spec": {"replicas": 1}},
        name="a",
        namespace="ns",
        subresource="scale",
        is_dry_run=True,
        user={"username": "alice"},
    )


def test_reviews_of_deletions_contain_the_deleted_object():
    request = {"uid": "u", "operation": "DELETE", "object": None, "oldObject": {"spec": {}}}
    question = parse_review(json.dumps({"request": request}).encode(), KIND)
    assert question.object == {"spec": {}}
    assert question.name == ""


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"request": {}}', b'{"request": {"uid": 1}}', b'{"request": 1}']
)
def test_other_bodies_are_malformed(body):
    with pytest.raises(MalformedReviewError):
        parse_review(body, KIND)


def deep_review(operation, obj=None, old=None):
    request = {"uid": "u", "operation": operation, "object": obj, "oldObject": old}
    return parse_review(hostile.encode({"request": request}), KIND)


FLAT = {"spec": {"a": 1}}
DEEP = {"spec": {"probe": Deep(2000)}, "status": {"phase": "x"}}


@pytest.mark.parametrize("levels", [101, 500, 980, 2000, 9000])
def test_what_is_nested_too_deep_is_refused_with_its_place(levels):
    for operation, old in (("CREATE", None), ("UPDATE", FLAT)):
        question = deep_review(operation, {"spec": {"probe": Deep(levels)}}, old)
        verdict = verdict_on_depth(question)
        response = make_answer(question, verdict, may_change=False)["response"]
        assert not response["allowed"]
        [cause] = response["status"]["details"]["causes"]
        assert cause["field"].startswith("spec.probe.a.a")
        assert cause["message"] == "nested more than 100 levels deep"


def test_what_was_nested_too_deep_may_be_changed_and_deleted():
    """Its finalizers are removed by updates."""
    question = deep_review("UPDATE", DEEP, DEEP)
    response = make_answer(question, verdict_on_depth(question), may_change=False)["response"]
    assert response["allowed"]
    assert response["warnings"]
    for operation, obj in (("DELETE", None), ("UPDATE", FLAT)):
        question = deep_review(operation, obj, DEEP)
        assert verdict_on_depth(question) is None
        assert question.old["status"] == {"phase": "x"}
        json.dumps([question.old, question.object])


@settings(deadline=None)
@given(hostile.values)
def test_any_request_is_a_question_or_malformed(value):
    bodies = [{"request": value}]
    for operation in ("CREATE", "DELETE", value):
        request = {"uid": "u", "operation": operation, "object": value, "oldObject": value}
        bodies.append({"request": {**request, "userInfo": value}})
    for body in bodies:
        with contextlib.suppress(MalformedReviewError):
            question = parse_review(hostile.encode(body), KIND)
            json.dumps([question.old, question.object, question.user])
