# SPDX-License-Identifier: Apache-2.0
"""An operator through many lives of its objects, with failures: what it holds does not grow.

SOAK_CYCLES says how many; each stands for days, in which everything changes once.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import testbed
from testbed.bed import TestBed
from testbed.processes import find, kill
from tests.roles.conftest import tiny_cluster
from tests.runner.operator.conftest import PROJECT, Cluster, define
from tests.soak.footprint import Footprint, growth, table, take
from tests.support.namespaces import Namespace, install
from tests.support.operator_rights import account
from tests.support.operators import Operator, launch
from tests.support.waiting import eventually

CYCLES = int(os.environ.get("SOAK_CYCLES", "12"))
pytestmark = [pytest.mark.node, pytest.mark.scenario, pytest.mark.timeout(400 + 120 * CYCLES)]

MEMCACHED, PROBES = "memcacheds.runner.example.com", "probes.runner.example.com"
OBJECTS = 30
SETTLE_SECONDS = 12.0
"""Longer than processes live that wait for runs, and than ends of runs are remembered."""


def soak(operator: Operator, temporary: Path, cycle: Callable[[int], None]) -> list[Footprint]:
    """Go through cycles and measure after each; the first one only warms up."""
    taken = []
    for number in range(CYCLES + 1):
        cycle(number)
        time.sleep(SETTLE_SECONDS)
        assert operator.process.poll() is None
        if number:
            taken.append(take(operator.process.pid, operator.runs, temporary))
    sys.stdout.write("\n".join(["", *table(taken), ""]))
    return taken


def test_objects_come_fail_change_and_go(tmp_path: Path) -> None:
    """Runs that succeed, fail, and are ended by their time limit, for objects with ever new names."""
    name = f"pytest-soak-{os.getpid()}"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    try:
        bed = testbed.up(name, nodes="fake")
        define(bed)
        with bed.namespace("soak") as namespace:
            cluster = Cluster(bed, namespace)
            variables = {"WATCH_NAMESPACE": namespace, "TMPDIR": str(temporary)}
            operator = launch(bed.kubeconfig, tmp_path, project=PROJECT, variables=variables)

            def cycle(number: int) -> None:
                names = [f"of-{number}-{one}" for one in range(OBJECTS)]
                for one in names:
                    cluster.create("Memcached", one, {"size": 1})
                failing = f"fails-{number}"
                cluster.create("Probe", failing, {"behave": "fail", "text": number})
                cluster.create("Probe", f"late-{number}", {"behave": "sleep", "seconds": 600})
                for one in names:
                    cluster.wait_for(MEMCACHED, one, "Successful")
                for one in names:
                    cluster.create("Memcached", one, {"size": 2})
                cluster.wait_for(PROBES, failing, "Failure")
                if number % 4 == 3:
                    restart_api_server(bed)
                cluster.kubectl("delete", MEMCACHED, "--all", "--timeout=100s")
                cluster.kubectl("delete", PROBES, "--all", "--timeout=100s")

            try:
                taken = soak(operator, temporary, cycle)
            finally:
                operator.stop(signal.SIGTERM)
            cluster.release(MEMCACHED)
    finally:
        testbed.down(name)
    assert growth(taken) == []


def test_clusters_come_change_and_go(tmp_path: Path) -> None:
    """MatrixOne clusters on fake nodes: made, scaled, reconfigured, deleted."""
    name = f"pytest-soak-mo-{os.getpid()}"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    try:
        bed = testbed.up(name, nodes="fake")
        install(bed)
        with bed.namespace("soak") as namespace:
            space = Namespace(bed, namespace)
            variables = {
                "WATCH_NAMESPACE": namespace,
                "TMPDIR": str(temporary),
                "OPERATOR_IMAGE": "operator:test",
            }
            rights = account(bed, namespace, tmp_path / "kubeconfig")
            operator = launch(rights, tmp_path, variables=variables)

            def cycle(number: int) -> None:
                one = tiny_cluster(namespace)
                one["metadata"]["name"] = f"mo-{number}"
                space.apply(one)
                settled(space, one["metadata"]["name"])
                one["spec"]["cnGroups"][0]["replicas"] = 2
                one["spec"]["cnGroups"][0]["config"] = f"# {number}\n"
                space.apply(one)
                settled(space, one["metadata"]["name"])
                if number % 4 == 3:
                    restart_api_server(bed)
                space.kubectl("delete", "mo", "--all", "--timeout=120s")

            try:
                taken = soak(operator, temporary, cycle)
            finally:
                operator.stop(signal.SIGTERM)
    finally:
        testbed.down(name)
    assert growth(taken) == []


def restart_api_server(bed: TestBed) -> None:
    """Kill the API server and start another one."""
    server = find(bed.places, "kube-apiserver")
    assert server
    kill(server)
    testbed.up(bed.places.root.name, nodes="fake")


def settled(space: Namespace, name: str) -> None:
    """Wait until a cluster's present generation is carried out."""

    def holds() -> bool:
        found = space.get("mo", name)
        now = found["metadata"]["generation"]
        said = {one["type"]: one for one in found.get("status", {}).get("conditions", [])}
        both = [said.get(kind, {}) for kind in ("Ready", "Synced")]
        return all(
            one.get("status") == "True" and one.get("observedGeneration") == now for one in both
        )

    eventually(
        holds, 120, f"{name} is ready", otherwise=lambda: space.get("mo", name).get("status")
    )
