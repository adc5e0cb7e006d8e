# SPDX-License-Identifier: Apache-2.0
"""What could not be observed is unknown: neither gone, nor zero, nor healthy."""

from typing import Any

import pytest

from tests.support import resources as r
from tests.support.builders import NOW, conditions, pod, resource, states, workload
from tests.support.passes import report_on

Json = dict[str, Any]
FAILURE = 'list Pods: the server says 403 Forbidden: pods is forbidden: User "operator"'
EARLIER = conditions(
    ("Ready", "True", "EnoughReadyStores"),
    ("Synced", "True", "Applied"),
    ("Progressing", "False", "Settled"),
    ("Degraded", "False", "AsExpected"),
)
STATUS: Json = {
    "observedGeneration": 2,
    "conditions": EARLIER,
    "phase": "Ready",
    "message": "",
    "replicas": 3,
    "readyReplicas": 3,
    "labelSelector": "a=b",
    "stores": [{"podName": "mo-tp-cn-a"}],
    "availableStores": [{"podName": "mo-log-0", "phase": "Up", "lastTransition": NOW}],
    "failedStores": [{"podName": "mo-log-1", "phase": "Down", "lastTransition": NOW}],
    "shards": [{"shard": 1, "replicas": 3, "available": 2}],
    "cnGroups": {"desiredGroups": 1},
    "credentialRef": {"name": "mo-credential"},
    "persistentVolumeClaims": ["mo-data-mo-0"],
}
EVERY_KIND = [
    *(r.logset(), r.dnset(), r.cnset(), r.proxyset(), r.webui(), r.cluster(), r.early()),
]


def known(found: Json, **status: Any) -> Json:
    metadata = {**found["metadata"], "uid": "u-1", "generation": 3}
    return {**found, "metadata": metadata, "status": {**STATUS, **status}}


@pytest.mark.parametrize("subject", EVERY_KIND, ids=lambda one: one["kind"])
def test_a_failed_observation_changes_nothing_but_readiness(subject):
    """Sizes and lists are what autoscalers and the timers of failovers go by."""
    told = report_on(known(subject), {}, {}, {}, FAILURE, NOW)

    status = dict(told["status"])
    ready, *others = status.pop("conditions")
    assert (ready["type"], ready["status"]) == ("Ready", "Unknown")
    assert (ready["reason"], ready["message"]) == ("ObservationFailed", FAILURE)
    assert ready["observedGeneration"] == 3
    assert others == EARLIER[1:]
    assert status.pop("message") == FAILURE
    assert status.pop("phase") == (
        "Pending" if subject["kind"] == "MatrixoneCluster" else "NotReady"
    )
    assert status == {key: STATUS[key] for key in status}
    assert status.keys() == STATUS.keys() - {"conditions", "message", "phase"}
    assert (told["ready"], told["requeue"]) == (False, "")


@pytest.mark.parametrize("subject", EVERY_KIND, ids=lambda one: one["kind"])
def test_the_first_observation_fails(subject):
    """Nothing is known yet, and nothing is made up."""
    new = known(subject)
    del new["status"]

    status = report_on(new, {}, {}, {}, FAILURE, NOW)["status"]

    assert {one["type"]: one["status"] for one in status["conditions"]} == {"Ready": "Unknown"}
    assert status.keys() == {"conditions", "phase", "message"}


@pytest.mark.parametrize("subject", EVERY_KIND, ids=lambda one: one["kind"])
def test_what_is_known_not_to_exist_is_reported_as_such(subject):
    """A pass that fails after it has observed says what it observed."""
    seen = {"workload": None, "pods": [], "logSet": None}

    told = report_on(known(subject), {}, seen, {}, "apply Service prod/mo: refused", NOW)

    reasons = {one["reason"] for one in told["status"]["conditions"]}
    assert "ApplyFailed" in reasons
    assert "ObservationFailed" not in reasons


def test_a_store_that_was_lost_meanwhile_is_a_failure():
    """The pass before could not observe anything; nothing asked for the loss."""
    unknown = conditions(("Ready", "Unknown", "ObservationFailed"))
    subject = known(resource(), conditions=[*unknown, *EARLIER[1:]])
    subject["metadata"]["generation"] = 2
    seen = {"workload": workload(readyReplicas=2), "pods": [pod("mo-log-0"), pod("mo-log-1")]}

    status = report_on(subject, {"workload": "StatefulSet/mo-log"}, seen, {}, "", NOW)["status"]

    assert states(status)["Ready"] == ("False", "NoEnoughReadyStores")
    assert states(status)["Degraded"] == ("True", "StoresFailed")
