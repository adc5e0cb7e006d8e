# SPDX-License-Identifier: Apache-2.0
"""An annotation of a resource restarts its Pods, by the rolling update of any other change."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.rendering import (
    render_matrixonecluster,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    render_everything,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.references import (
    find_references,
)

from tests.golden.test_golden import scripts
from tests.golden.variants import VARIANTS
from tests.support import resources as r

ASKED = "matrixorigin.io/restartedAt"
BY_CLUSTER = "matrixorigin.io/cluster-restarted-at"
TIME = "2026-11-22T15:00:00Z"


def rendered(name: str, annotations: r.Json | None) -> list[r.Json]:
    *others, subject = VARIANTS[name]
    metadata = {**subject["metadata"], "annotations": annotations} if annotations else None
    changed = {**subject, "metadata": metadata} if metadata else subject
    references = find_references(changed, [*others, changed])
    return render_everything(changed, start_scripts=scripts(name), references=references)


def templates(objects: list[r.Json]) -> dict[str, r.Json]:
    return {
        one["metadata"]["name"]: one["spec"]["template"]
        for one in objects
        if one["kind"] in ("StatefulSet", "Deployment")
    }


def annotations_of(template: r.Json) -> r.Json:
    found: r.Json = template["metadata"].get("annotations") or {}
    return found


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("logset-aws", ASKED),
        ("dnset-external", ASKED),
        ("cnset-overlay", ASKED),
        ("proxyset-plugin", ASKED),
        ("webui-full", ASKED),
        ("early-launch", ASKED),
        ("early-image", ASKED),
        ("cluster-every-part", BY_CLUSTER),
    ],
)
def test_only_the_annotation_of_the_pods_changes(name: str, key: str) -> None:
    given = VARIANTS[name][-1]["metadata"].get("annotations") or {}
    before, after = rendered(name, None), rendered(name, {**given, ASKED: TIME})
    assert [one["kind"] for one in before] == [one["kind"] for one in after]
    assert templates(after)
    for pods, template in templates(after).items():
        expected = {**annotations_of(templates(before)[pods]), key: TIME}
        assert annotations_of(template) == expected
        assert template["spec"] == templates(before)[pods]["spec"]


def test_an_empty_annotation_changes_nothing() -> None:
    assert rendered("logset-aws", {ASKED: ""}) == rendered("logset-aws", None)


def test_the_parts_of_a_cluster_follow_each_other_as_with_a_change_of_the_spec() -> None:
    """The annotation stands in the spec of the parts: their generation grows, so gates hold."""
    own: dict[str, Any] = {"podAnnotations": {"team": "data"}}
    cluster = r.cluster(tn={"replicas": 1, "overlay": own}, proxy={"replicas": 1})
    cluster["metadata"]["annotations"] = {ASKED: TIME}
    for child in render_matrixonecluster(cluster):
        found = child["spec"]["overlay"]["podAnnotations"]
        assert found[BY_CLUSTER] == TIME
        assert found.get("team") == ("data" if child["kind"] == "DNSet" else None)
        assert ASKED not in child["metadata"].get("annotations", {})
