# SPDX-License-Identifier: Apache-2.0
"""What a fork sends of a run arrives in order, and at once where somebody may wait for it."""

import socket
from collections.abc import Iterator

import pytest

from ansible_operator.engine.forking.frames import read_frame
from ansible_operator.engine.warm.outbox import Outbox

BEGINNING = ["verbose", "playbook_on_start", "verbose", "playbook_on_play_start"]


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a run's socket; reading never waits."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def arrived(connection: socket.socket) -> list[str]:
    """The bodies of all frames that are there."""
    found = []
    while True:
        try:
            found.append(read_frame(connection)[1].decode())
        except BlockingIOError:
            return found


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (BEGINNING, len(BEGINNING)),
        ([*BEGINNING, "playbook_on_task_start"], len(BEGINNING) + 1),
        ([*BEGINNING, "playbook_on_task_start", "runner_on_start"], 0),
        ([*BEGINNING, "runner_on_start", "verbose"], 0),
        (["verbose", "error"], 0),
        (["runner_on_start", "runner_on_ok"], 0),
        (["runner_on_ok", "playbook_on_task_start"], 1),
        (["runner_on_ok", "playbook_on_stats"], 1),
    ],
)
def test_nothing_waits_while_a_task_is_at_work(
    ends: tuple[socket.socket, socket.socket], names: list[str], kept: int
) -> None:
    ours, theirs = ends
    outbox = Outbox(theirs)
    for name in names:
        outbox.event(name, name.encode())
    before = arrived(ours)
    outbox.result(b"end")

    assert before == names[: len(names) - kept]
    assert before + arrived(ours) == [*names, "end"]
