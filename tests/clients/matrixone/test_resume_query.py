# SPDX-License-Identifier: Apache-2.0
"""Whether a compute node resumes by itself: only its own answer says so."""

import socket
import time
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
    NodeLockService,
    Reach,
    framing,
    protobuf,
    tables,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.resume_query import (
    that_resume,
)

from tests.clients.matrixone import scripted
from tests.clients.matrixone.conftest import Peers

SERVICES = tables.services
NOT_SUPPORTED, INTERNAL = 20105, 20101
DONE: dict[str, Any] = {"AbortRemoteDeadlockTxn": {"OK": True}}


def refusal(code: int) -> dict[str, Any]:
    values = {"code": code, "message": "method [17]"}
    return {"Error": protobuf.encode(SERVICES.ERROR, values)}


def lock_service(values: dict[str, Any], heard: list[Any] | None = None) -> scripted.Handler:
    """Answer each request of a lock service with these values."""

    def handler(peer: socket.socket) -> None:
        while asked := scripted.request(peer, SERVICES.LOCK_REQUEST):
            if heard is not None:
                heard.append(asked)
            fitting = {name: asked[name] for name in ("RequestID", "Method")}
            body = protobuf.encode(SERVICES.LOCK_RESPONSE, {**fitting, **values})
            flags = framing.Flag.CHECKSUM | framing.Flag.HEADER
            peer.sendall(framing.encode_frame(framing.Frame(flags, body, timeout=10**9)))

    return handler


def hanging_up(peer: socket.socket) -> None:
    scripted.request(peer, SERVICES.LOCK_REQUEST)
    peer.close()


def resumes(address: str, seconds: float = 5) -> bool:
    return bool(that_resume({"cn": address}, Deadline.after(seconds), Reach.MACHINE))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (DONE, True),
        ({"AbortRemoteDeadlockTxn": {}}, False),
        ({}, False),
        (refusal(NOT_SUPPORTED), False),
        (refusal(INTERNAL), False),
        ({"Error": b"\xff"}, False),
    ],
    ids=["answers", "is not sure", "says nothing", "does not know it", "fails", "garbage"],
)
def test_only_an_answer_counts(answer: dict[str, Any], *, expected: bool) -> None:
    with scripted.serving(lock_service(answer)) as address:
        assert resumes(address) is expected


def test_what_is_asked_changes_nothing() -> None:
    """The transaction without an id is nobody's, and no waiter is named to pass it on to."""
    heard: list[Any] = []
    with scripted.serving(lock_service(DONE, heard)) as address:
        assert resumes(address)
    assert [one["Method"] for one in heard] == [17]
    assert heard[0]["AbortRemoteDeadlockTxn"] == {"txn": {}}


def test_a_connection_that_fails_first_is_tried_again() -> None:
    with scripted.serving(hanging_up, lock_service(DONE)) as address:
        assert resumes(address)


def test_no_answer_is_no_yes_and_ends_by_the_deadline() -> None:
    with scripted.serving(scripted.silent) as address:
        begun = time.monotonic()
        asked = {str(number): address for number in range(9)}
        assert that_resume(asked, Deadline.after(1), Reach.MACHINE) == frozenset()
        assert time.monotonic() - begun < 3


def test_nobody_is_asked_for_nothing() -> None:
    assert that_resume({}, Deadline.after(0)) == frozenset()


@pytest.mark.rpc
def test_the_real_lock_service_of_1_3_does_not_know_the_call(frozen: Peers) -> None:
    with NodeLockService(frozen.lock, Reach.MACHINE) as service:
        assert service.ends_remote_deadlocks(Deadline.after(5)) is False
    assert not resumes(frozen.lock)
    assert frozen.alive()


@pytest.mark.rpc
def test_the_wrong_service_at_an_address_does_not_resume(frozen: Peers) -> None:
    assert not resumes(frozen.query[0], 1)
    assert frozen.alive()
