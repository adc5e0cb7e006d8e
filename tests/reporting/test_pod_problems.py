# SPDX-License-Identifier: Apache-2.0
"""Why Pods are not created or do not start: Events, as Kubernetes 1.29 to 1.35 word them."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp,
    timestamp_now,
    unix_time,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.passes.pod_diagnosis import (
    find_problems,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting import (
    pod_problems,
    pods,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.pod_problems import (
    PodProblems,
)

from tests.support.answers import Answers
from tests.support.builders import NOW, conditions, pod, resource, states, workload
from tests.support.passes import report_on

Json = dict[str, Any]

CHANGED = unix_time(NOW)
QUOTA = "exceeded quota: team, requested: pods=1, used: pods=3, limited: pods=3"


NO_ACCOUNT = 'error looking up service account prod/a: serviceaccount "a" not found'


def event(message: str, seconds: float = 1, reason: str = "FailedCreate", **more: Any) -> Json:
    """Return an Event of so many seconds after the change."""
    return {"message": message, "reason": reason, "lastTimestamp": at(seconds), **more}


def at(seconds: float) -> str:
    return timestamp(CHANGED + seconds)


def refused(name: str, cause: str = f'pods "{{}}" is forbidden: {QUOTA}') -> str:
    return f"create Pod {name} in StatefulSet mo-log failed error: {cause.format(name)}"


def created(name: str) -> str:
    return f"create Pod {name} in StatefulSet mo-log successful"


def causes(*events: Json, missing: tuple[str, ...] = ("mo-log-0",)) -> dict[str, str]:
    return pod_problems.refused_pods(events, missing, CHANGED)


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (f'pods "mo-log-0" is forbidden: {QUOTA}', QUOTA),
        (
            'pods "mo-log-0" is forbidden: no PriorityClass with name top was found',
            "no PriorityClass with name top was found",
        ),
        (
            f'pods "mo-log-0" is forbidden: {NO_ACCOUNT}',
            NO_ACCOUNT,
        ),
        (
            'admission webhook "pods.example.com" denied the request: no',
            'admission webhook "pods.example.com" denied the request: no',
        ),
        ('Pod "mo-log-0" is invalid: spec: no\n  way', "spec: no way"),
    ],
)
def test_the_cause_is_that_of_the_api_server_without_the_name_of_the_pod(
    cause: str, told: str
) -> None:
    assert causes(event(refused("mo-log-0", cause.replace("{", "{{")))) == {"mo-log-0": told}


def test_a_claim_that_is_refused_is_named() -> None:
    text = (
        "create Claim mo-data-mo-log-0 for Pod mo-log-0 in StatefulSet mo-log failed error: "
        'persistentvolumeclaims "mo-data-mo-log-0" is forbidden: exceeded quota: q'
    )
    inner = text.partition("error: ")[2]
    of_pod = refused("mo-log-0", f"failed to create PVC mo-data-mo-log-0: {inner}")
    told = {"mo-log-0": "claim mo-data-mo-log-0: exceeded quota: q"}
    for events in ([text], [of_pod], [text, of_pod], [of_pod, text]):
        assert causes(*map(event, events)) == told


def test_both_spellings_of_the_controller_are_known() -> None:
    text = refused("mo-log-0")
    assert causes(event(f"C{text[1:]}")) == causes(event(text)) == {"mo-log-0": QUOTA}


def test_a_helper_that_is_refused_degrades_its_set() -> None:
    """It is a Deployment beside the workload, whose condition is in what apply returns."""
    check = workload("Deployment", "mo-log-storage-check")
    message = f'pods "mo-log-storage-check-6b-x" is forbidden: {QUOTA}'
    check["status"]["conditions"] = [
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
    ]
    applied = {"objects": {"Deployment/mo-log-storage-check": check}}
    served = [pod(f"mo-log-{number}") for number in range(3)]
    observed = {"workload": workload(), "pods": served}
    plan = {"workload": "StatefulSet/mo-log"}

    found = report_on(resource(), plan, observed, applied, "", NOW)["status"]

    assert states(found)["Ready"] == ("True", "EnoughReadyStores")
    assert states(found)["Degraded"] == ("True", "PodsNotCreated")
    assert found["message"] == f"mo-log-storage-check (not created: {QUOTA})"


def test_what_was_said_before_the_last_change_is_not_believed() -> None:
    assert causes(event(refused("mo-log-0"), -1)) == {}
    assert causes(event(refused("mo-log-0"), 0)) == {"mo-log-0": QUOTA}


def test_what_was_said_before_the_pod_was_created_is_not_believed() -> None:
    assert causes(event(refused("mo-log-0"), 1), event(created("mo-log-0"), 2)) == {}
    again = event(refused("mo-log-0"), 3)
    assert causes(event(created("mo-log-0"), 2), again) == {"mo-log-0": QUOTA}


def test_the_other_missing_pods_wait_for_the_same() -> None:
    """The controller ends an attempt with the first Pod that is refused; another Pod is none."""
    missing = ("mo-log-0", "mo-log-1")
    assert causes(event(refused("mo-log-0")), missing=missing) == dict.fromkeys(missing, QUOTA)
    assert causes(event(refused("mo-log-7")), missing=missing) == {}


@pytest.mark.parametrize(
    "times",
    [
        {"lastTimestamp": None, "eventTime": at(1)},
        {"lastTimestamp": at(-60), "series": {"count": 9, "lastObservedTime": at(1)}},
        {"lastTimestamp": None, "metadata": {"creationTimestamp": at(1)}},
    ],
    ids=" ".join,
)
def test_an_event_is_as_old_as_it_was_seen_last(times: Json) -> None:
    text = "(combined from similar events): " + refused("mo-log-0")
    assert causes(event(text, **times)) == {"mo-log-0": QUOTA}


def test_a_deployment_tells_its_latest_cause() -> None:
    """With random names of Pods, which change with each attempt."""
    first = event('Error creating: pods "mo-cn-7d-x" is forbidden: no PriorityClass', 1)
    second = event(f'Error creating: pods "mo-cn-7d-y" is forbidden: {QUOTA}', 2)
    assert pod_problems.refused_by_replica_set([second, first]) == QUOTA
    assert pod_problems.refused_by_replica_set([event("Created pod: x", 3)]) == ""


def test_a_claim_waits_for_what_its_provisioner_says() -> None:
    failed = event("no such class", 1, "ProvisioningFailed")
    external = event("waiting for example.com/disk", 300, "ExternalProvisioning")
    first = event("waiting for first consumer", 1, "WaitForFirstConsumer")
    told = "claim c is pending: ProvisioningFailed: no such class"
    assert pod_problems.unprovisioned("c", [external, failed]) == told
    assert pod_problems.unprovisioned("c", [first]) == ""
    later = {**external, "lastTimestamp": at(500)}
    assert "ExternalProvisioning" in pod_problems.unprovisioned("c", [failed, later])


def test_only_the_newest_event_of_a_pod_tells_what_it_waits_for() -> None:
    mount = event('secret "s3" not found', 1, "FailedMount")
    assert pod_problems.unmounted([mount]) == 'FailedMount: secret "s3" not found'
    assert pod_problems.unmounted([mount, event("Pulling image", 2, "Pulling")]) == ""
    assert pod_problems.unmounted([]) == ""


def stateful_set(**more: Any) -> Json:
    made = workload(readyReplicas=0, updatedReplicas=0, replicas=0)
    made["apiVersion"] = "apps/v1"
    made["metadata"] |= {"uid": "w-1", "creationTimestamp": NOW, **more}
    return made


def stored(text: str, seconds: float = 1) -> Json:
    return {
        **event(text, seconds),
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"e{seconds}", "namespace": "prod"},
    }


def test_nothing_is_asked_while_all_pods_are_there_or_have_just_been_asked_for() -> None:
    served = [pod(f"mo-log-{number}") for number in range(3)]
    for live, present in (
        (None, []),
        (stateful_set(), served),
        (stateful_set(creationTimestamp=timestamp_now()), []),
        (stateful_set(managedFields=[{"time": timestamp_now()}]), []),
        (workload("Deployment", "mo-cn"), []),
    ):
        session = Answers(stored(refused("mo-log-0")))
        assert find_problems(session, live, present) == PodProblems()  # type: ignore[arg-type]
        assert session.asked == []


def test_missing_pods_cost_one_request() -> None:
    session = Answers(stored(refused("mo-log-2")))
    served = [pod("mo-log-0"), pod("mo-log-1")]
    found = find_problems(session, stateful_set(), served)  # type: ignore[arg-type]
    assert found == PodProblems(not_created={"mo-log-2": QUOTA})
    assert session.asked == ["/api/v1/namespaces/prod/events"]


def a_job(*ended: str, **spec: Any) -> Json:
    conditions_ = [{"type": kind, "status": "True"} for kind in ended]
    metadata = {"name": "full-backup", "namespace": "prod", "uid": "w-1", "creationTimestamp": NOW}
    status = {"startTime": NOW, "conditions": conditions_}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    return {**job, "spec": spec, "status": status}


def pod_of_job(phase: str, since: str = NOW, job: str = "full-backup") -> Json:
    metadata = {"labels": {"job-name": job}, "creationTimestamp": since}
    made = pod("full-backup-x", ready=False, metadata=metadata)
    made["status"] = {"phase": phase, "containerStatuses": [{"state": {"running": {}}}]}
    return made


@pytest.mark.parametrize(
    ("job", "present", "is_told"),
    [
        (a_job(), [], True),
        (a_job(), [pod_of_job("Running", job="another")], True),
        (a_job(), [pod_of_job("Running")], False),
        (a_job(), [pod_of_job("Failed")], True),
        (a_job(), [pod_of_job("Failed", at(60))], False),
        (a_job(suspend=True), [], False),
        (a_job("Complete"), [], False),
        (a_job("Failed"), [], True),
    ],
    ids=[
        "no Pod",
        "another Job's Pod",
        "a Pod",
        "a Pod that failed",
        "a Pod that failed after that",
        "suspended",
        "complete",
        "at the deadline",
    ],
)
def test_a_job_tells_why_it_gets_no_pod(job: Json, present: list[Json], is_told: bool) -> None:
    session = Answers(stored(f'Error creating: pods "full-backup-y" is forbidden: {QUOTA}'))
    found = find_problems(session, job, present)  # type: ignore[arg-type]
    assert found == PodProblems(not_created={"": QUOTA} if is_told else {})


def report(problems: Json, pods_of_set: list[Json], live: Json | None = None) -> Json:
    subject = resource()
    ready = ("Ready", "False", "NoEnoughReadyStores"), ("Progressing", "True", "Creating")
    subject["status"] = {"conditions": conditions(*ready)}
    observed = {
        "workload": live or workload(readyReplicas=0),
        "pods": pods_of_set,
        "podProblems": problems,
    }
    return report_on(subject, {"workload": "StatefulSet/mo-log"}, observed, {}, "", NOW)["status"]


def test_a_set_tells_why_its_pods_are_not_created() -> None:
    names = [f"mo-log-{number}" for number in range(3)]
    found = report({"notCreated": dict.fromkeys(names, QUOTA)}, [])

    told = f"mo-log-0, mo-log-1, mo-log-2 (not created: {QUOTA})"
    assert states(found)["Degraded"] == ("True", "PodsNotCreated")
    assert found["message"].startswith(told)
    by_type = {one["type"]: one["message"] for one in found["conditions"]}
    assert by_type["Ready"] == f"0/3 log stores are ready, waiting for {told}"
    assert by_type["Progressing"] == f"waiting for {told}"


def test_what_was_observed_of_pods_that_serve_meanwhile_is_over() -> None:
    served = [pod(f"mo-log-{number}") for number in range(3)]
    found = report({"notCreated": {"mo-log-2": QUOTA}}, served[:2], workload())
    assert states(found)["Degraded"] == ("False", "AsExpected")


def test_a_set_tells_what_its_pods_lack_to_start() -> None:
    lack = "claim mo-data-mo-log-0 is pending: ProvisioningFailed: no such class"
    waiting = pod("mo-log-0", ready=False)
    waiting["status"] = {
        "phase": "Pending",
        "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1"}
        ],
    }
    found = report({"notStarted": {"mo-log-0": lack}}, [waiting])
    assert f"mo-log-0 (Unschedulable: 0/1; {lack}), mo-log-1 (not created yet)" in found["message"]


@pytest.mark.parametrize(
    ("reason", "message", "told"),
    [
        ("ErrImagePull", "not found", "ImagePullBackOff of a:1: not found"),
        (
            "ImagePullBackOff",
            'Back-off pulling image "a:1": ErrImagePull: not found',
            "ImagePullBackOff of a:1: not found",
        ),
        ("ImagePullBackOff", 'Back-off pulling image "a:1"', "ImagePullBackOff of a:1"),
        (
            "CreateContainerConfigError",
            'secret "s3" not found',
            'CreateContainerConfigError: secret "s3" not found',
        ),
        ("CrashLoopBackOff", "back-off 10s restarting failed container", "CrashLoopBackOff"),
        ("ContainerCreating", "", "ContainerCreating"),
    ],
)
def test_a_container_that_cannot_start_tells_what_the_kubelet_says(
    reason: str, message: str, told: str
) -> None:
    waiting = pod("mo-log-0", ready=False)
    state = {"waiting": {"reason": reason, "message": message}}
    waiting["status"]["containerStatuses"] = [{"name": "main", "image": "a:1", "state": state}]
    assert pods.why(waiting) == told
