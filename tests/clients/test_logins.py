# SPDX-License-Identifier: Apache-2.0
"""Which databases answer a login: on real sockets, all asked at the same time."""

import socket
import struct
import time
from contextlib import ExitStack

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.logins import (
    answering,
)

from tests.clients.matrixone.scripted import Handler, serving
from tests.clients.sql_server import OK, Server

_DENIED = b"\xff" + struct.pack("<H", 1045) + b"#28000Access denied for user"


def _admits(peer: socket.socket) -> None:
    server = Server(peer)
    server.greet()
    server.take()
    server.send(OK)
    server.serve()


def _refuses(peer: socket.socket) -> None:
    server = Server(peer)
    server.greet()
    server.take()
    server.send(_DENIED)


def _never_answers(peer: socket.socket) -> None:
    server = Server(peer)
    server.greet()
    server.take()
    peer.recv(1)


def _hangs_up(peer: socket.socket) -> None:
    Server(peer).greet()


def test_who_accepts_a_login_and_does_not_answer_it_is_told_from_who_cannot_be_reached() -> None:
    """A node that the operator has no way to says nothing about itself."""
    scripts: dict[str, Handler] = {
        "admits": _admits,
        "refuses": _refuses,
        "never-answers": _never_answers,
        "hangs-up": _hangs_up,
        "frozen": lambda peer: peer.recv(1) and None,
    }
    with socket.create_server(("127.0.0.1", 0)) as closed:
        absent = "127.0.0.1", int(closed.getsockname()[1])
    with ExitStack() as stack:
        ports = {name: stack.enter_context(serving(one)) for name, one in scripts.items()}
        asked = {name: ("127.0.0.1", int(at.split(":")[1])) for name, at in ports.items()}
        begun = time.monotonic()
        found = answering({**asked, "absent": absent}, 1.5)
        seconds = time.monotonic() - begun
    assert found == {
        "admits": True,
        "refuses": True,
        "never-answers": False,
        "hangs-up": False,
        "frozen": False,
    }
    assert seconds < 5


def test_nobody_is_asked_where_there_is_nobody() -> None:
    assert answering({}, 1.0) == {}
