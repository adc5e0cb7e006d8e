# SPDX-License-Identifier: Apache-2.0
"""The same cluster without operator and CRDs: `ansible-playbook matrixorigin.matrixone.cluster`."""

import base64
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import testbed
from demo import sql
from tests.e2e.clusters import tiny_cluster
from tests.e2e.conftest import Command

pytestmark = pytest.mark.node

PLAYBOOK = ("ansible-playbook", "matrixorigin.matrixone.cluster")
SERVED_SECONDS = 40
"""Longer than everybody needs to hear that a compute node drains, and than a round takes."""


def changed(output: str) -> int:
    found = re.search(r"localhost\s*: .*changed=(\d+)\s+unreachable=0\s+failed=0", output)
    assert found, "the play failed"
    return int(found[1])


def proxy(bed: testbed.TestBed, namespace: str) -> sql.Endpoint:
    secret = json.loads(
        bed.kubectl("-n", namespace, "get", "secret", "mo-credential", "-o", "json")
    )
    service = json.loads(bed.kubectl("-n", namespace, "get", "service", "mo-proxy", "-o", "json"))
    user, password = (
        base64.b64decode(secret["data"][key]).decode() for key in ("username", "password")
    )
    return sql.Endpoint(service["spec"]["clusterIP"], 6001, user, password)


def rows_through_the_service(bed: testbed.TestBed, namespace: str) -> str:
    with sql.connect(proxy(bed, namespace), time.monotonic() + 60) as connection:
        return [sql.run(connection, statement) for statement in sql.STATEMENTS][-1]


def change_the_password(bed: testbed.TestBed, namespace: str, password: str) -> None:
    change = json.dumps({"stringData": {"password": password}})
    bed.kubectl("-n", namespace, "patch", "secret", "mo-credential", "-p", change)


def test_a_playbook_brings_the_cluster_up_keeps_it_and_takes_it_away(
    command: Command, real_testbed: testbed.TestBed, real_namespace: str, tmp_path: Path
) -> None:
    manifest = tmp_path / "cluster.json"
    manifest.write_text(json.dumps(tiny_cluster()))

    def play(*options: str) -> str:
        where = ("-e", f"@{manifest}", "-e", f"namespace={real_namespace}")
        return command(*PLAYBOOK, *where, *options, KUBECONFIG=str(real_testbed.kubeconfig))

    assert changed(play("--check", "--diff")) > 0
    assert real_testbed.kubectl("-n", real_namespace, "get", "statefulsets", "-o", "name") == ""

    assert changed(play()) > 0
    assert "from MatrixOne" in rows_through_the_service(real_testbed, real_namespace)

    assert changed(play()) == 0
    assert changed(play("--check")) == 0

    change_the_password(real_testbed, real_namespace, "another one")
    assert changed(play()) > 0
    assert "from MatrixOne" in rows_through_the_service(real_testbed, real_namespace)
    assert changed(play()) == 0

    assert changed(play("-e", "state=absent")) > 0
    left = real_testbed.kubectl(
        "-n", real_namespace, "get", "statefulsets,deployments,pods,pvc,services", "-o", "name"
    )
    assert left == ""
    assert changed(play("-e", "state=absent")) == 0


def test_sessions_are_served_until_they_end(
    command: Command, real_testbed: testbed.TestBed, real_namespace: str, tmp_path: Path
) -> None:
    """A pool comes up without an operator, and drains before all goes."""
    cluster = tiny_cluster()
    cluster["spec"]["logService"]["replicas"] = 1
    cluster["spec"]["cnGroups"][0] |= {
        "podManagementPolicy": "Pooling",
        "terminationPolicy": "Drain",
        "scalingConfig": {"storeDrainTimeout": "4m"},
    }
    cluster["metadata"]["namespace"] = real_namespace
    manifest = tmp_path / "cluster.json"
    manifest.write_text(json.dumps(cluster))

    def play(*options: str) -> str:
        kubeconfig = str(real_testbed.kubeconfig)
        return command(*PLAYBOOK, "-e", f"@{manifest}", *options, KUBECONFIG=kubeconfig)

    assert changed(play()) > 0
    assert changed(play()) == 0

    where = proxy(real_testbed, real_namespace)
    with ThreadPoolExecutor(1) as pool:
        with sql.connect(where, time.monotonic() + 60) as session:
            removal = pool.submit(play, "-e", "state=absent")
            until = time.monotonic() + SERVED_SECONDS
            while time.monotonic() < until:
                assert "1" in sql.run(session, "select 1")
                assert not removal.done(), removal.result()
                time.sleep(0.5)
        output = removal.result()

    assert changed(output) > 0
    assert "1 sessions" in output
    assert "gave up" not in output
    left = real_testbed.kubectl("-n", real_namespace, "get", "pods,pvc,services", "-o", "name")
    assert left == ""
    assert changed(play("-e", "state=absent")) == 0
