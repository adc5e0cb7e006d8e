# SPDX-License-Identifier: Apache-2.0
"""The API server goes away, comes back, or does not answer: the operator waits and goes on."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed
from testbed.bed import TestBed
from testbed.processes import Process, find, kill
from tests.runner.operator.conftest import PROJECT, Cluster, define, start_in
from tests.support.operators import Operator
from tests.support.waiting import eventually

pytestmark = pytest.mark.api


@pytest.fixture
def bed(own_state: Path) -> TestBed:
    """A test bed of its own, whose processes may be ended."""
    assert own_state
    bed = testbed.up("lost", nodes="fake")
    define(bed)
    return bed


@pytest.fixture
def cluster(bed: TestBed) -> Iterator[Cluster]:
    with bed.namespace("lost") as namespace:
        yield Cluster(bed, namespace)


@pytest.fixture
def operator(bed: TestBed, cluster: Cluster, tmp_path: Path) -> Iterator[Operator]:
    started = start_in(bed, tmp_path, cluster.name, project=PROJECT)
    yield started
    started.kill()


def server_of(bed: TestBed, name: str) -> Process:
    process = find(bed.places, name)
    assert process
    return process


def settle(cluster: Cluster, name: str, text: str) -> None:
    """Change an object and wait until that has been played."""
    cluster.create("Probe", name, {"behave": "succeed", "text": text})
    eventually(
        lambda: (
            cluster.get("probes", name).get("metadata", {}).get("generation")
            and "ansibleResult" in cluster.conditions("probes", name).get("Running", {})
        )
    )


def test_a_restarted_api_server_is_found_again(
    bed: TestBed, cluster: Cluster, operator: Operator
) -> None:
    settle(cluster, "before", "1")
    settle(cluster, "leaving", "1")
    runs = operator.runs_of("before")
    kill(server_of(bed, "kube-apiserver"))
    eventually(lambda: operator.lines("Watch was interrupted"))
    testbed.up("lost", nodes="fake")
    # The caches of a new server begin now: what changes at once may be missed by old watches.
    cluster.kubectl("delete", "probes", "leaving")
    began = time.monotonic()
    cluster.create("Probe", "before", {"behave": "succeed", "text": "2"})
    settle(cluster, "after", "1")
    eventually(lambda: operator.runs_of("before") > runs)
    eventually(lambda: not any(operator.runs.glob("**/leaving")))
    assert time.monotonic() - began < 20
    assert operator.process.poll() is None
    assert "Traceback" not in operator.text()


def test_a_server_that_does_not_answer_for_a_while_delays_and_nothing_else(
    bed: TestBed, cluster: Cluster, operator: Operator
) -> None:
    settle(cluster, "first", "1")
    etcd = server_of(bed, "etcd").pid
    cluster.create("Probe", "busy", {"behave": "sleep", "seconds": 1})
    eventually(lambda: operator.lines("[playbook task start]", name="busy"))
    os.kill(etcd, signal.SIGSTOP)
    time.sleep(6)
    os.kill(etcd, signal.SIGCONT)
    began = time.monotonic()
    settle(cluster, "second", "1")
    cluster.wait_for("probes", "busy", "Successful")
    assert time.monotonic() - began < 20
    assert operator.process.poll() is None
