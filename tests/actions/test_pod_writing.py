# SPDX-License-Identifier: Apache-2.0
"""Changes of Pods by rounds over compute nodes, against a real API server."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.connection import (
    resolve_options,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.session import (
    brief_session,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pod_writer import (
    ComputePodWriter,
)

from testbed.bed import TestBed

pytestmark = pytest.mark.api

GATE = "matrixorigin.io/cn-store"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "tp-cn-x"},
    "spec": {
        "containers": [{"name": "main", "image": "matrixone:1.3.0"}],
        "readinessGates": [{"conditionType": GATE}],
    },
}


def test_an_open_gate_makes_a_pod_ready_and_touches_no_other_condition(
    fake_testbed: TestBed, fake_namespace: str, live: Callable[..., dict[str, Any]]
) -> None:
    bed = fake_testbed
    bed.kubectl("-n", fake_namespace, "apply", "-f", "-", input=json.dumps(POD))
    wait = ("-n", fake_namespace, "wait", "pod/tp-cn-x", "--timeout=60s")
    bed.kubectl(*wait, "--for=condition=ContainersReady")
    pod = live("pod", "tp-cn-x")
    assert conditions(pod)["Ready"] == "False"

    with brief_session(resolve_options({"kubeconfig": str(bed.kubeconfig)}, {})) as session:
        writer = ComputePodWriter(Writer(session))
        writer.open_gate(pod)
        bed.kubectl(*wait, "--for=condition=Ready")
        opened = conditions(live("pod", "tp-cn-x"))
        bed.kubectl("-n", fake_namespace, "delete", "pod", "tp-cn-x")
        writer.open_gate(pod)

    assert opened[GATE] == "True"
    assert set(conditions(pod)) <= set(opened)


def conditions(pod: dict[str, Any]) -> dict[str, str]:
    return {one["type"]: one["status"] for one in pod["status"]["conditions"]}
