# SPDX-License-Identifier: Apache-2.0
"""Objects that came while no operator ran; what happens to them after a restart."""

import json
import signal

import pytest

from tests.runner.operator.conftest import Cluster, Start
from tests.support.api import conditions
from tests.support.operators import Operator
from tests.support.waiting import eventually

pytestmark = pytest.mark.api
COUNT = 150


def create_many(cluster: Cluster) -> None:
    items = [
        {
            "apiVersion": "runner.example.com/v1alpha1",
            "kind": "Selected",
            "metadata": {
                "name": f"many-{number}",
                "namespace": cluster.name,
                "labels": {"reconcile": "yes"},
            },
            "spec": {"behave": "succeed"},
        }
        for number in range(COUNT)
    ]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    cluster.bed.kubectl("create", "-f", "-", input=json.dumps(listed))


def successes(cluster: Cluster) -> int:
    """How many objects are well and at rest."""
    running = (
        conditions(one).get("Running", {}) for one in cluster.listed("selecteds.runner.example.com")
    )
    return sum(one.get("reason") == "Successful" for one in running)


def played(operator: Operator) -> int:
    return len({line["name"] for line in operator.lines("Ansible-runner exited successfully")})


def test_objects_created_while_no_operator_ran_are_all_run(cluster: Cluster, start: Start) -> None:
    create_many(cluster)
    first = start(cluster.name)
    eventually(lambda: successes(cluster) == COUNT, seconds=120)
    assert len(first.lines("Ansible-runner exited successfully")) == COUNT, "once each"
    assert first.stop() == 0
    cluster.kubectl("delete", "selecteds.runner.example.com", "many-0")

    second = start(cluster.name)
    eventually(lambda: played(second) == COUNT - 1, seconds=120)
    assert successes(cluster) == COUNT - 1
    assert not second.lines("Reconciler error")
    assert second.stop() == 0


def test_objects_deleted_while_no_operator_ran_leave_no_run_directory(
    cluster: Cluster, start: Start
) -> None:
    first = start(cluster.name)
    for name in ("gone", "kept"):
        cluster.create("Probe", name, {"behave": "succeed"})
        cluster.wait_for("probes", name, "Successful")
    foreign = next(first.runs.glob("**/gone")).parent.parent / "elsewhere" / "gone"
    (foreign / "artifacts").mkdir(parents=True)
    assert first.stop(signal.SIGKILL) == -signal.SIGKILL
    cluster.kubectl("delete", "probes", "gone")
    second = start(cluster.name, f"--run-directory={first.runs}")
    text = "Removed the run directory of a deleted object"
    (line,) = eventually(lambda: second.lines(text))
    assert line["path"].endswith(f"/{cluster.name}/gone")
    assert [path.parent.name for path in first.runs.glob("**/gone")] == ["elsewhere"]
    assert any(first.runs.glob("**/kept/env"))
    assert second.stop() == 0
