# SPDX-License-Identifier: Apache-2.0
"""Whether a node has the image of a Pod before the Pod that serves there is deleted."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.image_pull import (
    LABEL,
    ImagePull,
    PullState,
    job_of,
    needed_pull,
    pull_state_of,
)

Json = dict[str, Any]

OLD, NEW = "matrixorigin/matrixone:3.0.16", "matrixorigin/matrixone:3.0.18"
CREATED, NOW = "2026-11-27T12:00:00Z", 1795780860.0  # a minute later
PULL = ImagePull("mo-log-2", "node-2", (NEW,))


def workload(*images: str, **spec: Any) -> Json:
    containers = [{"name": f"c{number}", "image": one} for number, one in enumerate(images)]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "mo-log", "namespace": "prod"},
        "spec": {"template": {"spec": {"containers": containers, **spec}}},
    }


def store(name: str, node: str, image: str = OLD, *, ready: bool = True) -> Json:
    status = {"conditions": [{"type": "Ready", "status": str(ready)}]}
    spec = {"nodeName": node, "containers": [{"name": "main", "image": image}]}
    return {"metadata": {"name": name}, "spec": spec, "status": status}


LAST = store("mo-log-2", "node-2")


@pytest.mark.parametrize(
    ("images", "pod", "others", "expected"),
    [
        pytest.param([NEW], LAST, [], PULL, id="another image"),
        pytest.param([OLD], LAST, [], None, id="the same image"),
        pytest.param([OLD, "side:2"], LAST, [], ("side:2",), id="a new container"),
        pytest.param([NEW], store("mo-log-2", "node-2", ready=False), [], None, id="not serving"),
        pytest.param([NEW], store("mo-log-2", ""), [], None, id="no node"),
        pytest.param([NEW], LAST, [store("mo-log-1", "node-1", NEW)], PULL, id="elsewhere"),
        pytest.param([NEW], LAST, [store("mo-log-1", "node-2", NEW)], None, id="runs beside"),
        pytest.param(
            [NEW], LAST, [store("mo-log-1", "node-2", NEW, ready=False)], PULL, id="beside, down"
        ),
    ],
)
def test_what_is_pulled_before_a_pod_is_deleted(
    images: list[str], pod: Json, others: list[Json], expected: Any
) -> None:
    if isinstance(expected, tuple):
        expected = ImagePull("mo-log-2", "node-2", expected)
    assert needed_pull(workload(*images), pod, [pod, *others]) == expected


def test_the_job_may_pull_what_the_store_may_and_removes_itself() -> None:
    given = {
        "imagePullSecrets": [{"name": "registry"}],
        "serviceAccountName": "db",
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "hostNetwork": True,
        "volumes": [{"name": "data", "emptyDir": {}}],
    }
    live = workload(NEW, **given)
    live["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "Always"

    job = job_of(live, PULL, None)

    assert job["metadata"]["labels"] == {LABEL: "mo-log"}
    assert job["spec"]["template"]["metadata"]["labels"] == {LABEL: "mo-log"}
    assert (job["spec"]["backoffLimit"], job["spec"]["ttlSecondsAfterFinished"]) == (0, 60)
    pod = job["spec"]["template"]["spec"]
    assert {name: pod.get(name) for name in given} == {
        **given,
        "hostNetwork": None,
        "volumes": None,
    }
    assert (pod["nodeName"], pod["automountServiceAccountToken"]) == ("node-2", False)
    [container] = pod["containers"]
    assert (container["image"], container["imagePullPolicy"]) == (NEW, "Always")
    assert container["resources"]["limits"] == {"cpu": "100m", "memory": "64Mi"}


def test_resources_of_helpers_are_those_of_the_spec() -> None:
    chosen = {"requests": {"cpu": "1m"}}
    [container] = job_of(workload(NEW), PULL, chosen)["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == chosen


def test_names_of_jobs_are_labels_and_differ_by_pod_node_and_image() -> None:
    live = workload(NEW, OLD)
    live["metadata"]["name"] = "m" * 52
    others = [
        ImagePull("mo-log-1", "node-2", (NEW,)),
        ImagePull("mo-log-2", "node-1", (NEW,)),
        ImagePull("mo-log-2", "node-2", (OLD,)),
    ]
    found = [job_of(live, one, None)["metadata"]["name"] for one in (PULL, *others)]
    assert len(set(found)) == len(found)
    assert max(map(len, found)) <= 63


def job(condition: str = "", reason: str = "", created: str = CREATED) -> Json:
    ended = [{"type": condition, "status": "True", "reason": reason}] if condition else []
    return {"metadata": {"creationTimestamp": created}, "status": {"conditions": ended}}


def puller(phase: str = "Pending", **container: Any) -> Json:
    statuses = [{"name": "image-0", "image": NEW, **container}] if container else []
    return {"metadata": {"name": "p"}, "status": {"phase": phase, "containerStatuses": statuses}}


def waiting(reason: str, message: str = "") -> Json:
    return {"state": {"waiting": {"reason": reason, "message": message}}}


OVER, UNDER_WAY = PullState(is_over=True), PullState()
NOT_FOUND = PullState(fault=f"ImagePullBackOff of {NEW}: not found")
LATE = PullState(fault="not done within 15 minutes")


@pytest.mark.parametrize(
    ("live", "pods", "expected"),
    [
        pytest.param(job("Complete"), [], OVER, id="complete"),
        pytest.param(job("Failed", "BackoffLimitExceeded"), [], OVER, id="no shell in the image"),
        pytest.param(job("Failed", "DeadlineExceeded"), [], LATE, id="deadline"),
        pytest.param(job(created="2026-11-27T12:00:50Z"), [], UNDER_WAY, id="no Pod yet"),
        pytest.param(job(), [], OVER, id="no Pod, as under a quota"),
        pytest.param(job(), [puller()], UNDER_WAY, id="nothing known of the Pod"),
        pytest.param(job(), [puller("Failed")], OVER, id="refused by the node"),
        pytest.param(job(), [puller(**waiting("ContainerCreating"))], UNDER_WAY, id="pulling"),
        pytest.param(job(), [puller(**waiting("PodInitializing"))], UNDER_WAY, id="initializing"),
        pytest.param(
            job(), [puller(**waiting("ErrImagePull", "not found"))], NOT_FOUND, id="error"
        ),
        pytest.param(
            job(),
            [
                puller(
                    **waiting("ImagePullBackOff", f'Back-off pulling image "{NEW}": E: not found')
                )
            ],
            NOT_FOUND,
            id="back-off",
        ),
        pytest.param(job(), [puller(**waiting("CreateContainerError"))], OVER, id="not created"),
        pytest.param(job(), [puller("Running", imageID="sha256:1", state={})], OVER, id="running"),
    ],
)
def test_how_far_a_pull_is(live: Json, pods: list[Json], expected: PullState) -> None:
    assert pull_state_of(live, pods, NOW) == expected
