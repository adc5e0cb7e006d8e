# SPDX-License-Identifier: Apache-2.0
"""A cluster of the Go operator is taken over with its rows, and given back.

The database is real; the Go operator and OpenKruise are played by `go_operator.py`.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import pytest

from demo import object_storage
from testbed.bed import TestBed
from testbed.object_store import ObjectStore
from tests.e2e.clusters import Cluster, Json, Operator, tiny_cluster
from tests.e2e.conftest import Command
from tests.e2e.deployed import Deployed
from tests.e2e.go_operator import GoOperator
from tests.e2e.traffic import Traffic
from tests.support.places import ROOT
from tests.support.waiting import eventually

pytestmark = pytest.mark.node

ROWS = 1000
SHARED = "/var/lib/matrixone-shared"
BUCKET = object_storage.BUCKET
READY_SECONDS = 300
HELD = "waiting for its adoption"
PLAYBOOK = "matrixorigin.matrixone.adopt"


def go_cluster(store: ObjectStore, namespace: str) -> Json:
    """Return a cluster as users of the Go operator write it, with its data in a bucket."""
    resource = object_storage.on_s3(tiny_cluster(), store)
    log_service = resource["spec"]["logService"]
    log_service["sharedStorage"]["s3"]["path"] = f"{BUCKET}/{namespace}"
    log_service["volume"]["storageClassName"] = namespace
    return resource


def go_cluster_in_a_folder() -> Json:
    """Return one with its data in a folder that all Pods share, whose files stay root's."""
    resource = tiny_cluster()
    spec = resource["spec"]
    spec["logService"]["sharedStorage"] = {"fileSystem": {"path": SHARED}}
    source = {"claimName": "mo-shared"}
    root = {"runAsUser": 0, "runAsGroup": 0, "runAsNonRoot": False}
    for part in (spec["logService"], spec["tn"], *spec["cnGroups"], spec["proxy"]):
        part["overlay"] = {
            "volumes": [{"name": "shared", "persistentVolumeClaim": source}],
            "volumeMounts": [{"name": "shared", "mountPath": SHARED}],
            "securityContext": root,
        }
    return resource


def shared_claim() -> Json:
    """Return the claim of that folder, which its user has made."""
    size = {"requests": {"storage": "1Gi"}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "mo-shared"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": size},
    }


def volume(folder: Path, namespace: str, claim: str) -> Json:
    """Return a volume whose files Kubernetes gives to a group, as those of most providers."""
    terms = [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]
    place = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{namespace}-{claim}"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": namespace,
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": namespace, "name": claim},
            "local": {"path": str(folder)},
            "nodeAffinity": {"required": place},
        },
    }


def operator_for(bed: TestBed, namespace: str, folder: Path) -> Operator | Deployed:
    """Return our operator, which is not started yet: as OPERATOR says, in the cluster or here."""
    if os.environ.get("OPERATOR") == "deployment":
        return Deployed(bed, folder)
    return Operator(bed, namespace, folder)


class World:
    """A cluster of the Go operator, beside ours, which is not started yet."""

    def __init__(
        self, cluster: Cluster, go_operator: GoOperator, operator: Operator | Deployed
    ) -> None:
        self.cluster, self.go_operator, self.operator = cluster, go_operator, operator

    def kruise(self) -> list[str]:
        """Return the workloads of OpenKruise."""
        listed = self.cluster.kubectl(
            "get", "statefulsets.apps.kruise.io,clonesets.apps.kruise.io", "-o", "name"
        )
        return sorted(listed.split())

    def claims(self) -> dict[str, tuple[str, str]]:
        """Return uid and volume of each claim of a log store."""
        listed = self.cluster.get("pvc")["items"]
        return {
            one["metadata"]["name"]: (one["metadata"]["uid"], one["spec"]["volumeName"])
            for one in listed
        }

    def rows(self) -> list[int]:
        """Return the numbered rows."""
        with self.cluster.connect() as session, session.cursor() as cursor:
            cursor.execute("select n from adopted.numbers order by n")
            return [int(row[0]) for row in cursor.fetchall()]

    def held(self) -> bool:
        """Tell whether our operator says of every set that it leaves it alone."""
        sets = (("LogSet", "mo"), ("DNSet", "mo"), ("CNSet", "mo-tp"), ("ProxySet", "mo"))
        found = [self.cluster.condition(kind, name, "Synced") for kind, name in sets]
        return all(str(one.get("message")).startswith(HELD) for one in found)

    def command(self, *arguments: str) -> list[str]:
        """Return the command that adopts the cluster."""
        place = ["-e", "cluster=mo", "-e", f"namespace={self.cluster.namespace}"]
        return ["ansible-playbook", PLAYBOOK, *place, *arguments]


@pytest.fixture(scope="module")
def world(
    bed_with_jobs: TestBed,
    real_object_store: ObjectStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """Three log stores, a transaction node, a compute node and a proxy, with numbered rows."""
    bed = bed_with_jobs
    real_object_store.make_bucket(BUCKET)
    with bed.namespace("adopt") as namespace:
        secret = object_storage.secret(real_object_store)
        bed.kubectl("-n", namespace, "apply", "-f", "-", input=json.dumps(secret))
        for ordinal in range(3):
            folder = bed.places.volumes / f"{namespace}-{ordinal}"
            folder.mkdir(parents=True)
            made_of = volume(folder, namespace, f"mo-data-mo-log-{ordinal}")
            bed.kubectl("apply", "-f", "-", input=json.dumps(made_of))
        resource = go_cluster(real_object_store, namespace)
        try:
            with running(bed, namespace, resource, tmp_path_factory.mktemp("operator")) as made:
                yield made
        finally:
            volumes = [f"{namespace}-mo-data-mo-log-{ordinal}" for ordinal in range(3)]
            bed.kubectl("delete", "pv", "--wait=false", *volumes)


@contextmanager
def running(bed: TestBed, namespace: str, resource: Json, folder: Path) -> Iterator[World]:
    """Run a cluster of the Go operator with numbered rows until the end of the block."""
    bed.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    operator = operator_for(bed, namespace, folder)
    cluster = Cluster(bed, namespace, operator)
    with GoOperator(bed, namespace, resource) as go_operator:
        go_operator.create()
        made = World(cluster, go_operator, operator)
        eventually(lambda: _filled(made), READY_SECONDS, "a database with rows")
        try:
            yield made
        finally:
            operator.remove()
            cluster.kubectl("delete", "mo", "--all", "--wait=false")


def _filled(world: World) -> bool:
    try:
        with world.cluster.connect() as session, session.cursor() as cursor:
            cursor.execute("drop database if exists adopted")
            cursor.execute("create database adopted")
            cursor.execute("create table adopted.numbers (n int primary key)")
            numbers = [(number,) for number in range(ROWS)]
            cursor.executemany("insert into adopted.numbers values (%s)", numbers)
            cursor.execute("select mo_ctl('dn', 'flush', 'adopted.numbers')")
        return world.rows() == list(range(ROWS))
    except (pymysql.MySQLError, OSError):
        return False


def test_a_cluster_in_a_folder_is_taken_over_where_its_pods_stay_root(
    bed_with_jobs: TestBed,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody hands files of such a volume over: without that, the plan refuses the adoption.

    It comes first, before an operator of another level is deployed that would watch its namespace.
    """
    if os.environ.get("OPERATOR") == "deployment":
        monkeypatch.setenv("OPERATOR", "process")  # whose level of Pod security can be set here
    monkeypatch.setenv("MATRIXONE_POD_SECURITY", "baseline")
    bed, resource = bed_with_jobs, go_cluster_in_a_folder()
    with bed.namespace("adopt-folder") as namespace:
        bed.kubectl("-n", namespace, "apply", "-f", "-", input=json.dumps(shared_claim()))
        with running(bed, namespace, resource, tmp_path) as world:
            world.operator.start()
            eventually(world.held, 60, "sets that are left alone")
            command(*world.command(), KUBECONFIG=str(bed.kubeconfig))
            assert world.kruise() == []
            eventually(lambda: _rows(world) == ROWS, 60, "all rows")


def test_our_operator_leaves_everything_alone_at_first(world: World) -> None:
    before = {name: pod["metadata"]["uid"] for name, pod in _pods(world).items()}
    world.operator.start()
    eventually(world.held, 60, "sets that are left alone")
    time.sleep(5)
    assert world.cluster.get("statefulset.apps,deployment.apps")["items"] == []
    assert {name: pod["metadata"]["uid"] for name, pod in _pods(world).items()} == before
    assert world.rows() == list(range(ROWS))


def test_a_check_prints_the_plan_and_changes_nothing(world: World, command: Command) -> None:
    workloads = world.kruise()
    told = command(*world.command("--check"), KUBECONFIG=str(world.cluster.bed.kubeconfig))
    for text in (
        "delete, and leave its Pods running, StatefulSet mo-log of OpenKruise",
        "delete, and leave its Pods running, CloneSet mo-tp-cn of OpenKruise",
        "take the owner of OpenKruise off PersistentVolumeClaim mo-data-mo-log-2",
    ):
        assert text in told
    assert world.kruise() == workloads


def test_a_go_operator_that_runs_is_refused(world: World) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "0c8ab548.matrixorigin.io"},
        "spec": {
            "holderIdentity": "somebody",
            "leaseDurationSeconds": 3600,
            "renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
        },
    }
    world.cluster.kubectl("apply", "-f", "-", input=json.dumps(lease))
    try:
        ended = subprocess.run(
            world.command(),
            env={
                **os.environ,
                "KUBECONFIG": str(world.cluster.bed.kubeconfig),
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode != 0
        assert "the Go operator is at work" in ended.stdout
    finally:
        world.cluster.kubectl("delete", "lease", "0c8ab548.matrixorigin.io")
    assert len(world.kruise()) == 4


def test_the_cluster_is_taken_over_with_every_row(
    world: World, command: Command, tmp_path: Path
) -> None:
    """The first play is killed in the middle of the first set; the second one goes on."""
    claims = world.claims()
    kubeconfig = str(world.cluster.bed.kubeconfig)
    login = tmp_path / "login.json"
    login.write_text(json.dumps({f"login_{k}": v for k, v in world.cluster.entrance.items()}))
    with Traffic(world.cluster, "adoption") as traffic:
        time.sleep(2)
        _kill_when(world, lambda: "statefulset.apps.kruise.io/mo-log" not in world.kruise())
        told = command(*world.command("-e", f"@{login}"), KUBECONFIG=kubeconfig)
        time.sleep(2)
    assert "tables afterwards" in told
    assert world.kruise() == []
    assert world.rows() == list(range(ROWS))
    now = world.claims()
    assert {name: now[name] for name in claims} == claims
    (bucket,) = world.cluster.get("bucketclaim")["items"]
    log_set = world.cluster.get("logset", "mo")
    assert bucket["metadata"]["name"] == f"bucket-{log_set['metadata']['uid']}"
    assert bucket["status"]["state"] == "InUse"
    assert bucket["status"]["granted"]["mark"] == bucket["metadata"]["uid"]
    for pod in _pods(world).values():
        (owner,) = pod["metadata"]["ownerReferences"]
        assert owner["apiVersion"] == "apps/v1"
    world.cluster.await_ready()
    traffic.require_nothing_lost(longest=90, errors=None)


def test_a_second_adoption_changes_nothing(world: World, command: Command) -> None:
    told = command(*world.command(), KUBECONFIG=str(world.cluster.bed.kubeconfig))
    assert "changed=0" in told
    assert "nothing is to be done" in told


def test_our_operator_rolls_the_cluster(world: World) -> None:
    before = {name: pod["metadata"]["uid"] for name, pod in _pods(world).items()}
    stamp = {"metadata": {"annotations": {"matrixorigin.io/restartedAt": "2026-01-01T00:00:00Z"}}}
    world.cluster.patch("mo", "mo", stamp)

    def rolled() -> bool:
        uids = {pod["metadata"]["uid"] for pod in _pods(world).values()}
        return not uids & set(before.values())

    eventually(rolled, READY_SECONDS, "new Pods everywhere")
    world.cluster.await_ready()
    eventually(lambda: _rows(world) == ROWS, 60, "all rows after the roll")


def test_the_way_back(world: World, command: Command) -> None:
    claims = world.claims()
    kubeconfig = str(world.cluster.bed.kubeconfig)
    command(*world.command("-e", "state=absent"), KUBECONFIG=kubeconfig)
    assert world.cluster.get("statefulset.apps")["items"] == []
    world.go_operator.make_workloads()
    eventually(lambda: len(world.kruise()) == 4, 30, "workloads of OpenKruise")
    eventually(lambda: _theirs_serve(world), READY_SECONDS, "Pods of OpenKruise")
    command(*world.command("-e", "state=absent"), KUBECONFIG=kubeconfig)
    assert world.cluster.get("deployment.apps")["items"] == []
    eventually(lambda: _rows(world) == ROWS, 60, "all rows under the Go operator")
    now = world.claims()
    assert {name: now[name] for name in claims if "log" in name} == {
        name: claims[name] for name in claims if "log" in name
    }


def test_and_forth(world: World, command: Command) -> None:
    command(*world.command(), KUBECONFIG=str(world.cluster.bed.kubeconfig))
    assert world.kruise() == []
    eventually(lambda: _rows(world) == ROWS, 60, "all rows")


def _kill_when(world: World, reached: Callable[[], bool]) -> None:
    """Begin an adoption, and kill the play without a warning as soon as something is reached."""
    environment = {
        **os.environ,
        "KUBECONFIG": str(world.cluster.bed.kubeconfig),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
    }
    play = subprocess.Popen(
        world.command(),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        eventually(reached, 120, "the first workload that is let go")
    finally:
        os.killpg(play.pid, signal.SIGKILL)
        play.wait(30)


def _rows(world: World) -> int:
    try:
        return len(world.rows())
    except pymysql.MySQLError:
        return 0


def _theirs_serve(world: World) -> bool:
    listed = world.cluster.get("statefulsets.apps.kruise.io,clonesets.apps.kruise.io")["items"]
    return len(listed) == 4 and all(
        (one.get("status") or {}).get("readyReplicas") == one["spec"]["replicas"] for one in listed
    )


def _pods(world: World) -> dict[str, Json]:
    kinds = ("LogSet", "DNSet", "CNSet", "ProxySet")
    found = [world.cluster.pods(kind) for kind in kinds]
    return {name: pod for pods in found for name, pod in pods.items()}
