# SPDX-License-Identifier: Apache-2.0
"""What a pass over a MatrixoneCluster decides, and what it tells (pure)."""

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.plain import plain
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.adopting import (
    taken_over,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.early.observed import (
    EarlyObserved,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.early.planning import (
    EarlyPlan,
    plan_early,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.early.reports import (
    report_on_early,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.early.storage import growth
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.applied import (
    Applied,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import PassEnd

from tests.early.resources import OLD_IMAGE, Json, early
from tests.support.passes import (
    removal_of,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
FORCED = {
    "rollingDeploy": True,
    "forceDeleteStsPodOnError": True,
    "podManagementPolicy": "OrderedReady",
}


def in_cluster(resource: Json) -> Json:
    metadata = {**resource["metadata"], "uid": "u", "generation": 1}
    return {**resource, "metadata": metadata}


def live_set(resource: Json, **status: Any) -> Json:
    """The StatefulSet as it is when it was applied from this resource."""
    found = copy.deepcopy(plan(resource)["objects"][-1])
    found["metadata"]["generation"] = 3
    usual = {
        "observedGeneration": 3,
        "currentRevision": "mo-a",
        "updateRevision": "mo-a",
        "replicas": 1,
        "currentReplicas": 1,
        "readyReplicas": 1,
        "updatedReplicas": 1,
    }
    return {**found, "status": {**usual, **status}}


def claim(name: str, size: str, **labels: str) -> Json:
    return {
        "metadata": {
            "name": name,
            "namespace": "prod",
            "uid": f"uid-{name}",
            "labels": {"app": "matrixone", "matrixone_cr": "mo", **labels},
        },
        "spec": {"resources": {"requests": {"storage": size}}},
    }


def pod(name: str = "mo-0", *, age: float = 60, revision: str = "mo-old", **status: Any) -> Json:
    created = (NOW - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {"controller-revision-hash": revision}
    return {
        "metadata": {
            "name": name,
            "namespace": "prod",
            "uid": f"uid-{name}",
            "creationTimestamp": created,
            "labels": labels,
        },
        "spec": {"containers": [{"name": "mo", "image": "mo:1.3.0"}]},
        "status": {"phase": "Running", **status},
    }


def unready(**container: Any) -> Json:
    return {
        "conditions": [{"type": "ContainersReady", "status": "False"}],
        "containerStatuses": [{"name": "mo", "ready": False, **container}],
    }


def plan(resource: Json, **observed: Any) -> Any:
    return plain(plan_early(in_cluster(resource), EarlyObserved.read(observed), NOW).variables())


def report(
    resource: Json, decided: Any, observed: Json, applied: Json | None = None, failure: str = ""
) -> Any:
    plan = EarlyPlan.read(decided)
    end = PassEnd(in_cluster(resource), plan, observed, Applied.read(applied or {}), failure)
    return plain(report_on_early(end))


def reasons(told: Any) -> list[str]:
    return [event["reason"] for event in told["events"]]


def condition(told: Any, kind: str) -> tuple[str, str]:
    (found,) = [one for one in told["status"]["conditions"] if one["type"] == kind]
    return found["status"], found["reason"]


CLAIMS = [claim("data-mo-0", "10Gi"), claim("log-mo-0", "10Gi")]


def test_t16_claims_grow_and_the_set_is_replaced() -> None:
    bigger = early(dataVolumeCap="20Gi")
    seen = {"workload": live_set(early()), "claims": CLAIMS}

    (patch,) = growth(in_cluster(bigger), EarlyObserved.read(seen))
    assert patch["metadata"] == {"name": "data-mo-0", "namespace": "prod"}
    assert patch["spec"]["resources"]["requests"]["storage"] == "20Gi"
    decided = plan(bigger, **seen, growth={"changed": True})
    assert decided["recreate"] == ["StatefulSet/mo"]
    assert decided["refusal"]["reason"] == ""


def test_t16_another_spelling_of_a_size_is_no_change() -> None:
    resource = early(dataVolumeCap="10240Mi")
    seen = {"workload": live_set(early()), "claims": CLAIMS}
    assert growth(in_cluster(resource), EarlyObserved.read(seen)) == []
    assert plan(resource, **seen)["recreate"] == []


def test_t16_shrinking_is_refused_and_the_rest_goes_on() -> None:
    resource = early(dataVolumeCap="5Gi", image="mo:1.3.1")
    seen = {"workload": live_set(early()), "claims": CLAIMS}
    decided = plan(resource, **seen)

    assert decided["refusal"]["reason"] == "VolumeShrinkRefused"
    assert "spec.dataVolumeCap" in decided["refusal"]["message"]
    assert (growth(in_cluster(resource), EarlyObserved.read(seen)), decided["recreate"]) == ([], [])
    spec = decided["objects"][-1]["spec"]
    assert spec["template"]["spec"]["containers"][0]["image"] == "mo:1.3.1"
    told = report(resource, decided, seen)
    assert condition(told, "Accepted") == ("False", "VolumeShrinkRefused")
    assert condition(told, "Synced")[0] == "False"


def test_t16_growth_that_the_server_refuses_is_told_once() -> None:
    resource = early(dataVolumeCap="20Gi")
    said = "change PersistentVolumeClaim prod/data-mo-0: only dynamically provisioned"
    seen = {"workload": live_set(early()), "claims": CLAIMS, "growth": {"msg": said}}
    decided = plan(resource, **seen)
    told = report(resource, decided, seen)

    assert decided["recreate"] == []
    assert condition(told, "Accepted") == ("False", "VolumeNotExpandable")
    assert reasons(told) == ["MatrixoneUpdateFail"]
    again = {**resource, "status": told["status"]}
    assert reasons(report(again, decided, seen)) == []


def test_t16_claims_that_only_look_like_ours_are_left_alone() -> None:
    others = [
        claim("mine", "1Gi"),
        claim("data-mo-x-0", "1Gi"),
        claim("data-mo-0", "1Gi", matrixone_cr="x"),
    ]
    resource = in_cluster(early())
    assert growth(resource, EarlyObserved(claims=others)) == []
    steps = removal_of(resource, {"claims": others})
    assert steps[-1]["objects"] == []


def test_t19_only_what_the_resource_owns_is_tidied_up() -> None:
    chosen = plan(early(), workload=live_set(early()))["prune"]
    assert chosen["owner_uid"] == "u"
    assert chosen["labels"] == {"app": "matrixone", "matrixone_cr": "mo"}
    by_playbook = plain(plan_early(early(), EarlyObserved(), NOW).prune)
    assert [one["kind"] for one in by_playbook["kinds"]] == ["ConfigMap"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({"currentRevision": "mo-b"}, "from revision mo-b to mo-a"),
        ({"readyReplicas": 0}, "0 of 1 Pods"),
        ({"observedGeneration": 2}, "has not seen"),
    ],
)
def test_t22_tidying_up_waits_for_a_roll_out(status: Json, said: str) -> None:
    resource = early(rollingDeploy=True)
    seen = {"workload": live_set(resource, **status)}
    decided = plan(resource, **seen)
    told = report(resource, decided, seen)

    assert decided["prune"] is None
    assert said in decided["gate"]
    assert condition(told, "Progressing") == ("True", "WaitingForRollOut")
    assert reasons(told) == ["MatrixoneRollingDeployWait"]
    again = {**resource, "status": told["status"]}
    assert reasons(report(again, decided, seen)) == [], "once for each revision"


def test_t22_the_gate_opens_and_is_off_unless_asked_for() -> None:
    asked = early(rollingDeploy=True)
    assert plan(asked, workload=live_set(asked))["prune"] is not None
    shut = live_set(early(), currentRevision="mo-b")
    assert plan(early(), workload=shut)["prune"] is not None


def test_t22_a_change_of_this_very_pass_shuts_the_gate() -> None:
    asked = early(rollingDeploy=True)
    changed = early(rollingDeploy=True, image="mo:1.3.1")
    assert plan(changed, workload=live_set(asked))["prune"] is None
    assert plan(asked)["prune"] is None


CRASHING = unready(restartCount=2)
PULLING = unready(state={"waiting": {"reason": "ImagePullBackOff"}})


@pytest.mark.parametrize(
    ("seen", "spec", "expected"),
    [
        pytest.param(pod(**CRASHING), {}, ["mo-0"], id="T23 crashing"),
        pytest.param(pod(**PULLING), {}, ["mo-0"], id="T23 no image"),
        pytest.param(pod(age=5, **CRASHING), {}, [], id="T23 too young"),
        pytest.param(pod(revision="mo-a", **CRASHING), {}, [], id="T23 of the new revision"),
        pytest.param(pod(**unready(restartCount=1)), {}, [], id="T23 one restart"),
        pytest.param(pod(), {}, [], id="T24 no container status"),
        pytest.param(pod(phase="Pending"), {}, [], id="T24 only just scheduled"),
        pytest.param(
            pod(**CRASHING), {"podManagementPolicy": "Parallel"}, [], id="T25 policy Parallel"
        ),
        pytest.param(pod(**CRASHING), {"forceDeleteStsPodOnError": False}, [], id="T23 not asked"),
        pytest.param(pod(**CRASHING), {"rollingDeploy": False}, [], id="T23 no gate"),
    ],
)
def test_t23_t24_t25_pods_that_hold_up_a_roll_out(
    seen: Json, spec: Json, expected: list[str]
) -> None:
    resource = early(**{**FORCED, **spec})
    decided = plan(resource, workload=live_set(resource, readyReplicas=0), pods=[seen])
    assert [one["metadata"]["name"] for one in decided["remove"]] == expected


def test_t23_one_pod_in_a_pass_and_this_very_one() -> None:
    resource = early(image=OLD_IMAGE, **FORCED)
    broken = [pod("mo-1", **CRASHING), pod("mo-0", **CRASHING)]
    (doomed,) = plan(resource, workload=live_set(resource), pods=broken)["remove"]
    assert doomed["metadata"] == {"name": "mo-0", "namespace": "prod", "uid": "uid-mo-0"}


@pytest.mark.parametrize(("keep", "steps"), [(False, 2), (True, 1)])
def test_t26_t27_t28_the_flag_counts_when_it_goes(keep: bool, steps: int) -> None:
    resource = in_cluster(early(disablePVCDeletionFinalizer=keep))
    found = removal_of(resource, {"claims": CLAIMS})

    assert len(found) == steps
    assert found[0]["gone"]["kinds"] == [{"api_version": "v1", "kind": "Pod"}]
    claims = [one["metadata"]["name"] for step in found for one in step["objects"]]
    assert claims == ([] if keep else ["data-mo-0", "log-mo-0"])


def test_t34_many_changes_of_one_pass_are_few_events() -> None:
    done = [{"kind": "ConfigMap", "name": f"c{n}", "change": "deleted"} for n in range(39)]
    done.append({"kind": "PersistentVolumeClaim", "name": "data-mo-0", "change": "deleted"})
    told = report(early(), plan(early()), {}, {"done": done})
    assert len(told["events"]) == 10
    assert "data-mo-0" in told["events"][0]["note"]
    assert told["events"][-1]["note"].endswith("and 30 more")


@pytest.mark.parametrize(
    ("failure", "services", "expected"),
    [
        ("apply StatefulSet prod/mo: refused", [], "MatrixoneOperatorCreateFail"),
        ("apply Service prod/mo: refused", ["mo"], "MatrixoneUpdateFail"),
        ("change PersistentVolumeClaim prod/x: no", [], "MatrixoneUpdateFail"),
        ("delete Pod prod/mo-0: no", [], "MatrixoneDeleteFail"),
        ("get StatefulSet prod/mo: no", [], "MatrixoneObjectGetFail"),
        ("list Pods: no", [], "MatrixoneObjectListFail"),
        ("write the status of MatrixoneCluster prod/mo: no", [], "MatrixoneOperatorPatchFail"),
    ],
)
def test_every_refusal_has_its_reason(failure: str, services: list[str], expected: str) -> None:
    seen = {
        "services": [
            {"kind": "Service", "metadata": {"name": name, "namespace": "prod"}}
            for name in services
        ]
    }
    told = report(early(), plan(early()), seen, failure=failure)
    assert [(one["type"], one["reason"]) for one in told["events"]] == [("Warning", expected)]
    again = {**early(), "status": told["status"]}
    assert reasons(report(again, plan(early()), seen, failure=failure)) == []


def test_t41_more_than_one_database_is_refused_and_what_runs_stays() -> None:
    resource = early(replicas=2)
    seen = {"workload": live_set(early()), "pods": [pod()]}
    decided = plan(resource, **seen)
    told = report(resource, decided, seen)

    assert decided["objects"] == []
    assert decided["prune"] is None
    assert condition(told, "Accepted") == ("False", "UnsupportedReplicas")
    assert condition(told, "Ready")[0] == "True"
    assert growth(in_cluster(resource), EarlyObserved(claims=[claim("data-mo-0", "1Gi")])) == []


def test_t40_a_stopped_database_says_so() -> None:
    resource = early(replicas=0)
    live = live_set(resource, replicas=0, currentReplicas=0, readyReplicas=0, updatedReplicas=0)
    told = report(resource, plan(resource, workload=live), {"workload": live})

    assert condition(told, "Ready") == ("False", "Stopped")
    assert told["status"]["phase"] == "Pending"
    assert (told["ready"], told["requeue"]) == (True, "")


def test_a_paused_database_is_left_alone() -> None:
    resource = early()
    resource["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    decided = plan(resource, workload=live_set(early()))
    assert decided["objects"] == []
    told = report(resource, decided, {"workload": live_set(early())})
    assert condition(told, "Paused")[0] == "True"


def test_t44_what_the_first_operator_wrote_is_taken_over() -> None:
    def entry(manager: str, operation: str, **fields: Any) -> Json:
        return {"manager": manager, "operation": operation, "fieldsV1": fields}

    theirs = entry("manager", "Update", **{"f:spec": {"f:ports": {"k:a": {}}}})
    controller = {**entry("kube", "Update"), "subresource": "status"}
    live = {"metadata": {"managedFields": [theirs, controller]}}

    found = taken_over(live, ["manager"], "ours")
    assert found == [{**theirs, "manager": "ours", "operation": "Apply"}, controller]
    ours = entry("ours", "Apply", **{"f:spec": {"f:type": {}}})
    both = taken_over({"metadata": {"managedFields": [theirs, ours]}}, ["manager"], "ours")
    assert both is not None
    assert both[0]["fieldsV1"] == {"f:spec": {"f:type": {}, "f:ports": {"k:a": {}}}}
    assert taken_over({"metadata": {"managedFields": [ours]}}, ["manager"], "ours") is None
