# SPDX-License-Identifier: Apache-2.0
"""Reviews, patches and certificates of the webhook, without a server."""

import base64
import datetime
import json

import pytest
from cryptography import x509

from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.serve.webhook.authority import make_credentials, renewed
from ansible_operator.serve.webhook.review import (
    MalformedReviewError,
    Question,
    Verdict,
    json_patch,
    make_answer,
    parse_review,
)

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
NAMES = ["operator.ns.svc", "127.0.0.1"]
QUESTION = Question("u", GroupVersionKind("g", "v1", "K"), "CREATE", {"spec": {}}, None)


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
    verdict = Verdict(object={"spec": {"size": 3}}, errors=("a is bad", "b is worse"))
    response = make_answer(QUESTION, verdict, may_change=True)["response"]
    assert response["allowed"] is False
    assert response["status"]["message"] == "a is bad; b is worse"
    assert "patch" not in response


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"request": {}}', b'{"request": {"kind": 1}}']
)
def test_other_bodies_are_malformed(body):
    with pytest.raises(MalformedReviewError):
        parse_review(body)


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
