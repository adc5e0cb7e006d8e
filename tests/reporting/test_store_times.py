# SPDX-License-Identifier: Apache-2.0
"""Since when a store is down: never since a time that is older than the failure.

Clusters here are hours old. All Pods became ready at ``READY``, and the present is ``NOW``.
"""

from datetime import datetime
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.pods import (
    ended_after,
    first_start,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.pods import (
    stores,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import pod

Json = dict[str, Any]

CREATED, READY = "2026-01-02T08:00:00Z", "2026-01-02T08:00:30Z"
EARLIER, LATER, NOW = "2026-01-02T09:00:00Z", "2026-01-02T11:40:00Z", "2026-01-02T12:00:00Z"
AFTER = "2026-01-02T12:15:00Z"
UP = {"podName": "mo-log-0", "phase": "Up", "lastTransition": READY}
DOWN = {"podName": "mo-log-0", "phase": "Down", "lastTransition": EARLIER}


def aged(
    status: str,
    since: str,
    *,
    created: str = CREATED,
    terminating: str = "",
    started: str = CREATED,
) -> Json:
    """A Pod of an old cluster whose condition Ready has a status since some time."""
    metadata = {"creationTimestamp": created}
    if terminating:
        metadata["deletionTimestamp"] = terminating
    made = pod("mo-log-0", since=since, metadata=metadata)
    made["status"]["conditions"][0]["status"] = status
    made["status"]["startTime"] = started
    return made


def without_condition() -> Json:
    made = aged("False", NOW, created=NOW)
    made["status"]["conditions"] = []
    return made


def entry(pods: list[Json], before: Json | None, *, lost: bool = False, now: str = NOW) -> Json:
    """What is told of mo-log-0."""
    field = "availableStores" if before and before["phase"] == "Up" else "failedStores"
    previous = {field: [before]} if before else None
    told = stores(pods, ["mo-log-0"], previous, now, ["mo-log-0"] if lost else [])
    (found,) = told["availableStores"] + told["failedStores"]
    return found


@pytest.mark.parametrize(
    ("live", "before", "phase", "since"),
    [
        (aged("True", READY), UP, "Up", READY),
        (aged("True", READY), None, "Up", READY),
        (aged("True", LATER), DOWN, "Up", LATER),
        (aged("True", READY), DOWN, "Up", EARLIER),
        (aged("True", READY, terminating=NOW), UP, "Down", NOW),
        (aged("True", READY, terminating=NOW), None, "Down", NOW),
        (aged("True", READY, terminating=NOW), DOWN, "Down", EARLIER),
        (aged("True", LATER, terminating=NOW), DOWN, "Down", NOW),
        (aged("Unknown", READY), UP, "Down", NOW),
        (without_condition(), UP, "Down", NOW),
        (None, UP, "Down", NOW),
        (None, DOWN, "Down", EARLIER),
        (None, None, "Down", NOW),
        (aged("False", LATER), UP, "Down", LATER),
        (aged("False", LATER), None, "Down", LATER),
        (aged("False", LATER, terminating=NOW), UP, "Down", LATER),
        (aged("False", AFTER), UP, "Down", NOW),
        (aged("False", EARLIER, created=LATER), UP, "Down", LATER),
        (aged("False", EARLIER), UP | {"lastTransition": LATER}, "Down", LATER),
        (aged("False", EARLIER), DOWN, "Down", EARLIER),
        (aged("False", LATER), DOWN, "Down", LATER),
        (aged("False", LATER, created=LATER, started=LATER), DOWN, "Down", EARLIER),
    ],
    ids=[
        "it is up",
        "it is up, and there is no status",
        "it came back",
        "it has its data again",
        "it is told to end while it is ready",
        "the same without a status",
        "it is still ending",
        "it came back and is told to end before anybody saw it",
        "its readiness is unknown",
        "a new Pod",
        "its Pod is gone",
        "its Pod has been gone for long",
        "it has never existed",
        "it failed while no operator ran",
        "the same without a status",
        "it failed and is told to end",
        "the clock of its node is ahead",
        "the clock of its node is behind that of the API server",
        "the clock of its node is behind that of the operator",
        "it is still down",
        "it came back and failed again while no operator ran",
        "its new Pod has not come up",
    ],
)
def test_being_down_begins_when_it_is_seen(
    live: Json | None, before: Json | None, phase: str, since: str
) -> None:
    found = entry([live] if live else [], before)
    assert (found["phase"], found["lastTransition"]) == (phase, since)


@pytest.mark.parametrize(("before", "since"), [(UP, NOW), (None, NOW), (DOWN, EARLIER)])
def test_a_store_of_no_use_is_down_since_that_is_known(before: Json | None, since: str) -> None:
    """Its Pod has been ready all the time, so the condition tells nothing."""
    assert entry([aged("True", READY)], before, lost=True)["lastTransition"] == since


def test_a_restart_of_an_old_store_is_seconds_long() -> None:
    """The Pod of a store that is hours old is told to end, is gone, and its successor starts."""
    told, entries = UP, []
    restart = [
        ("2026-01-02T12:00:01Z", [aged("True", READY, terminating=AFTER)]),
        ("2026-01-02T12:00:05Z", [aged("True", READY, terminating=AFTER)]),
        ("2026-01-02T12:00:09Z", [aged("False", "2026-01-02T12:00:08Z", terminating=AFTER)]),
        ("2026-01-02T12:00:11Z", []),
        ("2026-01-02T12:00:14Z", [without_condition()]),
        ("2026-01-02T12:00:20Z", [aged("False", "2026-01-02T12:00:15Z", created=NOW)]),
    ]
    for now, pods in restart:
        told = entry(pods, told, now=now)
        entries.append(told["lastTransition"])

    # The kubelet saw its process end 7 s later, and it was ready until then.
    assert min(entries) == entries[0] == "2026-01-02T12:00:01Z"


moments = st.sampled_from([CREATED, READY, EARLIER, LATER, NOW, AFTER])
pods = st.none() | st.builds(
    aged,
    st.sampled_from(["True", "False", "Unknown"]),
    moments,
    created=moments,
    terminating=st.sampled_from(["", NOW, AFTER]),
    started=moments,
)
entries = st.none() | st.builds(
    lambda phase, since: {"podName": "mo-log-0", "phase": phase, "lastTransition": since},
    st.sampled_from(["Up", "Down"]),
    moments.filter(lambda moment: moment != AFTER),
)


@given(pods, entries, st.booleans())
def test_no_store_is_down_since_before_it_was_up(
    live: Json | None, before: Json | None, lost: bool
) -> None:
    found = entry([live] if live else [], before, lost=lost)
    assert found["lastTransition"] <= NOW
    if found["phase"] == "Down" and before and before["phase"] == "Up":
        assert found["lastTransition"] >= before["lastTransition"]
    if found["phase"] == "Down" and live is not None and before is None:
        condition = live["status"]["conditions"][0]
        is_told = condition["status"] == "False" and not lost
        assert is_told or found["lastTransition"] == NOW


@pytest.mark.parametrize(
    ("container", "started"),
    [
        ({}, ""),
        ({"state": {"waiting": {}}}, ""),
        ({"state": {"running": {"startedAt": LATER}}}, LATER),
        ({"state": {"terminated": {"startedAt": LATER}}}, LATER),
        (
            {
                "restartCount": 1,
                "state": {"running": {"startedAt": NOW}},
                "lastState": {"terminated": {"startedAt": LATER}},
            },
            LATER,
        ),
        (
            {
                "restartCount": 2,
                "state": {"running": {"startedAt": NOW}},
                "lastState": {"terminated": {"startedAt": LATER}},
            },
            "",
        ),
    ],
)
def test_the_first_start_of_a_pod(container: Json, started: str) -> None:
    made = pod("mo-log-0")
    made["status"]["containerStatuses"] = [{"name": "other"}, {"name": "main", **container}]
    assert first_start(made) == started


@pytest.mark.parametrize(
    ("container", "ended"),
    [
        ({}, False),
        ({"restartCount": 9, "state": {"running": {"startedAt": LATER}}}, False),
        ({"restartCount": 9, "lastState": {"terminated": {"startedAt": CREATED}}}, False),
        ({"restartCount": 1, "lastState": {"terminated": {"startedAt": LATER}}}, True),
        ({"state": {"terminated": {"startedAt": LATER}}}, True),
    ],
    ids=["nothing is known", "it runs", "it failed long before", "it was started", "it has ended"],
)
def test_a_process_that_fails_has_started_since_its_store_is_down(
    container: Json, ended: bool
) -> None:
    """A Pod that was restarted a month ago does not fail repeatedly."""
    made = pod("mo-log-0")
    made["status"]["containerStatuses"] = [{"name": "main", **container}]
    assert ended_after(made, datetime.fromisoformat(EARLIER).timestamp()) == ended
