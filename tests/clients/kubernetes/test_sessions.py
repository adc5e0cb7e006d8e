# SPDX-License-Identifier: Apache-2.0
"""Sessions that a process keeps: one for the same options, few in all, closed when dropped."""

from unittest.mock import Mock

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes import (
    session,
)


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[Mock]:
    """The connection pools, in the order in which they were opened."""
    opened: list[Mock] = []

    def connect(options: object) -> tuple[Mock, Mock]:
        opened.append(Mock())
        return Mock(), opened[-1]

    monkeypatch.setattr(session, "connect", connect)
    monkeypatch.setattr(session, "_sessions", {})
    return opened


def test_the_same_options_get_the_same_session(pools: list[Mock]) -> None:
    assert session.open_session({"host": "a"}) is session.open_session({"host": "a"})
    assert len(pools) == 1


def test_a_process_of_many_runs_keeps_few_connections(pools: list[Mock]) -> None:
    """Each run has a token of its own, and so a session of its own."""
    for number in range(100):
        session.open_session({"kubeconfig": f"/of/run/{number}"})

    closed = [pool.clear.called for pool in pools]
    assert closed == [True] * 96 + [False] * 4
    session.open_session({"kubeconfig": "/of/run/99"})
    assert len(pools) == 100


def test_sessions_of_the_parent_process_are_dropped_but_not_closed(
    pools: list[Mock], monkeypatch: pytest.MonkeyPatch
) -> None:
    session.open_session({"host": "of the parent"})
    monkeypatch.setattr("os.getpid", lambda: 1)
    for number in range(5):
        session.open_session({"host": str(number)})

    assert [pool.clear.called for pool in pools] == [False, True] + [False] * 4
