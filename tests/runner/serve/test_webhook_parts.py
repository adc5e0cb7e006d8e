# SPDX-License-Identifier: Apache-2.0
"""Reviews, patches and certificates of the webhook, without a server."""

import base64
import datetime
import json
from pathlib import Path

import pytest
from cryptography import x509

from ansible_operator.engine.admission.contract import answer
from ansible_operator.kube.interface import GroupVersionKind, ResourceType
from ansible_operator.serve.webhook.authority import make_credentials, renewed
from ansible_operator.serve.webhook.registration import (
    MUTATING,
    VALIDATING,
    Hook,
    Terms,
    configuration,
    covers,
    injections,
)
from ansible_operator.serve.webhook.review import (
    MalformedReviewError,
    Mistake,
    Question,
    Verdict,
    json_patch,
    make_answer,
    parse_review,
)
from ansible_operator.watches import Admission, Selector

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
NAMES = ["operator.ns.svc", "127.0.0.1"]
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


def test_reviews_of_deletions_have_the_object_that_goes():
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


def leaf(credentials):
    return x509.load_pem_x509_certificate(credentials.serving.certificate)


def authorities(credentials):
    return x509.load_pem_x509_certificates(credentials.bundle)


def test_fresh_certificates_are_kept():
    made = make_credentials(NAMES, NOW)
    assert renewed(made, NAMES, NOW + datetime.timedelta(days=59)) is made
    leaf(made).verify_directly_issued_by(authorities(made)[0])
    names = leaf(made).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["operator.ns.svc"]
    assert [str(found) for found in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_a_serving_certificate_is_renewed_in_time():
    made = make_credentials(NAMES, NOW)
    later = renewed(made, NAMES, NOW + datetime.timedelta(days=61))
    assert later.bundle == made.bundle
    assert later.serving != made.serving
    leaf(later).verify_directly_issued_by(authorities(made)[0])


def test_another_name_needs_another_certificate():
    made = make_credentials(["one"], NOW)
    later = renewed(made, ["two"], NOW)
    assert later.bundle == made.bundle
    assert leaf(later).subject.rfc4514_string() == "CN=two"


def test_a_new_authority_leaves_the_old_one_trusted():
    made = make_credentials(NAMES, NOW)
    later = renewed(made, NAMES, NOW + datetime.timedelta(days=2500))
    assert [item.serial_number for item in authorities(later)][1:] == [
        authorities(made)[0].serial_number
    ]
    leaf(later).verify_directly_issued_by(authorities(later)[0])


RESOURCE = ResourceType(KIND, "ks", namespaced=True)
TERMS = Terms(address={"url": "https://h:1"}, failure_policy="Ignore", timeout=7)


def one(phase, admission, terms=TERMS, bundle=b"ca", **hook):
    asked = [(Hook(gvk=KIND, admission=admission, **hook), RESOURCE)]
    (webhook,) = configuration(phase, "n", asked, terms, bundle)["webhooks"]
    return webhook


def test_what_is_registered():
    both = Admission(default=("f",), validate=("f",), operations=("UPDATE", "DELETE"))
    validating = one(VALIDATING, both)
    assert validating["name"] == "v1.ks.g.example.com"
    assert validating["clientConfig"] == {
        "url": "https://h:1/validate-g-example-com-v1-k",
        "caBundle": "Y2E=",
    }
    assert validating["rules"][0]["operations"] == ["UPDATE", "DELETE"]
    assert (validating["timeoutSeconds"], validating["failurePolicy"]) == (7, "Ignore")
    mutating = one(MUTATING, both)
    assert mutating["clientConfig"]["url"] == "https://h:1/mutate-g-example-com-v1-k"
    assert mutating["rules"][0]["operations"] == ["UPDATE"], "nothing to complete in what goes"


def test_what_a_watch_says_is_registered():
    admission = Admission(validate=("f",), subresources=("scale",), failure_policy="Fail")
    address = {"service": {"namespace": "ns", "name": "s", "port": 443}}
    terms = Terms(address=address, namespaces=("b", "a"))
    selector = Selector(match_labels=(("x", "y"),))
    webhook = one(VALIDATING, admission, terms, None, selector=selector)
    path = "/validate-g-example-com-v1-k"
    assert webhook["clientConfig"] == {"service": {**address["service"], "path": path}}
    assert webhook["rules"][0]["resources"] == ["ks", "ks/scale"]
    assert webhook["failurePolicy"] == "Fail"
    assert webhook["objectSelector"] == {"matchLabels": {"x": "y"}, "matchExpressions": []}
    (requirement,) = webhook["namespaceSelector"]["matchExpressions"]
    assert requirement["values"] == ["a", "b"]
    hook = Hook(gvk=KIND, admission=admission)
    assert configuration(MUTATING, "n", [(hook, RESOURCE)], terms, None)["webhooks"] == []


@pytest.mark.parametrize(
    ("found", "wanted", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({}, {"a": []}, True),
        ({}, {"a": [1]}, False),
        ([{"a": 1, "b": 1}], [{"a": 1}], True),
        ([{"a": 1}, {"a": 2}], [{"a": 1}], False),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": {}}}, True),
    ],
)
def test_what_needs_no_write(found, wanted, expected):
    assert covers(found, wanted) is expected


def test_certificates_for_configurations_of_others():
    right = {"name": "a", "clientConfig": {"caBundle": "Y2E="}}
    wrong = {"name": "b", "clientConfig": {}}
    assert injections({"webhooks": [right, wrong]}, b"ca") == [
        {"op": "test", "path": "/webhooks/1/name", "value": "b"},
        {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": "Y2E="},
    ]
    assert injections({}, b"ca") == []


DOCUMENT = Path(__file__).parents[3] / "docs/reference/admission.md"


@pytest.mark.parametrize(
    ("phase", "size", "old", "expected"),
    [
        ("default", None, None, {"object": 3}),
        ("validate", 3, None, {}),
        ("validate", 2, None, {"errors": ["must be odd"]}),
        ("validate", 3, 5, {"errors": ["cannot be lowered"]}),
        ("validate", 1, None, {"warnings": ["spec.size: a single one is not redundant"]}),
    ],
)
def test_the_documented_function(phase, size, old, expected):
    """What the page shows is what works."""
    text = DOCUMENT.read_text().partition("```python\n")[2].partition("```")[0]
    names = {}
    exec(text, names)  # noqa: S102 (the page is ours)
    spec = {} if size is None else {"size": size}
    obj = {"apiVersion": "v1", "kind": "Memcached", "spec": spec}
    request = {
        "operation": "UPDATE" if old else "CREATE",
        "old": {"spec": {"size": old}} if old else None,
    }
    call = {"phase": phase, "functions": ["memcached"], "object": obj, "request": request}
    said = answer(names["FilterModule"]().filters(), call)
    assert ((said["object"] or {}).get("spec") or {}).get("size") == expected.get("object")
    assert [error["message"] for error in said["errors"]] == expected.get("errors", [])
    assert said["warnings"] == expected.get("warnings", [])
