# SPDX-License-Identifier: Apache-2.0
"""An operator that may read Secrets, but neither list nor watch them, notices their changes."""

from pathlib import Path

import pytest

from tests.runner.operator.conftest import Cluster, Start
from tests.support.waiting import eventually, unchanged

pytestmark = pytest.mark.api


def test_a_changed_secret_leads_to_a_run(cluster: Cluster, start: Start, tmp_path: Path) -> None:
    watches = tmp_path / "watches.yaml"
    watches.write_text(
        "- {group: runner.example.com, version: v1alpha1, kind: Probe, role: probe,\n"
        "   references: [{version: v1, kind: Secret, name: spec.text, poll: 1s}]}\n"
    )
    operator = start(cluster.name, f"--watches-file={watches}")
    cluster.create("Probe", "polls", {"behave": "succeed", "text": "login"})
    cluster.wait_for("probes", "polls", "Successful")
    unchanged(lambda: operator.runs_of("polls"), 3)
    for change in (
        ("create", "secret", "generic", "login", "--from-literal=password=a"),
        ("patch", "secret", "login", "-p", '{"stringData": {"password": "b"}}'),
        ("delete", "secret", "login"),
    ):
        runs = operator.runs_of("polls")
        cluster.kubectl(*change)
        eventually(lambda before=runs: operator.runs_of("polls") > before, 10)
        unchanged(lambda: operator.runs_of("polls"), 3)
