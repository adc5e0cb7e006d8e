# SPDX-License-Identifier: Apache-2.0
"""Every validation rule, by what a real API server says to it on create and on update."""

from typing import Any

import pytest

from crds.generate.sources import Sources
from testbed.api import ApiError
from tests.crds.conftest import Server
from tests.crds.manifests import EARLY, LOG_SET, S3, changed, minimal
from tests.support.places import ROOT

pytestmark = pytest.mark.api

SCHEMAS = [kind.schema for kind in Sources(ROOT / "crds" / "schema").kinds()]

MO = "MatrixOneCluster"
STORAGE = "spec.sharedStorage"
FILES = {"fileSystem": {"path": "/shared"}}
CLAIM = {"fileSystem": {"path": "/shared", "claim": {"size": "10Gi"}}}
NFS = {"nfs": {"server": "files", "path": "/"}}
GROUP = "spec.cnGroups.0"
JOB, RESTORE = "BackupJob", "RestoreJob"
ONE_BACKUP = "exactly one of backupName and externalSource must be set"
TARGET = "spec.target.fileSystem"
VERIFIED = {"name": "all", "sql": "select a, b, c from d.t", "rows": [[1, "x", None]]}
FOLDER = {
    "fileSystem": {
        "path": "/backup/mo-1",
        "mountPath": "/backup",
        "volume": {"persistentVolumeClaim": {"claimName": "backups"}},
    }
}
BALANCED = {"spec.serviceType": "LoadBalancer", "spec.loadBalancerClass": "a"}
ANOTHER_CLASS = "loadBalancerClass cannot be changed while serviceType is LoadBalancer"
FIXED = "volume mo-data cannot be added or removed after creation"

READY_SECONDS = [
    *((kind, "spec") for kind in ("LogSet", "DNSet", "CNSet", "ProxySet")),
    *((MO, f"spec.{part}") for part in ("logService", "tn", "ap")),
    (MO, GROUP),
]
"""Kinds and places with minReadySeconds."""


def place(where: str) -> str:
    """Return a path as an API server writes it."""
    return where.replace(".0", "[0]")


REFUSED_ON_CREATE: list[tuple[str, dict[str, Any], str]] = [
    # names
    (EARLY, {"metadata.name": "a" * 53}, "metadata.name must not have more than 52 characters"),
    (MO, {"metadata.name": "a" * 47}, "metadata.name must not have more than 46 characters"),
    (MO, {"metadata.name": "1mo"}, "metadata.name must be a DNS-1035 label"),
    (MO, {"metadata.name": "m.o"}, "metadata.name must be a DNS-1035 label"),
    ("LogSet", {"metadata.name": "a" * 49}, "must not have more than 48 characters"),
    ("DNSet", {"metadata.name": "a" * 50}, "must not have more than 49 characters"),
    ("CNSet", {"metadata.name": "a" * 52}, "must not have more than 51 characters"),
    ("ProxySet", {"metadata.name": "a" * 58}, "must not have more than 57 characters"),
    ("WebUI", {"metadata.name": "a" * 58}, "must not have more than 57 characters"),
    ("LogSet", {"metadata.name": "l.s"}, "metadata.name must be a DNS-1035 label"),
    ("DNSet", {"metadata.name": "1dn"}, "metadata.name must be a DNS-1035 label"),
    ("CNSet", {"metadata.name": "c.n"}, "metadata.name must be a DNS-1035 label"),
    ("ProxySet", {"metadata.name": "1proxy"}, "metadata.name must be a DNS-1035 label"),
    ("WebUI", {"metadata.name": "w.ui"}, "metadata.name must be a DNS-1035 label"),
    # the composition of a cluster
    (MO, {"spec.tn": None}, "spec.tn: Required value: tn must be given"),
    (MO, {"spec.dn": {"replicas": 1}}, "spec.dn: Forbidden: tn and dn"),
    (MO, {"spec.version": ""}, "spec.version"),
    (MO, {"spec.clusterDomain": "svc.cluster.local"}, "such as cluster.local, without svc"),
    ("CNSet", {"spec.clusterDomain": "svc.cluster.local"}, "such as cluster.local, without svc"),
    (MO, {"spec.version": None}, "spec.version: Required value"),
    (MO, {"spec.logService": None}, "spec.logService: Required value"),
    (MO, {f"{GROUP}.name": "a b"}, "the name of a CN group must be a DNS-1035 label"),
    (MO, {f"{GROUP}.name": "a/b"}, "the name of a CN group must be a DNS-1035 label"),
    (MO, {f"{GROUP}.name": "a_b"}, "the name of a CN group must be a DNS-1035 label"),
    (MO, {f"{GROUP}.name": "a.b"}, "the name of a CN group must be a DNS-1035 label"),
    (MO, {f"{GROUP}.name": "1a"}, "the name of a CN group must be a DNS-1035 label"),
    (MO, {f"{GROUP}.name": None}, "spec.cnGroups[0].name: Required value"),
    (
        MO,
        {"metadata.name": "a" * 46, f"{GROUP}.name": "group"},
        "must not have more than 50 characters together",
    ),
    (MO, {"spec.cnGroups": [{"name": "a"}, {"name": "a"}]}, "Duplicate value"),
    (MO, {"spec.tp": {"replicas": 1}}, "must not be named tp"),
    (MO, {"spec.ap": {}, f"{GROUP}.name": "ap"}, "must not be named ap"),
    (MO, {"spec.imagePullPolicy": "Sometimes"}, "spec.imagePullPolicy: Unsupported value"),
    (MO, {"spec.credentialSecretRef": {}}, "spec.credentialSecretRef.name: Required value"),
    (MO, {"spec.credentialSecretRef": {"name": "No Name"}}, "spec.credentialSecretRef.name"),
    (MO, {"spec.clusterDomain": "local"}, "clusterDomain must be a fully qualified domain name"),
    (MO, {"spec.memoryFsSize": "0"}, "spec.memoryFsSize: Invalid value"),
    (MO, {"spec.memoryFsSize": "-1Gi"}, "must be greater than zero; omit it for none"),
    (MO, {"spec.tn.memoryFsSize": 0}, "spec.tn.memoryFsSize: Invalid value"),
    # rules of components hold inside a cluster too
    (MO, {"spec.logService.volume.size": 0}, "spec.logService.volume.size"),
    (MO, {"spec.logService.sharedStorage": {}}, "exactly one of s3 and fileSystem must be set"),
    (
        MO,
        {"spec.logService.initialConfig": {"logShardReplicas": 5}},
        "logShardReplicas must not be larger than replicas",
    ),
    (MO, {"spec.tn.memoryLimitPercent": 101}, "spec.tn.memoryLimitPercent"),
    (MO, {"spec.tn.config": "[tn]\n[dn]\n"}, "both a [tn] and a [dn] table"),
    (MO, {"spec.tn.replicas": 3}, "MatrixOne supports only one transaction node"),
    (MO, {f"{GROUP}.nodePort": 30001}, "nodePort needs serviceType NodePort or LoadBalancer"),
    (MO, {f"{GROUP}.cacheVolume.size": "0"}, "size must be greater than zero"),
    (MO, {"spec.proxy": {"replicas": 1, "nodePort": 30001}}, "nodePort needs serviceType"),
    # namespaces that a set trusts
    ("LogSet", {"spec.allowedNamespaces": ["*"]}, "spec.allowedNamespaces[0]: Invalid value"),
    ("DNSet", {"spec.allowedNamespaces": ["a.b"]}, "spec.allowedNamespaces[0]: Invalid value"),
    ("CNSet", {"spec.allowedNamespaces": ["a", "a"]}, "Duplicate value"),
    ("CNSet", {"spec.allowedNamespaces": [f"n{i}" for i in range(65)]}, "must have at most 64"),
    (MO, {f"{GROUP}.allowedNamespaces": [""]}, "spec.cnGroups[0].allowedNamespaces[0]"),
    # log service
    ("LogSet", {"spec.volume.size": "0"}, "spec.volume.size: Invalid value"),
    ("LogSet", {"spec.volume.size": "-1Gi"}, "size must be greater than zero"),
    ("LogSet", {"spec.volume.size": "much"}, "spec.volume.size"),
    ("LogSet", {"spec.volume": None}, "spec.volume: Required value"),
    ("LogSet", {"spec.replicas": None}, "spec.replicas: Required value"),
    ("LogSet", {"spec.replicas": -1}, "spec.replicas"),
    ("LogSet", {STORAGE: None}, "spec.sharedStorage: Required value"),
    ("LogSet", {STORAGE: {}}, "exactly one of s3 and fileSystem must be set"),
    ("LogSet", {STORAGE: {"s3": S3, **FILES}}, "exactly one of s3 and fileSystem must be set"),
    ("LogSet", {f"{STORAGE}.s3.path": ""}, "spec.sharedStorage.s3.path"),
    ("LogSet", {f"{STORAGE}.s3.path": "//"}, "spec.sharedStorage.s3.path"),
    ("LogSet", {f"{STORAGE}.s3.path": None}, "spec.sharedStorage.s3.path: Required value"),
    ("LogSet", {f"{STORAGE}.s3.path": "s3://data/mo"}, "<bucket> or <bucket>/<prefix>, such as"),
    ("LogSet", {f"{STORAGE}.s3.path": "team//mo"}, "without a scheme (s3://), a server"),
    ("LogSet", {f"{STORAGE}.s3.path": " data/mo"}, "without a scheme (s3://), a server"),
    ("LogSet", {f"{STORAGE}.s3.path": "data/../mo"}, "path must not have the parts '.' or '..'"),
    ("LogSet", {f"{STORAGE}.s3.path": "data/a b"}, "path must have no characters other than"),
    ("LogSet", {f"{STORAGE}.s3.region": "us west"}, "region must be letters, digits, '-', '_'"),
    *(
        ("LogSet", {f"{STORAGE}.s3.endpoint": endpoint}, "endpoint must be <host>, <host>:<port>")
        for endpoint in (
            "http://minio.storage:9000 ",
            "http://minio:abc",
            "http://[fd00::1:9000",
            "http://fd00::1:9000",
            "http://user:secret@minio:9000",
            "http://minio:9000/?x",
            "s3://minio",
            "http://-minio",
        )
    ),
    ("LogSet", {f"{STORAGE}.s3.endpoint": "minio:99999"}, "the port of endpoint must be a number"),
    ("LogSet", {f"{STORAGE}.s3.endpoint": "http://m:0/x"}, "the port of endpoint must be a number"),
    (JOB, {"spec.target.s3.endpoint": "http://minio:90000"}, "the port of endpoint must be a"),
    (JOB, {"spec.target.s3.path": "s3://backups/bk"}, "<bucket> or <bucket>/<prefix>, such as"),
    *(
        (
            "LogSet",
            {STORAGE: CLAIM, f"{STORAGE}.fileSystem.path": path},
            "path must not be, contain, or be inside a folder that the Pods use themselves",
        )
        for path in (
            "/var/lib/matrixone",
            "/var/lib/matrixone/data",
            "/var/lib",
            "/tmp/shared",
            "/etc",
            "/matrixone",
            "/usr/share/mo/",
        )
    ),
    *(
        (
            "LogSet",
            {STORAGE: CLAIM, f"{STORAGE}.fileSystem.path": path},
            "path must be an absolute path below the root",
        )
        for path in ("/", "shared", "/a/../b", "/a//b", "/..")
    ),
    ("LogSet", {STORAGE: CLAIM, f"{STORAGE}.fileSystem.path": "/a b"}, "path must have no char"),
    ("LogSet", {"spec.pvcRetentionPolicy": "Keep"}, "spec.pvcRetentionPolicy: Unsupported value"),
    (MO, {"spec.logService.sharedStorage.s3.path": "/"}, "spec.logService.sharedStorage.s3.path"),
    (
        MO,
        {"spec.logService.sharedStorage.s3.s3RetentionPolicy": "Keep"},
        "spec.logService.sharedStorage.s3.s3RetentionPolicy: Unsupported value",
    ),
    (
        "DNSet",
        {
            "deps": {
                "externalLogSet": {
                    "haKeeperEndpoint": "log:32001",
                    "sharedStorage": {"s3": {**S3, "path": "/"}},
                }
            }
        },
        "deps.externalLogSet.sharedStorage.s3.path",
    ),
    ("LogSet", {f"{STORAGE}.s3.type": "gcs"}, "spec.sharedStorage.s3.type: Unsupported value"),
    ("LogSet", {f"{STORAGE}.s3.secretRef": {}}, "secretRef.name: Required value"),
    ("LogSet", {f"{STORAGE}.s3.secretRef": {"name": "A_b"}}, "sharedStorage.s3.secretRef.name"),
    (
        "LogSet",
        {f"{STORAGE}.s3.certificateRef": {"name": "-", "files": ["a"]}},
        "sharedStorage.s3.certificateRef.name",
    ),
    ("LogSet", {"spec.volume.storageClassName": "Fast Disk"}, "spec.volume.storageClassName"),
    ("DNSet", {"spec.cacheVolume": {"size": 1, "storageClassName": "x_y"}}, "storageClassName"),
    ("LogSet", {f"{STORAGE}.s3.certificateRef": {"name": "ca"}}, "certificateRef.files: Required"),
    ("LogSet", {f"{STORAGE}.s3.s3RetentionPolicy": "Keep"}, "s3RetentionPolicy: Unsupported"),
    ("LogSet", {STORAGE: {"fileSystem": {"path": ""}}}, "spec.sharedStorage.fileSystem.path"),
    (
        "LogSet",
        {STORAGE: CLAIM, f"{STORAGE}.fileSystem.volume": NFS},
        "volume and claim are mutually exclusive",
    ),
    (
        "LogSet",
        {STORAGE: FILES, f"{STORAGE}.fileSystem.volume": {**NFS, "hostPath": {"path": "/"}}},
        "spec.sharedStorage.fileSystem.volume",
    ),
    (
        "LogSet",
        {STORAGE: CLAIM, f"{STORAGE}.fileSystem.claim.size": 0},
        "claim.size: Invalid value",
    ),
    (
        "LogSet",
        {STORAGE: CLAIM, f"{STORAGE}.fileSystem.claim.accessModes": ["Always"]},
        "Unsupported value",
    ),
    ("LogSet", {"spec.initialConfig.logShardReplicas": 4}, "must not be larger than replicas"),
    ("LogSet", {"spec.initialConfig.logShards": 0}, "spec.initialConfig.logShards"),
    ("LogSet", {"spec.storeFailureTimeout": "soon"}, "spec.storeFailureTimeout"),
    ("LogSet", {"spec.failedPodStrategy": "Keep"}, "spec.failedPodStrategy: Unsupported value"),
    ("LogSet", {"spec.pvcRetentionPolicy": "Keep"}, "spec.pvcRetentionPolicy: Unsupported value"),
    ("LogSet", {"spec.image": None}, "spec.image: Required value: image must be given"),
    ("LogSet", {"spec.image": ""}, "image must be given"),
    # what all sets share
    ("LogSet", {"spec.memoryLimitPercent": 0}, "spec.memoryLimitPercent"),
    ("LogSet", {"spec.memoryLimitPercent": 101}, "spec.memoryLimitPercent"),
    ("LogSet", {"spec.clusterDomain": "local"}, "clusterDomain must be a fully qualified domain"),
    ("LogSet", {"spec.clusterDomain": "Cluster.local"}, "clusterDomain must be a fully qualified"),
    ("LogSet", {"spec.promDiscoveryScheme": "Node"}, "promDiscoveryScheme: Unsupported value"),
    ("LogSet", {"spec.semanticVersion": "nightly"}, "spec.semanticVersion"),
    ("LogSet", {"spec.operatorVersion": "latest"}, "spec.operatorVersion"),
    ("LogSet", {"spec.operatorVersion": "9.9.9"}, "operatorVersion must be 1.4 or older"),
    (MO, {"spec.operatorVersion": "1.5"}, "operatorVersion must be 1.4 or older"),
    ("LogSet", {"spec.image": "Foo Bar"}, "spec.image: Invalid value"),
    ("LogSet", {"spec.image": "https://registry.example.com/mo:1"}, "must be an image such as"),
    ("LogSet", {"spec.image": "mo:1 "}, "must be an image such as"),
    (MO, {"spec.version": "1.0 0"}, "must be the tag of an image"),
    (MO, {"spec.version": f"sha256:{'a' * 64}"}, "must be the tag of an image"),
    (MO, {"spec.version": "mo:1.0"}, "must be the tag of an image"),
    # a waiver names the version and what it waives
    (MO, {"spec.upgrade": {"waive": {"checks": ["Path"]}}}, "waive.to: Required value"),
    (MO, {"spec.upgrade": {"waive": {"to": "2.1.0"}}}, "waive.checks: Required value"),
    (MO, {"spec.upgrade": {"waive": {"to": "2.1.0", "checks": []}}}, "at least 1 items"),
    (MO, {"spec.upgrade": {"waive": {"to": "2.1.0", "checks": ["All"]}}}, "Unsupported value"),
    (MO, {"spec.upgrade": {"waive": {"to": "any", "checks": ["Path"]}}}, "waive.to: Invalid"),
    (MO, {"spec.upgrade": {"maxBackupAge": "1d"}}, "spec.upgrade.maxBackupAge: Invalid"),
    (MO, {"spec.imageRepository": "Foo Bar"}, "must be an image without tag"),
    (MO, {"spec.imageRepository": "https://registry.example.com/mo"}, "without https://"),
    (MO, {"spec.imageRepository": "registry.example.com/mo:1.0"}, "must be an image without tag"),
    ("LogSet", {"spec.nodeSelector": {"a b": "c"}}, "must be valid label keys and values"),
    ("LogSet", {"spec.nodeSelector": {"a": "-c"}}, "must be valid label keys and values"),
    ("LogSet", {"spec.serviceArgs": ["-cfg", "x"]}, "serviceArgs must not contain -cfg"),
    ("LogSet", {"spec.serviceArgs": ["--cfg=x"]}, "serviceArgs must not contain -cfg"),
    (
        "LogSet",
        {"spec.resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}},
        "a request must not be larger than the limit",
    ),
    ("LogSet", {"spec.resources": {"limits": {"memory": "2 Gi"}}}, "spec.resources.limits"),
    ("LogSet", {"spec.resources": {"limits": {"gpu": 1}}}, "a resource must be cpu, memory"),
    (MO, {"spec.tn.resources": {"requests": {"ram": "1Gi"}}}, "a resource must be cpu, memory"),
    ("CNSet", {"spec.resources": {"limits": {"cpu": "-1"}}}, "an amount must not be negative"),
    (
        "CNSet",
        {"spec.resources": {"limits": {"example.com/gpu": "500m"}}},
        "an amount of devices must be a whole number",
    ),
    (
        "CNSet",
        {"spec.resources": {"requests": {"example.com/gpu": 1}}},
        "a request of hugepages or devices needs a limit of the same amount",
    ),
    (
        MO,
        {
            f"{GROUP}.resources": {
                "requests": {"hugepages-2Mi": "2Mi"},
                "limits": {"hugepages-2Mi": "4Mi"},
            }
        },
        "a request of hugepages or devices needs a limit of the same amount",
    ),
    ("LogSet", {"spec.topologySpread": ["a b"]}, "topologySpread must be a label key"),
    ("LogSet", {"spec.podDisruptionBudget": {"maxUnavailable": "half"}}, "maxUnavailable"),
    ("LogSet", {"spec.overlay": {"imagePullPolicy": "Sometimes"}}, "Unsupported value"),
    ("LogSet", {"spec.overlay": {"env": [{"value": "x"}]}}, "spec.overlay.env[0].name: Required"),
    ("LogSet", {"spec.overlay": {"terminationGracePeriodSeconds": -1}}, "greater than or equal"),
    ("LogSet", {"spec.replica": 3}, 'unknown field "spec.replica"'),
    # dependencies
    ("DNSet", {"deps": None}, "deps.logSet or deps.externalLogSet must be given"),
    ("DNSet", {"deps": {}}, "deps: Required value"),
    ("CNSet", {"deps": {"dnSet": LOG_SET}}, "deps.logSet or deps.externalLogSet must be given"),
    ("ProxySet", {"deps": None}, "deps.logSet or deps.externalLogSet must be given"),
    (
        "CNSet",
        {"deps.externalLogSet": {"haKeeperEndpoint": "log:32001"}},
        "logSet and externalLogSet are mutually exclusive",
    ),
    ("CNSet", {"deps": {"externalLogSet": {}}}, "haKeeperEndpoint: Required value"),
    ("CNSet", {"deps.logSet": {"metadata": {"namespace": "x"}}}, "metadata.name: Required value"),
    (
        "CNSet",
        {"deps": {"externalLogSet": {"haKeeperEndpoint": "log:32001", "sharedStorage": {}}}},
        "exactly one of s3 and fileSystem must be set",
    ),
    # transaction nodes
    ("DNSet", {"spec.config": "[tn]\nport-base = 1\n [ dn ]\n"}, "both a [tn] and a [dn] table"),
    ("DNSet", {"spec.cacheVolume": {"size": 0}}, "size must be greater than zero"),
    ("DNSet", {"spec.replicas": 2}, "spec.replicas: Invalid value: MatrixOne supports only one"),
    ("DNSet", {"spec.image": None}, "image must be given"),
    # compute nodes
    ("CNSet", {"spec.image": None}, "image must be given"),
    ("CNSet", {"spec.serviceType": "ExternalName"}, "spec.serviceType: Unsupported value"),
    ("CNSet", {"spec.nodePort": 30001}, "spec.nodePort: Forbidden: nodePort needs serviceType"),
    ("CNSet", {"spec.nodePort": 70000, "spec.serviceType": "NodePort"}, "spec.nodePort"),
    ("CNSet", {"spec.cnLabels": [{"key": "", "values": ["a"]}]}, "spec.cnLabels[0].key"),
    ("CNSet", {"spec.cnLabels": [{"key": "a", "values": []}]}, "spec.cnLabels[0].values"),
    ("CNSet", {"spec.cnLabels": [{"key": "a", "values": [""]}]}, "spec.cnLabels[0].values[0]"),
    ("CNSet", {"spec.role": "XX"}, "spec.role: Unsupported value"),
    ("CNSet", {"spec.terminationPolicy": "Wait"}, "spec.terminationPolicy: Unsupported value"),
    ("CNSet", {"spec.scalingConfig": {"minDelaySeconds": -1}}, "minDelaySeconds"),
    ("CNSet", {"spec.updateStrategy": {"maxSurge": 0}}, "must not both be zero"),
    ("CNSet", {"spec.pythonUdfSidecar": {"port": 0}}, "spec.pythonUdfSidecar.port"),
    ("CNSet", {"spec.cacheVolume": {"size": "0Gi"}}, "size must be greater than zero"),
    # how long a pod must be ready
    *(
        (kind, {f"{where}.minReadySeconds": value}, message)
        for kind, where in READY_SECONDS
        for value, message in (
            (-1, f"{place(where)}.minReadySeconds: Invalid value: -1: "),
            (86401, "should be less than or equal to 86400"),
            ("5", "must be of type integer"),
            (1.5, "must be of type integer"),
        )
    ),
    # Services
    *(
        (kind, {f"spec.{field}": value, "spec.serviceType": service_type}, message)
        for kind in ("CNSet", "ProxySet", "WebUI")
        for field, value, service_type, message in (
            ("nodePort", 30001, "ClusterIP", "nodePort needs serviceType NodePort or LoadBalancer"),
            (
                "externalTrafficPolicy",
                "Local",
                "ClusterIP",
                "externalTrafficPolicy needs serviceType NodePort or LoadBalancer",
            ),
            ("loadBalancerClass", "a", "NodePort", "loadBalancerClass needs serviceType"),
            ("loadBalancerClass", "a_", "LoadBalancer", "spec.loadBalancerClass"),
            ("loadBalancerClass", "a/" + 64 * "b", "LoadBalancer", "spec.loadBalancerClass"),
            (
                "loadBalancerSourceRanges",
                ["192.0.2.0/24"],
                "NodePort",
                "loadBalancerSourceRanges needs serviceType LoadBalancer",
            ),
            *(
                ("loadBalancerSourceRanges", [text], "LoadBalancer", "loadBalancerSourceRanges[0]")
                for text in ("192.0.2.0", "192.0.2.0/33", "192.0.256.0/24", "::1", "::/129", "a/8")
            ),
        )
    ),
    (
        MO,
        {f"{GROUP}.loadBalancerClass": "a"},
        "loadBalancerClass needs serviceType LoadBalancer",
    ),
    # proxies and dashboard
    ("ProxySet", {"spec.nodePort": 30001}, "nodePort needs serviceType"),
    ("ProxySet", {"spec.waitPluginAddr": "plugin"}, "spec.waitPluginAddr"),
    ("WebUI", {"spec.serviceType": "ExternalName"}, "spec.serviceType: Unsupported value"),
    (
        "WebUI",
        {"spec.updateStrategy": {"maxSurge": "0%", "maxUnavailable": 0}},
        "must not both be zero",
    ),
    # backups
    (JOB, {"metadata.name": "a" * 53}, "metadata.name must not have more than 52 characters"),
    (JOB, {"spec.source": {}}, "exactly one of clusterRef and cnSetRef must be set"),
    (
        JOB,
        {"spec.source": {"clusterRef": "a", "cnSetRef": "b", "secretRef": "c"}},
        "exactly one of clusterRef and cnSetRef must be set",
    ),
    (JOB, {"spec.source": {"cnSetRef": "b"}}, "secretRef must be given with cnSetRef"),
    (JOB, {"spec.target": {}}, "exactly one of s3 and fileSystem must be set"),
    (JOB, {"spec.target.fileSystem": {"path": "/b"}}, "exactly one of s3 and fileSystem must be"),
    (JOB, {"spec.target.s3.path": "/bucket/a"}, "spec.target.s3.path"),
    (JOB, {"spec.target.s3.path": "bucket//a"}, "spec.target.s3.path"),
    (JOB, {"spec.target": FOLDER, f"{TARGET}.path": "backup"}, f"{TARGET}.path"),
    (
        JOB,
        {"spec.target": FOLDER, f"{TARGET}.path": "/backup/../etc"},
        "path must not contain the elements . and ..",
    ),
    (
        JOB,
        {"spec.target": FOLDER, f"{TARGET}.mountPath": None},
        "mountPath must be given with volume",
    ),
    (
        JOB,
        {"spec.target": FOLDER, f"{TARGET}.mountPath": "/back"},
        "path must be mountPath or a folder in it",
    ),
    (JOB, {"spec.type": "incremental"}, "base must be given for type incremental"),
    (JOB, {"spec.base": {"latest": True}}, "base must be given for type incremental"),
    (
        JOB,
        {"spec.type": "incremental", "spec.base": {"latest": True, "backupName": "b"}},
        "exactly one of backupName and latest must be set",
    ),
    (
        JOB,
        {"spec.type": "incremental", "spec.base": {"latest": False}},
        "exactly one of backupName and latest must be set",
    ),
    (JOB, {"spec.engine": "mo_br"}, "the engine mo_br is not supported, its program is not"),
    (JOB, {"spec.concurrencyPolicy": "Replace"}, "concurrencyPolicy: Unsupported value"),
    (JOB, {"spec.activeDeadlineSeconds": 0}, "spec.activeDeadlineSeconds"),
    (JOB, {"spec.parallelism": 0}, "spec.parallelism"),
    ("Backup", {"meta.id": None}, "meta.id: Required value"),
    ("Backup", {"meta.location": {}}, "exactly one of s3 and fileSystem must be set"),
    ("Backup", {"deletionPolicy": "Keep"}, "deletionPolicy: Unsupported value"),
    ("Backup", {"metadata.name": "a" * 64}, "metadata.name must not have more than 63 characters"),
    ("BackupSchedule", {"metadata.name": "a" * 40}, "must not have more than 39 characters"),
    (RESTORE, {"metadata.name": "a" * 55}, "must not have more than 54 characters"),
    (RESTORE, {"spec.backupName": None}, ONE_BACKUP),
    (RESTORE, {"spec.externalSource": {"s3": {"path": "backups/mo-1"}}}, ONE_BACKUP),
    (RESTORE, {"spec.verify": {}}, "exactly one of target and verify must be set"),
    (RESTORE, {"spec.target": None}, "exactly one of target and verify must be set"),
    (
        RESTORE,
        {
            "spec.target": None,
            "spec.verify": {},
            "spec.backupName": None,
            "spec.externalSource": {"s3": {"path": "backups/mo-1"}},
        },
        "backupName must be given with verify",
    ),
    (
        JOB,
        {"spec.source": {"cnSetRef": "tp", "secretRef": "dump"}, "spec.verify": {}},
        "verify can be given only with source.clusterRef",
    ),
    (
        "BackupSchedule",
        {
            "spec.template.source": {"cnSetRef": "tp", "secretRef": "dump"},
            "spec.verify": {"schedule": "@weekly"},
        },
        "verify can be given only with template.source.clusterRef",
    ),
    ("BackupSchedule", {"spec.verify": {}}, "spec.verify.schedule: Required value"),
    (
        MO,
        {"spec.restoreFrom": "a", "spec.restoreSource": {"s3": {"path": "b/c"}}},
        "restoreFrom and restoreSource are mutually exclusive",
    ),
]

POOL, CLAIM_OF_POOL, CLAIM_SET = "CNPool", "CNClaim", "CNClaimSet"
IDLE = "spec.strategy.scaleStrategy"
UNMATCHED = "selector must match the labels of the template"
MOVED = "podName cannot be changed by itself"
LABELS_OF_CLAIMS = {"spec.template.metadata": {"labels": {"tenant": "b", "tier": "gold"}}}


def selecting(**selector: Any) -> dict[str, Any]:
    """Return a claim set whose claims have labels, and its selector."""
    return {**LABELS_OF_CLAIMS, "spec.selector": selector}


def requiring(key: str, operator: str, *values: str) -> dict[str, Any]:
    """Return such a claim set that requires something of one label."""
    listed = {"values": list(values)} if values else {}
    return selecting(matchExpressions=[{"key": key, "operator": operator, **listed}])


USER = "DatabaseUser"


def granting(target: str, *grant: str) -> dict[str, Any]:
    """Return a user with privileges at one place."""
    return {"spec.privileges": [{"target": target, "grant": list(grant)}]}


REFUSED_USERS: list[tuple[str, dict[str, Any], str]] = [
    (USER, {"metadata.name": "root"}, "that of a user or role of MatrixOne, so that spec.name"),
    (USER, {"metadata.name": "a" * 64}, "must not have more than 63 characters"),
    (USER, {"spec.name": "Shop"}, "spec.name in body should match"),
    (USER, {"spec.name": "root"}, "name must not be that of a user or role of MatrixOne"),
    (USER, {"spec.name": "matrixorigin_user_a"}, "name must not be that of a user or role"),
    (USER, granting("shop"), "spec.privileges[0].target in body should match"),
    (USER, granting("shop.`t`", "Select"), "spec.privileges[0].target in body should match"),
    (USER, granting("shop.*", "Execute"), 'Unsupported value: "Execute"'),
    (USER, granting("shop.*", "Select", "Select"), "Duplicate value"),
    (USER, granting("shop.*", "CreateDatabase"), "ShowDatabases can be granted on *.* only"),
    (USER, granting("shop.t", "CreateTable"), "on a table, only Select, Insert"),
    (USER, granting("mo_catalog.mo_user", "Update"), "in a database of MatrixOne, only Select"),
]

DATABASE = "Database"
REFUSED_DATABASES: list[tuple[str, dict[str, Any], str]] = [
    (DATABASE, {"metadata.name": "mysql"}, "that of a database of MatrixOne, so that spec.name"),
    (DATABASE, {"metadata.name": "a" * 64}, "must not have more than 63 characters"),
    (DATABASE, {"spec.name": "Shop"}, "spec.name in body should match"),
    (DATABASE, {"spec.name": "mo_catalog"}, "name must not be that of a database of MatrixOne"),
    (DATABASE, {"spec.deletionPolicy": "Drop"}, 'Unsupported value: "Drop"'),
]

REFUSED_POOLS: list[tuple[str, dict[str, Any], str]] = [
    (POOL, {"metadata.name": "a" * 42}, "must not have more than 41 characters"),
    (POOL, {"spec.template.image": None}, "the template must name an image"),
    (POOL, {"spec.deps": {}}, "deps.logSet or deps.externalLogSet must be given"),
    (POOL, {"spec.deps": None}, "spec.deps: Required value"),
    (POOL, {f"{IDLE}.maxIdle": None}, f"{IDLE}.maxIdle: Required value"),
    (POOL, {f"{IDLE}.maxIdle": -1}, f"{IDLE}.maxIdle"),
    (POOL, {f"{IDLE}.maxPods": 1}, "maxPods must not be less than maxIdle"),
    (POOL, {f"{IDLE}.maxIdlePercent": -1}, f"{IDLE}.maxIdlePercent"),
    (
        POOL,
        {f"{IDLE}.schedule": [{"from": "9:00", "to": "17:00", "maxIdle": 1}]},
        f"{IDLE}.schedule[0].from",
    ),
    (POOL, {"spec.strategy.updateStrategy": {"reclaimTimeout": "soon"}}, "reclaimTimeout"),
    (POOL, {"spec.placement": "Anywhere"}, "spec.placement: Unsupported value"),
    (POOL, {"spec.quotas": {"owners": {"a": -1}}}, "spec.quotas.owners.a"),
    (POOL, {"spec.podLabels": {"a b": "c"}}, "labels must have valid keys and values"),
    (
        POOL,
        {"spec.podLabels": {"pool.matrixorigin.io/phase": "Idle"}},
        "labels that begin with matrixorigin.io/",
    ),
    (CLAIM_OF_POOL, {"spec.selector": None}, "spec.selector: Required value"),
    (CLAIM_OF_POOL, {"spec.ownerName": "a b"}, "ownerName must be a valid label value"),
    (CLAIM_OF_POOL, {"spec.cnLabels": [{"key": "account"}]}, "spec.cnLabels[0].values: Required"),
    (
        CLAIM_OF_POOL,
        {"spec.additionalPodLabels": {"matrixorigin.io/owner": "me"}},
        "labels that begin with matrixorigin.io/",
    ),
    (
        CLAIM_OF_POOL,
        {"spec.selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
        "values must be given with In and NotIn",
    ),
    (
        CLAIM_OF_POOL,
        {
            "spec.selector": {
                "matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]
            }
        },
        "values must be given with In and NotIn",
    ),
    (CLAIM_OF_POOL, {"spec.sourcePod": {"podName": "a"}}, "sourcePod needs podName"),
    (
        CLAIM_OF_POOL,
        {"spec.podName": "a", "spec.sourcePod": {"podName": "a"}},
        "sourcePod needs podName, and another Pod than that",
    ),
    (CLAIM_SET, {"metadata.name": "a" * 58}, "must not have more than 57 characters"),
    (CLAIM_SET, {"spec.replicas": -1}, "spec.replicas"),
    (CLAIM_SET, {"spec.replicas": None}, "spec.replicas: Required value"),
    (CLAIM_SET, {"spec.template": {}}, "spec.template.spec: Required value"),
    (CLAIM_SET, {"spec.selector": {"matchLabels": {"tenant": "b"}}}, UNMATCHED),
    (CLAIM_SET, selecting(matchLabels={"tenant": "c"}), UNMATCHED),
    (CLAIM_SET, requiring("tenant", "In", "a", "c"), UNMATCHED),
    (CLAIM_SET, requiring("tenant", "NotIn", "b"), UNMATCHED),
    (CLAIM_SET, requiring("tenant", "DoesNotExist"), UNMATCHED),
    (CLAIM_SET, requiring("zone", "Exists"), UNMATCHED),
    (CLAIM_SET, {"spec.template.spec.podName": "a"}, "cannot be set for the claims of a set"),
]
REFUSED_ON_CREATE += [*REFUSED_USERS, *REFUSED_DATABASES, *REFUSED_POOLS]

ACCEPTED_ON_CREATE: list[tuple[str, dict[str, Any]]] = [
    *(("LogSet", {f"{STORAGE}.s3.path": path}) for path in ("/b/x/", "b", "b.c_d/(1)!'*@/é")),
    *(
        ("LogSet", {f"{STORAGE}.s3.endpoint": endpoint})
        for endpoint in (
            "",
            "minio",
            "HTTP://Minio.Storage.svc.:9000/",
            "http://10.0.0.1:9000",
            "http://[fd00::1]:9000",
            "https://minio_1.example.com/storage/v1/s3",
            "minio:65535",
        )
    ),
    *(
        ("LogSet", {STORAGE: CLAIM, f"{STORAGE}.fileSystem.path": path})
        for path in ("/var/lib/matrixone-shared/", "/data/..a", "/tmpfs", "/mnt/x")
    ),
    (USER, {"metadata.name": "root", "spec.name": "a_b-1"}),
    (USER, granting("*.*", "CreateDatabase", "CreateTable", "Index")),
    (USER, granting("my-shop$1.order_s", "Select", "Reference")),
    (USER, granting("system_metrics.*", "Select")),
    ("BucketClaim", {"spec.s3.path": "team//a=b", "spec.clusterDomain": "example.com"}),
    *(
        (kind, {f"{where}.minReadySeconds": value})
        for kind, where in READY_SECONDS
        for value in (0, 86400)
    ),
    (MO, {"metadata.name": "a" * 46, f"{GROUP}.name": "tpap"}),
    (MO, {"metadata.name": "m", f"{GROUP}.name": "g" * 49}),
    (MO, {"spec.tn": None, "spec.dn": {"replicas": 1}, "spec.cnGroups": None, "spec.tp": {}}),
    (MO, {"spec.tp": {"replicas": 1}, "spec.ap": {"replicas": 1}, f"{GROUP}.name": "other"}),
    (MO, {f"{GROUP}.replicas": None}),
    (MO, {"spec.cnGroups": []}),
    (MO, {"spec.version": "nightly-2024-10-01"}),
    (MO, {"spec.upgrade": {"waive": {"to": "v2.1.0", "checks": ["Backup", "Path"]}}}),
    (MO, {"spec.upgrade": {"maxBackupAge": "36h", "catalogTimeout": "1h30m"}}),
    (MO, {"spec.webui": {"replicas": 1, "updateStrategy": {"maxUnavailable": "25%"}}}),
    (MO, {"spec.nodeSelector": {"example.com/pool": "", "kubernetes.io/os": "linux"}}),
    ("LogSet", {"spec.replicas": 0}),
    ("LogSet", {"spec.replicas": 0, "spec.initialConfig.logShardReplicas": 3}),
    ("LogSet", {"spec.volume.size": 1073741824}),
    ("LogSet", {"spec.volume.storageClassName": ""}),
    ("LogSet", {"spec.volume.storageClassName": "fast.example-1"}),
    ("LogSet", {f"{STORAGE}.s3.secretRef": {"name": "team.s3-key"}}),
    ("LogSet", {"spec.memoryFsSize": "512Mi"}),
    ("LogSet", {f"{STORAGE}.s3.path": "/bucket/a/"}),
    (MO, {"spec.topologySpread": ["zone", "zone"]}),
    ("LogSet", {"spec.volume.size": "1.5e9"}),
    ("LogSet", {STORAGE: FILES}),
    ("LogSet", {STORAGE: CLAIM}),
    ("LogSet", {STORAGE: FILES, f"{STORAGE}.fileSystem.volume": NFS}),
    ("LogSet", {f"{STORAGE}.s3": {"path": "bucket"}}),
    ("LogSet", {"spec.semanticVersion": "v1.2"}),
    ("LogSet", {"spec.semanticVersion": "2.0.0-rc1+build"}),
    ("LogSet", {"spec.operatorVersion": "v1.3.0"}),
    ("LogSet", {"spec.operatorVersion": "1.4.9"}),
    ("LogSet", {"spec.image": f"R.example:5000/a-b/c_d.e:1_0@sha256:{'a' * 64}"}),
    (MO, {"spec.version": f"3.0.18-x_1@sha256:{'a' * 64}"}),
    (MO, {"spec.imageRepository": "[fd00::1]:5000/team/matrixone"}),
    (MO, {"spec.imageRepository": ""}),
    ("LogSet", {"spec.storeFailureTimeout": "1h30m"}),
    ("LogSet", {"spec.clusterDomain": "cluster.local"}),
    ("LogSet", {"spec.resources": {"limits": {"cpu": 2, "memory": "4Gi"}}}),
    (
        "LogSet",
        {
            "spec.resources": {
                "requests": {"cpu": "500m", "memory": 1073741824, "example.com/gpu": 1},
                "limits": {"example.com/gpu": 1, "hugepages-2Mi": "4Mi"},
            }
        },
    ),
    ("LogSet", {"spec.topologySpread": ["kubernetes.io/hostname", "zone"]}),
    ("LogSet", {"spec.overlay": {"volumes": [{"name": "v", "csi": {"driver": "d"}}]}}),
    ("LogSet", {"spec.overlay": {"affinity": {"podAntiAffinity": {}}, "newField": [1]}}),
    ("DNSet", {"spec.config": '[tn]\nnote = "[dn]"\n'}),
    ("DNSet", {"deps": {"externalLogSet": {"haKeeperEndpoint": "log:32001"}}}),
    ("DNSet", {"deps.logSet": {"metadata": {"name": "mo"}}}),
    (
        "DNSet",
        {"deps": {"externalLogSet": {"haKeeperEndpoint": "l:1", "sharedStorage": {"s3": S3}}}},
    ),
    ("CNSet", {"deps.logSet": minimal("LogSet")}),
    ("CNSet", {"spec.replicas": None}),
    ("CNSet", {"spec.nodePort": 30001, "spec.serviceType": "NodePort"}),
    ("CNSet", {"spec.nodePort": 30001, "spec.serviceType": "LoadBalancer"}),
    ("CNSet", {"spec.externalTrafficPolicy": "Local", "spec.serviceType": "NodePort"}),
    *(
        (
            kind,
            {
                "spec.serviceType": "LoadBalancer",
                "spec.serviceAnnotations": {"a": "b"},
                "spec.nodePort": 30001,
                "spec.externalTrafficPolicy": "Cluster",
                "spec.loadBalancerClass": "service.k8s.aws/nlb",
                "spec.loadBalancerSourceRanges": ["0.0.0.0/0", "192.0.2.7/32", "2001:db8::/32"],
            },
        )
        for kind in ("CNSet", "ProxySet", "WebUI")
    ),
    ("ProxySet", {"spec.loadBalancerSourceRanges": []}),
    (MO, {"spec.clusterDomain": "cluster.local"}),
    ("CNSet", {"spec.podManagementPolicy": "Pooling"}),
    ("ProxySet", {"spec.image": None}),
    ("ProxySet", {"spec.waitPluginAddr": "plugin:9999"}),
    ("WebUI", {"spec": None}),
    (JOB, {"metadata.name": "a" * 52}),
    (JOB, {"spec.source": {"cnSetRef": "b", "secretRef": "c"}}),
    (JOB, {"spec.target.s3": {"path": "bucket", "s3RetentionPolicy": "Retain"}}),
    (JOB, {"spec.target": FOLDER}),
    (JOB, {"spec.target": FOLDER, f"{TARGET}.path": "/backup"}),
    (JOB, {"spec.target": {"fileSystem": {"path": "/backup/..a"}}}),
    (JOB, {"spec.type": "incremental", "spec.base": {"latest": True}}),
    (JOB, {"spec.type": "incremental", "spec.base": {"backupName": "mo-1-0195a"}}),
    (JOB, {"spec.ttl": "0", "spec.suspend": True, "spec.concurrencyPolicy": "Forbid"}),
    (JOB, {"spec.overlay": {"image": "registry/operator:1", "volumes": [{"name": "b"}]}}),
    ("Backup", {"deletionPolicy": "Delete", "meta.base": {"id": "0194"}}),
    ("BackupSchedule", {"metadata.name": "a" * 39}),
    (RESTORE, {"metadata.name": "a" * 54}),
    (RESTORE, {"spec.backupName": None, "spec.externalSource": {"s3": {"path": "backups/mo-1"}}}),
    (RESTORE, {"spec.target": None, "spec.verify": {}}),
    (RESTORE, {"spec.target": None, "spec.verify": {"checks": [VERIFIED, {"sql": "select 1"}]}}),
    (JOB, {"spec.verify": {"sharedStorage": {"fileSystem": {"claim": {"size": "1Gi"}}}}}),
    ("BackupSchedule", {"spec.verify": {"schedule": "@weekly", "checks": [VERIFIED]}}),
    (POOL, {"metadata.name": "a" * 41, "spec.template.replicas": 0}),
    (POOL, {"spec.strategy.updateStrategy": {}, "spec.podLabels": None}),
    (POOL, {"spec.strategy.updateStrategy": {"reclaimTimeout": "24h", "lastOwnerTimeout": "1h"}}),
    (POOL, {f"{IDLE}.maxIdle": 0, f"{IDLE}.maxPods": 0, f"{IDLE}.maxIdlePercent": 20}),
    (
        POOL,
        {f"{IDLE}.schedule": [{"days": ["Mon"], "from": "22:00", "to": "06:00", "maxIdle": 9}]},
    ),
    (POOL, {"spec.quotas": {"default": 2, "owners": {"big": 9}}, "spec.placement": "Packed"}),
    (CLAIM_OF_POOL, {"spec.selector": {}, "spec.ownerName": "tenant-a", "spec.priority": -5}),
    (
        CLAIM_OF_POOL,
        {"spec.podName": "a", "spec.nodeName": "n", "spec.sourcePod": {"podName": "b"}},
    ),
    (CLAIM_SET, {"metadata.name": "a" * 57, "spec.replicas": 0}),
    (CLAIM_SET, {"spec.template.metadata": {"name": "ignored"}}),
    (CLAIM_SET, selecting(matchLabels={"tenant": "b"})),
    (CLAIM_SET, requiring("tenant", "In", "a", "b")),
    (CLAIM_SET, requiring("tenant", "NotIn", "c")),
    (CLAIM_SET, requiring("tier", "Exists")),
    (CLAIM_SET, requiring("zone", "DoesNotExist")),
    (CLAIM_SET, requiring("zone", "NotIn", "a")),
]

FIXED_LATER = "source, target, type and base cannot be changed after the start"

S3_STORAGE = {STORAGE: {"s3": S3}}

#: kind, changes before, changes after, what the server says (empty: accepted)
UPDATES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (USER, {}, {"spec.clusterRef.name": "other"}, "clusterRef cannot be changed"),
    (USER, {"spec.name": "a"}, {"spec.name": "b"}, "spec.name: Forbidden: name cannot be changed"),
    (USER, {}, {"spec.name": "b"}, "spec.name: Forbidden: name cannot be changed"),
    (USER, {"spec.name": "a"}, {"spec.name": None}, "spec.name: Forbidden: name cannot be changed"),
    (USER, {}, {"spec.adopt": True, "spec.deletionPolicy": "Delete"}, ""),
    (DATABASE, {}, {"spec.clusterRef.name": "other"}, "clusterRef cannot be changed"),
    (DATABASE, {}, {"spec.name": "b"}, "spec.name: Forbidden: name cannot be changed"),
    (DATABASE, {}, {"spec.adopt": True, "spec.deletionPolicy": "Delete"}, ""),
    ("LogSet", {}, {"spec.volume.size": "9Gi"}, "size cannot be lowered"),
    ("LogSet", {}, {"spec.volume.size": "10240Mi"}, ""),
    ("LogSet", {}, {"spec.volume.size": "11Gi"}, ""),
    (
        "LogSet",
        {"spec.volume.storageClassName": "a"},
        {"spec.volume.storageClassName": "b"},
        "storageClassName cannot be changed",
    ),
    ("LogSet", {}, {"spec.volume.storageClassName": "a"}, ""),
    ("LogSet", {}, {"spec.initialConfig.logShards": 2}, "initialConfig cannot be changed"),
    ("LogSet", {}, {"spec.initialConfig.logShardReplicas": 3}, "initialConfig cannot be changed"),
    ("LogSet", {}, {f"{STORAGE}.s3.path": "bucket/other"}, "path cannot be changed"),
    ("LogSet", {}, {f"{STORAGE}.s3.type": "aws"}, "type cannot be changed"),
    ("LogSet", {}, {STORAGE: FILES}, "the kind of shared storage cannot be changed"),
    ("LogSet", {}, {f"{STORAGE}.s3.secretRef": {"name": "new"}}, ""),
    ("LogSet", {}, {f"{STORAGE}.s3.endpoint": "https://minio:9000"}, ""),
    ("LogSet", {}, {f"{STORAGE}.s3.s3RetentionPolicy": "Retain"}, ""),
    ("LogSet", {f"{STORAGE}.s3.s3RetentionPolicy": "Retain"}, {STORAGE: {"s3": S3}}, ""),
    ("LogSet", {}, {f"{STORAGE}.s3.region": "eu-west-1"}, ""),
    ("LogSet", {}, {f"{STORAGE}.s3.certificateRef": {"name": "ca", "files": ["ca.crt"]}}, ""),
    ("LogSet", {STORAGE: FILES}, {STORAGE: {"s3": S3}}, "the kind of shared storage cannot be"),
    ("LogSet", {}, {"spec.pvcRetentionPolicy": "Retain"}, ""),
    ("LogSet", {"spec.pvcRetentionPolicy": "Retain"}, {"spec.pvcRetentionPolicy": "Delete"}, ""),
    ("LogSet", {"spec.pvcRetentionPolicy": "Retain"}, {"spec.pvcRetentionPolicy": None}, ""),
    (MO, {}, {"spec.logService.sharedStorage.s3.path": "bucket/other"}, "path cannot be changed"),
    (MO, {}, {"spec.logService.sharedStorage.s3.path": "/bucket/mo/"}, ""),
    (MO, {}, {"spec.logService.sharedStorage.s3.type": "aws"}, "type cannot be changed"),
    (MO, {}, {"spec.logService.sharedStorage": FILES}, "the kind of shared storage cannot be"),
    (MO, {}, {"spec.logService.pvcRetentionPolicy": "Retain"}, ""),
    ("LogSet", {STORAGE: FILES}, {f"{STORAGE}.fileSystem.path": "/x"}, "path cannot be changed"),
    ("LogSet", {STORAGE: FILES}, {f"{STORAGE}.fileSystem.volume": NFS}, ""),
    ("LogSet", {STORAGE: FILES}, {STORAGE: CLAIM}, "claim can be neither added nor removed"),
    ("LogSet", {STORAGE: CLAIM}, {STORAGE: FILES}, "claim can be neither added nor removed"),
    ("LogSet", {STORAGE: CLAIM}, {f"{STORAGE}.fileSystem.claim.size": "20Gi"}, ""),
    (
        "LogSet",
        {STORAGE: CLAIM},
        {f"{STORAGE}.fileSystem.claim.size": "5Gi"},
        "size cannot be lowered",
    ),
    (
        "LogSet",
        {STORAGE: CLAIM},
        {f"{STORAGE}.fileSystem.claim.storageClassName": "b"},
        "storageClassName cannot be changed",
    ),
    (
        "LogSet",
        {STORAGE: CLAIM},
        {f"{STORAGE}.fileSystem.claim.accessModes": ["ReadWriteOnce"]},
        "accessModes cannot be changed",
    ),
    ("LogSet", {}, {"spec.replicas": 0}, ""),
    ("LogSet", {}, {"spec.replicas": 5}, ""),
    ("LogSet", {}, {"spec.replicas": 2}, "replicas of a log shard"),
    ("LogSet", {"spec.replicas": 5}, {"spec.replicas": 3}, ""),
    ("LogSet", {"spec.replicas": 1}, {"spec.replicas": 3}, ""),
    ("LogSet", {"spec.replicas": 0}, {"spec.replicas": 1}, ""),
    (
        "LogSet",
        {"spec.initialConfig.logShardReplicas": 1},
        {"spec.replicas": 1},
        "",
    ),
    (
        "LogSet",
        {"spec.initialConfig.logShardReplicas": 3, "spec.replicas": 5},
        {"spec.replicas": 2},
        "logShardReplicas must not be larger than replicas",
    ),
    ("LogSet", {}, {"spec.operatorVersion": "1.2.9"}, "operatorVersion cannot be lowered"),
    ("LogSet", {}, {"spec.operatorVersion": "v1.4"}, ""),
    ("LogSet", {}, {"spec.operatorVersion": "v1.10"}, "operatorVersion must be 1.4 or older"),
    ("CNSet", {}, {"spec.operatorVersion": "1.2.0"}, "operatorVersion cannot be lowered"),
    (
        "CNSet",
        {"spec.cacheVolume": {"size": "20Gi"}},
        {"spec.cacheVolume.size": "10Gi"},
        "size cannot be lowered",
    ),
    ("DNSet", {}, {"spec.cacheVolume": {"size": "10Gi"}}, f"spec.cacheVolume: Forbidden: {FIXED}"),
    ("DNSet", {"spec.cacheVolume": {"size": 1}}, {"spec.cacheVolume": None}, FIXED),
    ("DNSet", {"spec.cacheVolume": {"size": 1}}, {"spec.cacheVolume.size": 2}, ""),
    ("CNSet", {}, {"spec.cacheVolume": {"size": "10Gi"}}, ""),
    ("CNSet", {"spec.cacheVolume": {"size": 1}}, {"spec.cacheVolume": None}, ""),
    (
        "DNSet",
        {"spec.cacheVolume": {"size": "20Gi", "storageClassName": "a"}},
        {"spec.cacheVolume.storageClassName": "b"},
        "storageClassName cannot be changed",
    ),
    ("ProxySet", {}, {"spec.serviceType": "LoadBalancer", "spec.loadBalancerClass": "a"}, ""),
    ("ProxySet", BALANCED, {"spec.loadBalancerClass": "b"}, ANOTHER_CLASS),
    ("WebUI", BALANCED, {"spec.loadBalancerClass": None}, ANOTHER_CLASS),
    ("CNSet", BALANCED, {"spec.serviceType": "NodePort", "spec.loadBalancerClass": None}, ""),
    (
        MO,
        {f"{GROUP}.serviceType": "LoadBalancer"},
        {f"{GROUP}.loadBalancerClass": "b"},
        ANOTHER_CLASS,
    ),
    (
        EARLY,
        {},
        {"spec.podManagementPolicy": "OrderedReady"},
        "podManagementPolicy cannot be changed",
    ),
    (
        EARLY,
        {"spec.storageClass": "a"},
        {"spec.storageClass": "b"},
        "storageClass cannot be changed",
    ),
    (EARLY, {}, {"spec.storageClass": "b"}, "storageClass cannot be changed"),
    (EARLY, {}, {"spec.dataVolumeCap": "1Gi", "spec.replicas": 0}, ""),
    (MO, {}, {"spec.logService.replicas": 5, "spec.ap": {"replicas": 1}}, ""),
    (MO, {}, {"spec.logService.replicas": 2}, "spec.logService.replicas: Forbidden"),
    (MO, {}, {"spec.logService.replicas": 0}, ""),
    (MO, {}, {"spec.logService.initialConfig.dnShards": 2}, "initialConfig cannot be changed"),
    (MO, {}, {"spec.tn.cacheVolume.size": "1Gi"}, "size cannot be lowered"),
    (MO, {}, {f"{GROUP}.cacheVolume.size": "1Gi"}, "size cannot be lowered"),
    (MO, {}, {"spec.tn.cacheVolume": None}, f"spec.tn.cacheVolume: Forbidden: {FIXED}"),
    (MO, {"spec.tn.cacheVolume": None}, {"spec.tn.cacheVolume": {"size": 1}}, FIXED),
    (MO, {}, {"spec.tn": None, "spec.dn": {"replicas": 1, "cacheVolume": {"size": "10Gi"}}}, ""),
    (MO, {}, {"spec.tn": None, "spec.dn": {"replicas": 1}}, FIXED),
    (MO, {"spec.tn.cacheVolume": None}, {"spec.tn": None, "spec.dn": {"replicas": 1}}, ""),
    (
        MO,
        {"spec.tn": None, "spec.dn": {"replicas": 1}},
        {"spec.dn.cacheVolume": {"size": 1}},
        FIXED,
    ),
    (MO, {}, {f"{GROUP}.cacheVolume": None}, ""),
    (
        MO,
        {},
        {"spec.dn": {"replicas": 1}},
        "tn and dn (its deprecated name) are mutually exclusive",
    ),
    (MO, {}, {"spec.restoreFrom": "backup"}, "restoreFrom cannot be changed"),
    (MO, {"spec.restoreFrom": "a"}, {"spec.restoreFrom": "b"}, "restoreFrom cannot be changed"),
    (MO, {"spec.restoreFrom": "a"}, {"spec.version": "1.2.4"}, ""),
    (MO, {}, {"spec.restoreSource": {"s3": {"path": "b/c"}}}, "restoreSource cannot be changed"),
    (MO, {"spec.restoreSource": {"s3": {"path": "b/c"}}}, {"spec.version": "1.2.4"}, ""),
    (MO, {}, {"spec.operatorVersion": "1.2.0"}, "operatorVersion cannot be lowered"),
    (MO, {}, {"spec.cnGroups": []}, ""),
    (CLAIM_OF_POOL, {}, {"spec.podName": "a"}, ""),
    (CLAIM_OF_POOL, {"spec.podName": "a"}, {"spec.podName": "b"}, MOVED),
    (CLAIM_OF_POOL, {"spec.podName": "a"}, {"spec.podName": None}, ""),
    (
        CLAIM_OF_POOL,
        {"spec.podName": "a"},
        {"spec.podName": "b", "spec.sourcePod": {"podName": "a"}},
        "",
    ),
    (
        CLAIM_OF_POOL,
        {"spec.podName": "a"},
        {"spec.podName": "b", "spec.sourcePod": {"podName": "c"}},
        MOVED,
    ),
    (
        CLAIM_OF_POOL,
        {"spec.podName": "b", "spec.sourcePod": {"podName": "a"}},
        {"spec.podName": "a", "spec.sourcePod": None},
        "",
    ),
    (
        CLAIM_OF_POOL,
        {"spec.podName": "b", "spec.sourcePod": {"podName": "a"}},
        {"spec.podName": "a", "spec.sourcePod": {"podName": "b"}},
        "",
    ),
    (
        CLAIM_OF_POOL,
        {"spec.podName": "a", "spec.poolName": "x"},
        {"spec.poolName": "y"},
        "poolName cannot be changed while the claim has a Pod",
    ),
    (CLAIM_OF_POOL, {"spec.poolName": "x"}, {"spec.poolName": "y"}, ""),
    (POOL, {}, {"spec.template.image": "matrixorigin/matrixone:1.2.4"}, ""),
    (CLAIM_SET, {}, {"spec.replicas": 7}, ""),
]


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) else ",".join(value) if isinstance(value, dict) else None


@pytest.mark.parametrize(("kind", "changes", "message"), REFUSED_ON_CREATE, ids=_id)
def test_unusable_objects_are_refused_with_a_reason(
    server: Server, kind: str, changes: dict[str, Any], message: str
) -> None:
    """A mistake is named at the door, not found out later by pods that do not start."""
    assert message in server.refusal(changed(minimal(kind), changes))


@pytest.mark.parametrize(("kind", "changes"), ACCEPTED_ON_CREATE, ids=_id)
def test_usable_objects_are_accepted(server: Server, kind: str, changes: dict[str, Any]) -> None:
    """What works must not be refused, older spellings among it."""
    assert server.refusal(changed(minimal(kind), changes)) == ""


@pytest.mark.parametrize(
    ("index", "kind", "before", "after", "message"),
    [(i, *case) for i, case in enumerate(UPDATES)],
    ids=_id,
)
def test_updates(
    server: Server,
    index: int,
    kind: str,
    before: dict[str, Any],
    after: dict[str, Any],
    message: str,
) -> None:
    """What would lose data or cannot work is refused; what can be changed is not."""
    created = server.create(changed(minimal(kind, f"u{index}"), before))
    wanted = changed(created, after)
    if not message:
        assert server.update(wanted)["metadata"]["generation"] == 2
        return
    with pytest.raises(ApiError) as refused:
        server.update(wanted)
    assert message in str(refused.value)


def test_no_rule_is_untested() -> None:
    """Every rule's message is awaited by a case above, so a rule cannot vanish unseen.

    A case may quote a part of the message, but one that fits a second rule awaits neither.
    """
    rules = _messages(SCHEMAS)
    expected = {str(case[-1]) for case in [*REFUSED_ON_CREATE, *UPDATES] if case[-1]} | {
        STOPPED,
        FIXED_LATER,
        RESTORE_FIXED_LATER,
    }
    meant = [[rule for rule in rules if text in rule or rule in text] for text in expected]
    assert sorted(rules - {fitting[0] for fitting in meant if len(fitting) == 1}) == []


def _messages(node: Any) -> set[str]:
    if isinstance(node, list):
        return {message for item in node for message in _messages(item)}
    if not isinstance(node, dict):
        return set()
    own = {rule["message"] for rule in node.get("x-kubernetes-validations", [])}
    return own | {message for value in node.values() for message in _messages(value)}


def test_decided_log_shard_replicas_guard_scaling_in(server: Server) -> None:
    """A log service that began with one store has one replica per shard, and may go back to one."""
    created = server.create(changed(minimal("LogSet", "decided"), {"spec.replicas": 1}))
    grown = server.update(changed(created, {"spec.replicas": 3}))
    known = server.update(changed(grown, {"status.logShardReplicas": 1}), "/status")
    assert server.update(changed(known, {"spec.replicas": 1}))["spec"]["replicas"] == 1


STOPPED = "a stopped log service must be started with at least as many log stores as before"


@pytest.mark.parametrize(("kind", "part"), [("LogSet", ""), (MO, "logService.")])
def test_a_stopped_log_service_is_not_started_with_fewer_stores(
    server: Server, kind: str, part: str
) -> None:
    """Shards may have replicas on each of the stores that it was stopped with."""
    size = f"spec.{part}replicas"
    created = server.create(changed(minimal(kind, "stopped"), {size: 5}))
    stopped = server.update(changed(created, {size: 0}))
    known = server.update(changed(stopped, {f"status.{part}lastReplicas": 5}), "/status")
    with pytest.raises(ApiError, match=STOPPED):
        server.update(changed(known, {size: 3}))
    started = server.update(changed(known, {size: 5}))
    assert server.update(changed(started, {size: 3}))["metadata"]["generation"] == 4


@pytest.mark.parametrize(("kind", "part"), [("DNSet", ""), (MO, "tn.")])
def test_a_volume_that_the_role_has_refused_can_be_taken_back(
    server: Server, kind: str, part: str
) -> None:
    """It may have been stored before the door refused it; nothing has come of it."""
    stored = {f"spec.{part}cacheVolume": {"size": "10Gi"}}
    created = server.create(changed(minimal(kind, "refused"), stored))
    without = {f"spec.{part}cacheVolume": None}
    condition = {"type": "Synced", "status": "False", "reason": "RollingOut"}
    for reason, is_accepted in (("RollingOut", False), ("InvalidSpec", True)):
        said = [{**condition, "reason": reason}]
        created = server.update(changed(created, {f"status.{part}conditions": said}), "/status")
        if is_accepted:
            assert server.update(changed(created, without))["metadata"]["generation"] == 2
            continue
        with pytest.raises(ApiError, match=FIXED):
            server.update(changed(created, without))


_CLAIM = f"{STORAGE}.fileSystem.claim"


@pytest.mark.parametrize(
    ("kind", "before", "size", "conditions"),
    [
        ("LogSet", {}, "spec.volume.size", "status.conditions"),
        ("LogSet", {STORAGE: CLAIM}, f"{_CLAIM}.size", "status.conditions"),
        (
            "DNSet",
            {"spec.cacheVolume": {"size": "1Gi"}},
            "spec.cacheVolume.size",
            "status.conditions",
        ),
        (MO, {}, "spec.logService.volume.size", "status.logService.conditions"),
        (
            MO,
            {"spec.logService.sharedStorage": CLAIM},
            "spec.logService.sharedStorage.fileSystem.claim.size",
            "status.logService.conditions",
        ),
        (MO, {}, "spec.tn.cacheVolume.size", "status.tn.conditions"),
        (
            MO,
            {"spec.tn": None, "spec.dn": {"replicas": 1, "cacheVolume": {"size": "1Gi"}}},
            "spec.dn.cacheVolume.size",
            "status.tn.conditions",
        ),
    ],
)
def test_a_size_that_was_refused_can_be_taken_back(
    server: Server, kind: str, before: dict[str, Any], size: str, conditions: str
) -> None:
    """Its StorageClass may not let volumes grow, or a quota may not; nothing has come of it."""
    name = f"grown-{sum(map(ord, size))}"
    grown = server.create(changed(minimal(kind, name), {**before, size: "50Gi"}))
    condition = {"type": "Synced", "status": "False"}
    for reason, is_accepted in (
        ("GrowingVolumes", False),
        ("VolumeRefused", True),
        ("ApplyFailed", True),
    ):
        told = changed(grown, {conditions: [{**condition, "reason": reason}]})
        grown = server.update(told, "/status")
        if is_accepted:
            reverted = server.update(changed(grown, {size: "10Gi"}))
            grown = server.update(changed(reverted, {size: "50Gi"}))
            continue
        with pytest.raises(ApiError, match="size cannot be lowered"):
            server.update(changed(grown, {size: "10Gi"}))


@pytest.mark.parametrize(
    ("change", "is_refused"),
    [
        ({"spec.source.clusterRef": "other"}, True),
        ({"spec.source.secretRef": "login"}, True),
        ({"spec.target": {"s3": {"path": "backups/mo-1"}}}, True),
        ({f"{TARGET}.path": "/backup/mo-2"}, True),
        ({f"{TARGET}.volume": {"persistentVolumeClaim": {"claimName": "other"}}}, True),
        ({"spec.type": "full", "spec.base": None}, True),
        ({"spec.base": {"backupName": "b"}}, True),
        ({"spec.suspend": True}, False),
        ({"spec.ttl": "5h", "spec.activeDeadlineSeconds": 5, "spec.backoffLimit": 0}, False),
        ({"metadata.labels": {"a": "b"}}, False),
    ],
    ids=str,
)
def test_what_a_backup_is_of_stays_once_it_has_begun(
    server: Server, change: dict[str, Any], is_refused: bool
) -> None:
    """Before that it may be corrected: nothing has come of it."""
    spec = {
        "spec.type": "incremental",
        "spec.base": {"latest": True},
        "spec.target": {"fileSystem": {**FOLDER["fileSystem"]}},
    }
    name = f"begun-{abs(hash(str(change)))}"
    created = server.create(changed(minimal(JOB, name), spec))
    pending = server.update(changed(created, {"status": {"phase": "Pending"}}), "/status")
    corrected = server.update(changed(pending, change))
    back = server.update(changed(pending, {"metadata": corrected["metadata"]}))
    begun = {"phase": "Running", "startTime": "2026-11-22T18:10:00Z"}
    started = server.update(changed(back, {"status": begun}), "/status")
    if not is_refused:
        assert server.update(changed(started, change))["status"]["phase"] == "Running"
        return
    with pytest.raises(ApiError, match=FIXED_LATER):
        server.update(changed(started, change))


RESTORE_FIXED_LATER = (
    "backupName, externalSource, target and verify cannot be changed after the start"
)


def test_what_is_restored_stays_once_it_has_begun(server: Server) -> None:
    """Before that it may be corrected, and how it is done may be changed at any time."""
    created = server.create(minimal(RESTORE, "begun"))
    corrected = server.update(changed(created, {"spec.backupName": "mo-2"}))
    begun = {"phase": "Running", "startTime": "2026-11-22T18:10:00Z"}
    started = server.update(changed(corrected, {"status": begun}), "/status")
    suspended = server.update(changed(started, {"spec.suspend": True}))
    for change in ({"spec.backupName": "mo-3"}, {"spec.target.s3.path": "bucket/other"}):
        with pytest.raises(ApiError, match=RESTORE_FIXED_LATER):
            server.update(changed(suspended, change))
    proof = server.create(
        changed(minimal(RESTORE, "proof"), {"spec.target": None, "spec.verify": {}})
    )
    started = server.update(changed(proof, {"status": begun}), "/status")
    with pytest.raises(ApiError, match=RESTORE_FIXED_LATER):
        server.update(changed(started, {"spec.verify.checks": [VERIFIED]}))


def test_a_status_can_be_written_whatever_the_spec_says(server: Server) -> None:
    """Rules about updates of the spec must not stand in the way of the truth."""
    created = server.create(changed(minimal("LogSet", "truth"), {"spec.replicas": 1}))
    seen = changed(created, {"status.logShardReplicas": 3, "status.phase": "NotReady"})
    assert server.update(seen, "/status")["status"]["phase"] == "NotReady"
