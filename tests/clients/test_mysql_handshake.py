# SPDX-License-Identifier: Apache-2.0
"""Which servers greet a new connection: on real sockets, all asked at the same time."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.mysql_handshake import (
    ungreeted,
)

GREETING = bytes([74, 0, 0, 0, 10]) + b"8.0.30"
REFUSAL = bytes([23, 0, 0, 0, 255]) + b"too many connections"


class Servers:
    """Servers on the loopback interface that end with the test."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def start(self, says: bytes | None, after: float = 0.0) -> tuple[str, int]:
        """Start one; None never accepts, as a frozen process: the kernel still does."""
        listening = self._stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        if says is not None:
            threading.Thread(target=_serve, args=(listening, says, after), daemon=True).start()
        return "127.0.0.1", int(listening.getsockname()[1])


def _serve(listening: socket.socket, says: bytes, after: float) -> None:
    connection, _address = listening.accept()
    with connection:
        time.sleep(after)
        connection.sendall(says)


@pytest.fixture
def servers() -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack)


def test_frozen_and_absent_servers_are_named_and_others_are_not(servers: Servers) -> None:
    gone = servers.start(b"")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        absent = "127.0.0.1", int(closed.getsockname()[1])
    asked = {
        "greets": servers.start(GREETING),
        "slow": servers.start(GREETING, after=0.2),
        "refuses": servers.start(REFUSAL),
        "frozen": servers.start(None),
        "hangs-up": gone,
        "absent": absent,
    }

    started = time.monotonic()
    found = ungreeted(asked, 1.0)

    assert found == ["absent", "frozen", "hangs-up"]
    assert time.monotonic() - started < 1.5


def test_it_ends_as_soon_as_all_have_answered(servers: Servers) -> None:
    started = time.monotonic()
    assert ungreeted({"greets": servers.start(GREETING)}, 30.0) == []
    assert time.monotonic() - started < 5


def test_nobody_is_asked_where_there_is_nobody() -> None:
    assert ungreeted({}, 1.0) == []
