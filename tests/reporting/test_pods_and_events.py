# SPDX-License-Identifier: Apache-2.0
"""What is said of Pods that do not come up, and which changes of a status are news."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.events import (
    transitions,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.pods import (
    is_hopeless,
    stuck,
    why,
)

from tests.support.builders import conditions, pod

ENDED = {"terminated": {"exitCode": 2, "reason": "Error"}}


def broken(**container: Any) -> dict[str, Any]:
    made = pod("mo-log-2", ready=False)
    made["status"]["containerStatuses"] = [
        {"name": "main", "image": "mo:nonsense", "ready": False, "started": False, **container}
    ]
    return made


def gated(*gates: str, containers: str = "True", opened: str = "") -> dict[str, Any]:
    made = pod("mo-tp-cn-0", ready=False)
    made["spec"] = {"readinessGates": [{"conditionType": gate} for gate in gates]}
    made["status"] |= {"phase": "Running", "containerStatuses": []}
    made["status"]["conditions"] += [
        {"type": "ContainersReady", "status": containers},
        *([{"type": opened, "status": "True"}] if opened else []),
    ]
    return made


GATE = "matrixorigin.io/cn-store"


@pytest.mark.parametrize(
    ("subject", "said", "hopeless"),
    [
        (gated(GATE), f"readiness gate {GATE} is not set", False),
        (gated("a/b", GATE, opened=GATE), "readiness gate a/b is not set", False),
        (gated(GATE, opened=GATE), "not ready yet", False),
        (gated(GATE, containers="False"), "not ready yet", False),
        (
            broken(state={"waiting": {"reason": "ErrImagePull"}}),
            "ImagePullBackOff of mo:nonsense",
            True,
        ),
        (
            broken(state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ENDED),
            "CrashLoopBackOff, main ended with exit code 2 (Error)",
            True,
        ),
        (
            broken(state={"running": {}}, lastState=ENDED, restartCount=2),
            "CrashLoopBackOff, main ended with exit code 2 (Error)",
            True,
        ),
        (
            broken(state={"running": {}}, lastState=ENDED, restartCount=1),
            "not ready yet, main ended with exit code 2 (Error)",
            False,
        ),
        (
            broken(state={"running": {}}, lastState=ENDED, restartCount=7, started=True),
            "not ready yet, main ended with exit code 2 (Error)",
            False,
        ),
        (broken(state={"waiting": {"reason": "ContainerCreating"}}), "ContainerCreating", False),
    ],
)
def test_what_keeps_a_pod_from_being_ready(subject, said, hopeless):
    """A container that ends again and again is told the same way while it runs in between."""
    assert (why(subject), is_hopeless(subject)) == (said, hopeless)
    assert stuck([subject]) == (f"mo-log-2 ({said})" if hopeless else "")


def test_a_pod_without_a_place_can_only_be_replaced():
    """It is replaced when its template changes, but it is not broken."""
    subject = pod("mo-log-0", ready=False)
    subject["status"] = {
        "phase": "Pending",
        "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}
        ],
    }
    assert is_hopeless(subject)
    assert stuck([subject]) == ""


@pytest.mark.parametrize(
    ("phase", "before", "after", "told"),
    [
        ("Ready", ("Unknown", "Reconciling"), ("True", "EnoughReadyStores"), []),
        (
            "NotReady",
            ("Unknown", "Reconciling"),
            ("True", "EnoughReadyStores"),
            ["EnoughReadyStores"],
        ),
        (
            "Ready",
            ("False", "NoEnoughReadyStores"),
            ("True", "EnoughReadyStores"),
            ["EnoughReadyStores"],
        ),
        (
            "Ready",
            ("Unknown", "Reconciling"),
            ("False", "NoEnoughReadyStores"),
            ["NoEnoughReadyStores"],
        ),
        ("Ready", ("True", "EnoughReadyStores"), ("True", "EnoughReadyStores"), []),
    ],
)
def test_readiness_is_news_when_it_changes(phase, before, after, told):
    """That a set which served serves on while it takes a change in is none."""
    old = {"phase": phase, "conditions": conditions(("Ready", *before))}

    events = transitions(old, {"conditions": conditions(("Ready", *after))})

    assert [event["reason"] for event in events] == told
