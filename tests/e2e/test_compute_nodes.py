# SPDX-License-Identifier: Apache-2.0
"""Compute nodes come and go under traffic: no acknowledged row is lost, no client sees an error."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
import yaml

from testbed.bed import TestBed
from testbed.ports import choose_ports

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("real-node")]

ROOT = Path(__file__).resolve().parents[2]
LONGEST_GAP = 10.0


class Cluster:
    """A MatrixOneCluster ``mo`` in a namespace of its own."""

    def __init__(self, bed: TestBed, namespace: str) -> None:
        self.bed, self.namespace = bed, namespace

    def kubectl(self, *arguments: str, **how: Any) -> str:
        return self.bed.kubectl("-n", self.namespace, *arguments, **how)

    def get(self, *what: str) -> dict[str, Any]:
        return dict(json.loads(self.kubectl("get", *what, "-o", "json")))

    def stores(self) -> dict[str, str]:
        """Work state by Pod, as the status of the CNSet tells it."""
        listed = self.get("cnset", "mo-tp").get("status", {}).get("stores", [])
        return {one["podName"]: one["state"] for one in listed}

    def pods(self) -> dict[str, bool]:
        """Whether it is being deleted, by name of the Pod of a compute node."""
        listed = self.get("pods", "-l", "matrixorigin.io/component=CNSet")["items"]
        return {one["metadata"]["name"]: "deletionTimestamp" in one["metadata"] for one in listed}

    def scale(self, replicas: int) -> None:
        patch = [{"op": "replace", "path": "/spec/cnGroups/0/replicas", "value": replicas}]
        self.kubectl("patch", "mo", "mo", "--type=json", "-p", json.dumps(patch))

    def connect(self) -> "pymysql.connections.Connection[pymysql.cursors.Cursor]":
        secret = self.get("secret", "mo-credential")["data"]
        return pymysql.connect(
            host=self.get("service", "mo-proxy")["spec"]["clusterIP"],
            port=6001,
            user=base64.b64decode(secret["username"]).decode(),
            password=base64.b64decode(secret["password"]).decode(),
            connect_timeout=15,
            read_timeout=30,
            autocommit=True,
        )


def eventually(holds: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(1)


class Traffic:
    """Clients that insert numbered rows through the proxy."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.acknowledged: set[int] = set()
        self.errors: list[str] = []
        self.longest = 0.0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._insert, args=(n,)) for n in range(3)]

    def __enter__(self) -> "Traffic":
        with self.cluster.connect() as session, session.cursor() as cursor:
            cursor.execute("create database if not exists traffic")
            cursor.execute("create table if not exists traffic.rows_seen (n int primary key)")
            cursor.execute("delete from traffic.rows_seen")
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def _insert(self, number: int) -> None:
        row, last = number * 1_000_000, time.monotonic()
        while not self._stop.is_set():
            try:
                with self.cluster.connect() as session, session.cursor() as cursor:
                    while not self._stop.is_set():
                        cursor.execute("insert into traffic.rows_seen values (%s)", (row,))
                        self.acknowledged.add(row)
                        self.longest = max(self.longest, time.monotonic() - last)
                        row, last = row + 1, time.monotonic()
                        time.sleep(0.05)
            except pymysql.MySQLError as error:
                self.errors.append(str(error))
                row += 1
                time.sleep(0.3)

    def require_nothing_lost(self) -> None:
        with self.cluster.connect() as session, session.cursor() as cursor:
            cursor.execute("select n from traffic.rows_seen")
            stored = {int(row[0]) for row in cursor.fetchall()}
        assert self.errors == []
        assert len(self.acknowledged) > 100
        assert self.acknowledged <= stored
        assert self.longest < LONGEST_GAP


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two compute nodes with labels, which drain; the operator runs as a process."""
    folder = tmp_path_factory.mktemp("operator")
    real_testbed.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    ports = choose_ports(("proxy", "api"), ())
    with real_testbed.namespace("nodes") as namespace, (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(str(Path(sys.executable).parent / "ansible-operator"), "run"),
                *("--watches-file", str(ROOT / "watches.yaml")),
                *("--proxy-port", str(ports["proxy"]), "--metrics-api-port", str(ports["api"])),
                *("--metrics-bind-address", "0", "--health-probe-bind-address", "0"),
            ],
            env={
                **os.environ,
                "KUBECONFIG": str(real_testbed.kubeconfig),
                "WATCH_NAMESPACE": namespace,
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_GATHERING": "explicit",
            },
            stdout=log,
            stderr=log,
        )
        made = Cluster(real_testbed, namespace)
        try:
            made.kubectl("apply", "-f", "-", input=json.dumps(_resource()))
            made.kubectl("wait", "--for=condition=Ready", "mo/mo", "--timeout=240s")
            yield made
            made.kubectl("delete", "mo", "--all", "--timeout=240s")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _resource() -> dict[str, Any]:
    resource: dict[str, Any] = yaml.safe_load((ROOT / "examples/tiny-cluster.yaml").read_text())
    resource["spec"]["cnGroups"][0] |= {
        "replicas": 2,
        "cnLabels": [{"key": "team", "values": ["red", "blue"]}],
        "scalingConfig": {
            "storeDrainEnabled": True,
            "storeDrainTimeout": "3m",
            "minDelaySeconds": 10,
        },
    }
    return resource


def test_new_nodes_work_under_their_labels(cluster: Cluster) -> None:
    """They begin as Draining, so that none serves before its labels are set."""
    eventually(lambda: list(cluster.stores().values()) == ["Working"] * 2, 60, "two working nodes")

    def shown() -> bool:
        try:
            with cluster.connect() as session, session.cursor() as cursor:
                cursor.execute("show backend servers")
                return {row[2:4] for row in cursor.fetchall()} == {("Working", "team:red,blue;")}
        except pymysql.MySQLError:
            return False

    # Proxy and database look only every few seconds who works: at first they know of nobody.
    eventually(shown, 30, "labels in the view of the database")


def test_a_deleted_pod_serves_until_its_clients_have_moved(cluster: Cluster) -> None:
    victim = min(cluster.pods())
    with Traffic(cluster) as traffic:
        time.sleep(3)
        begun = time.monotonic()
        cluster.kubectl("delete", "pod", victim, "--wait=false")
        eventually(lambda: victim not in cluster.pods(), 120, "the end of the Pod")
        assert time.monotonic() - begun > 10
        time.sleep(3)
    traffic.require_nothing_lost()
    eventually(lambda: list(cluster.stores().values()) == ["Working"] * 2, 60, "two working nodes")


def test_a_set_shrinks_when_its_node_is_drained(cluster: Cluster) -> None:
    with Traffic(cluster) as traffic:
        time.sleep(3)
        cluster.scale(1)
        eventually(lambda: "Draining" in cluster.stores().values(), 30, "a draining node")
        said = {one["type"]: one for one in cluster.get("cnset", "mo-tp")["status"]["conditions"]}
        assert said["Progressing"]["reason"] == "Draining"
        assert not any(cluster.pods().values())
        eventually(lambda: len(cluster.pods()) == 1, 150, "the end of the node")
        time.sleep(3)
    traffic.require_nothing_lost()
    assert list(cluster.stores().values()) == ["Working"]
