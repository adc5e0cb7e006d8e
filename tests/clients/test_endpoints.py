# SPDX-License-Identifier: Apache-2.0
"""Which object stores answer: on real sockets; who is silent, or fails, does not."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.endpoints import (
    answers,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.addresses import (
    Reach,
)


@contextmanager
def server(*says: bytes, pause: float = 0.0, heard: list[bytes] | None = None) -> Iterator[str]:
    """Serve one connection with these words, with a pause before each; none accepts nobody.

    Args:
        says: parts of the answer.
        pause: seconds.
        heard: gets what the client sent.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):  # it may be closed, or its client gone
                connection, _address = listening.accept()
                with connection:
                    request = connection.recv(4096)
                    if heard is not None:
                        heard.append(request)
                    for part in says:
                        time.sleep(pause)
                        connection.sendall(part)

        if says:
            threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def asked(endpoint: str, seconds: float = 5.0) -> bool:
    return answers(endpoint, seconds, Reach.MACHINE)


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ((b"HTTP/1.1 200 OK\r\n\r\n",), True),
        ((b"HTTP/1.1 403 Forbidden\r\n\r\n",), True),
        ((b"HT", b"TP/1.0 404 Not Found\r\n\r\n"), True),
        ((b"HTTP/1.1 500 Internal Server Error\r\n\r\n",), False),
        ((b"HTTP/1.1 503 Service Unavailable\r\n\r\n",), False),
        ((b"220 ftp.example.com ready\r\n",), False),
        ((b"",), False),
    ],
)
def test_what_counts_as_an_answer(says: tuple[bytes, ...], expected: bool) -> None:
    with server(*says) as endpoint:
        assert asked(endpoint) is expected


def test_a_server_that_stands_still_accepts_and_does_not_answer() -> None:
    with server() as endpoint:
        assert not asked(endpoint, 0.3)


def test_a_server_that_speaks_too_slowly_gets_no_more_time() -> None:
    with server(*(bytes([one]) for one in b"HTTP/1.1 200 OK"), pause=0.3) as endpoint:
        assert not asked(endpoint, 0.5)


def test_a_server_that_is_away() -> None:
    with server() as endpoint:
        pass
    assert not asked(endpoint)


@pytest.mark.parametrize(
    "endpoint", ["", "ftp://127.0.0.1", "http://", "http://[::1", "http://127.0.0.1:99999"]
)
def test_what_is_no_endpoint_does_not_answer(endpoint: str) -> None:
    assert not asked(endpoint)


def test_users_cannot_have_this_machine_asked() -> None:
    """A user names the endpoint; that of a cloud's credentials is out of reach likewise."""
    with server(b"HTTP/1.1 200 OK\r\n\r\n") as endpoint:
        assert not answers(endpoint, 1.0)


def test_a_login_in_the_address_is_not_sent() -> None:
    heard: list[bytes] = []
    with server(b"HTTP/1.1 200 OK\r\n\r\n", heard=heard) as endpoint:
        address = endpoint.removeprefix("http://")
        assert asked(f"http://user:secret@{address}")
    assert heard == [f"HEAD / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode()]
