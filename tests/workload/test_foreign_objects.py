# SPDX-License-Identifier: Apache-2.0
"""A resource takes over no object that merely has the name of one of its own."""

import copy
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    Foreign,
    OwnerDeleted,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.passes.observing import (
    fetch_raw,
)

from tests.support import resources as r
from tests.support.answers import Answers
from tests.support.passes import references_of
from tests.support.places import ROOT

Json = dict[str, Any]
SETS = ("LogSet", "DNSet", "CNSet", "ProxySet", "WebUI")
STORAGE = {"s3": r.DELETE, "fileSystem": {"path": "/shared", "claim": {"size": "1Gi"}}}
LOG_SET = r.logset(sharedStorage=STORAGE)
RESOURCES: list[Json] = [
    LOG_SET,
    *(r.dnset(), r.cnset(), r.proxyset(), r.webui()),
    r.cluster(proxy={"replicas": 1}, webui={"replicas": 1}),
    r.early(),
]
TASKS: Mapping[str, Path] = {
    **dict.fromkeys(SETS, ROOT / "roles/component/tasks/apply.yml"),
    "MatrixOneCluster": ROOT / "roles/matrixonecluster/tasks/main.yml",
    "MatrixoneCluster": ROOT / "roles/matrixonecluster_early/tasks/main.yml",
}


def identified_by(kind: str) -> list[str]:
    """Return the labels with which the role of a kind applies its objects."""
    text = next(one for one in TASKS[kind].read_text().splitlines() if "identified_by:" in one)
    found: list[str] = yaml.safe_load(text.strip())["identified_by"]
    return found


def in_cluster(resource: Json) -> Json:
    return {**resource, "metadata": {**resource["metadata"], "uid": "u-1"}}


def objects_of(resource: Json) -> list[Json]:
    """Return what a resource leads to itself."""
    if resource["kind"] == "MatrixOneCluster":
        return [dict(one) for one in kinds.kind_of(resource).plan(resource, {}).objects]
    references = {"logSet": LOG_SET, "dnSet": r.dnset(), "cnSet": r.cnset()}
    objects = kinds.render_everything(resource, start_scripts={}, references=references)
    return [dict(one) for one in objects]


OBJECTS = [
    pytest.param(in_cluster(resource), one, id=f"{resource['kind']} {one['kind']} {number}")
    for resource in RESOURCES
    for number, one in enumerate(objects_of(resource))
]


def live_one(manifest: Json, **metadata: Any) -> Json:
    """What exists under the name of a manifest: somebody's, unless the metadata say otherwise."""
    place = {key: manifest["metadata"][key] for key in ("name", "namespace")}
    about = {**place, "uid": "l-1", "resourceVersion": "1", "labels": {"app": "shop"}, **metadata}
    return {**copy.deepcopy(manifest), "metadata": about}


def writer(session: Answers, resource: Json) -> Writer:
    labels = identified_by(resource["kind"])
    return Writer(session, owner=resource, identified_by=labels)  # type: ignore[arg-type]


def changes(ours: Writer, manifest: Json) -> list[Callable[[], object]]:
    """Return every way in which an object that exists may be changed by its manifest."""
    return [
        partial(ours.apply, manifest),
        partial(ours.create_once, manifest),
        partial(ours.adopt, manifest, ["manager"]),
        partial(ours.recreate, manifest, 1),
    ]


@pytest.mark.parametrize(("resource", "manifest"), OBJECTS)
def test_no_object_of_somebody_else_is_replaced(resource, manifest):
    """Whichever way it would be changed; the message says which object, and what to do."""
    controlled = [{"uid": "u-2", "kind": "Deployment", "name": "shop", "controller": True}]
    labels = manifest["metadata"]["labels"]
    for theirs in ({}, {"labels": None}, {"labels": labels, "ownerReferences": controlled}):
        session = Answers(live_one(manifest, **theirs))
        for change in changes(writer(session, resource), manifest):
            with pytest.raises(Foreign) as refused:
                change()
            assert session.written == []

        name = f"{manifest['kind']} prod/{manifest['metadata']['name']}"
        owner = f"{resource['kind']} prod/{resource['metadata']['name']}"
        assert str(refused.value).startswith(f"apply {name}: an object of this name exists and")
        assert f"does not belong to {owner}; rename the resource" in str(refused.value)


@pytest.mark.parametrize(("resource", "manifest"), OBJECTS)
def test_own_objects_and_those_left_behind_are_changed(resource, manifest):
    """By their owner, whoever has changed their labels; or, without one, by their labels."""
    own = {"ownerReferences": [{"uid": "u-1", "controller": True}]}
    for ours in (own, {"labels": {**manifest["metadata"]["labels"], "more": "x"}}):
        session = Answers(live_one(manifest, **ours), resource)

        writer(session, resource).apply(manifest)

        assert [method for method, _path, _body in session.written] == ["PATCH"]


@pytest.mark.parametrize(
    "now",
    [{"name": "other"}, {"uid": "u-9"}, {"deletionTimestamp": "2026-11-28T12:00:00Z"}],
    ids=["gone", "another", "going"],
)
def test_nothing_that_was_left_behind_goes_with_a_resource_that_is_deleted(now):
    """Whoever deleted it without its dependents wants to keep them."""
    resource, manifest = next(
        one.values for one in OBJECTS if one.values[1]["kind"] == "StatefulSet"
    )
    found = {**resource, "metadata": {**resource["metadata"], **now}}
    session = Answers(live_one(manifest, labels=manifest["metadata"]["labels"]), found)

    with pytest.raises(OwnerDeleted, match=r"it has no owner, and .* is being deleted"):
        writer(session, resource).apply(manifest)
    assert session.written == []


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda one: one["kind"])
def test_an_object_of_somebody_else_is_not_observed_as_ones_own(resource):
    """Else its Pods would be scaled, its volumes grown, and its state reported."""
    named = {
        label: reference
        for label, reference in references_of(in_cluster(resource)).items()
        if label in {"workload", "logSet", "dnSet", "proxySet", "webUI"} and reference.get("labels")
    }
    assert named

    for label, reference in named.items():
        manifest = {
            "apiVersion": reference["api_version"],
            "kind": reference["kind"],
            "metadata": {key: reference[key] for key in ("name", "namespace")},
        }
        theirs, left = live_one(manifest), live_one(manifest, labels=reference["labels"])
        own = live_one(manifest, ownerReferences=[{"uid": "u-1", "controller": True}])
        assert fetch_raw(Answers(theirs), label, reference) is None  # type: ignore[arg-type]
        assert fetch_raw(Answers(left), label, reference) == left  # type: ignore[arg-type]
        assert fetch_raw(Answers(own), label, reference) == own  # type: ignore[arg-type]


def test_what_is_referred_to_by_its_name_alone_may_be_anybodys():
    """A DNSet refers to its LogSet, and to itself; a cluster has both of them."""
    resource = in_cluster(r.dnset())
    references = references_of(resource)
    for label in ("self", "logSet", "logSetWorkload"):
        reference = references[label]
        manifest = {
            "apiVersion": reference["api_version"],
            "kind": reference["kind"],
            "metadata": {key: reference[key] for key in ("name", "namespace")},
        }
        found = live_one(manifest, ownerReferences=[{"uid": "u-of-a-cluster", "controller": True}])
        assert fetch_raw(Answers(found), label, reference) == found  # type: ignore[arg-type]
