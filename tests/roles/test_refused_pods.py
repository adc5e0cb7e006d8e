# SPDX-License-Identifier: Apache-2.0
"""Why Pods do not exist or do not start, from a real API server, in the status of set and cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = pytest.mark.api

Json = dict[str, Any]
LABEL = "refused-by-policy"


def log_set(name: str, **fields: Any) -> Json:
    """Return a log service of one store, with volumes of its own."""
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "LogSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "image": "matrixorigin/matrixone:1.3.0",
            "pvcRetentionPolicy": "Delete",
            "volume": {"size": "1Gi"},
            "sharedStorage": {"fileSystem": {"path": "/shared", "claim": {"size": "1Gi"}}},
            **fields,
        },
    }


def of_namespace(kind: str, **spec: Any) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "team"}, "spec": spec}


def quota(**hard: str) -> Json:
    return of_namespace("ResourceQuota", hard={key.replace("_", "."): hard[key] for key in hard})


def policy(namespace: str) -> list[Json]:
    """Return a policy of the API server that refuses the Pods with a label."""
    group = {"apiVersion": "admissionregistration.k8s.io/v1"}
    name, kind = f"no-{namespace}", "ValidatingAdmissionPolicy"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    denied = {"expression": f"!has(object.metadata.labels.{LABEL.replace('-', '_')})"}
    chosen = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    return [
        {
            **group,
            "kind": kind,
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [rule], "namespaceSelector": chosen},
                "validations": [{**denied, "message": "no Pods with this label"}],
            },
        },
        {
            **group,
            "kind": f"{kind}Binding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]


@pytest.fixture(scope="module")
def refusing_policy(space: Namespace) -> Iterator[None]:
    made = policy(space.name)
    for one in made:
        space.apply(one)
    yield
    for one in reversed(made):
        space.bed.kubectl("delete", one["kind"].lower(), one["metadata"]["name"])


def degraded(space: Namespace, kind: str, name: str) -> Json:
    """Return the condition Degraded once it is True."""
    return eventually(
        lambda: _true(space.condition(kind, name, "Degraded")), 60, f"{kind} {name} is degraded"
    )


@contextmanager
def applied(space: Namespace, *log_sets: Json) -> Iterator[None]:
    """Apply sets side by side, and delete them with their volumes at the end."""
    for one in log_sets:
        space.apply(one)
    try:
        yield
    finally:
        names = [one["metadata"]["name"] for one in log_sets]
        space.kubectl("delete", "logset", *names, "--timeout=60s")
        eventually(lambda: not space.names("pvc"), 60, "no volume is left")


def _with(condition: Json, text: str) -> Json:
    return condition if text in condition.get("message", "") else {}


def _true(condition: Json) -> Json:
    return condition if condition.get("status") == "True" else {}


OWN = {
    "priority": (
        {"overlay": {"priorityClassName": "no-such-class"}},
        "(not created: no PriorityClass with name no-such-class was found)",
    ),
    "account": (
        {"overlay": {"serviceAccountName": "nobody"}},
        'serviceaccount "nobody" not found',
    ),
    "policy": (
        {"overlay": {"podLabels": {LABEL.replace("-", "_"): "yes"}}},
        "denied request: no Pods with this label",
    ),
}


UNSTARTED = {
    "class": (
        {"volume": {"size": "1Gi", "storageClassName": "no-such-class"}},
        (
            "claim mo-data-class-log-0 is pending: ProvisioningFailed: "
            'storageclass.storage.k8s.io "no-such-class" not found'
        ),
    ),
    "room": ({"resources": {"requests": {"cpu": "9k"}}}, "Insufficient cpu"),
    "taint": ({"nodeSelector": {"no": "such-node"}}, "didn't match Pod's node affinity/selector"),
}


def test_what_refuses_the_pods_of_a_set_and_what_a_pod_waits_for(
    space: Namespace, operator: Path, refusing_policy: None
) -> None:
    def message(name: str) -> str:
        return str(space.get("logset", name).get("status", {}).get("message"))

    sets = [log_set(name, **fields) for name, (fields, _told) in (OWN | UNSTARTED).items()]
    with applied(space, *sets):
        for name, (_fields, told) in OWN.items():
            found = degraded(space, "logset", name)
            assert found["reason"] == "PodsNotCreated", name
            assert told in found["message"]
            assert told in message(name)
            assert told in space.condition("logset", name, "Ready")["message"]
            assert space.condition("logset", name, "Stalled")["reason"] == "PodsNotCreated"
        for name, (_fields, told) in UNSTARTED.items():
            eventually(
                lambda name=name, told=told: told in message(name),
                60,
                told,
                otherwise=lambda name=name: message(name),
            )


OF_NAMESPACE = {
    "pods": (quota(pods="0"), {}, "exceeded quota: team, requested: pods=1"),
    "cpu": (quota(limits_cpu="4"), {}, "failed quota: team: must specify limits.cpu"),
    "claims": (
        quota(persistentvolumeclaims="1"),
        {},
        "claim mo-data-claims-log-0: exceeded quota: team, requested: persistentvolumeclaims=1",
    ),
    "storage": (
        quota(requests_storage="1Gi"),
        {},
        "claim mo-data-storage-log-0: exceeded quota: team, requested: requests.storage=1Gi",
    ),
    "least": (
        of_namespace("LimitRange", limits=[{"type": "Container", "min": {"cpu": "100m"}}]),
        {"resources": {"requests": {"cpu": "10m"}, "limits": {"cpu": "1"}}},
        "minimum cpu usage per Container is 100m, but request is 10m",
    ),
    "most": (
        of_namespace("LimitRange", limits=[{"type": "Container", "max": {"memory": "1Gi"}}]),
        {"resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}}},
        "maximum memory usage per Container is 1Gi, but limit is 2Gi",
    ),
}


@pytest.mark.parametrize("name", OF_NAMESPACE)
def test_what_a_namespace_does_not_admit(space: Namespace, operator: Path, name: str) -> None:
    bound, fields, told = OF_NAMESPACE[name]
    kind = bound["kind"].lower()
    space.apply(bound)
    if kind == "resourcequota":
        eventually(lambda: space.get(kind, "team").get("status"), what="the quota is in force")
    try:
        with applied(space, log_set(name, **fields)):
            found = eventually(
                lambda: _with(degraded(space, "logset", name), told),
                90,
                told,
                otherwise=lambda: space.conditions("logset", name),
            )
            assert found["reason"] == "PodsNotCreated"
    finally:
        space.kubectl("delete", kind, "team")


def test_a_cluster_tells_it_of_its_sets(space: Namespace, operator: Path) -> None:
    """A StatefulSet, and a Deployment, whose condition keeps the first cause; in wide columns, too."""
    cluster = tiny_cluster(space.name)
    cluster["spec"]["proxy"]["overlay"] = {"priorityClassName": "no-such-class"}
    cluster["spec"]["webui"] = {"replicas": 1, "overlay": {"priorityClassName": "another-class"}}
    space.apply(cluster)

    found = degraded(space, "mo", "mo")
    told = "ProxySet mo: Pods (not created: no PriorityClass with name no-such-class was found)"
    assert (found["reason"], found["message"]) == ("PodsNotCreated", told)
    assert told in space.kubectl("get", "mo", "mo", "-o", "wide", "--no-headers")
    assert space.condition("mo", "mo", "Stalled")["reason"] == "PodsNotCreated"

    del cluster["spec"]["proxy"]["overlay"]
    space.apply(cluster)
    space.wait("Ready")
    told = "WebUI mo: Pods (not created: no PriorityClass with name another-class was found)"
    assert degraded(space, "mo", "mo")["message"] == told
    assert space.condition("mo", "mo", "Synced")["status"] == "False"

    del cluster["spec"]["webui"]["overlay"]
    space.apply(cluster)
    space.wait("Synced")
    eventually(lambda: not _true(space.condition("mo", "mo", "Degraded")))
    space.kubectl("delete", "mo", "mo", "--timeout=120s")


BOUNDS = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}


@pytest.mark.parametrize(
    "spec",
    [{}, {"operatorVersion": "1.3.0", "helperResources": BOUNDS}],
    ids=["by its version", "by its field"],
)
def test_a_cluster_fits_a_quota_that_counts_every_amount(
    space: Namespace, operator: Path, spec: Json
) -> None:
    """With what the operator adds: the check of the shared folder, the dashboard's containers."""
    cluster = tiny_cluster(space.name)
    parts = cluster["spec"]
    parts |= {**spec, "webui": {"replicas": 1}}
    for part in (parts["logService"], parts["tn"], *parts["cnGroups"], parts["proxy"]):
        part["resources"] = BOUNDS
    parts["webui"]["resources"] = BOUNDS
    amounts = {"cpu": "20", "memory": "20Gi"}
    hard = {f"{kind}.{name}": amounts[name] for kind in ("requests", "limits") for name in amounts}
    space.apply(of_namespace("ResourceQuota", hard=hard))
    try:
        space.apply(cluster)
        space.wait("Ready")
        space.wait("Synced")
        check = "deployment", "mo-log-storage-check"
        eventually(lambda: space.get(*check)["status"].get("readyReplicas") == 1)
        eventually(lambda: not _true(space.condition("mo", "mo", "Degraded")))
    finally:
        space.kubectl("delete", "mo", "mo", "--timeout=120s")
        space.kubectl("delete", "resourcequota", "team")
