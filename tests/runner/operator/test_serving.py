# SPDX-License-Identifier: Apache-2.0
"""Probes, metrics and the metrics API of the whole binary (runner.md §2.20 to §2.22)."""

import json
import socket
import urllib.error
import urllib.request

import pytest

from tests.runner.operator.conftest import Cluster, Start, eventually

pytestmark = pytest.mark.api


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return ports


def fetch(port: int, path: str, body: object = None) -> tuple[int, str]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def test_probes_and_metrics(cluster: Cluster, start: Start) -> None:
    probes, metrics, api = free_ports(3)
    operator = start(
        cluster.namespace,
        f"--health-probe-bind-address=127.0.0.1:{probes}",
        f"--metrics-bind-address=127.0.0.1:{metrics}",
        f"--metrics-api-port={api}",
    )
    eventually(lambda: fetch(probes, "/healthz") == (200, "ok"))
    eventually(lambda: fetch(probes, "/readyz") == (200, "ok"))
    cluster.apply("Probe", "measured", {"behave": "succeed"})
    cluster.wait_for("probes", "measured", "Successful")
    text = eventually(lambda: fetch(metrics, "/metrics")[1])
    gvk = 'GVK="runner.example.com/v1alpha1, Kind=Probe"'
    assert f'ansible_operator_reconcile_result{{{gvk},result="succeeded"}} 1.0' in text
    assert f"ansible_operator_reconciles_count{{{gvk}}} 1.0" in text
    labels = 'group="runner.example.com",kind="Probe",name="measured",namespace='
    assert f"resource_created_at_seconds{{{labels}" in text
    assert 'controller_runtime_reconcile_total{controller="probe-v1alpha1-controller"' in text
    body = {"name": "role_counter", "description": "help", "counter": {"increment": True}}
    assert fetch(api, "/metrics", body)[0] == 200
    assert "role_counter 1" in fetch(metrics, "/metrics")[1]
    cluster.kubectl("delete", "probes", "measured")
    eventually(lambda: 'name="measured"' not in fetch(metrics, "/metrics")[1])
    assert operator.stop() == 0
