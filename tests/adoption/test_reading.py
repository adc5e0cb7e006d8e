# SPDX-License-Identifier: Apache-2.0
"""What is read from objects of a cluster that the Go operator has made."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.adoption.facts import Bucket
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.adoption.reading import (
    SetObjects,
    Surroundings,
    read_cluster,
    read_pod,
    read_set,
    read_workload,
)

Json = dict[str, Any]
NOW = 1_800_000_000.0
HELD = "waiting for its adoption: StatefulSet mo-log of OpenKruise runs it"


def log_set(**metadata: Any) -> Json:
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "LogSet",
        "metadata": {"name": "mo", "namespace": "prod", "uid": "u", "generation": 2, **metadata},
        "spec": {"replicas": 1, "image": "matrixone:3.0.18"},
    }


def pod(**spec: Any) -> Json:
    owner = {"apiVersion": "apps.kruise.io/v1beta1", "kind": "StatefulSet", "name": "mo-log"}
    volumes = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim}}
        for name, claim in (("mo-data", "mo-data-mo-log-0"), ("shared", "mo-shared"))
    ]
    return {
        "metadata": {
            "name": "mo-log-0",
            "namespace": "prod",
            "uid": "p",
            "ownerReferences": [{**owner, "uid": "k", "controller": True}],
            "finalizers": ["matrixorigin.io/confirm-deletion", "example.com/other"],
        },
        "spec": {
            "containers": [
                {"name": "sidecar", "image": "x"},
                {"name": "main", "image": "matrixone:3.0.18"},
            ],
            "volumes": volumes,
            **spec,
        },
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def claim(name: str = "mo-data-mo-log-0", phase: str = "Bound", **metadata: Any) -> Json:
    return {
        "metadata": {"name": name, "uid": "c", **metadata},
        "spec": {"volumeName": "pv"},
        "status": {"phase": phase},
    }


def objects(**more: Any) -> SetObjects:
    claims = {"mo-data-mo-log-0": claim(), "mo-shared": claim("mo-shared"), "x": claim("x")}
    given: Json = {
        "resource": log_set(),
        "foreign": None,
        "own": None,
        "pods": [pod()],
        "claims": claims,
        "volumes": {"pv": {"spec": {"csi": {"driver": "ebs"}}}},
    }
    return SetObjects(**{**given, **more})


def test_a_pod():
    found = read_pod(pod())

    assert (found.ready, found.image, found.as_root) == (True, "matrixone:3.0.18", True)
    assert found.owner is not None
    assert found.owner.kruise
    assert found.finalizers == ("matrixorigin.io/confirm-deletion",)
    assert found.claims == ("mo-data-mo-log-0", "mo-shared")


@pytest.mark.parametrize(
    ("context", "as_root"),
    [
        ({}, True),
        ({"runAsUser": 0}, True),
        ({"runAsUser": 1000}, False),
        ({"runAsNonRoot": True}, False),
    ],
)
def test_who_a_pod_runs_as(context: Json, as_root: bool):
    assert read_pod(pod(securityContext=context)).as_root is as_root


def test_the_claims_of_a_set_are_those_that_were_made_for_its_pods():
    """One that the user has made is the user's, whoever mounts it."""
    assert [one.name for one in read_set(objects()).claims] == ["mo-data-mo-log-0"]


@pytest.mark.parametrize(
    ("found", "bound"),
    [
        (claim(), True),
        (claim(phase="Pending"), False),
        (claim(deletionTimestamp="2026-01-01T00:00:00Z"), False),
    ],
)
def test_whether_a_claim_has_its_volume(found: Json, bound: bool):
    (one,) = read_set(objects(claims={"mo-data-mo-log-0": found})).claims
    assert one.bound is bound


@pytest.mark.parametrize(
    ("spec", "drivers", "regrouped"),
    [
        ({"csi": {"driver": "ebs"}}, {}, True),
        ({"csi": {"driver": "ebs"}}, {"ebs": {"spec": {"fsGroupPolicy": "File"}}}, True),
        ({"csi": {"driver": "ebs"}}, {"ebs": {"spec": {"fsGroupPolicy": "None"}}}, False),
        ({"local": {"path": "/a"}}, {}, True),
        ({"hostPath": {"path": "/a"}}, {}, False),
        ({"nfs": {"server": "a"}}, {}, False),
        (None, {}, False),
    ],
)
def test_whose_files_become_those_of_a_new_pod(spec: Json | None, drivers: Json, regrouped: bool):
    volumes = {} if spec is None else {"pv": {"spec": spec}}
    (one,) = read_set(objects(volumes=volumes, drivers=drivers)).claims
    assert one.regrouped is regrouped


def test_what_our_operator_has_said_of_a_set():
    resource = log_set()
    resource["status"] = {
        "conditions": [{"type": "Synced", "status": "False", "message": HELD}],
    }
    assert read_set(objects(resource=resource)).held
    assert not read_set(objects()).held


def test_what_the_go_operator_said_does_not_count():
    """Its conditions stay in the status: Pods of OpenKruise are not ours, however ready."""
    resource = log_set()
    resource["status"] = {
        "conditions": [
            {"type": kind, "status": "True", "observedGeneration": 2}
            for kind in ("Ready", "Synced")
        ]
    }
    assert not read_set(objects(resource=resource)).serves


@pytest.mark.parametrize(
    ("annotations", "paused", "by_us"),
    [
        ({}, False, False),
        ({"matrixorigin.io/paused": "given-back"}, True, True),
        ({"matrixorigin.io/paused": "true"}, True, False),
        ({"matrixorigin.io/skip-sync": "true"}, True, False),
        ({"matrixorigin.io/paused": "given-back", "matrixorigin.io/skip-sync": "y"}, True, False),
    ],
)
def test_who_has_paused_a_set(annotations: Json, paused: bool, by_us: bool):
    found = read_set(objects(resource=log_set(annotations=annotations)))
    assert (found.paused, found.paused_by_us) == (paused, by_us)


@pytest.mark.parametrize(
    ("incarnations", "replaced"), [(None, False), ("{}", False), ('{"1": 1}', True)]
)
def test_whether_a_log_store_was_replaced(incarnations: str | None, replaced: bool):
    annotations = {"logset.matrixorigin.io/incarnations": incarnations} if incarnations else {}
    assert read_set(objects(resource=log_set(annotations=annotations))).replaced is replaced


def workload(spec: Json, status: Json) -> Json:
    return {
        "apiVersion": "apps.kruise.io/v1beta1",
        "kind": "StatefulSet",
        "metadata": {"name": "mo-log", "uid": "k", "generation": 3},
        "spec": spec,
        "status": status,
    }


DONE = {"observedGeneration": 3, "replicas": 3, "updatedReplicas": 3}
POLICY = "persistentVolumeClaimRetentionPolicy"


@pytest.mark.parametrize(
    ("status", "settled"),
    [
        (DONE, True),
        ({**DONE, "observedGeneration": 2}, False),
        ({**DONE, "updatedReplicas": 2}, False),
        ({**DONE, "replicas": 4}, False),
        ({}, False),
    ],
)
def test_whether_a_workload_is_in_an_update(status: Json, settled: bool):
    found = read_workload(workload({"replicas": 3}, status))
    assert found is not None
    assert found.settled is settled


def test_what_a_workload_leaves_out_and_deletes():
    policy = {"whenDeleted": "Retain", "whenScaled": "Delete"}
    found = read_workload(workload({"reserveOrdinals": [2, 1], POLICY: policy}, DONE))

    assert found is not None
    assert (found.replicas, found.reserved, found.keeps_claims) == (1, (1, 2), False)
    assert read_workload(None) is None


def deployment(name: str, command: str, replicas: int | None = 1, present: int = 0) -> Json:
    template = {"spec": {"containers": [{"command": [command]}]}}
    return {
        "metadata": {"name": name, "namespace": "mo-system"},
        "spec": {"replicas": replicas, "template": template},
        "status": {"replicas": present},
    }


def lease(renewed: str, holder: str = "somebody") -> Json:
    return {
        "metadata": {"name": "0c8ab548.matrixorigin.io", "namespace": "mo-system"},
        "spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15},
    }


@pytest.mark.parametrize(
    ("around", "found"),
    [
        ({"deployments": [deployment("matrixone-operator", "/manager")]}, True),
        ({"deployments": [deployment("matrixone-operator", "/manager", None)]}, True),
        ({"deployments": [deployment("matrixone-operator", "/manager", 0)]}, False),
        ({"deployments": [deployment("matrixone-operator", "/manager", 0, 1)]}, True),
        ({"deployments": [deployment("matrixone-operator", "ansible-operator")]}, False),
        ({"deployments": [deployment("kruise-controller-manager", "/manager")]}, False),
        ({"leases": [lease("2027-01-15T08:00:00Z")]}, True),
        ({"leases": [lease("2027-01-15T07:59:00Z")]}, False),
        ({"leases": [lease("2027-01-15T08:00:00Z", "")]}, False),
    ],
)
def test_whether_a_go_operator_is_at_work(around: Json, found: bool):
    """Ours has a Deployment of that name, too."""
    cluster = read_cluster(("prod", "mo"), None, [], Surroundings(**around, now=NOW))
    assert bool(cluster.operators) is found


def test_webhooks_pools_and_buckets():
    service = {"path": "/validate-core-matrixorigin-io-v1alpha1-logset"}
    kruise_pod = pod()
    kruise_pod["metadata"]["labels"] = {"pool.matrixorigin.io/pool-name": "warm"}
    around = Surroundings(
        webhooks=[
            {
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": [{"clientConfig": {"service": found}}],
            }
            for name, found in (("go", service), ("ours", {"path": "/validate"}))
        ],
        pools=[{"metadata": {"name": name}} for name in ("warm", "ours")],
        pool_pods=[kruise_pod],
        buckets=[
            {"metadata": {"name": "bucket-old"}, "status": {"bindTo": "prod/mo"}},
            {"metadata": {"name": "bucket-x"}, "status": {"bindTo": "other/mo"}},
        ],
    )
    cluster = read_cluster(("prod", "mo"), {"metadata": {}}, [objects()], around)

    assert cluster.webhooks == ("ValidatingWebhookConfiguration go",)
    assert cluster.pools == ("warm",)
    assert cluster.buckets == (Bucket("bucket-old", "bucket-u"),)
