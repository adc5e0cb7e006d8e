# SPDX-License-Identifier: Apache-2.0
"""What a fork sends to the runner while it plays."""

import socket

from ansible_operator.engine.forking.frames import Kind, frame


class Outbox:
    """Sends events and the result of a run; events that others follow at once are sent with them.

    Each frame that is sent alone wakes the runner. Nothing is held while a task is at work.
    """

    _HELD = frozenset({"playbook_on_start", "playbook_on_play_start", "playbook_on_task_start"})
    """Events of a beginning: the next comes before any task has been started."""
    _LAST = "playbook_on_stats"

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._waiting = bytearray()
        self._has_begun = False

    def event(self, name: str, body: bytes) -> None:
        """Send an event, now or with the next one."""
        self._waiting += frame(Kind.EVENT, body)
        if name in self._HELD or name == self._LAST:
            return
        if name == "verbose" and not self._has_begun:
            return
        self._has_begun = True
        self._send()

    def result(self, body: bytes) -> None:
        """Send how the run ended."""
        self._waiting += frame(Kind.RESULT, body)
        self._send()

    def _send(self) -> None:
        self._connection.sendall(self._waiting)
        self._waiting.clear()
