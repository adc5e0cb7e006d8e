# SPDX-License-Identifier: Apache-2.0
"""A cluster refuses a version that is too old for its data, before a component is changed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.filter.admission import admission
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.rendering import (
    render_matrixonecluster,
)

from tests.crds.manifests import changed, minimal
from tests.support.builders import NOW, pod, serving
from tests.support.passes import plan_of, references_of, report_on

Json = dict[str, Any]
DATA = "matrixorigin.io/data-version"
REFUSED = "MatrixOne 3.0.18 cannot read the data that 4.2.0 has written"


def cluster(recorded: str = "", annotation: str | None = None, **changes: Any) -> Json:
    """Return a cluster of 3.0.18, but for changes by dotted path."""
    made = changed(minimal("MatrixOneCluster", "mo"), {"spec.version": "3.0.18", **changes})
    made["metadata"] |= {"namespace": "prod", "uid": "u-1", "generation": 2}
    if annotation is not None:
        made["metadata"]["annotations"] = {DATA: annotation}
    if recorded:
        made["status"] = {"tn": {"dataVersion": recorded}}
    return made


def tn(recorded: str = "") -> Json:
    found = serving("DNSet", "mo")
    if recorded:
        found["status"]["dataVersion"] = recorded
    return found


def tn_pod(version: str, **more: Any) -> Json:
    metadata = {"annotations": {"matrixorigin.io/semantic-version": version}}
    return pod("mo-dn-0", metadata=metadata, **more)


def invalid(resource: Json, **observed: Any) -> str:
    return str(plan_of(resource, {"credential": None, **observed})["invalid"])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, "spec.version"),
        ({"spec.semanticVersion": "3.0.18", "spec.version": "nightly"}, "spec.semanticVersion"),
        ({"spec.version": "4.2.0", "spec.tn.image": "a:3.0.18"}, "spec.tn.image"),
        ({"spec.version": "4.2.0", "spec.tn.semanticVersion": "3.0.18"}, "spec.tn.semanticVersion"),
        (
            {"spec.tn": None, "spec.dn": {"replicas": 1, "image": "a:3.0.18"}},
            "spec.dn.image",
        ),
    ],
)
def test_the_field_that_names_the_version_is_refused(changes: Json, field: str) -> None:
    plan = plan_of(cluster("4.2.0", **changes), {"credential": None})

    assert plan["invalid"].startswith(f"{field}: {REFUSED}")
    assert plan["objects"] == []


@pytest.mark.parametrize(
    "changes",
    [
        {"spec.version": "4.2.0"},
        {"spec.version": "4.2.1"},
        {"spec.version": "5.0.0"},
        {"spec.version": "nightly"},
        {"spec.tn.image": "a:4.2.0"},
        {"spec.semanticVersion": "4.2.0"},
    ],
)
def test_other_versions_are_not(changes: Json) -> None:
    """Compute nodes and log stores of an earlier release read no data of the transaction node."""
    assert invalid(cluster("4.2.7", **changes)) == ""


@pytest.mark.parametrize(
    "observed",
    [
        {"dnSet": tn("4.2.0")},
        {"dnSet": tn(), "tnPods": [tn_pod("4.2.0")]},
        {"dnSet": None, "tnPods": [tn_pod("4.2.0")]},
        {"dnSet": tn("3.0.18"), "tnPods": [tn_pod("4.2.0")]},
    ],
)
def test_what_has_started_since_the_last_report_counts(observed: Json) -> None:
    """An operator that was stopped, or a playbook, finds the Pods alone."""
    assert invalid(cluster("3.0.18"), **observed).startswith(f"spec.version: {REFUSED}")


def test_a_raise_that_has_started_nothing_may_be_taken_back() -> None:
    waiting = tn_pod("4.2.0", waiting="ImagePullBackOff")
    assert invalid(cluster("3.0.9"), dnSet=tn("3.0.9"), tnPods=[waiting]) == ""


def test_the_status_of_the_set_is_newer_than_its_copy() -> None:
    """It has followed an annotation; the copy in the cluster has not yet."""
    assert invalid(cluster("4.2.0"), dnSet=tn("3.0.18")) == ""


def test_a_play_asks_for_the_pods_of_the_transaction_node() -> None:
    reference = references_of(cluster())["tnPods"]
    assert (reference["kind"], reference["namespace"]) == ("Pod", "prod")
    assert reference["labels"] == {
        "matrixorigin.io/namespace": "prod",
        "matrixorigin.io/instance": "mo",
        "matrixorigin.io/component": "DNSet",
    }


@pytest.mark.parametrize(("annotation", "refused"), [("3.0.9", ""), ("4.3.0", "spec.version:")])
def test_who_knows_better_says_so_by_an_annotation(annotation: str, refused: str) -> None:
    found = invalid(cluster("4.2.0", annotation), tnPods=[tn_pod("4.2.0")])
    assert found[: len("spec.version:")] == refused


def test_an_annotation_that_is_no_version_is_refused() -> None:
    assert invalid(cluster("", "3,0")) == (
        f"metadata.annotations[{DATA}]: must be a version such as 3.0.18, not '3,0'"
    )


def test_the_annotation_is_that_of_the_set_too() -> None:
    children = render_matrixonecluster(cluster("", "3.0.9"))
    noted = {one["kind"]: one["metadata"].get("annotations") for one in children}
    assert noted == {"LogSet": None, "DNSet": {DATA: "3.0.9"}, "CNSet": None}


def reported(resource: Json, dn_set: Json | None) -> Json:
    observed = {"logSet": serving("LogSet", "mo", "3/3"), "dnSet": dn_set, "credential": None}
    plan = plan_of(resource, observed)
    return report_on(resource, plan, observed, {}, "", NOW)["status"]


def test_a_refused_version_is_in_the_status() -> None:
    found = reported(cluster("4.2.0"), tn("4.2.0"))

    synced = next(one for one in found["conditions"] if one["type"] == "Synced")
    assert (synced["status"], synced["reason"]) == ("False", "InvalidSpec")
    assert synced["message"].startswith(f"spec.version: {REFUSED}")
    assert found["tn"]["dataVersion"] == "4.2.0"


def test_the_record_outlives_the_set() -> None:
    """A DNSet that was deleted comes back, without a status at first, on the same data."""
    gone, back = reported(cluster("3.0.18"), None), tn()
    del back["status"]

    assert gone["tn"] == {"dataVersion": "3.0.18"}
    assert reported(cluster("3.0.18"), back)["tn"] == {"dataVersion": "3.0.18"}
    assert "tn" not in reported(cluster(), None)
    assert reported(cluster("4.2.0"), tn("3.0.18"))["tn"]["dataVersion"] == "3.0.18"


def reviewed(resource: Json, old: Json | None) -> list[Json]:
    asked = {"operation": "UPDATE", "old": old} if old else {"operation": "CREATE"}
    return list(admission(resource, asked)["errors"])


def test_a_lower_version_is_forbidden_at_admission() -> None:
    before = cluster("4.2.0", **{"spec.version": "4.2.0"})

    (found,) = reviewed(cluster("4.2.0"), before)

    assert (found["field"], found["reason"]) == ("spec.version", "FieldValueForbidden")
    assert found["message"].startswith(REFUSED)


def test_what_was_stored_without_the_webhook_may_stay_and_be_taken_back() -> None:
    """A finalizer or a label must not depend on it; a still lower version is another mistake."""
    stored = cluster("4.2.0")
    labelled = changed(stored, {"metadata.labels": {"a": "b"}})
    reverted, lower = (changed(stored, {"spec.version": one}) for one in ("4.2.0", "2.0.0"))

    assert reviewed(labelled, stored) == []
    assert reviewed(reverted, stored) == []
    assert [one["field"] for one in reviewed(lower, stored)] == ["spec.version"]


def test_a_set_of_its_own_is_refused_at_admission_too() -> None:
    image = {"spec.image": "a:3.0.18"}
    before = changed(minimal("DNSet", "mo"), {"spec.image": "a:4.2.0"})
    before["status"] = {"dataVersion": "4.2.0"}

    (found,) = reviewed(changed(before, image), before)

    assert (found["field"], found["reason"]) == ("spec.image", "FieldValueForbidden")


def test_a_new_cluster_on_restored_volumes_is_refused_by_its_annotation() -> None:
    (found,) = reviewed(cluster("", "4.2.0"), None)
    assert found["message"].startswith(REFUSED)
