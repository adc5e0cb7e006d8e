# SPDX-License-Identifier: Apache-2.0
"""How the runner, the template and its forks talk.

Control (runner and template): JSON messages over a SOCK_SEQPACKET pair, one message a packet; a
request to fork carries the run's socket. Run (runner and fork): frames over a stream, a kind of
one byte and a length of four bytes (big endian) before the body. Standard library only: both the
runner and the template import this.
"""

import enum
import json
import socket
import struct
from typing import Any

HEADER = struct.Struct("!cI")
LARGEST_FRAME = 256 * 1024 * 1024
"""Bytes of a frame above which the other side must be mad."""
LARGEST_PACKET = 64 * 1024


class Kind(enum.Enum):
    """What a frame holds."""

    JOB = b"J"
    """Runner to fork: what to play (``Job``)."""
    REHEARSAL = b"P"
    """Runner to fork: play the warm-up, so that the first job finds everything at hand."""
    CHECK = b"C"
    """Runner to fork: what to ask a check (``checking``)."""
    EVENT = b"E"
    """Fork to runner: one job event, JSON."""
    RESULT = b"R"
    """Fork to runner: the exit code, the answer of a check or the end of a rehearsal; the last."""


def frame(kind: Kind, body: bytes) -> bytes:
    """The bytes of a frame."""
    return HEADER.pack(kind.value, len(body)) + body


class Outbox:
    """What a fork tells of a run; what the next event follows at once goes with that.

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
        """Tell of an event, now or with the next one."""
        self._waiting += frame(Kind.EVENT, body)
        if name in self._HELD or name == self._LAST:
            return
        if name == "verbose" and not self._has_begun:
            return
        self._has_begun = True
        self._send()

    def result(self, body: bytes) -> None:
        """Tell how it ended."""
        self._waiting += frame(Kind.RESULT, body)
        self._send()

    def _send(self) -> None:
        self._connection.sendall(self._waiting)
        self._waiting.clear()


def packet(message: dict[str, Any]) -> bytes:
    """The bytes of a control message."""
    return json.dumps(message).encode()


def read_frame(connection: socket.socket) -> tuple[Kind, bytes]:
    """Read one frame, blocking.

    Raises:
        EOFError: the other side has gone.
    """
    kind, length = HEADER.unpack(_read(connection, HEADER.size))
    return Kind(kind), _read(connection, length)


def _read(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        chunk = connection.recv(length - len(data))
        if not chunk:
            raise EOFError("the other side of the run's socket has gone")
        data += chunk
    return bytes(data)
