# SPDX-License-Identifier: Apache-2.0
"""The demo tells the operator's time from the database's, and tells news from repetition."""

from typing import Any

import pytest

from demo.sql import table
from demo.stages import Timeline, cluster_is_ready, is_ready, observe


def workload(
    name: str, ready: int, wanted: int = 1, generation: int = 1, observed: int = 1
) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "generation": generation},
        "spec": {"replicas": wanted},
        "status": {"readyReplicas": ready, "observedGeneration": observed},
    }


def cluster(*conditions: dict[str, Any], generation: int = 1) -> dict[str, Any]:
    return {
        "metadata": {"name": "mo", "generation": generation},
        "status": {"conditions": list(conditions)},
    }


READY = {"type": "Ready", "status": "True", "observedGeneration": 1}


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (workload("mo-log", 3, 3), True),
        (workload("mo-log", 2, 3), False),
        (workload("mo-log", 0, 0), False),
        (workload("mo-log", 3, 3, generation=2), False),
        ({"metadata": {"name": "mo-log"}, "spec": {}}, False),
    ],
)
def test_a_workload_is_ready_when_all_replicas_of_its_generation_are(
    resource: dict[str, Any], expected: bool
) -> None:
    assert expected is is_ready(resource)


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (cluster(READY), True),
        (cluster(READY, generation=2), False),
        (cluster({**READY, "status": "False"}), False),
        (cluster(), False),
    ],
)
def test_a_cluster_is_ready_only_for_the_generation_that_is_asked_for(
    resource: dict[str, Any], expected: bool
) -> None:
    assert expected is cluster_is_ready(resource)


def test_another_cluster_is_no_news() -> None:
    """One that is restored from the demo's backup is ready before the demo's own may be."""
    timeline, other = Timeline(applied=0.0), cluster(READY)
    other["metadata"]["name"] = "restored"
    assert observe(timeline, "MatrixOneCluster", other, 1.0) == ""
    assert timeline.cluster_ready is None


def test_the_operators_part_leaves_the_databases_own_start_out() -> None:
    timeline = Timeline(applied=10.0)
    for at, kind, resource in (
        (10.5, "StatefulSet", workload("mo-log", 0, 3)),
        (14.0, "StatefulSet", workload("mo-log", 3, 3)),
        (14.3, "StatefulSet", workload("mo-dn", 0)),
        (14.4, "Deployment", workload("mo-proxy", 0)),
        (20.0, "StatefulSet", workload("mo-dn", 1)),
        (20.2, "Deployment", workload("mo-tp-cn", 0)),
        (21.0, "Deployment", workload("mo-proxy", 1)),
        (30.0, "Deployment", workload("mo-tp-cn", 1)),
        (30.1, "MatrixOneCluster", cluster(READY)),
    ):
        observe(timeline, kind, resource, at)

    own = timeline.own_seconds()

    assert own == pytest.approx(
        {
            "log service": 0.5,
            "transaction node": 0.3,
            "proxy": 0.4,
            "compute node": 0.2,
            "status": 0.1,
        }
    )
    assert timeline.own_total() == pytest.approx(0.5 + 0.4 + 0.2 + 0.1)  # TN and proxy side by side


def test_only_news_are_told() -> None:
    timeline = Timeline(applied=0.0)

    first = observe(timeline, "StatefulSet", workload("mo-log", 0, 3), 1.0)
    again = observe(timeline, "StatefulSet", workload("mo-log", 2, 3), 2.0)
    foreign = observe(timeline, "Deployment", workload("nginx", 1), 3.0)

    assert first == "log service: created, 3 desired"
    assert again == ""
    assert foreign == ""


def test_a_refused_resource_is_told_with_its_message() -> None:
    refused = {
        "type": "Synced",
        "status": "False",
        "reason": "InvalidSpec",
        "message": "spec.version: must not be empty",
    }

    line = observe(Timeline(applied=0.0), "MatrixOneCluster", cluster(refused), 1.0)

    assert line == "cluster: spec.version: must not be empty"


def test_rows_are_printed_under_their_columns() -> None:
    text = table(["id", "text"], [(1, "hello"), (20, "x")])

    assert text == "id  text\n--  -----\n1   hello\n20  x"
