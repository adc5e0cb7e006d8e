# SPDX-License-Identifier: Apache-2.0
"""Several processes of one operator: all serve, one reconciles, a stop hands over."""

import socket
import time

import pytest

from tests.runner.operator.conftest import Cluster, Start, fetch
from tests.support.operators import Operator
from tests.support.ports import free_port
from tests.support.waiting import eventually

pytestmark = pytest.mark.api


def replica(start: Start, namespace: str, *flags: str) -> Operator:
    return start(
        namespace,
        "--leader-elect",
        "--leader-election-id=runner",
        f"--leader-election-namespace={namespace}",
        *flags,
    )


def test_the_process_serves_probes_metrics_and_the_metrics_api(
    cluster: Cluster, start: Start
) -> None:
    probes, metrics, api = free_port(), free_port(), free_port()
    operator = start(
        cluster.name,
        f"--health-probe-bind-address=127.0.0.1:{probes}",
        f"--metrics-bind-address=127.0.0.1:{metrics}",
        f"--metrics-api-port={api}",
    )
    eventually(lambda: fetch(probes, "/healthz")[0] == 200)
    eventually(lambda: fetch(probes, "/readyz") == (200, "ok"))
    cluster.create("Memcached", "measured", {"size": 1})
    cluster.wait_for("memcacheds.runner.example.com", "measured", "Successful")
    body = b'{"name": "plays", "description": "d", "counter": {"increment": true}}'
    assert fetch(api, "/metrics", body) == (200, "")
    # Counted when the reconcile ends, which is after its status is written.
    counted = 'controller_runtime_reconcile_total{controller="memcached-v1alpha1-'
    eventually(lambda: counted in fetch(metrics, "/metrics")[1])
    status, text = fetch(metrics, "/metrics")
    assert status == 200
    gvk = 'GVK="runner.example.com/v1alpha1, Kind=Memcached"'
    assert f'ansible_operator_reconcile_result{{{gvk},result="succeeded"}} ' in text
    assert 'resource_created_at_seconds{group="runner.example.com",kind="Memcached"' in text
    assert "plays 1" in text.splitlines()
    successful = (
        'resource_condition{condition="Successful",group="runner.example.com",kind="Memcached",'
        f'object="measured",object_namespace="{cluster.name}",reason="Successful"}} 1.0'
    )
    assert successful in text.splitlines()
    cluster.kubectl("delete", "memcacheds.runner.example.com", "measured")
    eventually(lambda: '"measured"' not in fetch(metrics, "/metrics")[1])
    assert operator.stop() == 0


def test_a_clean_stop_hands_over_within_three_seconds_and_a_thief_ends_the_leader(
    cluster: Cluster, start: Start
) -> None:
    first = replica(start, cluster.name)
    eventually(lambda: first.lines(f"successfully acquired lease {cluster.name}/runner"))
    second = replica(start, cluster.name)
    eventually(lambda: second.lines(f"attempting to acquire leader lease {cluster.name}/"
                                    "runner..."))  # fmt: skip
    cluster.create("Memcached", "led", {"size": 1})
    cluster.wait_for("memcacheds.runner.example.com", "led", "Successful")
    assert first.runs_of("led") > 0
    time.sleep(2)
    assert second.runs_of("led") == 0
    stopped = time.monotonic()
    first.process.terminate()
    eventually(lambda: second.lines(f"successfully acquired lease {cluster.name}/runner"))
    assert time.monotonic() - stopped < 3
    assert first.process.wait(40) == 0, "it ends by itself, the lease given back before"
    eventually(lambda: second.runs_of("led") > 0)
    events = cluster.kubectl("get", "events", "--field-selector=reason=LeaderElection")
    assert events.count("became leader") == 2
    cluster.kubectl("delete", "memcacheds.runner.example.com", "led", "--wait=false")
    cluster.patch("lease", "runner", {"spec": {"holderIdentity": "thief"}})
    assert second.process.wait(60) == 1
    assert "leader election lost" in second.text()


def test_an_election_needs_a_name(cluster: Cluster, start: Start) -> None:
    """What else it needs is in tests/runner/kube/test_lease.py."""
    unnamed = start(cluster.name, "--leader-elect", "--leader-election-namespace=default")
    assert unnamed.process.wait(60) == 1
    assert "LeaderElectionID must be configured" in unnamed.text()


def test_a_taken_port_is_named(cluster: Cluster, start: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        operator = start(cluster.name, f"--health-probe-bind-address=127.0.0.1:{port}")
        assert operator.process.wait(60) == 1
    assert "--health-probe-bind-address" in operator.text()
