# SPDX-License-Identifier: Apache-2.0
"""The CRDs as users meet them: discovery, `kubectl explain`, columns, defaults, scale."""

import json
from typing import Any

import pytest

from testbed.bed import KubectlError, TestBed
from tests.crds.conftest import Server
from tests.crds.manifests import PLURALS, SETS, changed, minimal
from tests.support.waiting import eventually

pytestmark = pytest.mark.api

SHORT_NAMES = {
    "MatrixOneCluster": "mo",
    "LogSet": "mols",
    "DNSet": "modn",
    "CNSet": "mocn",
    "ProxySet": "mopx",
    "WebUI": "moui",
    "BackupJob": "mobj",
    "RestoreJob": "morj",
    "Backup": "mobackup",
    "BackupSchedule": "mobs",
    "BucketClaim": "bucket",
    "CNPool": "mopool",
    "CNClaim": "moclaim",
    "CNClaimSet": "moclaimset",
    "Database": "modb",
    "DatabaseUser": "mouser",
}


@pytest.mark.parametrize("kind", PLURALS)
def test_the_schema_is_structural_and_its_names_are_free(
    definitions: dict[str, Any], kind: str
) -> None:
    """The server takes the definition without reservation."""
    conditions = {c["type"]: c["status"] for c in definitions[kind]["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}


def test_one_category_lists_everything_and_short_names_work(installed_testbed: TestBed) -> None:
    """`kubectl get matrixone` shows all, `kubectl get mo` the clusters."""
    listed = installed_testbed.kubectl(
        "api-resources", "--categories=matrixone", "--no-headers", "-o", "wide"
    )
    rows = [line.split() for line in listed.splitlines()]
    found = {row[4]: (row[0], row[1]) for row in rows if len(row) == 7}
    assert found == {kind: (PLURALS[kind], SHORT_NAMES[kind]) for kind in PLURALS}
    (early,) = [row for row in rows if len(row) != 7]
    assert early[:2] == ["matrixoneclusters", "matrixone.matrixorigin.cn/v1alpha1"]


def test_short_names_do_not_shadow_anything(installed_testbed: TestBed) -> None:
    """A short name belongs to one kind of the whole cluster."""
    lines = installed_testbed.kubectl("api-resources", "--no-headers").splitlines()
    names = [name for line in lines for name in _names(line)]
    assert [name for name in SHORT_NAMES.values() if names.count(name) != 1] == []


def _names(line: str) -> list[str]:
    columns = line.split()
    short = columns[1].split(",") if len(columns) == 5 else []
    return [columns[0], *short]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("mo", "A MatrixOne database: log service, transaction node"),
        ("mo.spec.logService.volume.size", "It can be raised while Pods are running"),
        ("mo.spec.logService.storeFailureTimeout", "Default: 10m."),
        ("mo.spec.cnGroups.cacheVolume", "Volume of each Pod for its local cache"),
        ("mo.spec.cnGroups.overlay.env", "Environment variables to add"),
        ("mo.spec.logService.sharedStorage.fileSystem.claim", "Mutually exclusive with"),
        ("mo.status.conditions.reason", "SomeCNSetsAreNotReady"),
        ("cnset.spec.scalingConfig", "Whether connections and sessions are moved"),
        ("cnset.deps.dnSet", "Updates wait for it"),
        ("proxyset.spec.serviceType", "ENUM: ClusterIP NodePort LoadBalancer"),
        ("logset.spec.failedPodStrategy", "ENUM: Delete Orphan"),
        ("webui.spec.updateStrategy", "25 percent"),
        ("backupjob.spec.concurrencyPolicy", "Wait runs the oldest one first"),
        ("backupjob.status.conditions.reason", "PodUnschedulable"),
        ("backup.meta.secretNamespace", "The data are deleted with these"),
        ("backup.deletionPolicy", "ENUM: Retain Delete"),
    ],
)
def test_explain(installed_testbed: TestBed, path: str, expected: str) -> None:
    """The documentation is where users look first."""
    resource, _, field = path.partition(".")
    plural = {"mo": "matrixoneclusters"}.get(resource, f"{resource}s")
    asked = ".".join(part for part in (plural, field) if part)
    said = " ".join(installed_testbed.kubectl("explain", asked).split())
    assert expected in said


def test_cluster_columns_show_what_was_observed(server: Server, installed_testbed: TestBed) -> None:
    """One line tells the state of a cluster."""
    status = {
        "conditions": [_condition("Ready", "False", "SomeCNSetsAreNotReady")],
        "readable": {"log": "3/3", "tn": "1/1", "cn": "1/2", "proxy": "2/2"},
        "version": "1.2.3",
        "host": "mo-proxy.prod",
        "port": 6001,
        "message": "waiting for mo-tp: 1/2 pods ready",
        "phase": "NotReady",
    }
    created = server.create(minimal("MatrixOneCluster", "columns"))
    server.update(changed(created, {"status": status}), "/status")
    head, row = _table(installed_testbed, server.namespace, "mo/columns")
    assert head == [
        "NAME", "READY", "STATUS", "LOG", "TN", "CN", "PROXY", "VERSION", "PHASE", "AGE",
    ]  # fmt: skip
    assert row[:3] == ["columns", "False", "SomeCNSetsAreNotReady"]
    assert row[3:9] == ["3/3", "1/1", "1/2", "2/2", "1.2.3", "NotReady"]
    wide = installed_testbed.kubectl("get", "mo/columns", "-o", "wide", "-n", server.namespace)
    assert "mo-proxy.prod" in wide
    assert "waiting for mo-tp: 1/2 pods ready" in wide


@pytest.mark.parametrize("kind", sorted(SETS))
def test_set_columns_show_what_was_observed(
    server: Server, installed_testbed: TestBed, kind: str
) -> None:
    """One line tells the state of a set."""
    status = {
        "conditions": [_condition("Ready", "True", "EnoughReadyStores")],
        "pods": "2/2",
        "version": "1.2.3",
        "phase": "Paused",
    }
    created = server.create(minimal(kind, "columns"))
    server.update(changed(created, {"status": status}), "/status")
    head, row = _table(installed_testbed, server.namespace, f"{PLURALS[kind]}/columns")
    assert head == ["NAME", "READY", "STATUS", "PODS", "VERSION", "PHASE", "AGE"]
    assert row[:6] == ["columns", "True", "EnoughReadyStores", "2/2", "1.2.3", "Paused"]


def test_columns_of_backups_show_what_was_observed(
    server: Server, installed_testbed: TestBed
) -> None:
    """One line tells how a job is, and what a backup holds."""
    status = {"phase": "Completed", "step": "Record", "size": "12Mi", "backup": "columns-0195"}
    created = server.create(minimal("BackupJob", "columns"))
    server.update(changed(created, {"status": status}), "/status")
    head, row = _table(installed_testbed, server.namespace, "backupjob/columns")
    assert head == ["NAME", "PHASE", "TYPE", "STEP", "SIZE", "BACKUP", "AGE"]
    assert row[:6] == ["columns", "Completed", "full", "Record", "12Mi", "columns-0195"]
    more = {"meta.type": "full", "meta.size": "12Mi"}
    created = server.create(changed(minimal("Backup", "columns"), more))
    server.update(changed(created, {"status": {"phase": "Available"}}), "/status")
    head, row = _table(installed_testbed, server.namespace, "backup/columns")
    assert head == ["NAME", "TYPE", "AT", "SIZE", "SOURCE", "PHASE", "RESTORABLE", "AGE"]
    at, source = "2026-11-22T18:10:00Z", "matrixonecluster/default/mo"
    assert row[:6] == ["columns", "full", at, "12Mi", source, "Available"]
    installed_testbed.kubectl("delete", "backup/columns")


def test_defaults_of_a_backup_job(server: Server) -> None:
    """What is left out is filled in by the server and visible to the user."""
    spec = server.create(minimal("BackupJob", "defaults"), dry_run=True)["spec"]
    assert spec == {
        "source": {"clusterRef": "mo"},
        "target": {"s3": {"path": "backups/mo-1", "type": "aws"}},
        "type": "full",
        "ttl": "1h",
        "concurrencyPolicy": "Wait",
        "engine": "matrixone",
        "deletionPolicy": "Retain",
        "activeDeadlineSeconds": 86400,
        "backoffLimit": 3,
        "parallelism": 8,
    }


def _condition(kind: str, status: str, reason: str) -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": "2024-10-01T00:00:00Z",
    }


def _table(bed: TestBed, namespace: str, what: str) -> tuple[list[str], list[str]]:
    head, row = bed.kubectl("get", what, "-n", namespace).splitlines()
    return head.split(), row.split()


def test_defaults_of_a_cluster(server: Server) -> None:
    """What is left out is filled in by the server and visible to the user."""
    spec = server.create(minimal("MatrixOneCluster", "defaults"), dry_run=True)["spec"]
    assert spec["imageRepository"] == "matrixorigin/matrixone"
    assert spec["operatorVersion"] == "1.4.0"
    assert spec["metricReaderEnabled"] is False
    assert spec["logService"] == {
        "replicas": 3,
        "volume": {"size": "10Gi"},
        "sharedStorage": {
            "s3": {"type": "minio", "path": "bucket/mo", "endpoint": "http://minio:9000"}
        },
        "initialConfig": {"logShards": 1, "dnShards": 1},
        "storeFailureTimeout": "10m",
        "failedPodStrategy": "Delete",
        "exportToPrometheus": False,
        "promDiscoveryScheme": "Service",
    }
    assert spec["cnGroups"][0]["serviceType"] == "ClusterIP"
    assert "operatorVersion" not in spec["tn"], "components inherit it from the cluster"


DEFAULTED = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sets.defaults.example}
spec:
  group: defaults.example
  scope: Namespaced
  names: {kind: Set, plural: sets, singular: set, listKind: SetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                replicas: {type: integer}
                operatorVersion: {type: string, default: 1.3.0}
"""
SET = (
    "{apiVersion: defaults.example/v1, kind: Set, metadata: {name: NAME}, spec: {replicas: COUNT}}"
)
APPLY = (("apply",), ("apply", "--server-side"))


def test_a_default_that_moves_on_reaches_no_existing_resource(installed_testbed: TestBed) -> None:
    """However it is applied, it keeps the ``operatorVersion`` that it was created with."""
    kubectl = installed_testbed.kubectl
    kubectl("apply", "-f", "-", input=DEFAULTED)
    try:
        kubectl("wait", "--for=condition=Established", "crd/sets.defaults.example")
        for number, apply in enumerate(APPLY):
            kubectl(*apply, "-f", "-", input=_a_set(number, replicas=1))
        kubectl("apply", "-f", "-", input=DEFAULTED.replace("1.3.0", "1.4.0"))
        eventually(
            lambda: _level_of_a_new_set(installed_testbed) == "1.4.0", what="the new default"
        )
        for number, apply in enumerate(APPLY):
            for replicas in (1, 2):
                kubectl(*apply, "-f", "-", input=_a_set(number, replicas=replicas))
            assert _level(installed_testbed, f"set/set-{number}") == "1.3.0"
    finally:
        kubectl("delete", "crd/sets.defaults.example")


def _a_set(number: int, replicas: int) -> str:
    return SET.replace("NAME", f"set-{number}").replace("COUNT", str(replicas))


def _level_of_a_new_set(testbed: TestBed) -> str:
    output = ("-o", "jsonpath={.spec.operatorVersion}")
    return testbed.kubectl(
        "create", "--dry-run=server", "-f", "-", *output, input=_a_set(9, replicas=1)
    )


def _level(testbed: TestBed, name: str) -> str:
    return testbed.kubectl("get", name, "-o", "jsonpath={.spec.operatorVersion}")


def test_a_group_without_replicas_stays_without(server: Server) -> None:
    """The number belongs to whoever scales the CNSet."""
    cluster = changed(minimal("MatrixOneCluster", "hpa"), {"spec.cnGroups.0.replicas": None})
    assert "replicas" not in server.create(cluster, dry_run=True)["spec"]["cnGroups"][0]


def test_defaults_of_a_cn_set(server: Server) -> None:
    """Nested defaults appear with the object that they belong to."""
    given = {
        "spec.replicas": None,
        "spec.scalingConfig": {"storeDrainEnabled": True},
        "spec.updateStrategy": {},
        "spec.pythonUdfSidecar": {"enabled": True},
        "spec.podDisruptionBudget": {},
        "spec.networkPolicy": {},
    }
    spec = server.create(changed(minimal("CNSet", "nested"), given), dry_run=True)["spec"]
    assert spec["replicas"] == 1
    assert spec["role"] == "TP"
    assert spec["operatorVersion"] == "1.4.0"
    assert spec["scalingConfig"] == {"storeDrainEnabled": True, "minDelaySeconds": 15}
    assert spec["updateStrategy"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert spec["pythonUdfSidecar"] == {
        "enabled": True,
        "port": 50051,
        "image": "composer000/mo-python-udf-server:latest",
    }
    assert spec["podDisruptionBudget"] == {"enabled": True}
    assert spec["networkPolicy"] == {"enabled": True}


def test_an_empty_node_selector_survives(server: Server) -> None:
    """It overrides the cluster's with none, so it must not be dropped on the way."""
    cluster = changed(minimal("MatrixOneCluster", "empty"), {"spec.tn.nodeSelector": {}})
    assert server.create(cluster, dry_run=True)["spec"]["tn"]["nodeSelector"] == {}


def test_what_a_pod_accepts_survives_in_the_overlay(server: Server) -> None:
    """The overlay is open: nothing in it is dropped, listed or not."""
    overlay = {
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v", "subPathExpr": "$(A)"}],
        "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"x": 1}}}}],
        "affinity": {"nodeAffinity": {"x": [1, {"y": "z"}]}},
        "somethingNew": {"a": [{"b": 1}]},
    }
    created = server.create(
        changed(minimal("LogSet", "open"), {"spec.overlay": overlay}), dry_run=True
    )
    assert created["spec"]["overlay"] == overlay


def test_an_embedded_log_set_survives(server: Server) -> None:
    """Old manifests carry the whole object where only its name counts."""
    embedded = minimal("LogSet")
    created = server.create(
        changed(minimal("CNSet", "embedded"), {"deps.logSet": embedded}), dry_run=True
    )
    assert created["deps"]["logSet"] == embedded


@pytest.mark.parametrize("kind", ["CNSet", "ProxySet"])
def test_what_serves_sql_can_be_scaled_and_watched_by_an_autoscaler(
    server: Server, installed_testbed: TestBed, kind: str
) -> None:
    """The scale subresource works without replicas in the manifest and shows the selector."""
    plural = PLURALS[kind]
    created = server.create(changed(minimal(kind, "scaled"), {"spec.replicas": None}))
    server.update(changed(created, {"status": {"replicas": 1, "labelSelector": "a=b"}}), "/status")
    installed_testbed.kubectl("scale", f"{plural}/scaled", "--replicas=4", "-n", server.namespace)
    path = (
        f"/apis/core.matrixorigin.io/v1alpha1/namespaces/{server.namespace}/{plural}/scaled/scale"
    )
    scale = json.loads(installed_testbed.kubectl("get", "--raw", path))
    assert scale["spec"]["replicas"] == 4
    assert scale["status"] == {"replicas": 1, "selector": "a=b"}


def test_an_apply_without_replicas_leaves_them_to_the_autoscaler(
    server: Server, installed_testbed: TestBed
) -> None:
    """Whoever leaves replicas out does not take them back from `kubectl scale`."""
    manifest = json.dumps(changed(minimal("CNSet", "owned"), {"spec.replicas": None}))
    apply = ("apply", "--server-side", "-n", server.namespace, "-f", "-")
    installed_testbed.kubectl(*apply, input=manifest)
    installed_testbed.kubectl("scale", "cnset/owned", "--replicas=4", "-n", server.namespace)
    installed_testbed.kubectl(*apply, input=manifest)
    read = installed_testbed.kubectl(
        "get", "cnset/owned", "-o", "jsonpath={.spec.replicas}", "-n", server.namespace
    )
    assert read == "4"


def test_other_kinds_are_not_scaled(server: Server, installed_testbed: TestBed) -> None:
    """A log service is not scaled by an autoscaler: the subresource is not there."""
    server.create(minimal("LogSet", "unscaled"))
    with pytest.raises(KubectlError, match="NotFound"):
        installed_testbed.kubectl(
            "scale", "logset/unscaled", "--replicas=5", "-n", server.namespace
        )
