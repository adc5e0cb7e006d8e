# SPDX-License-Identifier: Apache-2.0
"""What the tutorial promises, in its order, under the runner's binary."""

import json
from typing import Any

import pytest

from testbed.api import ApiError
from testbed.bed import KubectlError
from tests.memcached.conftest import Caches
from tests.support.waiting import eventually

pytestmark = pytest.mark.api


PERIOD = {"ansible.sdk.operatorframework.io/reconcile-period": "10s"}
"""Instead of the minute of watches.yaml, for which a test would have to wait."""


def replicas(caches: Caches, name: str) -> int:
    return caches.get("deployment", name).get("spec", {}).get("replicas", -1)


@pytest.fixture(scope="module")
def sample(caches: Caches) -> str:
    caches.create("sample", size=2)
    caches.annotate("memcached", "sample", **PERIOD)
    eventually(lambda: caches.has_nodes("sample", 2))
    return "sample"


def test_create(caches: Caches, sample: str) -> None:
    # The run that saw the Pods come up ends well, too: it is the next one that tells of all.
    for condition in ("Available", "Successful"):
        eventually(
            lambda of=condition: (
                caches.conditions("memcached", sample).get(of, {}).get("status") == "True"
            )
        )
    conditions = caches.conditions("memcached", sample)
    told = {name: (item["status"], item["reason"]) for name, item in conditions.items()}
    assert told["Available"] == ("True", "Reconciling")
    assert told["Progressing"] == ("False", "Settled")
    assert "2 of 2 replicas available" in conditions["Available"]["message"]
    caches.kubectl("wait", "--for=condition=Successful", f"memcached/{sample}", "--timeout=10s")


def test_deployment(caches: Caches, sample: str) -> None:
    deployment = caches.get("deployment", sample)
    owner = deployment["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("Memcached", sample)
    labels = {"app": "memcached", "memcached_cr": sample}
    assert deployment["spec"]["selector"] == {"matchLabels": labels}
    assert labels.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsUser"] == 1001
    (container,) = pod["containers"]
    assert container["image"] == "memcached:1.4.36-alpine"
    assert container["command"] == ["memcached", "-m=64", "-o", "modern", "-v"]
    assert container["ports"] == [{"name": "memcached", "containerPort": 11211, "protocol": "TCP"}]


@pytest.mark.parametrize("size", [3, 5, 1, 0, 2])
def test_scale_by_patch(caches: Caches, sample: str, size: int) -> None:
    caches.resize(sample, size)
    eventually(lambda: replicas(caches, sample) == size)
    eventually(lambda: caches.has_nodes(sample, size))


def test_a_negative_size_is_refused(caches: Caches, sample: str) -> None:
    with pytest.raises(ApiError, match="greater than or equal to 0"):
        caches.resize(sample, -1)


def test_scaling_the_deployment_is_taken_back(caches: Caches, sample: str) -> None:
    caches.resize(sample, 5)
    eventually(lambda: caches.has_nodes(sample, 5))
    caches.kubectl("scale", "deployment", sample, "--replicas=1")
    eventually(lambda: replicas(caches, sample) == 5)
    eventually(lambda: caches.has_nodes(sample, 5))


def test_a_deleted_deployment_comes_back(caches: Caches, sample: str) -> None:
    before = caches.get("deployment", sample)["metadata"]["uid"]
    caches.kubectl("delete", "deployment", sample)
    found = eventually(lambda: caches.get("deployment", sample))
    assert found["metadata"]["uid"] != before
    eventually(lambda: caches.has_nodes(sample, 5))


def test_a_deleted_pod_is_replaced_in_the_status(caches: Caches, sample: str) -> None:
    # Nothing watches Pods: the run at the end of the next period sees them.
    victim = caches.pods(sample)[0]
    caches.kubectl("delete", "pod", victim)
    eventually(lambda: victim not in (caches.nodes(sample) or [victim]), seconds=120)
    eventually(lambda: caches.has_nodes(sample, len(caches.pods(sample))), seconds=120)


def test_another_port_reaches_the_container(caches: Caches, sample: str) -> None:
    del sample
    caches.create("port", size=1, containerPort=11311)
    eventually(lambda: replicas(caches, "port") == 1)
    container = caches.get("deployment", "port")["spec"]["template"]["spec"]["containers"][0]
    assert container["ports"][0]["containerPort"] == 11311
    assert container["command"][-1] == "-p=11311"
    caches.kubectl("delete", "memcached", "port", "--timeout=60s")


def test_a_refused_deployment_is_told(caches: Caches) -> None:
    """A quota of no pods' Deployments: the API server refuses, the status says what it said."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "nothing"},
        "spec": {"hard": {"count/deployments.apps": "0"}},
    }
    with caches.bed.namespace("quota") as namespace:
        crowded = Caches(caches.bed, namespace, caches.log)
        crowded.apply(quota)
        eventually(lambda: crowded.get("quota", "nothing").get("status", {}).get("hard"))
        crowded.create("refused", size=1)
        told = eventually(lambda: failed(crowded, "refused"))
        assert (told["Available"]["status"], told["Available"]["reason"]) == (
            "False",
            "Reconciling",
        )
        assert "exceeded quota" in told["Available"]["message"]
        assert "exceeded quota" in told["Failure"]["message"]
        crowded.kubectl("delete", "quota", "nothing")
        eventually(lambda: crowded.has_nodes("refused", 1), seconds=120)
        crowded.kubectl("delete", "memcached", "refused", "--timeout=60s")


def failed(caches: Caches, name: str) -> dict[str, Any]:
    """The conditions once the runner and the play have both reported a failure."""
    found = caches.conditions("memcached", name)
    told = found.get("Failure", {}).get("status") == "True" and "Available" in found
    return found if told else {}


def resizing(caches: Caches, name: str) -> dict[str, Any]:
    found = caches.conditions("memcached", name)
    return found if found.get("Available", {}).get("reason") == "Resizing" else {}


def at_most_three(namespace: str) -> str:
    """A policy that refuses more than three replicas, in one namespace."""
    group = "admissionregistration.k8s.io/v1"
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["deployments"],
    }
    policy = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": namespace},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.spec.replicas <= 3", "message": "too many"}],
        },
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": namespace},
        "spec": {
            "policyName": namespace,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": selector},
        },
    }
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [policy, binding]})


def test_a_refused_resize_is_told(caches: Caches) -> None:
    with caches.bed.namespace("resize") as namespace:
        crowded = Caches(caches.bed, namespace, caches.log)
        crowded.create("big", size=2)
        eventually(lambda: crowded.has_nodes("big", 2), seconds=60)
        policy = at_most_three(namespace)
        crowded.kubectl("apply", "-f", "-", input=policy)
        try:
            # A new policy takes a moment to count.
            eventually(lambda: refuses(crowded, "big"), seconds=60)
            crowded.resize("big", 5)
            told = eventually(lambda: resizing(crowded, "big"))
            assert told["Available"]["status"] == "False"
            assert "too many" in told["Available"]["message"]
        finally:
            crowded.kubectl("delete", "-f", "-", input=policy)
        eventually(lambda: crowded.has_nodes("big", 5), seconds=120)
        crowded.kubectl("delete", "memcached", "big", "--timeout=60s")


def refuses(caches: Caches, name: str) -> bool:
    """Whether the API server would refuse nine replicas now."""
    try:
        patch = '{"spec":{"replicas":9}}'
        caches.kubectl("patch", "deployment", name, "-p", patch, "--dry-run=server")
    except KubectlError as error:
        return "too many" in str(error)
    return False


def test_delete(caches: Caches, sample: str) -> None:
    caches.kubectl("delete", "memcached", sample, "--timeout=60s")
    (event,) = (
        one
        for one in caches.listed("events")
        if (one["reason"], one["involvedObject"]["name"]) == ("Deleting", sample)
    )
    assert event["type"] == "Warning"
    assert sample in event["message"]
    assert caches.name in event["message"]
    assert "ownerReferences" not in event["metadata"]
    # The garbage collector may have to learn the kind first.
    eventually(lambda: not caches.get("deployment", sample), seconds=120)
    eventually(lambda: not caches.pods(sample), seconds=60)


def test_the_rights_of_the_service_account_were_enough(caches: Caches, sample: str) -> None:
    del sample
    assert "is forbidden: User" not in caches.log.read_text()
