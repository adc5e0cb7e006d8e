# SPDX-License-Identifier: Apache-2.0
"""Objects that are deleted: finalizers that fail, finalizers of others."""

from collections.abc import Iterator

import pytest

from testbed.bed import TestBed
from tests.runner.operator.conftest import Cluster, Start
from tests.support.operators import Operator
from tests.support.waiting import eventually

pytestmark = pytest.mark.api
OURS = "runner.example.com/parting"


@pytest.fixture(scope="module")
def leaving(definitions: TestBed) -> Iterator[Cluster]:
    """A namespace that a test deletes."""
    with definitions.namespace("leaving") as name:
        yield Cluster(definitions, name)


@pytest.fixture(scope="module")
def operator(start_shared: Start, cluster: Cluster, leaving: Cluster) -> Operator:
    return start_shared(f"{cluster.name},{leaving.name}")


def finalizers(cluster: Cluster, name: str) -> list[str]:
    found = cluster.get("partings", name) or {"metadata": {}}
    return found["metadata"].get("finalizers", [])


def test_a_failing_finalizer_keeps_the_object_and_reports_why(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.create("Parting", "stubborn", {"behave": "succeed", "farewell": "fail", "text": "no"})
    cluster.wait_for("partings", "stubborn", "Successful")
    assert finalizers(cluster, "stubborn") == [OURS]
    cluster.kubectl("delete", "partings", "stubborn", "--wait=false")
    failure = cluster.wait_for("partings", "stubborn", "Failure")
    assert failure["message"] == "it is broken: no"
    eventually(lambda: len(operator.lines("Reconciler error", name="stubborn")) >= 3)
    assert finalizers(cluster, "stubborn") == [OURS]
    patch = '{"spec":{"farewell":"succeed"}}'
    cluster.kubectl("patch", "partings", "stubborn", "--type=merge", "-p", patch)
    eventually(lambda: not cluster.get("partings", "stubborn"))
    eventually(lambda: not any(operator.runs.glob("**/stubborn")))


def test_an_object_with_foreign_finalizers_alone_is_not_played(
    cluster: Cluster, operator: Operator
) -> None:
    theirs = "others.example.com/later"
    spec = {"behave": "succeed", "farewell": "succeed"}
    cluster.create("Parting", "waiting", spec, finalizers=[theirs])
    cluster.wait_for("partings", "waiting", "Successful")
    cluster.kubectl("delete", "partings", "waiting", "--wait=false")
    eventually(lambda: finalizers(cluster, "waiting") == [theirs])
    done = len(operator.lines("Ansible-runner exited successfully", name="waiting"))
    patch = '{"spec":{"text":"changed"}}'
    cluster.kubectl("patch", "partings", "waiting", "--type=merge", "-p", patch)
    told = "Resource is terminated, skipping reconciliation"
    eventually(lambda: operator.lines(told, name="waiting"))
    assert len(operator.lines("Ansible-runner exited successfully", name="waiting")) == done == 2
    patch = '{"metadata":{"finalizers":null}}'
    cluster.kubectl("patch", "partings", "waiting", "--type=merge", "-p", patch)
    eventually(lambda: not cluster.get("partings", "waiting"))


def test_a_namespace_that_is_deleted_ends_with_all_its_objects(
    leaving: Cluster, operator: Operator
) -> None:
    """Finalizers hold it until their plays are done: of a settled object, and of one that runs.

    The second one would create a Deployment next, which nobody can in such a namespace.
    """
    leaving.create("Memcached", "settled", {"size": 1})
    leaving.wait_for("memcacheds.runner.example.com", "settled", "Successful")
    busy = {"behave": "sleep_and_deploy", "seconds": 4, "farewell": "succeed"}
    leaving.create("Parting", "busy", busy)
    leaving.wait_for("partings", "busy", "Running")
    leaving.kubectl("delete", "namespace", leaving.name, "--timeout=120s")

    assert operator.process.poll() is None
    played = operator.lines("Ansible-runner exited successfully", name="busy")
    assert len(played) == 1, "only the finalizer's play can have succeeded"
