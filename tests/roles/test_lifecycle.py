# SPDX-License-Identifier: Apache-2.0
"""Changes that go well, changes that do not, and how they are mended: on fake nodes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from .conftest import tiny_cluster
from .operating import Namespace, eventually

pytestmark = pytest.mark.api


@pytest.fixture(scope="module")
def cluster(space: Namespace, operator: object) -> Iterator[dict[str, Any]]:
    """A cluster whose image could not be pulled at first; taken away at the end."""
    resource = tiny_cluster(space.name)
    resource["spec"]["version"] = "broken"
    space.apply(resource)
    yield resource
    space.kubectl("delete", "mo", "--all", "--ignore-not-found", "--timeout=120s")


def images(space: Namespace, component: str) -> dict[str, str]:
    """Return the image's tag by Pod."""
    text = space.kubectl(
        "get", "pods", "-l", f"matrixorigin.io/component={component}", "-o", "json"
    )
    return {
        one["metadata"]["name"]: one["spec"]["containers"][0]["image"].rpartition(":")[2]
        for one in json.loads(text)["items"]
    }


def notes(space: Namespace, kind: str, reason: str) -> list[str]:
    """Return what was told about resources of a kind, in order."""
    text = space.kubectl("get", "events.events.k8s.io", "--sort-by=.eventTime", "-o", "json")
    return [
        one["note"]
        for one in json.loads(text)["items"]
        if one["regarding"]["kind"] == kind and one["reason"] == reason
    ]


def change(space: Namespace, cluster: dict[str, Any], **fields: Any) -> None:
    cluster["spec"].update(fields)
    space.apply(cluster)


def test_a_cluster_that_began_with_a_bad_image_comes_up_with_a_good_one(space, cluster):
    """All log stores are replaced together: none of them comes up alone."""
    told = eventually(lambda: _true(space.condition("mo", "mo", "Degraded")))
    assert told["reason"] == "RolloutStuck"
    assert "mo-log-0 (ImagePullBackOff of matrixorigin/matrixone:broken)" in told["message"]

    change(space, cluster, version="1.3.0")
    space.wait("condition=Ready")
    space.wait("condition=Synced")

    assert notes(space, "LogSet", "ReplacingPods") == ["replacing mo-log-2, mo-log-1, mo-log-0"]
    assert space.condition("mo", "mo", "Degraded")["status"] == "False"


def _true(condition: dict[str, Any]) -> dict[str, Any]:
    return condition if condition.get("status") == "True" else {}


def test_a_bad_image_stops_at_the_first_pod_and_a_good_one_goes_on(space, cluster):
    """The others serve on; nothing that depends on the log service is touched."""
    change(space, cluster, version="broken")

    eventually(lambda: _true(space.condition("logset", "mo", "Degraded")))
    assert images(space, "LogSet") == {
        "mo-log-0": "1.3.0",
        "mo-log-1": "1.3.0",
        "mo-log-2": "broken",
    }
    assert set(images(space, "DNSet").values()) == {"1.3.0"}
    said = space.condition("logset", "mo", "Synced")
    assert said["reason"] == "RollingOut"
    assert "mo-log-2 (ImagePullBackOff" in said["message"]

    change(space, cluster, version="1.3.1")
    space.wait("condition=Synced")
    for component in ("LogSet", "DNSet", "CNSet", "ProxySet"):
        assert set(images(space, component).values()) == {"1.3.1"}, component
    assert notes(space, "LogSet", "ReplacingPods")[-3:] == [
        "replacing mo-log-2; 2 more to go",
        "replacing mo-log-1; 1 more to go",
        "replacing mo-log-0",
    ]
