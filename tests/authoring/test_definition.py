# SPDX-License-Identifier: Apache-2.0
"""The API server takes every CRD that follows from argument specs, and means by it what Ansible does."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_operator.authoring.definition import definition
from ansible_operator.authoring.names import kind_names
from ansible_operator.authoring.options import parse
from testbed.api import ApiError
from testbed.bed import TestBed
from tests.authoring.specs import NAMES, option_specs
from tests.support.api import Api
from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

pytestmark = pytest.mark.api
THING = kind_names("specs.example.com", "v1", "Thing")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OPTIONS = {
    "text": {"default": ""},
    "level": {"choices": ["low", "high"], "default": "low"},
    "count": {"type": "int", "choices": [1, 2]},
    "ratio": {"type": "float", "default": 1},
    "is_on": {"type": "bool", "default": False},
    "memory": {"type": "bytes", "default": "64M"},
    "rate": {"type": "bits", "default": 5},
    "anything": {"type": "raw", "default": [1, "a"]},
    "document": {"type": "json"},
    "folder": {"type": "path", "default": "/data"},
    "token": {"no_log": True},
    "labels": {"type": "dict", "default": {"a": 1}},
    "names": {"type": "list", "elements": "str", "choices": ["a", "b"], "default": ["a"]},
    "mixed": {"type": "list", "default": [1, "a", {}]},
    "servers": {
        "type": "list",
        "elements": "dict",
        "options": {"host_name": {"required": True}, "port": {"type": "int", "default": 80}},
        "default": [{"host_name": "x"}],
    },
    "nested": {"type": "dict", "default": {}, "options": {"deep": {"type": "dict", "options": {"x": {}}}}},
}  # fmt: skip


def crd(options: dict[str, Any]) -> dict[str, Any]:
    return definition(THING, parse(options))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, option_specs(), max_size=4))
def test_every_crd_is_accepted(fake_testbed: TestBed, options: dict[str, Any]) -> None:
    api = Api(fake_testbed.kubeconfig)
    body = json.loads(json.dumps(crd(options)))
    made = api.request("POST", f"{CRDS}?dryRun=All&fieldValidation=Strict", body)
    assert made["spec"]["versions"][0]["schema"] == body["spec"]["versions"][0]["schema"]


def test_values_that_are_accepted_and_refused(fake_testbed: TestBed) -> None:
    """Of all types."""
    api = Api(fake_testbed.kubeconfig)
    api.request("POST", f"{CRDS}?fieldValidation=Strict", crd(OPTIONS))
    try:
        with fake_testbed.namespace("specs") as name:
            space = Namespace(fake_testbed, name)
            made = eventually(lambda: _created(space, {}))
            assert made == {
                "text": "", "level": "low", "ratio": 1, "isOn": False, "memory": "64M", "rate": 5,
                "anything": [1, "a"], "folder": "/data", "labels": {"a": 1}, "names": ["a"],
                "mixed": [1, "a", {}], "servers": [{"hostName": "x", "port": 80}], "nested": {},
            }  # fmt: skip
            for good in GOOD:
                assert good.items() <= (_created(space, good) or {}).items(), good
            for bad in BAD:
                assert _created(space, bad) is None, bad
    finally:
        api.request("DELETE", f"{CRDS}/{THING.definition}")


GOOD: list[dict[str, Any]] = [
    {"memory": 5}, {"memory": "1.5G"}, {"anything": {"a": None}}, {"anything": True},
    {"count": 2}, {"document": "[]"}, {"names": ["b", "a"]}, {"nested": {"deep": {"x": "y"}}},
    {"labels": {"app.kubernetes.io/name": {"x": [1]}}},
]  # fmt: skip
BAD: list[dict[str, Any]] = [
    {"memory": -1}, {"memory": "x"}, {"memory": "5\n"}, {"count": 3}, {"count": "1"}, {"text": 1},
    {"isOn": "yes"}, {"names": ["c"]}, {"servers": [{"port": 1}]}, {"labels": []}, {"level": "mid"},
]  # fmt: skip


def _created(space: Namespace, spec: dict[str, Any]) -> dict[str, Any] | None:
    """Return the spec as the server keeps it; None if it refuses it, or does not serve the kind yet."""
    path = f"/apis/{THING.api_version}/namespaces/{space.name}/{THING.plural}?dryRun=All"
    body = {
        "apiVersion": THING.api_version,
        "kind": THING.kind,
        "metadata": {"name": "thing"},
        "spec": spec,
    }
    try:
        found: dict[str, Any] = space.api.client.request("POST", path, body)["spec"]
    except ApiError as error:
        if error.status not in (400, 404, 422):
            raise
        return None
    return found
