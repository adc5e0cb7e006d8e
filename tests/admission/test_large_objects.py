# SPDX-License-Identifier: Apache-2.0
"""Objects that are as large as they can be are judged in a time that grows with their size.

A tenant chooses what an overlay holds, up to what an API server accepts.
"""

import json
import time
import tracemalloc
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.admission import shapes

from tests.crds.manifests import minimal

Json = dict[str, Any]
LARGEST = 4 << 20
MANY = 100_000


def log_set(overlay: Json) -> Json:
    found = minimal("LogSet")
    return {**found, "spec": {**found["spec"], "overlay": overlay}}


OVERLAYS = {
    "no variables": {"env": [[]] * MANY},
    "nameless variables": {"env": [{}] * MANY},
    "volumes of one name": {"volumes": [{"name": "a", "emptyDir": {}}] * (MANY // 2)},
    "mounts": {"volumeMounts": [{"name": f"v{i}", "mountPath": "/a"} for i in range(MANY // 2)]},
    "labels": {"podLabels": {f"!{i}": "!" for i in range(MANY)}},
    "ports": {
        "sidecarContainers": [
            {"name": "a", "image": "b", "ports": [{"containerPort": 1, "hostPort": 1}] * MANY}
        ]
    },
    "long text": {"imagePullPolicy": "x" * (LARGEST - 1000)},
    "long key": {"podLabels": {"!" * (LARGEST - 1000): 5}},
    "long number": {"securityContext": {"runAsUser": 10**4000}},
}


@pytest.mark.parametrize("overlay", OVERLAYS.values(), ids=OVERLAYS)
def test_a_large_overlay_is_judged_in_time(overlay: Json) -> None:
    resource = log_set(overlay)
    begun = time.monotonic()
    new = kinds.refusals(resource, None)
    known = kinds.refusals(resource, json.loads(json.dumps(resource)))
    invalid = kinds.kind_of(resource).judge.invalid(resource)
    assert time.monotonic() - begun < 8
    assert known == []
    assert 0 < len(new) <= shapes.MOST_MISTAKES + 1
    assert all(len(str(mistake)) < 1000 for mistake in new)
    assert len(invalid) < 30_000  # a condition's message has at most 32,768 characters


def test_many_elements_are_compared_in_time() -> None:
    volumes = [{"name": f"v-{number}", "emptyDir": {}} for number in range(MANY // 2)]
    begun = time.monotonic()
    assert kinds.refusals(log_set({"volumes": volumes}), None) == []
    assert time.monotonic() - begun < 4


def test_many_mistakes_need_little_memory() -> None:
    resource = log_set({"env": [{}] * MANY})
    tracemalloc.start()
    kinds.refusals(resource, resource)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 << 20


def test_it_is_said_how_many_more_mistakes_there_are() -> None:
    found = kinds.refusals(log_set({"env": [{}] * 60}), None)
    assert len(found) == shapes.MOST_MISTAKES + 1
    assert str(found[0]) == "spec.overlay.env[0].name: must be set"
    assert str(found[-1]) == "and 10 other mistakes"
    endless = kinds.refusals(log_set({"env": [{}] * MANY}), None)
    assert str(endless[-1]) == "and 950 or more other mistakes"


@pytest.mark.parametrize("one", [None, "a", 1, 1.5, True, ["a"], {"a": {"b": [1]}}])
def test_elements_are_told_apart_whatever_their_key_is(one: Any) -> None:
    items = shapes.Items(shapes.Table(), key=("name",))
    assert len(list(items.mistakes("a", [{"name": one}, {"name": one}]))) == (one is not None)
    assert not list(items.mistakes("a", [{"name": one}, {"name": "other"}]))
