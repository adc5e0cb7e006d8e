# SPDX-License-Identifier: Apache-2.0
"""Which Pods give no sign of life, by what HAKeeper heard of them."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.storage_answer import (
    StorageAnswer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp,
    unix_time,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.health import (
    Health,
    fell_silent,
    is_isolated,
    is_settled,
    without_heartbeat,
    without_quorum,
)

from tests.support.builders import NOW, conditions, pod

PRESENT = unix_time(NOW)


def name_of(found):
    return found["metadata"]["name"]


@pytest.mark.parametrize(
    ("silent", "expected"),
    [
        ({"mo-log-0": 0.4}, ""),
        ({"mo-log-0": 10.0}, ""),
        ({"mo-log-0": 10.1}, "HAKeeper has not heard from it for more than 10 s"),
        ({}, "HAKeeper does not know it"),
    ],
)
def test_heartbeats(silent, expected):
    """A second between heartbeats is usual; more than ten are silence; no record is one, too."""
    found = without_heartbeat([pod("mo-log-0")], silent, name_of, PRESENT + 3600)
    assert found == ({"mo-log-0": expected} if expected else {})


def test_a_pod_that_has_just_become_ready_may_not_be_known_yet():
    ready = pod("mo-log-0")
    since = next(one for one in ready["status"]["conditions"] if one["type"] == "Ready")
    since["lastTransitionTime"] = NOW

    assert without_heartbeat([ready], {}, name_of, PRESENT + 29) == {}
    assert without_heartbeat([ready], {}, name_of, PRESENT + 30) != {}


@pytest.mark.parametrize("change", ["not ready", "being deleted"])
def test_pods_that_do_not_count_as_ready_need_not_be_heard(change):
    found = pod("mo-log-0", ready=change != "not ready")
    if change == "being deleted":
        found["metadata"]["deletionTimestamp"] = NOW
    assert without_heartbeat([found], {"mo-log-0": 99.0}, name_of, PRESENT + 3600) == {}


@pytest.mark.parametrize(
    ("shards", "expected"),
    [
        ([], ""),
        ([(0, 3, 3), (1, 2, 3)], ""),
        ([(0, 3, 3), (1, 1, 3)], "a quorum of log shard 1 (1 of 3)"),
        ([(0, 1, 2), (1, 0, 1)], "a quorum of log shard 0 (1 of 2), 1 (0 of 1)"),
    ],
)
def test_quorum(shards, expected):
    """More than half of the voting replicas must run."""
    assert without_quorum(shards) == expected


def test_health_survives_being_a_result():
    found = Health(
        unknown="a",
        silent={"b": "c"},
        unresponsive=("b",),
        lacking="d",
        storage=StorageAnswer.FULL,
        shards=[{"shard": 0, "replicas": 3, "available": 2}],
    )
    assert Health.read(found.as_result()) == found
    assert not found.is_good
    assert found.faults == "b (c), d"


def test_nothing_is_wrong_where_nothing_was_asked():
    assert Health.read({}).is_good


@pytest.mark.parametrize(
    ("age", "silent", "expected"),
    [(3600, 10.0, False), (3600, 10.5, True), (3600, None, False), (12, 20.0, False)],
)
def test_silence_of_a_process_is_not_that_of_its_predecessor(age, silent, expected):
    """A container that restarts keeps the name of its store, and so its last heartbeat."""
    assert fell_silent(timestamp(PRESENT - age), silent, PRESENT) is expected
    assert not fell_silent("", silent, PRESENT)


@pytest.mark.parametrize(
    ("silent", "peers", "settled", "expected"),
    [
        (11.0, [0.4], True, True),
        (11.0, [12.5], True, False),
        (40.0, [40.9], True, False),
        (40.0, [40.9, 300.0], True, False),
        (40.0, [40.9, 1.0], True, True),
        (11.0, [300.0], True, False),
        (40.0, [12.0], True, True),
        (11.0, [], True, False),
        (9.0, [0.4], True, False),
        (19.0, [0.4], False, False),
        (21.0, [0.4], False, True),
    ],
    ids=[
        "it alone",
        "together with its peer",
        "together for long",
        "together, one peer died before",
        "one of two peers was heard",
        "its peer died before",
        "its peer fell silent later",
        "it has no peer",
        "not for long enough",
        "a log store failed: it may look for the leader",
        "cut off together with a log store",
    ],
)
def test_only_peers_that_were_heard_meanwhile_are_estranged(silent, peers, settled, expected):
    assert is_isolated(silent, peers, settled=settled) is expected


@pytest.mark.parametrize(
    ("ready", "since", "log_stores", "expected"),
    [
        ("True", 20, [0.4, 1.2], True),
        ("True", 20, [0.4, 5.1], False),
        ("True", 19, [0.4], False),
        ("False", 3600, [0.4], False),
        (None, 0, [0.4], True),
        (None, 0, [5.1], False),
        ("", 3600, [0.4], False),
    ],
    ids=[
        "long ago",
        "a log store is silent, which the status does not tell yet",
        "ready again a moment ago",
        "not ready",
        "external",
        "external, a log store is silent",
        "never reported",
    ],
)
def test_a_log_service_is_settled(ready, since, log_stores, expected):
    """Who looks for the leader of HAKeeper is silent, but hears those that it served."""
    log_set = None
    if ready is not None:
        log_set = {"status": {"conditions": conditions(("Ready", ready, ""))}}
        log_set["status"]["conditions"][0]["lastTransitionTime"] = timestamp(PRESENT - since)
    assert is_settled(log_set, log_stores, PRESENT) is expected
