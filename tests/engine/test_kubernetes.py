# SPDX-License-Identifier: Apache-2.0
"""An unchanged role with ``kubernetes.core.k8s``, against a real API server."""

import json
from pathlib import Path

import pytest

from ansible_operator.engine import RoleTarget
from testbed.bed import TestBed
from tests.engine.conftest import Stage

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.api]

TASKS = """
- name: Create
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ name }}", namespace: "{{ namespace }}"}
      data: {size: "{{ size }}"}
- name: Read
  kubernetes.core.k8s_info:
    api_version: v1
    kind: ConfigMap
    name: "{{ name }}"
    namespace: "{{ namespace }}"
  register: found
- name: Refuse
  kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: Nonsense, metadata: {name: x, namespace: default}}
  ignore_errors: true
"""


async def test_role_with_k8s_tasks(
    stage: Stage, fake_testbed: TestBed, fake_namespace: str
) -> None:
    stage.write(TASKS, "roles/objects/tasks/main.yml")
    role = RoleTarget("objects", stage.folder / "roles/objects", gather_facts=False)
    changed = []
    for size in ("1", "1", "2"):
        played = await stage.play(
            role,
            extra_vars={"name": "sized", "namespace": fake_namespace, "size": size},
            kubeconfig=Path(fake_testbed.kubeconfig),
        )
        assert played.result.rc == 0
        changed.append(played.results()["Create"]["changed"])
        assert played.results()["Read"]["resources"][0]["data"] == {"size": size}
        assert "Nonsense" in played.results()["Refuse"]["msg"]

    assert changed == [True, False, True]
    found = fake_testbed.kubectl("get", "configmap", "sized", "-n", fake_namespace, "-o", "json")
    assert json.loads(found)["data"] == {"size": "2"}
