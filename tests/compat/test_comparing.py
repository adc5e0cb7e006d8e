# SPDX-License-Identifier: Apache-2.0
"""What counts as a difference between the objects of two runs."""

import json
from typing import Any

import pytest

from compat.comparing import NOT_THERE, comparable, differences

ROLLED = "spec.template.metadata.annotations"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def obj(kind: str = "ConfigMap", metadata: dict[str, Any] | None = None, **more: Any) -> Any:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", **(metadata or {})}, **more}


def applied(kind: str = "ConfigMap", **data: Any) -> Any:
    """An object that kubernetes.core has applied; it keeps what it has applied."""
    text = json.dumps({"kind": kind, **data})
    return obj(kind, metadata={"annotations": {APPLIED: text}})


def rolled(**checksums: str) -> Any:
    """A Deployment whose Pods are rolled by checksums."""
    annotations = {f"checksum-{name}": value for name, value in checksums.items()}
    return obj("Deployment", spec={"template": {"metadata": {"annotations": annotations}}})


EQUAL = [
    pytest.param(rolled(**{"secret-a": "1"}), rolled(**{"secret-a": "2"}), id="checksum of secret"),
    pytest.param(obj(metadata={"uid": "1"}), obj(metadata={"uid": "2"}), id="uid"),
    pytest.param(obj(status={"a": 1}), obj(), id="status"),
    pytest.param(
        obj("Secret", data={"password": "YQ=="}),
        obj("Secret", data={"password": "Yg=="}),
        id="generated secrets",
    ),
    pytest.param(
        applied("Secret", stringData={"password": "a"}),
        applied("Secret", stringData={"password": "b"}),
        id="generated secrets as applied",
    ),
    pytest.param(
        obj("Service", spec={"type": "ClusterIP", "clusterIP": "10.0.0.1"}),
        obj("Service", spec={"type": "ClusterIP", "clusterIP": "10.0.0.2"}),
        id="assigned addresses",
    ),
    pytest.param(
        obj(metadata={"ownerReferences": [{"kind": "EDA", "name": "x", "uid": "1"}]}),
        obj(metadata={"ownerReferences": [{"kind": "EDA", "name": "x", "uid": "2"}]}),
        id="uid of the owner",
    ),
    pytest.param(
        obj(metadata={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}),
        obj(),
        id="annotations of the cluster",
    ),
]
DIFFERENT = [
    pytest.param(obj(data={"a": "1"}), obj(data={"a": "2"}), ("data.a", "1", "2"), id="value"),
    pytest.param(obj(data={"a": "1"}), obj(data={}), ("data.a", "1", NOT_THERE), id="removed"),
    pytest.param(
        obj("Secret", data={"a": "1"}),
        obj("Secret", data={"a": "1", "b": "2"}),
        ("data.b", NOT_THERE, "generated"),
        id="key of a secret",
    ),
    pytest.param(
        rolled(**{"configmap-a": "1"}),
        rolled(**{"configmap-a": "2"}),
        (f"{ROLLED}.checksum-configmap-a", "1", "2"),
        id="checksum of configuration",
    ),
    pytest.param(
        rolled(**{"secret-a": "1"}),
        rolled(),
        (f"{ROLLED}.checksum-secret-a", "1", NOT_THERE),
        id="no checksum of a secret",
    ),
    pytest.param(
        applied("Secret", stringData={"a": "1"}),
        applied("Secret", stringData={}),
        (f"metadata.annotations.{APPLIED}.stringData.a", "generated", NOT_THERE),
        id="key of a secret as applied",
    ),
    pytest.param(
        applied(data={"a": "1"}),
        applied(data={"a": "2"}),
        (f"metadata.annotations.{APPLIED}.data.a", "1", "2"),
        id="in what was applied",
    ),
    pytest.param(
        obj("Deployment", spec={"containers": [{"image": "a:1"}]}),
        obj("Deployment", spec={"containers": [{"image": "a:2"}]}),
        ("spec.containers[0].image", "a:1", "a:2"),
        id="in a list",
    ),
    pytest.param(
        obj(metadata={"ownerReferences": [{"kind": "EDA", "name": "x"}]}),
        obj(),
        (
            "metadata.ownerReferences",
            comparable(obj(metadata={"ownerReferences": [{"kind": "EDA", "name": "x"}]}))[
                "metadata"
            ]["ownerReferences"],
            NOT_THERE,
        ),
        id="owner",
    ),
]


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_what_differs_in_every_run_is_no_difference(left: Any, right: Any) -> None:
    assert differences({"x": left}, {"x": right}) == []


@pytest.mark.parametrize(("left", "right", "expected"), DIFFERENT)
def test_what_the_operator_decided_is_compared(left: Any, right: Any, expected: Any) -> None:
    assert differences({"x": left}, {"x": right}) == [("x", *expected)]


def test_objects_of_one_side_only() -> None:
    assert differences({"a": obj()}, {"b": obj()}) == [
        ("a", "", "there", NOT_THERE),
        ("b", "", NOT_THERE, "there"),
    ]
