# SPDX-License-Identifier: Apache-2.0
"""The steps of an adoption at an API server: what they change, and what they refuse to touch."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.adoption.executing import (
    Changed,
    Executor,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.adoption.steps import (
    Action,
    Step,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.connection import (
    resolve_options,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.session import (
    brief_session,
)

from testbed.api import ApiClient, ApiError
from testbed.bed import TestBed
from tests.e2e.go_operator import definitions
from tests.support.waiting import eventually

pytestmark = pytest.mark.api

Json = dict[str, Any]
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
KRUISE = "apps.kruise.io/v1beta1"


class Space:
    """A namespace with a LogSet of the Go operator, and the executor of steps there."""

    def __init__(self, bed: TestBed, namespace: str, executor: Executor) -> None:
        self._api, self._namespace = ApiClient(bed.kubeconfig), namespace
        self.executor = executor

    def path(self, kind: str, name: str = "") -> str:
        prefix = {
            "persistentvolumeclaims": "/api/v1",
            "pods": "/api/v1",
            "statefulsets": f"/apis/{KRUISE}",
            "logsets": "/apis/core.matrixorigin.io/v1alpha1",
            "matrixoneclusters": "/apis/core.matrixorigin.io/v1alpha1",
        }[kind]
        return f"{prefix}/namespaces/{self._namespace}/{kind}/{name}".rstrip("/")

    def create(self, kind: str, manifest: Json) -> Json:
        return self._api.request("POST", self.path(kind), manifest)

    def get(self, kind: str, name: str) -> Json | None:
        with suppress(ApiError):
            return self._api.request("GET", self.path(kind, name))
        return None

    def workload(self, owner: Json | None = None) -> Json:
        metadata = {"name": "mo-log", "ownerReferences": [reference(owner)] if owner else []}
        made = {"apiVersion": KRUISE, "kind": "StatefulSet", "metadata": metadata}
        return self.create("statefulsets", {**made, "spec": {"replicas": 1}})

    def claim(self, name: str, *owners: Json) -> Json:
        metadata = {"name": name, "ownerReferences": [reference(owner) for owner in owners]}
        made = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": CLAIM}
        return self.create("persistentvolumeclaims", {**made, "metadata": metadata})

    def pod(self, name: str, claim: str, owner: Json, **metadata: Any) -> Json:
        labels = {
            "matrixorigin.io/namespace": self._namespace,
            "matrixorigin.io/instance": "mo",
            "matrixorigin.io/component": "LogSet",
        }
        volume = {"name": "mo-data", "persistentVolumeClaim": {"claimName": claim}}
        references = [{**reference(owner), "controller": True}]
        return self.create(
            "pods",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "labels": labels,
                    "ownerReferences": references,
                    **metadata,
                },
                "spec": {"containers": [{"name": "main", "image": "x"}], "volumes": [volume]},
            },
        )

    def log_set(self) -> Json:
        """Create a cluster with its LogSet."""
        group = {"apiVersion": "core.matrixorigin.io/v1alpha1"}
        storage = {"fileSystem": {"path": "/shared"}}
        log_service = {"replicas": 1, "volume": {"size": "1Gi"}, "sharedStorage": storage}
        spec = {"version": "3.0.18", "logService": log_service, "tn": {"replicas": 1}}
        cluster = {**group, "kind": "MatrixOneCluster", "metadata": {"name": "mo"}, "spec": spec}
        owner = self.create("matrixoneclusters", cluster)
        metadata = {"name": "mo", "ownerReferences": [{**reference(owner), "controller": True}]}
        made = {**group, "kind": "LogSet", "metadata": metadata}
        return self.create("logsets", {**made, "spec": {**log_service, "image": "x"}})


def reference(live: Json) -> Json:
    return {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        "name": live["metadata"]["name"],
        "uid": live["metadata"]["uid"],
    }


def step(action: Action, live: Json, part: str = "LogSet mo", **more: Any) -> Step:
    """Return a step about an object."""
    metadata = live["metadata"]
    return Step(
        action, live["apiVersion"], live["kind"], metadata["name"], metadata["uid"], part, **more
    )


@pytest.fixture
def space(installed_testbed: TestBed, fake_namespace: str) -> Iterator[Space]:
    api = ApiClient(installed_testbed.kubeconfig)
    for one in definitions():
        with suppress(ApiError):
            api.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", one)
    kubeconfig = str(installed_testbed.kubeconfig)
    options = resolve_options({"kubeconfig": kubeconfig}, {})
    with brief_session(options) as session:
        executor = Executor(session, fake_namespace, "mo", 5.0, lambda _text: None)
        made = Space(installed_testbed, fake_namespace, executor)
        eventually(lambda: _serves(api, fake_namespace), 30, "the kinds of OpenKruise")
        yield made


def _serves(api: ApiClient, namespace: str) -> bool:
    try:
        api.request("GET", f"/apis/{KRUISE}/namespaces/{namespace}/statefulsets")
    except ApiError:
        return False
    return True


def test_only_workloads_are_taken_off_a_claim(space: Space):
    """Whoever else owns it, such as a tool for backups, goes on to own it."""
    log_set = space.log_set()
    claim = space.claim("mo-data-mo-log-0", space.workload(), log_set)

    for _again in range(2):
        space.executor.run(step(Action.FREE_CLAIM, claim))

    after = space.get("persistentvolumeclaims", "mo-data-mo-log-0")
    assert after is not None
    assert [owner["kind"] for owner in after["metadata"]["ownerReferences"]] == ["LogSet"]


def test_only_the_named_finalizers_are_taken_off_a_pod(space: Space):
    workload = space.workload(space.log_set())
    others = ["example.com/other", "matrixorigin.io/cn-draining"]
    pod = space.pod("mo-log-0", "mo-data-mo-log-0", workload, finalizers=others)

    for _again in range(2):
        removes = ("matrixorigin.io/cn-draining",)
        space.executor.run(step(Action.RELEASE_POD, pod, removes=removes))

    after = space.get("pods", "mo-log-0")
    assert after is not None
    assert after["metadata"]["finalizers"] == ["example.com/other"]
    space.executor.run(step(Action.RELEASE_POD, pod, removes=("example.com/other",)))


def test_a_workload_that_owns_data_is_not_deleted(space: Space):
    """Whatever the plan was made of: it is looked at again at the last moment."""
    workload = space.workload(space.log_set())
    space.claim("mo-data-mo-log-0", workload)
    space.pod("mo-log-0", "mo-data-mo-log-0", workload)

    with pytest.raises(Changed, match="is owned by StatefulSet again"):
        space.executor.run(step(Action.ORPHAN, workload))
    assert space.get("statefulsets", "mo-log") is not None


def test_pods_and_claims_outlive_their_workload(space: Space):
    workload = space.workload(space.log_set())
    claim = space.claim("mo-data-mo-log-0", workload)
    pod = space.pod("mo-log-0", "mo-data-mo-log-0", workload)
    space.executor.run(step(Action.FREE_CLAIM, claim))

    for _again in range(2):
        space.executor.run(step(Action.ORPHAN, workload))

    assert space.get("statefulsets", "mo-log") is None
    after = space.get("pods", "mo-log-0")
    assert after is not None
    assert after["metadata"]["uid"] == pod["metadata"]["uid"]
    assert not after["metadata"].get("ownerReferences")
    assert "deletionTimestamp" not in after["metadata"]
    assert space.get("persistentvolumeclaims", "mo-data-mo-log-0") is not None


def test_another_object_of_the_name_is_left_alone(space: Space):
    workload = space.workload(space.log_set())
    other = {**workload, "metadata": {**workload["metadata"], "uid": "another"}}

    with pytest.raises(Changed, match="is another one"):
        space.executor.run(step(Action.ORPHAN, other))
    space.executor.run(step(Action.END_WORKLOAD, other))
    assert space.get("statefulsets", "mo-log") is not None


def test_annotations_are_set_and_removed(space: Space):
    log_set = space.log_set()

    def annotations() -> Json:
        found = space.get("logsets", "mo")
        assert found is not None
        return dict(found["metadata"].get("annotations") or {})

    space.executor.run(step(Action.HAND_OVER, log_set))
    assert annotations() == {"matrixorigin.io/adoption": "under-way"}
    space.executor.run(step(Action.COMPLETE, log_set))
    assert annotations() == {"matrixorigin.io/adoption": "complete"}
    space.executor.run(step(Action.PAUSE, log_set))
    assert annotations()["matrixorigin.io/paused"] == "given-back"
    space.executor.run(step(Action.RESUME, log_set))
    space.executor.run(step(Action.HAND_BACK, log_set))
    assert annotations() == {}


def test_what_is_waited_for_is_named_when_the_time_is_over(space: Space):
    log_set = space.log_set()

    with pytest.raises(Exception, match="does our operator run"):
        space.executor.run(step(Action.AWAIT_HELD, log_set))
