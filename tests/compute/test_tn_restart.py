# SPDX-License-Identifier: Apache-2.0
"""Compute nodes that did not find a transaction node that was restarted."""

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import timestamp
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute import (
    health_check,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pods import uuid_of
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.tn_restart import (
    Restart,
    restart_of,
    to_ask,
    to_replace,
)

from tests.support import resources
from tests.support.builders import pod

NOW = 1_800_000_000.0


def running(name: str, started: float, ready: float | None = 0.0) -> dict[str, Any]:
    """Return a Pod whose process started, and became ready, so many seconds ago."""
    found = pod(name, ready=ready is not None, since=timestamp(NOW - (ready or 0.0)))
    state = {"running": {"startedAt": timestamp(NOW - started)}}
    found["status"]["containerStatuses"][0]["state"] = state
    found["status"]["podIP"] = "10.0.0.1"
    return found


OLD, NEW = running("old", 3600), running("new", 5)


@pytest.mark.parametrize(
    ("transaction_node", "asked"),
    [
        (running("mo-dn-0", 40, 30), ["old"]),
        (running("mo-dn-0", 12, 10), []),
        (running("mo-dn-0", 40, None), []),
        (running("mo-dn-0", 300, 290), []),
        (running("mo-dn-0", 7200, 60), []),
        (None, []),
    ],
    ids=[
        "it was restarted",
        "it has just begun",
        "it is not ready",
        "long ago",
        "it is older, though ready for a short time",
        "it is unknown",
    ],
)
def test_who_had_to_find_a_new_transaction_node_is_asked(
    transaction_node: dict[str, Any] | None, asked: list[str]
) -> None:
    """An idle cluster is not asked: only who is older than the process, and only for a while."""
    restart = restart_of(transaction_node, NOW)
    found = to_ask([OLD, NEW], restart) if restart is not None else []
    assert [one["metadata"]["name"] for one in found] == asked


@pytest.mark.parametrize(
    ("answers", "since", "replaced"),
    [
        ({"a": True, "b": False}, 20.0, ("b",)),
        ({"a": False, "b": False}, 20.0, ()),
        ({"a": False, "b": False}, 60.0, ("a", "b")),
        ({"a": True, "b": True}, 100.0, ()),
        ({}, 100.0, ()),
    ],
    ids=[
        "another answers",
        "the transaction node may not be up",
        "it had its time",
        "all answer",
        "none could be reached",
    ],
)
def test_who_does_not_answer_while_it_could_is_replaced(
    answers: dict[str, bool], since: float, replaced: tuple[str, ...]
) -> None:
    assert to_replace(answers, Restart(NOW - since, since)) == replaced


@pytest.mark.parametrize(
    ("heard", "answers", "silent", "unresponsive"),
    [
        (1.0, {"old": False}, {"old"}, ()),
        (1.0, {"old": False, "second": True}, {"old"}, ("old",)),
        (1.0, {"old": True}, set(), ()),
        (11.0, {}, {"old"}, ()),
    ],
    ids=["it alone", "while another answers", "it answers", "HAKeeper does not hear it either"],
)
def test_what_is_reported_of_a_node_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
    heard: float,
    answers: dict[str, bool],
    silent: set[str],
    unresponsive: tuple[str, ...],
) -> None:
    """HAKeeper hears it, so only the login tells."""
    serving = SimpleNamespace(lock_address="mo-dn-0.mo-dn-headless.prod.svc:6003")
    details = SimpleNamespace(
        cn_stores=[SimpleNamespace(uuid=uuid_of(OLD), silent=heard)],
        serving_tn=lambda: serving,
    )
    asked: list[set[str]] = []

    def answering(addresses: dict[str, tuple[str, int]], _seconds: float) -> dict[str, bool]:
        asked.append(set(addresses))
        return answers

    monkeypatch.setattr(health_check, "answering", answering)
    monkeypatch.setattr(health_check, "ask_details", lambda *_: details)
    members = [running("mo-dn-0", 40, 30)]
    monkeypatch.setattr(health_check, "members_of_dependency", lambda *_: members)
    found = health_check.observe_compute_nodes(
        None,  # type: ignore[arg-type]
        resources.cnset(),
        [OLD],
        Deadline.after(3),
        NOW,
    )
    assert set(found.silent) == silent
    assert found.unresponsive == unresponsive
    assert asked == [{"old"} if heard < 10 else set()]
