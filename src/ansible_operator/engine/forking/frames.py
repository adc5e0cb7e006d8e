# SPDX-License-Identifier: Apache-2.0
"""The protocol between the runner, a template and its forks.

Control (runner and template): JSON messages over a SOCK_SEQPACKET pair, one message a packet; a
request to fork carries the fork's socket. Work (runner and fork): frames over a stream, a kind of
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
"""Bytes of a frame above which the other side is broken."""
LARGEST_PACKET = 64 * 1024


class Kind(enum.Enum):
    """What a frame holds."""

    JOB = b"J"
    """Runner to fork: what to do (``warm.job.Job``, or a call of admission functions)."""
    CHECK = b"C"
    """Runner to fork: a question to a check (``warm.check_plugins``)."""
    EVENT = b"E"
    """Fork to runner: one job event, JSON."""
    RESULT = b"R"
    """Fork to runner, last: the exit code or the answer."""


def frame(kind: Kind, body: bytes) -> bytes:
    """The bytes of a frame."""
    return HEADER.pack(kind.value, len(body)) + body


def packet(message: dict[str, Any]) -> bytes:
    """The bytes of a control message."""
    return json.dumps(message).encode()


def read_frame(connection: socket.socket) -> tuple[Kind, bytes]:
    """Read one frame, blocking.

    Raises:
        EOFError: the other side has closed the socket.
    """
    kind, length = HEADER.unpack(_read(connection, HEADER.size))
    return Kind(kind), _read(connection, length)


def _read(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        chunk = connection.recv(length - len(data))
        if not chunk:
            raise EOFError("the other side has closed the socket")
        data += chunk
    return bytes(data)
