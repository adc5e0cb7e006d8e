# SPDX-License-Identifier: Apache-2.0
"""What is registered for a watch, and what already is."""

import pytest

from ansible_operator.kube.interface import GroupVersionKind, ResourceType
from ansible_operator.serve.webhook.registration import (
    MUTATING,
    VALIDATING,
    Hook,
    Terms,
    configuration,
    covers,
    injections,
)
from ansible_operator.watches import Admission, Selector

KIND = GroupVersionKind("g.example.com", "v1", "K")


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


def test_settings_of_a_watch_are_registered():
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
