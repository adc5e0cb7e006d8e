# SPDX-License-Identifier: Apache-2.0
"""Objects as the first operator made them."""

from tests.early.resources import OLD_IMAGE, Json

PORTS = {"server": 6001, "addr-raft": 10000, "addr-client": 20000, "rpc": 30000}


def first_operators(name: str, uid: str) -> list[Json]:
    """Objects as the first operator made them, written by plain creation."""
    labels = {"app": "matrixone", "matrixone_cr": name}
    metadata: Json = {
        "labels": labels,
        "annotations": {"matrixoneOpResourceHash": "AAAAAAAAAAAAAAAAAAAAAAAAAAA="},
        "ownerReferences": [
            {
                "apiVersion": "matrixone.matrixorigin.cn/v1alpha1",
                "kind": "MatrixoneCluster",
                "name": name,
                "uid": uid,
                "controller": True,
            }
        ],
    }
    container = _container(name)
    storage = {"requests": {"storage": "10Gi"}}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": storage}
    stateful_set = {
        "serviceName": f"{name}-headless",
        "replicas": 1,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        "volumeClaimTemplates": [
            {"metadata": {"name": key, "labels": labels}, "spec": claim} for key in ("data", "log")
        ],
    }
    listed = [{"name": key, "port": port, "targetPort": port} for key, port in PORTS.items()]
    client = {"selector": labels, "ports": listed[:1]}
    headless = {"clusterIP": "None", "selector": labels, "ports": listed}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, **metadata},
            "spec": client,
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"{name}-headless", **metadata},
            "spec": headless,
        },
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": name, **metadata},
            "spec": stateful_set,
        },
    ]


def _container(name: str) -> Json:
    return {
        "name": name,
        "image": OLD_IMAGE,
        "env": [
            {"name": "FIRST_NODE", "value": "x"},
            {"name": "SERVICE_NAME", "value": "y"},
            {"name": "POD_NAME", "value": "z"},
        ],
        "ports": [{"name": key, "containerPort": port} for key, port in PORTS.items()],
        "volumeMounts": [
            {"name": "data", "mountPath": "/store"},
            {"name": "log", "mountPath": "/log"},
        ],
    }
