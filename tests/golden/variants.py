# SPDX-License-Identifier: Apache-2.0
"""The resources whose manifests are pinned as golden files, by name."""

from __future__ import annotations

from typing import Any

from tests.support import resources as r

FILES = {"s3": r.DELETE, "fileSystem": {"path": "/shared"}}
CLAIM = {
    "s3": r.DELETE,
    "fileSystem": {"path": "/shared", "claim": {"size": "5Gi", "storageClassName": "nfs"}},
}
SET_IMAGE = "matrixorigin/matrixone"
EXTERNAL = {
    "externalLogSet": {
        "haKeeperEndpoint": "hakeeper.example:32001",
        "sharedStorage": {"s3": r.S3},
    }
}
PROBE = {"exec": {"command": ["/bin/true"]}, "periodSeconds": 9}
OVERLAY: dict[str, Any] = {
    "command": ["/bin/sh", "-c"],
    "args": ["exec /mo-service"],
    "envFrom": [{"configMapRef": {"name": "extra"}}],
    "env": [{"name": "POD_NAME", "value": "fixed"}, {"name": "EXTRA", "value": "1"}],
    "imagePullPolicy": "Always",
    "volumeMounts": [
        {"name": "scratch", "mountPath": "/scratch"},
        {"name": "scratch", "mountPath": "/scratch/sub", "subPath": "sub"},
    ],
    "livenessProbe": None,
    "readinessProbe": PROBE,
    "startupProbe": {**PROBE, "failureThreshold": 60},
    "lifecycle": {"preStop": {"exec": {"command": ["/bin/true"]}}},
    "mainContainerSecurityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    },
    "volumes": [{"name": "scratch", "emptyDir": {}}],
    "volumeClaims": [
        {
            "metadata": {"name": "more"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    ],
    "initContainers": [{"name": "prepare", "image": "busybox:1", "command": ["true"]}],
    "sidecarContainers": [{"name": "shipper", "image": "shipper:1"}],
    "serviceAccountName": "robot",
    "priorityClassName": "system-cluster-critical",
    "securityContext": {"runAsNonRoot": True, "runAsUser": 2000, "fsGroup": 2000},
    "imagePullSecrets": [{"name": "pull"}],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"a": "b"}},
                }
            ]
        }
    },
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "terminationGracePeriodSeconds": 99,
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["one.example"]}],
    "runtimeClassName": "gvisor",
    "dnsConfig": {"searches": ["example"]},
    "shareProcessNamespace": True,
    "topologySpreadConstraints": [
        {
            "maxSkew": 2,
            "topologyKey": "zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"a": "b"}},
        }
    ],
    "podLabels": {"team": "a"},
    "podAnnotations": {"note": "b"},
}
EVERYTHING = {
    "imagePullPolicy": "Always",
    "nodeSelector": {"disk": "ssd"},
    "topologySpread": ["topology.kubernetes.io/zone"],
    "memoryFsSize": "512Mi",
    "logService": {
        "exportToPrometheus": True,
        "resources": {"limits": {"cpu": "2", "memory": "4Gi"}},
        "memoryLimitPercent": 90,
        "initialConfig": {"logShards": 2},
        "pvcRetentionPolicy": "Retain",
    },
    "tn": {
        "exportToPrometheus": True,
        "promDiscoveryScheme": "Pod",
        "resources": {"requests": {"memory": "12Gi"}},
        "nodeSelector": {},
        "config": "[tn]\n[tn.Txn.Storage]\nbackend = 'TAE'\n",
    },
    "cnGroups": [
        {
            "name": "tp",
            "replicas": 2,
            "cacheVolume": {"size": "10Gi", "storageClassName": "fast"},
            "resources": {"requests": {"memory": "12Gi"}, "limits": {"memory": "12Gi"}},
            "memoryLimitPercent": 80,
            "cnLabels": [{"key": "workload", "values": ["tp"]}],
            "scalingConfig": {"storeDrainEnabled": True, "storeDrainTimeout": "10m"},
            "exportToPrometheus": True,
            "serviceType": "LoadBalancer",
            "serviceAnnotations": {"lb.example/internal": "true"},
        },
        {"name": "ap", "role": "AP", "config": '[log]\nlevel = "debug"\n'},
    ],
    "proxy": {"replicas": 2, "serviceType": "NodePort", "nodePort": 30601, "minReadySeconds": 5},
    "webui": {"replicas": 1},
}

_RELEASED: dict[str, list[r.Json]] = {
    "cluster-minimal": [r.cluster()],
    "cluster-every-part": [r.cluster(**EVERYTHING)],
    "cluster-legacy-fields": [
        r.cluster(tn=r.DELETE, cnGroups=r.DELETE, dn={"replicas": 1}, tp={"replicas": 1}, ap={})
    ],
    "cluster-domain": [
        r.cluster(
            clusterDomain="k8s.example",
            proxy={"replicas": 1, "clusterDomain": "own.example"},
            webui={"replicas": 1},
        )
    ],
    "cluster-restoring": [r.cluster(restoreFrom="backup")],
    "cluster-version-1": [r.cluster(version="1.3.0", proxy={"replicas": 1})],
    "cluster-version-3": [r.cluster(version="v3.0.16-bda2d138a-2026-06-24", proxy={"replicas": 1})],
    "cluster-version-unknown": [r.cluster(version="nightly", proxy={"replicas": 1})],
    "cluster-operator-1.4": [
        r.cluster(
            operatorVersion="1.4.0",
            nodeSelector={"disk": "ssd"},
            topologySpread=["kubernetes.io/hostname"],
            imagePullPolicy="Always",
            proxy={"replicas": 1},
            webui={"replicas": 1},
        )
    ],
    "cluster-claim-operator-1.4": [
        r.cluster(
            version="1.3.0",
            operatorVersion="1.4.0",
            logService={"sharedStorage": CLAIM},
            proxy={"replicas": 1},
        )
    ],
    "cluster-every-part-operator-1.4": [r.cluster(operatorVersion="1.4.0", **EVERYTHING)],
    "cluster-3.0.18": [r.cluster(version="3.0.18", operatorVersion="1.4.0", **EVERYTHING)],
    "cluster-4.2.0": [r.cluster(version="4.2.0", operatorVersion="1.4.0", **EVERYTHING)],
    "cluster-operator-1.2": [r.cluster(operatorVersion="1.2.0")],
    "cluster-claim": [
        r.cluster(version="1.3.0", logService={"sharedStorage": CLAIM}, proxy={"replicas": 1})
    ],
    "logset-aws": [
        r.logset(sharedStorage={"s3": {"type": "aws", "endpoint": r.DELETE, "region": "eu-west-1"}})
    ],
    "logset-certificates": [
        r.logset(sharedStorage={"s3": {"certificateRef": {"name": "ca", "files": ["ca.crt"]}}})
    ],
    "logset-file-system": [r.logset(sharedStorage=FILES, replicas=1)],
    "logset-cluster-domain": [r.logset(clusterDomain="cluster.example")],
    "logset-overlay": [r.logset(overlay=OVERLAY)],
    "logset-policies-off": [
        r.logset(podDisruptionBudget={"enabled": False}, networkPolicy={"enabled": False})
    ],
    "dnset-dns-identity": [r.logset(), r.dnset(dnsBasedIdentity=True, image=f"{SET_IMAGE}:1.2.3")],
    "dnset-external": [r.dnset(EXTERNAL)],
    "cnset-cache-volume": [r.logset(), r.cnset(cacheVolume={"size": "10Gi"}, memoryFsSize="1Gi")],
    "cnset-overlay": [r.logset(), r.cnset(overlay=OVERLAY)],
    "cnset-pooling": [r.logset(), r.cnset(podManagementPolicy="Pooling")],
    "cnset-python": [r.logset(), r.cnset(pythonUdfSidecar={"enabled": True})],
    "cnset-scaled-by-others": [r.logset(), r.cnset(replicas=r.DELETE)],
    "cnset-file-system-external": [
        r.cnset(
            {
                "externalLogSet": {
                    "haKeeperEndpoint": "h:32001",
                    "sharedStorage": {
                        "fileSystem": {
                            "path": "/shared",
                            "volume": {"nfs": {"server": "nfs.example", "path": "/export"}},
                        }
                    },
                }
            },
            image=f"{SET_IMAGE}:1.2.3",
        )
    ],
    "proxyset-plugin": [r.logset(), r.proxyset(waitPluginAddr="plugin.prod.svc:5000")],
    "proxyset-ready-seconds": [r.logset(), r.proxyset(minReadySeconds=900)],
    "webui-full": [
        r.logset(),
        r.cnset(),
        r.webui(image="dash:0.2.0", serviceType="NodePort", updateStrategy={"maxSurge": 1}),
    ],
    "webui-load-balancer": [
        r.logset(),
        r.cnset(),
        r.webui(
            serviceType="LoadBalancer",
            nodePort=30801,
            serviceAnnotations={"lb.example/internal": "true"},
            externalTrafficPolicy="Local",
            loadBalancerClass="lb.example/fast",
            loadBalancerSourceRanges=["192.0.2.0/24"],
        ),
    ],
    "early-launch": [r.early()],
    "early-image": [
        r.early(image="matrixorigin/matrixone:0.4.0", replicas=3, deleteOrphanPvc=True)
    ],
    "early-full": [r.early(**r.EARLY_FULL)],
}


def _at_their_level(documents: list[r.Json]) -> list[r.Json]:
    """Return documents with the ``operatorVersion`` that was the default before 1.4.0."""
    for document in documents:
        if document["kind"] in _LEVELLED:
            document["spec"].setdefault("operatorVersion", "1.3.0")
    return documents


_LEVELLED = {"MatrixOneCluster", "LogSet", "DNSet", "CNSet", "ProxySet", "WebUI"}

VARIANTS: dict[str, list[r.Json]] = {
    name: _at_their_level(documents) for name, documents in _RELEASED.items()
}
"""Documents by the name of the golden file. What a set depends on comes before it, and is not
rendered itself: only the last document is."""

LIKE = {
    **dict.fromkeys(
        ("cluster-legacy-fields", "cluster-minimal", "cluster-restoring"), "cluster-operator-1.2"
    ),
    **dict.fromkeys(
        (
            "cluster-claim",
            "cluster-claim-operator-1.4",
            "cluster-domain",
            "cluster-operator-1.4",
            "cluster-version-3",
            "cluster-version-unknown",
        ),
        "cluster-version-1",
    ),
    "cluster-every-part-operator-1.4": "cluster-every-part",
    "cluster-3.0.18": "cluster-every-part-operator-1.4",
    "cluster-4.2.0": "cluster-3.0.18",
    **dict.fromkeys(
        (
            "logset-aws",
            "logset-cluster-domain",
            "logset-file-system",
            "logset-overlay",
            "logset-policies-off",
        ),
        "logset-certificates",
    ),
    "dnset-dns-identity": "dnset-external",
    **dict.fromkeys(
        (
            "cnset-cache-volume",
            "cnset-file-system-external",
            "cnset-overlay",
            "cnset-pooling",
            "cnset-python",
        ),
        "cnset-scaled-by-others",
    ),
    "proxyset-plugin": "proxyset-ready-seconds",
    "webui-load-balancer": "webui-full",
    "early-full": "early-launch",
}
"""Variants whose golden files hold only what differs from that of another one."""
