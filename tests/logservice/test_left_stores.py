# SPDX-License-Identifier: Apache-2.0
"""Which claims of log stores that left are deleted, and when."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.left_stores import (
    ANNOTATION_LEFT,
    LeftStore,
    annotation,
    claims_after_play,
    left_stores,
    next_deletion,
    with_store,
)

from tests.support.builders import pod, resource, workload

Json = dict[str, Any]
LEFT = [LeftStore("mo-log-3", {"mo-data-mo-log-3": "c-3"})]
GOING = {"deletionTimestamp": "2026-01-02T03:04:00Z"}


def claim(ordinal: int, uid: str = "", name: str = "mo-data-mo-log") -> Json:
    metadata = {"name": f"{name}-{ordinal}", "namespace": "prod", "uid": uid or f"c-{ordinal}"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}


def live(**numbers: int) -> Json:
    made = workload(**numbers)
    made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "mo-data"}}]
    return made


CLAIMS = [claim(number) for number in range(5)]
PODS = [pod(f"mo-log-{number}") for number in range(3)]


def log_set(replicas: int = 3, **spec: Any) -> Json:
    return resource(spec={"replicas": replicas, **spec})


@pytest.mark.parametrize(
    ("subject", "stateful_set", "pods", "deleted", "waits"),
    [
        (log_set(), live(), PODS, ["c-3"], False),
        (log_set(), live(), [*PODS, pod("mo-log-3", metadata=GOING)], ["c-3"], False),
        (log_set(4), live(), PODS, ["c-3"], False),
        (log_set(), live(wanted=4), [*PODS, pod("mo-log-3")], [], True),
        (log_set(), live(), [*PODS, pod("mo-log-3")], [], True),
        (log_set(), live(generation=2), PODS, [], True),
        (log_set(), live(wanted=0), [], [], True),
        (log_set(0), live(), PODS, [], True),
        (log_set(0), live(wanted=0), [], [], True),
        (log_set(4), live(wanted=4), PODS, [], False),
        (log_set(pvcRetentionPolicy="Retain"), live(), PODS, [], False),
    ],
    ids=[
        "its Pod is gone",
        "its Pod ends",
        "as many as before are asked for again, and it has left",
        "the StatefulSet was not told yet",
        "the StatefulSet does not act upon it",
        "the StatefulSet's controller does not know it yet",
        "the StatefulSet was stopped by hand",
        "the log service is to stop",
        "the log service was stopped",
        "it stays after all",
        "the policy keeps volumes by now",
    ],
)
def test_claims_go_when_the_stateful_set_has_given_up_the_pod(
    subject: Json, stateful_set: Json, pods: list[Json], deleted: list[str], waits: bool
) -> None:
    found = next_deletion(LEFT, subject, stateful_set, pods, CLAIMS)

    assert [one["metadata"]["uid"] for one in found.claims] == deleted
    assert list(found.waiting) == (LEFT if waits else [])


def test_nothing_but_the_claims_that_were_recorded_goes() -> None:
    """A new claim has the name of one that left; a copy has its labels."""
    claims = [claim(3, "later"), claim(3, "c-3", "copy-of-mo-data-mo-log"), claim(4)]
    found = next_deletion(LEFT, log_set(), live(), PODS, claims)
    assert (found.claims, found.waiting) == ([], [])


def test_a_stateful_set_of_any_size_loses_no_claim_without_a_record() -> None:
    for size in range(6):
        assert next_deletion([], log_set(), live(wanted=size), [], CLAIMS).claims == []


def test_a_record_is_read_as_it_was_written() -> None:
    stores = with_store(LEFT, "mo-log-4", live(wanted=5), CLAIMS)
    assert stores == [*LEFT, LeftStore("mo-log-4", {"mo-data-mo-log-4": "c-4"})]
    assert with_store(stores, "mo-log-4", live(wanted=5), CLAIMS) == stores
    assert with_store(LEFT, "mo-log-2", live(), []) == LEFT

    subject = log_set()
    subject["metadata"]["annotations"] = annotation(stores)
    assert left_stores(subject) == stores
    assert annotation([]) == {ANNOTATION_LEFT: None}


@pytest.mark.parametrize(
    "text", ["", "nothing", "{}", "[1]", "[" * 100_000, '[{"pod": "mo-log", "claims": {}}]']
)
def test_a_record_that_cannot_be_read_deletes_nothing(text: str) -> None:
    subject = log_set()
    subject["metadata"]["annotations"] = {ANNOTATION_LEFT: text}
    assert left_stores(subject) == []


@pytest.mark.parametrize(
    ("subject", "before", "deleted"),
    [
        (log_set(), live(wanted=4), ["c-3"]),
        (log_set(), live(), []),
        (log_set(5), live(), []),
        (log_set(), live(wanted=0), []),
        (log_set(0), live(), []),
        (log_set(pvcRetentionPolicy="Retain"), live(wanted=4), []),
        (log_set(), None, []),
    ],
    ids=["fewer", "as many", "more", "started", "stopped", "kept", "first"],
)
def test_a_playbook_deletes_the_claims_of_stores_that_it_lets_leave(
    subject: Json, before: Json | None, deleted: list[str]
) -> None:
    found = claims_after_play(subject, before, CLAIMS)
    assert [one["metadata"]["uid"] for one in found] == deleted
