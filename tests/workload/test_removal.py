# SPDX-License-Identifier: Apache-2.0
"""What the end of a set deletes: its own, whatever else carries its labels."""

import re
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.selecting import (
    Selection,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import kind_of
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.removal import (
    claims_named,
)

from tests.support import resources as r
from tests.support.answers import Answers
from tests.support.builders import workload
from tests.support.passes import plan_of, removal_of

Json = dict[str, Any]
SETS = [r.logset(), r.dnset(), r.cnset(), r.proxyset(), r.webui()]
CLAIM = "PersistentVolumeClaim"


def in_cluster(resource: Json) -> Json:
    return {**resource, "metadata": {**resource["metadata"], "uid": "u-1"}}


def found(name: str, kind: str = CLAIM, *owners: str) -> Json:
    """An object with the labels of the set; which these are makes no difference."""
    api_version = "apps/v1" if kind == "StatefulSet" else "v1"
    metadata = {"name": name, "namespace": "prod", "labels": {"copied": "with it"}}
    if owners:
        metadata["ownerReferences"] = [{"uid": owner} for owner in owners]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def chosen(selected: Json, *objects: Json) -> list[str]:
    """Return what the action would select among objects that all have the labels."""
    names = []
    for kind in selected["kinds"]:
        selection = Selection(
            kind["api_version"],
            kind["kind"],
            selected["namespace"],
            {},
            owner_uid=selected["owner_uid"],
            unowned=selected["unowned"],
            named=kind.get("named", ""),
        )
        names += [
            one["metadata"]["name"]
            for one in selection.list(Answers(*objects))  # type: ignore[arg-type]
        ]
    return names


OURS = ("mo-data-mo-log-0", "mo-data-mo-log-12", "logs-mo-log-1", "mo-shared")
FOREIGN = (
    *("restored-mo-data-mo-log-0", "mo-data-mo-log-0-copy", "mo-data-mo-log-x", "mo-data"),
    *("mo-data-mo-2-log-0", "other-mo-log-0", "mo-shared-copy"),
)


def test_only_claims_that_a_template_names_are_deleted():
    """A restored copy of a volume keeps the labels, and is what somebody will need next."""
    more = [{"metadata": {"name": "logs"}, "spec": {}}]
    log_set = in_cluster(r.logset(overlay={"volumeClaims": more}))
    objects = [found(name) for name in (*OURS, *FOREIGN)]

    (step,) = removal_of(log_set)

    assert set(chosen(step["prune"], *objects)) == set(OURS)
    assert set(chosen(step["gone"], *objects)) == set(OURS)


def test_the_templates_of_the_live_set_count_too():
    """A spec from which an additional volume was removed is refused, and may be deleted then."""
    live = workload()
    live["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "logs"}}]

    (step,) = removal_of(in_cluster(r.logset()), {"workload": live})

    assert set(chosen(step["prune"], *map(found, OURS))) == set(OURS)


def test_claims_that_are_kept_are_released_by_name():
    """An owner is taken off no claim but those of the set."""
    (step,) = removal_of(in_cluster(r.logset(pvcRetentionPolicy="Retain")))

    kinds = {one["kind"]: one.get("named", "") for one in step["release"]["kinds"]}
    assert CLAIM not in [one["kind"] for one in step["prune"]["kinds"]]
    assert re.fullmatch(kinds[CLAIM], "mo-data-mo-log-0")
    assert not re.fullmatch(kinds[CLAIM], "restored-mo-data-mo-log-0")


OWNED_BY = {"apiVersion": "core.matrixorigin.io/v1alpha1", "kind": "MatrixOneCluster", "name": "mo"}
AT = {"deletionTimestamp": "2026-11-28T12:00:00Z"}


@pytest.mark.parametrize(
    ("owners", "cluster", "stays"),
    [
        ([{**OWNED_BY, "uid": "m-1"}], {"uid": "m-1"}, True),
        ([{**OWNED_BY, "uid": "m-1"}], {"uid": "m-1", **AT}, False),
        ([{**OWNED_BY, "uid": "m-1"}], {"uid": "m-2"}, False),
        ([{**OWNED_BY, "uid": "m-1"}], None, False),
        ([], {"uid": "m-1"}, False),
    ],
    ids=["lives", "is deleted", "another one", "gone", "alone"],
)
def test_a_log_set_keeps_its_data_while_its_cluster_lives(owners, cluster, stays):
    """The cluster creates it again: with its data, and not empty."""
    log_set = in_cluster(r.logset())
    log_set["metadata"] = {**log_set["metadata"], **AT, "ownerReferences": owners}
    bucket = {"kind": "BucketClaim", "metadata": {"name": "mo"}}
    observed = {"bucket": bucket, "cluster": cluster and {"metadata": cluster}}

    step, release = removal_of(log_set, observed)

    kinds = [one["kind"] for one in step["prune"]["kinds"]]
    assert (CLAIM in kinds, step["release"] is None) == (not stays, not stays)
    assert (release["objects"] == []) == stays
    policy = release["patches"][0]["spec"]["s3"]["s3RetentionPolicy"]
    assert policy == ("Retain" if stays else "Delete")


def test_the_cluster_of_a_log_set_is_read_at_its_end_as_the_api_server_has_it():
    log_set = in_cluster(r.logset())
    log_set["metadata"]["ownerReferences"] = [{**OWNED_BY, "uid": "m-1"}]
    assert "cluster" not in kind_of(log_set).references(log_set)
    log_set["metadata"].update(AT)
    found = kind_of(log_set).references(log_set)["cluster"]
    assert (found["kind"], found["name"], found["latest"]) == ("MatrixOneCluster", "mo", True)


@pytest.mark.parametrize("resource", SETS, ids=lambda one: one["kind"])
def test_only_what_a_set_owns_is_deleted(resource):
    (step,) = removal_of(in_cluster(resource))
    objects = [
        found("mine", "Service", "u-1"),
        found("anothers", "Service", "u-2"),
        found("copied", "Service"),
    ]

    assert chosen(step["prune"], *objects) == ["mine"]


@pytest.mark.parametrize("resource", SETS, ids=lambda one: one["kind"])
def test_a_set_that_is_deleted_alone_frees_what_it_owns(resource):
    """Its claims have no owner among the sets."""
    deleted = in_cluster(resource)
    deleted["metadata"]["finalizers"] = ["orphan"]
    objects = [
        found("mine", "Service", "u-1"),
        found("workload", "StatefulSet", "u-1"),
        found("anothers", "Service", "u-2"),
        found("copied", "Service"),
    ]

    (step,) = removal_of(deleted)

    assert (step["objects"], step["prune"], step["gone"]) == ([], None, None)
    has_stores = {"api_version": "apps/v1", "kind": "StatefulSet"} in step["free"]["kinds"]
    assert chosen(step["free"], *objects) == ["workload", "mine"][not has_stores :]


@pytest.mark.parametrize("resource", [*SETS, r.cluster(), r.early()], ids=lambda one: one["kind"])
def test_a_playbook_deletes_nothing_that_somebody_owns(resource):
    """What a playbook has created has no owner."""
    objects = [found("mine", "Service"), found("anothers", "Service", "u-2")]

    for step in removal_of(resource):
        # What is chosen by its name is ours by that.
        if step["prune"] and not all(kind.get("named") for kind in step["prune"]["kinds"]):
            assert chosen(step["prune"], *objects) == ["mine"]


@pytest.mark.parametrize("resource", [*SETS, r.early()], ids=lambda one: one["kind"])
def test_a_playbook_tidies_up_nothing_that_somebody_owns(resource):
    log_set = {**r.logset(), "status": {}}
    seen = {"logSet": log_set, "dnSet": r.dnset(), "cnset": r.cnset()}
    references = {"logSet": log_set, "dnSet": r.dnset(), "cnSet": r.cnset()}
    plan = plan_of(
        resource, seen, "", None if resource["kind"] == "MatrixoneCluster" else references
    )
    objects = [found("old", "ConfigMap"), found("anothers", "ConfigMap", "u-2")]

    assert chosen(plan["prune"], *objects) == ["old"]


@pytest.mark.parametrize("overlay", [None, [], {"volumeClaims": None}, {"volumeClaims": [3, {}]}])
def test_a_spec_that_cannot_be_read_names_the_usual_claims(overlay):
    named = claims_named("DNSet", "mo", {"overlay": overlay})

    assert re.fullmatch(named, "mo-data-mo-dn-0")
    assert not re.fullmatch(named, "-mo-dn-0")
    assert not re.fullmatch(named, "mo-shared")
