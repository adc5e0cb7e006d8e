# SPDX-License-Identifier: Apache-2.0
"""matrixorigin.matrixone.remove against a real API server."""

import time

import pytest

from tests.actions.test_apply import apply, config, remove, stateful_set
from tests.support.waiting import eventually

pytestmark = pytest.mark.api


def test_claims_are_released_before_what_owns_them_goes(play, fake_namespace, live):
    """A StatefulSet that would take its claims with it is told otherwise, and forgets them."""
    going = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    store = stateful_set(fake_namespace, persistentVolumeClaimRetentionPolicy=going, replicas=1)
    labels = store["metadata"]["labels"]
    kinds = [
        {"api_version": "apps/v1", "kind": "StatefulSet"},
        {"api_version": "v1", "kind": "PersistentVolumeClaim"},
    ]
    release = {"kinds": kinds, "namespace": fake_namespace, "labels": labels}
    play(apply(store))
    eventually(
        lambda: (live("pvc", "data-store-0") or {}).get("metadata", {}).get("ownerReferences")
    )

    dry, gone = play(
        remove(store, check=True, release=release, propagation="Foreground"),
        remove(store, release=release, propagation="Foreground"),
    )

    assert f"StatefulSet {fake_namespace}/store changed" in dry["changes"]
    assert f"StatefulSet {fake_namespace}/store deleted" in gone["changes"]
    time.sleep(1)
    kept = live("pvc", "data-store-0")["metadata"]
    assert not kept.get("ownerReferences")
    assert "deletionTimestamp" not in kept
    assert live("statefulset", "store") is None


def test_what_loses_its_owner_is_left_alone(play, fake_namespace, live):
    play(apply(config(fake_namespace, "owner"), config(fake_namespace, "stays")))
    owner = live("configmap", "owner")
    play(apply(config(fake_namespace, "owned"), owner=owner))
    kinds = [{"api_version": "v1", "kind": "ConfigMap"}]
    free = {"kinds": kinds, "namespace": fake_namespace, "owner_uid": owner["metadata"]["uid"]}

    dry, freed, again = play(remove(free=free, check=True), remove(free=free), remove(free=free))

    assert dry["changes"] == freed["changes"] == [f"ConfigMap {fake_namespace}/owned changed"]
    assert not again["changed"]
    assert "ownerReferences" not in live("configmap", "owned")["metadata"]


def test_wait_for_deletion_has_an_end(play, fake_namespace, live):
    """What holds a finalizer is named when the time is over; it can be a warning instead."""
    held = config(fake_namespace, name="held")
    held["metadata"]["finalizers"] = ["example.com/never"]

    _, failed, warned, released = play(
        apply(held),
        remove(held, wait_timeout=1),
        remove(held, wait_timeout=1, fail_on_timeout=False),
        apply({**held, "metadata": {**held["metadata"], "finalizers": []}}),
    )

    assert failed["failed"]
    assert f"still there after 1 s: ConfigMap {fake_namespace}/held" in failed["msg"]
    assert not warned.get("failed")
    assert warned["left"] == [f"ConfigMap {fake_namespace}/held"]
    assert not released.get("failed")


def test_patches_come_first_and_what_does_not_exist_is_skipped(play, fake_namespace, live):
    """What stays is changed before anything is deleted; a second run finds all of it done."""
    stays, other = config(fake_namespace, "stays", a="1"), config(fake_namespace, "other")
    note = {**stays, "metadata": {"name": "stays", "namespace": fake_namespace}, "data": {"a": "2"}}
    missing = {**note, "metadata": {"name": "missing", "namespace": fake_namespace}}
    options = {"patches": [note, missing]}

    _, first, second = play(apply(stays, other), remove(other, **options), remove(other, **options))

    done = [
        f"ConfigMap {fake_namespace}/stays changed",
        f"ConfigMap {fake_namespace}/other deleted",
    ]
    assert first["changes"] == done
    assert not second["changed"]
    assert live("configmap", "stays")["data"] == {"a": "2"}
    assert live("configmap", "missing") is None


def test_selected_objects_are_deleted_but_for_those_to_keep(play, fake_namespace, live):
    """By kind and label; foreign ones, excluded ones and those marked to be kept stay."""
    objects = [config(fake_namespace, name) for name in ("gone", "kept", "foreign", "excluded")]
    objects[1]["metadata"]["annotations"] = {"matrixorigin.io/keep": "true"}
    objects[2]["metadata"]["labels"] = {"part": "another"}
    objects[3]["metadata"]["labels"]["role"] = "spare"
    selected = {
        "kinds": [{"api_version": "v1", "kind": "ConfigMap"}],
        "namespace": fake_namespace,
        "labels": {"part": "one"},
        "excluding": {"role": ["spare"]},
    }

    _, checked, done = play(
        apply(*objects), remove(selected=selected, check=True), remove(selected=selected)
    )

    assert checked["changes"] == done["changes"] == [f"ConfigMap {fake_namespace}/gone deleted"]
    assert done["left"] == []
    assert live("configmap", "gone") is None
    for name in ("kept", "foreign", "excluded"):
        assert live("configmap", name) is not None


def test_a_patch_lets_a_kept_object_go(play, fake_namespace, live):
    """What is selected is judged as it is after the patches, not as it was listed."""
    kept = config(fake_namespace, "kept")
    kept["metadata"]["annotations"] = {"matrixorigin.io/keep": "true"}
    place = {"name": "kept", "namespace": fake_namespace}
    released = {**place, "annotations": {"matrixorigin.io/keep": None}}
    selected = {
        "kinds": [{"api_version": "v1", "kind": "ConfigMap"}],
        "namespace": fake_namespace,
        "labels": {"part": "one"},
    }
    patch = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": released}

    _, done = play(apply(kept), remove(selected=selected, patches=[patch]))

    assert done["changes"][-1] == f"ConfigMap {fake_namespace}/kept deleted"
    assert live("configmap", "kept") is None
