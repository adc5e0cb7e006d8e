# SPDX-License-Identifier: Apache-2.0
"""Whether a manifest is in place already, by the fields that its manager has applied."""

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.managed import (
    is_applied,
)

PORT = 'k:{"containerPort":80,"protocol":"TCP"}'
FIELDS: dict[str, Any] = {
    "f:metadata": {
        "f:labels": {"f:app": {}},
        "f:finalizers": {".": {}, 'v:"ours"': {}},
        "f:ownerReferences": {'k:{"uid":"1"}': {}},
    },
    "f:spec": {
        "f:hostname": {},
        "f:containers": {
            'k:{"name":"main"}': {
                ".": {},
                "f:name": {},
                "f:args": {},
                "f:tty": {},
                "f:ports": {PORT: {".": {}, "f:containerPort": {}}},
                "f:env": {
                    'k:{"name":"IP"}': {
                        ".": {},
                        "f:name": {},
                        "f:valueFrom": {"f:fieldRef": {}},
                    }
                },
            }
        },
    },
}
WANTED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "a",
        "namespace": "b",
        "labels": {"app": "x"},
        "finalizers": ["ours"],
        "ownerReferences": [{"uid": "1", "name": "owner"}],
    },
    "spec": {
        "hostname": "a",
        "containers": [
            {
                "name": "main",
                "args": ["-v"],
                "tty": True,
                "ports": [{"containerPort": 80}],
                "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
            }
        ],
    },
}


def copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


@pytest.fixture
def live() -> dict[str, Any]:
    """What the server made of it, with others' labels, finalizers, containers and defaults."""
    found = copied(WANTED)
    found["metadata"]["uid"] = "2"
    found["metadata"]["labels"]["theirs"] = "y"
    found["metadata"]["finalizers"].append("theirs")
    found["metadata"]["managedFields"] = [
        {"manager": "kubelet", "operation": "Update", "subresource": "status"},
        {"manager": "ours", "operation": "Apply", "apiVersion": "v1", "fieldsV1": FIELDS},
        {"manager": "others", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {}},
    ]
    (container,) = found["spec"]["containers"]
    container["ports"][0]["protocol"] = "TCP"
    container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] = "v1"
    container["imagePullPolicy"] = "Always"
    found["spec"]["containers"].insert(0, {"name": "injected"})
    found["status"] = {"phase": "Running"}
    return found


def test_in_place(live: dict[str, Any]) -> None:
    """What others have added does not matter."""
    assert is_applied(live, WANTED, "ours")


def _entry(live: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = live["metadata"]["managedFields"][1]
    return entry


CHANGES = {
    "label": lambda live: live["metadata"]["labels"].update(app="y"),
    "label gone": lambda live: live["metadata"]["labels"].pop("app"),
    "finalizer gone": lambda live: live["metadata"]["finalizers"].remove("ours"),
    "owner": lambda live: live["metadata"]["ownerReferences"][0].update(name="other"),
    "argument": lambda live: live["spec"]["containers"][1]["args"].append("-w"),
    "one for true": lambda live: live["spec"]["containers"][1].update(tty=1),
    "default": lambda live: live["spec"]["containers"][1]["env"][0]["valueFrom"]["fieldRef"].update(
        apiVersion="v2"
    ),
    "second port": lambda live: live["spec"]["containers"][1]["ports"].append(
        {"containerPort": 80, "protocol": "TCP"}
    ),
    "container gone": lambda live: live["spec"]["containers"].pop(),
    "lost field": lambda live: _entry(live)["fieldsV1"]["f:spec"].pop("f:hostname"),
    "further field": lambda live: _entry(live)["fieldsV1"]["f:spec"].update({"f:more": {}}),
    "unknown key": lambda live: _entry(live)["fieldsV1"]["f:spec"].update({"f:hostname": {"x": 1}}),
    "broken key": lambda live: _entry(live)["fieldsV1"]["f:metadata"].update(
        {"f:finalizers": {"v:{": {}}}
    ),
    "updated, not applied": lambda live: _entry(live).update(operation="Update"),
    "other version": lambda live: _entry(live).update(apiVersion="v2"),
    "only a part": lambda live: _entry(live).update(subresource="scale"),
    "going": lambda live: live["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"),
    "unmanaged": lambda live: live["metadata"].pop("managedFields"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_not_in_place(live: dict[str, Any], change: str) -> None:
    """A change to what was applied, or to who owns it, is seen."""
    live = copied(live)
    CHANGES[change](live)
    assert not is_applied(live, WANTED, "ours")


@pytest.mark.parametrize(
    ("api_version", "wanted", "found", "in_place"),
    [
        ("v1", "0.5Gi", "512Mi", True),
        ("apps/v1", "1000m", "1", True),
        ("apps/v1", 1.5, "1500m", True),
        ("apps/v1", "1e9", "1G", True),
        ("v1", "500u", "1m", True),
        ("v1", "1001m", "1", False),
        ("v1", "1000001u", "1", False),
        ("v1", "1Gi", "1G", False),
        ("v1", "much", "1G", False),
        # Whoever reads a resource of a CRD finds what was written.
        ("core.matrixorigin.io/v1alpha1", "0.5Gi", "512Mi", False),
    ],
)
def test_quantities_count_by_value(
    api_version: str, wanted: Any, found: str, *, in_place: bool
) -> None:
    """The API server writes those of its own kinds anew."""

    def object_with(size: Any) -> dict[str, Any]:
        spec = {"resources": {"limits": {"memory": size}}}
        return {"apiVersion": api_version, "kind": "A", "metadata": {"name": "a"}, "spec": spec}

    live = object_with(found)
    fields = {"f:spec": {"f:resources": {"f:limits": {"f:memory": {}}}}}
    live["metadata"]["managedFields"] = [
        {"manager": "ours", "operation": "Apply", "apiVersion": api_version, "fieldsV1": fields}
    ]
    assert is_applied(live, object_with(wanted), "ours") is in_place


@pytest.mark.parametrize(
    ("api_version", "in_place"), [("apps/v1", True), ("core.matrixorigin.io/v1alpha1", False)]
)
def test_empty_lists_inside_of_a_value(api_version: str, *, in_place: bool) -> None:
    """The API server stores none in its own kinds; a resource of a CRD keeps them."""
    wanted = {"selector": {"matchLabels": {"app": "x"}, "matchExpressions": []}}
    live: dict[str, Any] = {
        "apiVersion": api_version,
        "kind": "A",
        "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
    }
    made = copied({**live, "spec": wanted})
    fields = {"f:spec": {"f:selector": {}}}
    live["metadata"]["managedFields"] = [
        {"manager": "ours", "operation": "Apply", "apiVersion": api_version, "fieldsV1": fields}
    ]
    assert is_applied(live, made, "ours") is in_place
    live["spec"]["selector"]["matchExpressions"] = [{"key": "zone", "operator": "Exists"}]
    assert not is_applied(live, made, "ours")
