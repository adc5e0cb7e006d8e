# SPDX-License-Identifier: Apache-2.0
"""An unchanged role with ``kubernetes.core.k8s``, against a real API server."""

import json
from pathlib import Path
from typing import cast

import pytest

from ansible_operator.engine import RoleTarget
from ansible_operator.engine.warm.engine import WarmEngine
from testbed.bed import TestBed
from tests.runner.engine.conftest import Stage

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


def kubeconfig_of(testbed: TestBed, user: str) -> str:
    text = Path(testbed.kubeconfig).read_text()
    return text.replace("https://", f"https://{user}@")


def discoveries(folder: Path) -> list[Path]:
    return list(folder.glob("discovery-*.json"))


async def test_all_objects_share_one_discovery(
    warm: Stage, fake_testbed: TestBed, fake_namespace: str
) -> None:
    warm.write(TASKS, "roles/objects/tasks/main.yml")
    role = RoleTarget("objects", warm.folder / "roles/objects", gather_facts=False)
    for user in ("one", "two"):
        kubeconfig = warm.write(kubeconfig_of(fake_testbed, user), f"{user}.kubeconfig")
        played = await warm.play(
            role,
            directory=warm.folder / user,
            extra_vars={"name": user, "namespace": fake_namespace, "size": "1"},
            kubeconfig=kubeconfig,
        )
        assert played.result.rc == 0

    engine = cast("WarmEngine", warm.engine)
    assert len(discoveries(engine._supervisor.folder)) == 1
