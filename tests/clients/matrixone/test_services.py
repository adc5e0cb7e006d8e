# SPDX-License-Identifier: Apache-2.0
"""Lock and query service: what a compute node still has to do, and what nobody knows."""

import time

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    BadRequest,
    Deadline,
    HAKeeper,
    LockService,
    MatrixOneError,
    QueryService,
    Reach,
    Unreachable,
)

from tests.clients.matrixone.conftest import Peers, cn

pytestmark = pytest.mark.rpc


def soon(seconds: float = 10) -> Deadline:
    return Deadline.after(seconds)


def test_locks_are_handed_over_when_the_last_transaction_has_ended(frozen: Peers) -> None:
    frozen.do("cn", uuid=cn(0), lock_txns=2)
    with LockService(frozen.lock, Reach.MACHINE) as locks:
        assert locks.can_restart(cn(0), soon()) is False
        locks.set_restart(cn(0), soon())
        assert locks.can_restart(cn(0), soon()) is False
        frozen.do("cn", uuid=cn(0), lock_txns=0)
        frozen.do("heartbeat")
        assert locks.can_restart(cn(0), soon()) is True


def test_who_never_held_a_lock_can_restart(frozen: Peers) -> None:
    with LockService(frozen.lock, Reach.MACHINE) as locks:
        assert locks.can_restart("never-heard-of", soon()) is True
        with pytest.raises(BadRequest):
            locks.can_restart("", soon())


def test_counts(frozen: Peers) -> None:
    frozen.do("cn", uuid=cn(1), proxy_sessions=2, direct_sessions=1, sys_sessions=3)
    frozen.do("cn", uuid=cn(1), pipelines=4, replicas=5)
    with HAKeeper(addresses=frozen.stores, reach=Reach.MACHINE) as hakeeper:
        nodes = hakeeper.cluster_details(soon()).cn_stores
    with QueryService(frozen.query[1], Reach.MACHINE) as query:
        sessions = query.sessions(soon())
        assert [(one.account, one.from_proxy) for one in sessions] == [
            *[("sys", False)] * 3,
            ("acc1", False),
            *[("acc1", True)] * 2,
        ]
        assert sessions[0].began is not None
        assert query.pipelines(soon()) == 4
        assert query.replicas(nodes[1], soon()) == 5
    with QueryService(frozen.query[0], Reach.MACHINE) as query:
        assert query.sessions(soon()) == ()
        assert (query.pipelines(soon()), query.replicas(nodes[0], soon())) == (0, 0)


def test_the_wrong_service_at_an_address_is_never_a_count(frozen: Peers) -> None:
    """A stale address may belong to another service by now: an error, not zero."""
    with QueryService(frozen.lock, Reach.MACHINE) as query:
        for ask in (query.sessions, query.pipelines):
            with pytest.raises(MatrixOneError):
                ask(soon(1))
    assert frozen.alive()


def test_the_wrong_service_at_an_address_never_says_that_locks_are_gone(frozen: Peers) -> None:
    with LockService(frozen.query[0], Reach.MACHINE) as locks, pytest.raises(MatrixOneError):
        locks.can_restart(cn(0), soon(1))
    assert frozen.alive()


def test_a_compute_node_that_is_gone_is_unreachable(frozen: Peers) -> None:
    with QueryService(frozen.query[0], Reach.MACHINE) as query:
        query.pipelines(soon())
        frozen.process.kill()
        frozen.process.wait(10)
        begun = time.monotonic()
        for _ in range(2):
            with pytest.raises(Unreachable):
                query.pipelines(soon())
        assert time.monotonic() - begun < 2
