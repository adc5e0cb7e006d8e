# SPDX-License-Identifier: Apache-2.0
"""An older transaction node cannot read what a newer one has written, so it is refused."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import versions
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.transaction.data_version import (
    data_mistakes,
    data_version,
    refusal,
    written_by,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support import resources as r
from tests.support.builders import NOW, pod, states, workload
from tests.support.passes import plan_of, report_on

Json = dict[str, Any]
RUNNING = {"state": {"running": {"startedAt": NOW}}}
PULLING = {"state": {"waiting": {"reason": "ImagePullBackOff"}}}
CRASHED = {
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"reason": "Error", "startedAt": NOW}},
    "restartCount": 1,
}
NEVER_RAN = {
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"reason": "StartError", "startedAt": "1970-01-01T00:00:00Z"}},
    "restartCount": 1,
}


def tn_pod(version: str, container: Json = RUNNING, image: str = "matrixone:nightly") -> Json:
    """Return a Pod of a transaction node; with no version it has no annotation that names one."""
    annotations = {"matrixorigin.io/semantic-version": version} if version else {}
    made = pod("mo-dn-0", metadata={"annotations": annotations})
    made["spec"] = {"containers": [{"name": "main", "image": image}]}
    made["status"]["containerStatuses"] = [
        {"name": "sidecar", **RUNNING},
        {"name": "main", **container},
    ]
    return made


def dn_set(status: Json | None = None, annotation: str | None = None, **spec: Any) -> Json:
    made = r.dnset(**{"image": "matrixone:3.0.18", **spec})
    made["metadata"] |= {"uid": "u-1", "generation": 2}
    if annotation is not None:
        made["metadata"]["annotations"] = {"matrixorigin.io/data-version": annotation}
    return {**made, "status": status} if status is not None else made


@pytest.mark.parametrize(
    ("recorded", "pods", "found"),
    [
        ("", [], None),
        ("", [tn_pod("3.0.18")], "3.0.18"),
        ("3.0.18", [], "3.0.18"),
        ("3.0.18", [tn_pod("4.2.0")], "4.2.0"),
        ("4.2.0", [tn_pod("3.0.18")], "4.2.0"),
        ("3.0.18", [tn_pod("3.0.9")], "3.0.18"),
        ("3.0.9", [tn_pod("3.0.18")], "3.0.18"),
        ("", [tn_pod("3.0.18"), tn_pod("4.2.0")], "4.2.0"),
        ("3.0.18", [tn_pod("4.2.0", PULLING)], "3.0.18"),
        ("3.0.18", [tn_pod("4.2.0", NEVER_RAN)], "3.0.18"),
        ("3.0.18", [tn_pod("4.2.0", CRASHED)], "4.2.0"),
        ("3.0.18", [tn_pod("")], "3.0.18"),
        ("nonsense", [tn_pod("")], None),
        ("", [tn_pod("", image="matrixone:4.2.0@sha256:00")], "4.2.0"),
        ("", [{"metadata": {"name": "new"}, "spec": {"containers": []}}], None),
    ],
)
def test_the_newest_that_has_started(recorded: str, pods: list[Json], found: str | None) -> None:
    version = data_version(dn_set({"dataVersion": recorded} if recorded else {}), pods)
    assert (str(version) if version else None) == found


@pytest.mark.parametrize(
    ("annotation", "recorded", "found"),
    [
        (None, "4.2.0", "4.2.0"),
        ("3.0.18", "4.2.0", "3.0.18"),
        ("4.2.0", "3.0.18", "4.2.0"),
        ("v4.2", "", "4.2.0"),
        ("", "4.2.0", "4.2.0"),
        ("the old one", "4.2.0", "4.2.0"),
    ],
)
def test_who_knows_better_says_so_by_an_annotation(
    annotation: str | None, recorded: str, found: str
) -> None:
    """It overrides the record and the Pods; what is no version overrides nothing."""
    resource = dn_set({"dataVersion": recorded}, annotation)

    assert str(written_by(resource, resource["status"])) == found
    assert str(data_version(resource, [tn_pod("3.0.9")])) == found


def test_an_annotation_that_is_no_version_is_refused() -> None:
    (found,) = data_mistakes(dn_set({}, "3,0"))
    text = "metadata.annotations[matrixorigin.io/data-version]: must be a version such as 3.0.18"
    assert str(found) == f"{text}, not '3,0'"


def v(text: str) -> versions.Version:
    found = versions.parse(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("spec", "written", "is_refused"),
    [
        ({"image": "matrixone:3.0.9"}, "3.0.18", False),
        ({"image": "matrixone:3.0.18"}, "3.0.9", False),
        ({"image": "matrixone:3.1.0"}, "3.0.18", False),
        ({"image": "matrixone:2.2.9"}, "3.0.0", True),
        ({"image": "matrixone:4.1.9"}, "4.2.0", True),
        ({"image": "matrixone:4.2.0-rc1"}, "4.2.0", False),
        ({"image": "matrixone:v3.0.9-hotfix"}, "4.2.0", True),
        ({"image": "registry:5000/matrixone:3.0.9@sha256:00"}, "4.2.0", True),
        ({"image": "matrixone:nightly-20261101"}, "4.2.0", False),
        ({"image": "matrixone@sha256:00"}, "4.2.0", False),
        ({"image": "matrixone:nightly", "semanticVersion": "3.0.9"}, "4.2.0", True),
        ({"image": "matrixone:3.0.9", "semanticVersion": "4.2.1"}, "4.2.0", False),
        ({"image": "matrixone:3.0.9", "operatorVersion": "1.2.0"}, "4.2.0", True),
    ],
)
def test_lower_across_a_minor_release_is_refused(
    spec: Json, written: str, is_refused: bool
) -> None:
    assert bool(refusal(spec, v(written))) is is_refused


@pytest.mark.parametrize("tag", ["20241116", "2024-11-16", "20241116-abcdef"])
def test_a_date_is_neither_lower_nor_higher(tag: str) -> None:
    """Nor is what earlier operators have recorded of it, in a status or on a Pod."""
    image = f"matrixone:{tag}"
    running = data_version(dn_set({}), [tn_pod("", image=image)])
    recorded = {"dataVersion": "20241116.0.0"}
    annotated = data_version(dn_set(recorded), [tn_pod("2024.0.0-11-16", image=image)])

    assert (running, annotated) == (None, None)
    assert refusal({"image": "matrixone:3.0.18"}, running) == ""
    assert refusal({"image": image}, v("4.2.0")) == ""


def test_the_message_names_both_versions_and_the_way_back() -> None:
    assert refusal({"image": "matrixone:3.0.9"}, v("4.2.0")) == (
        "MatrixOne 3.0.9 cannot read the data that 4.2.0 has written; set 4.2 or newer, "
        "or restore a backup into a new cluster"
    )


NUMBERS = st.tuples(*[st.integers(0, 3)] * 3)
TEXTS = NUMBERS.map(lambda found: "{}.{}.{}".format(*found))
CONTAINERS = st.sampled_from([RUNNING, CRASHED, PULLING, NEVER_RAN])
STEPS = st.lists(st.tuples(TEXTS | st.just(""), CONTAINERS), max_size=6)


def after(steps: list[tuple[str, Json]]) -> Json:
    """Return the set when a pass has reported each of its Pods."""
    found = dn_set({})
    for version, container in steps:
        written = data_version(found, [tn_pod(version, container)])
        found["status"] = {"dataVersion": str(written)} if written else {}
    return found


@given(STEPS)
def test_the_record_never_goes_back_and_is_what_has_started(steps: list[tuple[str, Json]]) -> None:
    started = [v(text) for text, one in steps if text and one in (RUNNING, CRASHED)]
    newest = max(started, key=lambda one: one.numbers, default=None)

    found = after(steps)

    assert written_by(found, found["status"]) == newest
    assert data_version(found, []) == newest


@given(STEPS, TEXTS)
def test_what_has_run_may_run_again_unless_something_newer_has(
    steps: list[tuple[str, Json]], asked: str
) -> None:
    started = [v(text) for text, one in steps if text and one in (RUNNING, CRASHED)]
    found = after(steps)

    is_refused = bool(refusal({"image": f"a:{asked}"}, written_by(found, found["status"])))

    assert is_refused == any(v(asked).release < one.release for one in started)


@given(TEXTS, TEXTS)
def test_one_of_two_versions_may_always_follow_the_other(one: str, other: str) -> None:
    there, back = refusal({"image": f"a:{one}"}, v(other)), refusal({"image": f"a:{other}"}, v(one))
    assert not (there and back)
    assert bool(there or back) == (v(one).release != v(other).release)


def passed(resource: Json, pods: list[Json]) -> tuple[Json, Json]:
    """Return what a pass decides and what it reports."""
    live = workload(name="mo-dn", replicas=1, readyReplicas=1, updatedReplicas=1, wanted=1)
    log_set = r.logset()
    observed = {"workload": live, "pods": pods, "logSet": log_set, "claims": []}
    plan = plan_of(resource, observed, "#!/bin/sh\n", {"logSet": log_set})
    return plan, report_on(resource, plan, observed, {}, "", NOW)["status"]


def test_a_pass_records_what_has_started() -> None:
    plan, status = passed(dn_set(), [tn_pod("3.0.18")])

    assert plan["invalid"] == ""
    assert status["dataVersion"] == "3.0.18"


def test_a_pass_records_nothing_before_anything_has_started() -> None:
    plan, status = passed(dn_set(), [tn_pod("3.0.18", PULLING)])

    assert plan["invalid"] == ""
    assert "dataVersion" not in status


@pytest.mark.parametrize(
    ("status", "pods"),
    [({"dataVersion": "4.2.0"}, [tn_pod("4.2.0")]), ({}, [tn_pod("4.2.0", CRASHED)])],
    ids=["on record", "seen in this pass"],
)
def test_a_pass_changes_nothing_for_a_version_that_cannot_read_the_data(
    status: Json, pods: list[Json]
) -> None:
    plan, reported = passed(dn_set(status), pods)

    assert plan["invalid"].startswith(
        "spec.image: MatrixOne 3.0.18 cannot read the data that 4.2.0"
    )
    assert plan["objects"] == []
    assert states(reported)["Synced"] == ("False", "InvalidSpec")
    assert reported["dataVersion"] == "4.2.0"


def test_the_field_that_names_the_version_is_named() -> None:
    resource = dn_set({"dataVersion": "4.2.0"}, image="a:4.2.0", semanticVersion="3.0.18")

    plan, _status = passed(resource, [])

    assert plan["invalid"].startswith("spec.semanticVersion: MatrixOne 3.0.18 cannot read")


def test_a_pass_goes_on_where_somebody_knows_better() -> None:
    resource = dn_set({"dataVersion": "4.2.0"}, annotation="3.0.9")

    plan, status = passed(resource, [tn_pod("4.2.0")])

    assert plan["invalid"] == ""
    assert status["dataVersion"] == "3.0.9"
