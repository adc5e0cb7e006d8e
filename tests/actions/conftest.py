# SPDX-License-Identifier: Apache-2.0
"""Play tasks of the collection for real, against the API server of the test bed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.bed import TestBed
from tests.support.api import Api
from tests.support.namespaces import Namespace
from tests.support.places import ROOT

Task = dict[str, Any]
Play = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def play(tmp_path: Path, fake_testbed: TestBed) -> Play:
    """Return a function that plays tasks and returns their results, failed ones included."""

    def run(*tasks: Task, diff: bool = False, environment: dict[str, str] | None = None):
        results = tmp_path / "results.json"
        names = [f"result_{number}" for number in range(len(tasks))]
        played = [
            {"register": name, "ignore_errors": True, **task}
            for name, task in zip(names, tasks, strict=True)
        ]
        written = {
            "ansible.builtin.copy": {
                "content": "{{ [" + ", ".join(names) + "] | to_json }}",
                "dest": str(results),
            }
        }
        tasks_file = tmp_path / "play.yml"
        tasks_file.write_text(
            json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [*played, written]}])
        )
        done = subprocess.run(
            [
                str(Path(sys.executable).parent / "ansible-playbook"),
                *(["--diff"] if diff else []),
                str(tasks_file),
            ],
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_LOCALHOST_WARNING": "false",
                "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
                "ANSIBLE_HOME": str(tmp_path / "ansible"),
                "KUBECONFIG": str(fake_testbed.kubeconfig),
                **(environment or {}),
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        run.output = done.stdout + done.stderr
        return json.loads(results.read_text())

    return run


@pytest.fixture
def live(fake_testbed: TestBed, fake_namespace: str) -> Callable[..., dict[str, Any] | None]:
    """Return a function that reads an object."""
    space = Namespace(fake_testbed, fake_namespace)
    return lambda kind, name: space.get(kind, name) or None


@pytest.fixture
def web_ui(installed_testbed: TestBed, fake_namespace: str) -> dict[str, Any]:
    """Return a WebUI that was just made."""
    resource = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "WebUI",
        "metadata": {"name": "ui", "namespace": fake_namespace},
        "spec": {"replicas": 1, "image": "dashboard:1"},
    }
    return Api(installed_testbed.kubeconfig).apply(resource)
