# SPDX-License-Identifier: Apache-2.0
"""An object's life under the whole binary: created, changed, disturbed, broken, deleted."""

from typing import Any

import pytest

from tests.runner.operator.conftest import Cluster
from tests.support.operators import Operator
from tests.support.waiting import eventually

pytestmark = pytest.mark.api


def replicas(cluster: Cluster, name: str) -> int:
    return cluster.get("deployment", name).get("spec", {}).get("replicas", -1)


def settled_conditions(cluster: Cluster, resource: str, name: str) -> dict[str, Any]:
    """The conditions between two runs; nothing while one is under way."""
    conditions = cluster.conditions(resource, name)
    return conditions if "ansibleResult" in conditions.get("Running", {}) else {}


def test_create_change_disturb_delete(cluster: Cluster, operator: Operator) -> None:
    cluster.create("Memcached", "cache", {"size": 2})
    settled = eventually(
        lambda: settled_conditions(cluster, "memcacheds.runner.example.com", "cache")
    )
    assert list(settled) == ["Running", "Successful", "Failure"]
    assert settled["Running"]["message"] == "Awaiting next reconciliation"
    assert settled["Running"]["ansibleResult"]["ok"] == 1
    deployment = cluster.get("deployment", "cache")
    assert deployment
    owner = deployment["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("Memcached", "cache")
    assert replicas(cluster, "cache") == 2

    cluster.create("Memcached", "cache", {"size": 3})
    eventually(lambda: replicas(cluster, "cache") == 3)

    cluster.kubectl("scale", "deployment", "cache", "--replicas=1")
    eventually(lambda: replicas(cluster, "cache") == 3)
    cluster.kubectl("delete", "deployment", "cache")
    eventually(lambda: replicas(cluster, "cache") == 3)

    finalizers = cluster.get("memcacheds.runner.example.com", "cache")["metadata"]["finalizers"]
    assert finalizers == ["runner.example.com/memcached"]
    directory = operator.runs.glob("**/cache")
    assert any(directory)
    cluster.kubectl("delete", "memcacheds.runner.example.com", "cache", "--timeout=20s")
    assert not cluster.get("memcacheds.runner.example.com", "cache")
    eventually(lambda: not cluster.get("deployment", "cache"))
    eventually(lambda: not any(operator.runs.glob("**/cache")))


def test_an_unchanged_object_is_left_alone(cluster: Cluster, operator: Operator) -> None:
    cluster.create("Probe", "quiet", {"behave": "succeed"})
    cluster.wait_for("probes", "quiet", "Successful")
    before = operator.runs_of("quiet")
    cluster.kubectl("label", "probes", "quiet", "colour=blue")
    cluster.kubectl("annotate", "probes", "quiet", "note=x")
    cluster.create("Probe", "after", {"behave": "succeed"})
    cluster.wait_for("probes", "after", "Successful")
    assert operator.runs_of("quiet") == before == 1


def test_values_of_an_object_are_no_templates(cluster: Cluster, operator: Operator) -> None:
    text = "{{ lookup('pipe', 'echo evil') }}"
    cluster.create("Probe", "template", {"behave": "fail", "text": text})
    failure = cluster.wait_for("probes", "template", "Failure")
    assert failure["message"] == f"it is broken: {text}"
    assert "broken: evil" not in operator.text()
    cluster.kubectl("delete", "probes", "template")


def test_a_failure_is_reported_and_retried_until_success(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.create("Probe", "broken", {"behave": "fail", "text": "x"})
    failure = cluster.wait_for("probes", "broken", "Failure")
    assert failure["message"] == "it is broken: x"
    assert failure["ansibleResult"]["failures"] == 1
    conditions = cluster.conditions("probes", "broken")
    eventually(lambda: operator.runs_of("broken") >= 3)
    errors = operator.lines("Reconciler error", name="broken")
    assert errors[0]["retry_after"] == pytest.approx(0.3, abs=0.1)
    assert conditions["Successful"]["status"] == "False"

    cluster.create("Probe", "broken", {"behave": "succeed"})
    cluster.wait_for("probes", "broken", "Successful")
    assert cluster.conditions("probes", "broken")["Failure"]["status"] == "False"
    eventually(lambda: "ReconcileRecovered" in cluster.kubectl("get", "events"))
    events = cluster.kubectl(
        "get", "events", "--field-selector=involvedObject.name=broken", "-o", "name"
    )
    assert len(events.split()) == 2, "repeated failures are one Event, counted up"


def test_the_last_run_is_in_the_status(cluster: Cluster, operator: Operator) -> None:
    def last() -> dict[str, Any]:
        status = cluster.get("probes", "reported").get("status") or {}
        return dict(status.get("lastRun") or {})

    cluster.create("Probe", "reported", {"behave": "fail", "text": "x"})
    failed = eventually(last)
    assert (failed["result"], failed["failedTask"]) == ("Failed", "Fail with words")
    assert failed["duration"].endswith("s")

    cluster.create("Probe", "reported", {"behave": "succeed"})
    succeeded = eventually(lambda: last() if last()["result"] == "Succeeded" else {})
    assert succeeded.keys() == {"result", "startTime", "duration", "changed"}
    assert succeeded["startTime"] >= failed["startTime"]
    cluster.kubectl("delete", "probes", "reported")


def test_a_rescued_failure_is_a_success(cluster: Cluster, operator: Operator) -> None:
    cluster.create("Probe", "rescued", {"behave": "rescue"})
    cluster.wait_for("probes", "rescued", "Successful")
    assert cluster.conditions("probes", "rescued")["Failure"]["status"] == "False"
    assert operator.runs_of("rescued") == 1


def test_a_playbook_that_cannot_be_played_is_a_failure(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.create("Typo", "typo", {})
    failure = cluster.wait_for("typos", "typo", "Failure")
    assert "no_such_module" in failure["message"]
    assert cluster.conditions("typos", "typo")["Running"]["status"] == "False"
    cluster.kubectl("delete", "typos", "typo")


def test_a_first_run_finds_its_object_reported_as_under_way(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.create("Probe", "looking", {"behave": "look"})
    cluster.wait_for("probes", "looking", "Successful")
    assert operator.runs_of("looking") == 1
    cluster.kubectl("delete", "probes", "looking")


def test_requeue_after_lets_the_play_end_and_runs_it_again(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.create("Probe", "again", {"behave": "requeue"})
    eventually(lambda: operator.runs_of("again") >= 3)
    conditions = eventually(lambda: settled_conditions(cluster, "probes", "again"))
    assert conditions["Failure"]["status"] == "False"
    assert conditions["Running"]["ansibleResult"]["ok"] == 3
    assert operator.lines("Set the reconciliation to occur after 1s", name="again")
    cluster.kubectl("delete", "probes", "again")


def test_a_run_that_hangs_is_ended_at_its_time_limit(cluster: Cluster, operator: Operator) -> None:
    cluster.create("Probe", "hanging", {"behave": "sleep", "seconds": 600})
    failure = cluster.wait_for("probes", "hanging", "Failure")
    assert "time" in failure["message"].lower()
    cluster.kubectl("delete", "probes", "hanging")


def test_a_label_brings_an_object_in_and_takes_it_out(cluster: Cluster, operator: Operator) -> None:
    cluster.create("Selected", "chosen", {"behave": "succeed"})
    cluster.create("Probe", "marker", {"behave": "succeed"})
    cluster.wait_for("probes", "marker", "Successful")
    resource = "selecteds.runner.example.com"
    assert cluster.conditions(resource, "chosen") == {}
    cluster.kubectl("label", resource, "chosen", "reconcile=yes")
    cluster.wait_for(resource, "chosen", "Successful")
    cluster.kubectl("label", resource, "chosen", "reconcile-")
    before = operator.runs_of("chosen")
    cluster.kubectl("patch", resource, "chosen", "--type=merge", '-p={"spec":{"text":"new"}}')
    cluster.create("Probe", "marker", {"behave": "succeed", "text": "2"})
    eventually(lambda: operator.runs_of("marker") == 2)
    assert operator.runs_of("chosen") == before


def test_a_referenced_object_runs_those_that_name_it(cluster: Cluster, operator: Operator) -> None:
    cluster.create("Follower", "follower", {"behave": "succeed", "follows": "leader"})
    eventually(lambda: operator.runs_of("follower") == 1)
    cluster.create("Probe", "leader", {"behave": "succeed"})
    cluster.wait_for("probes", "leader", "Successful")
    eventually(lambda: operator.runs_of("follower") >= 2)
    assert cluster.conditions("selecteds.other.example.com", "follower") == {}


def test_a_member_runs_the_object_that_it_names_when_what_matters_changes(
    cluster: Cluster, operator: Operator
) -> None:
    """It is nobody's dependent; a label says whose it is."""
    cluster.create("Probe", "body", {"behave": "succeed"})
    cluster.kubectl("create", "configmap", "member")
    cluster.kubectl("label", "configmap", "member", "member=yes", "probe=body")
    cluster.kubectl("create", "configmap", "stranger")
    cluster.kubectl("label", "configmap", "stranger", "probe=body")
    cluster.wait_for("probes", "body", "Successful")
    before = operator.runs_of("body")
    for name in ("member", "stranger"):
        cluster.kubectl("annotate", "configmap", name, "ignore=1")
    cluster.kubectl("annotate", "configmap", "stranger", "heed=1")
    cluster.kubectl("annotate", "configmap", "member", "heed=1")
    eventually(lambda: operator.runs_of("body") == before + 1)
    cluster.kubectl("annotate", "configmap", "member", "heed-")
    eventually(lambda: operator.runs_of("body") == before + 2)
    cluster.kubectl("delete", "configmap", "member", "stranger")
    cluster.kubectl("delete", "probes", "body")


def test_an_unreadable_period_is_a_failure_with_its_text(
    cluster: Cluster, operator: Operator
) -> None:
    name = "ansible.sdk.operatorframework.io/reconcile-period"
    cluster.create("Probe", "period", {"behave": "succeed"}, annotations={name: "often"})
    failure = cluster.wait_for("probes", "period", "Failure")
    expected = 'Unable to parse reconcile period annotation: time: invalid duration "often"'
    assert failure["message"] == expected
    assert "ansibleResult" not in failure
    cluster.kubectl("delete", "probes", "period")


@pytest.mark.parametrize("period", ["-1s", "0s"])
def test_a_period_of_nothing_or_less_means_none(
    cluster: Cluster, operator: Operator, period: str
) -> None:
    name = f"never{period.replace('-', 'minus')}"
    annotation = "ansible.sdk.operatorframework.io/reconcile-period"
    cluster.create("Probe", name, {"behave": "succeed"}, annotations={annotation: period})
    cluster.wait_for("probes", name, "Successful")
    cluster.create("Probe", "later", {"behave": "succeed", "text": period})
    cluster.wait_for("probes", "later", "Successful")
    assert operator.runs_of(name) == 1
    cluster.kubectl("delete", "probes", name, "later")


def test_a_deployment_that_becomes_available_runs_its_owner(
    cluster: Cluster, operator: Operator
) -> None:
    """Roles of the Go runner create one thing, and the next once a later run finds it available."""
    cluster.create("Probe", "staged", {"behave": "deploy"})
    eventually(lambda: cluster.get("configmap", "staged"))
    cluster.kubectl("delete", "probes", "staged")


def version_of(cluster: Cluster, resource: str, name: str) -> str:
    return str(cluster.get(resource, name)["metadata"]["resourceVersion"])


def test_periodic_runs_that_find_nothing_to_do_write_nothing(
    cluster: Cluster, operator: Operator
) -> None:
    name = "ansible.sdk.operatorframework.io/reconcile-period"
    cluster.create("Probe", "often", {"behave": "succeed"}, annotations={name: "500ms"})
    cluster.wait_for("probes", "often", "Successful")
    before = version_of(cluster, "probes", "often")
    eventually(lambda: operator.runs_of("often") >= 4)
    assert version_of(cluster, "probes", "often") == before
    cluster.kubectl("delete", "probes", "often")


def test_a_quiet_run_that_takes_long_or_fails_is_reported(
    cluster: Cluster, operator: Operator
) -> None:
    name = "ansible.sdk.operatorframework.io/reconcile-period"
    spec = {"behave": "moody", "flag": "moody-flag"}
    cluster.create("Probe", "moody", spec, annotations={name: "500ms"})
    cluster.wait_for("probes", "moody", "Successful")
    cluster.kubectl("create", "configmap", "moody-flag", "--from-literal=mood=slow")
    running = eventually(
        lambda: cluster.conditions("probes", "moody")["Running"]["reason"] == "Running"
    )
    assert running
    cluster.wait_for("probes", "moody", "Successful")
    cluster.kubectl("delete", "configmap", "moody-flag")
    cluster.kubectl("create", "configmap", "moody-flag", "--from-literal=mood=broken")
    failure = cluster.wait_for("probes", "moody", "Failure")
    assert failure["message"] == "bad mood"
    assert cluster.conditions("probes", "moody")["Successful"]["status"] == "False"
    cluster.kubectl("delete", "probes", "moody")


def test_a_run_is_not_repeated_because_of_its_own_changes(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.create("Slow", "selfish", {"behave": "annotate", "text": "mine"})
    cluster.create("Slow", "twice", {"behave": "twice"})
    cluster.wait_for("slows", "selfish", "Successful")
    cluster.wait_for("slows", "twice", "Successful")
    metadata = cluster.get("slows", "selfish")["metadata"]
    assert metadata["annotations"]["seen"] == "mine"
    data = cluster.get("configmap", "twice")["data"]
    assert data == {"step": "second"}
    cluster.create("Probe", "meanwhile", {"behave": "succeed"})
    cluster.wait_for("probes", "meanwhile", "Successful")
    assert (operator.runs_of("selfish"), operator.runs_of("twice")) == (1, 1)

    cluster.kubectl("annotate", "slows", "selfish", "note=foreign")
    eventually(lambda: operator.runs_of("selfish") == 2)
    cluster.kubectl("patch", "configmap", "twice", '-p={"data":{"step":"foreign"}}')
    eventually(lambda: operator.runs_of("twice") == 2)
    eventually(lambda: cluster.get("configmap", "twice")["data"] == {"step": "second"})


def test_dependents_are_followed_only_while_there_are_some(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.create("Slow", "leaving", {"behave": "twice"})
    cluster.wait_for("slows", "leaving", "Successful")
    assert operator.lines("Watching child resource", kind="/v1, Kind=ConfigMap")
    cluster.kubectl("delete", "slows", "--all")
    cluster.kubectl("delete", "configmap", "leaving", "twice", "--ignore-not-found")
    eventually(
        lambda: operator.lines("Child resource is no longer watched", kind="/v1, Kind=ConfigMap")
    )
