# SPDX-License-Identifier: Apache-2.0
"""Requests to servers that users name: on real sockets; who is silent gets no more time."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.http_requests import (
    Answer,
    Endpoint,
    Request,
    ask,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.addresses import (
    Reach,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.deadlines import (
    Deadline,
)

OK = b"HTTP/1.1 200 OK\r\n"
GET = Request("GET")


@contextmanager
def server(*says: bytes, pause: float = 0.0, heard: list[bytes] | None = None) -> Iterator[str]:
    """Serve one connection with these words, with a pause before each; none accepts nobody.

    Args:
        says: parts of the answer; the connection stays open until the client closes it.
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
                    connection.settimeout(5)
                    connection.recv(1)

        if says:
            threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def asked(address: str, request: Request = GET, seconds: float = 5.0) -> Answer | None:
    endpoint = Endpoint.parse(address)
    return ask(endpoint, request, Deadline.after(seconds), Reach.MACHINE)


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ((OK, b"Content-Length: 2\r\n\r\nab"), Answer(200, b"ab")),
        ((OK, b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", b"0\r\n\r\n"), Answer(200, b"a")),
        ((b"HTTP/1.1 204 No Content\r\n\r\n",), Answer(204, b"")),
        ((b"HT", b"TP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n"), Answer(404, b"")),
        ((b"220 ftp.example.com ready\r\n",), None),
        ((OK, b"Content-Length: 70000\r\n\r\n", b"a" * 70000), None),
        ((OK, b"Content-Length: 9\r\n\r\n", b"a"), None),
    ],
    ids=["sized", "chunked", "empty", "in pieces", "no HTTP", "too long", "cut off"],
)
def test_what_is_read(says: tuple[bytes, ...], expected: Answer | None) -> None:
    with server(*says) as endpoint:
        assert asked(endpoint, seconds=0.5 if expected is None else 5.0) == expected


def test_an_answer_to_head_has_no_body_to_wait_for() -> None:
    with server(OK, b"Content-Length: 9\r\n\r\n") as endpoint:
        assert asked(endpoint, Request("HEAD")) == Answer(200, b"")


def test_a_server_that_stands_still_accepts_and_does_not_answer() -> None:
    with server() as endpoint:
        assert asked(endpoint, seconds=0.3) is None


def test_a_server_that_speaks_too_slowly_gets_no_more_time() -> None:
    with server(*(bytes([one]) for one in b"HTTP/1.1 200 OK\r\n\r\n"), pause=0.3) as endpoint:
        began = time.monotonic()
        assert asked(endpoint, seconds=0.5) is None
        assert time.monotonic() - began < 2.0


def test_a_server_that_is_away() -> None:
    with server() as endpoint:
        pass
    assert asked(endpoint) is None


@pytest.mark.parametrize(
    "endpoint", ["", "ftp://127.0.0.1", "http://", "http://[::1", "http://127.0.0.1:99999"]
)
def test_what_is_no_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(ValueError, match=r"host|port|http|bracket"):
        Endpoint.parse(endpoint)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3.example.com", Endpoint(True, "s3.example.com", 443)),
        ("s3.example.com:9000", Endpoint(True, "s3.example.com", 9000)),
        ("http://s3.example.com/below/it", Endpoint(False, "s3.example.com", 80)),
        ("http://[fd00::1]:9000", Endpoint(False, "fd00::1", 9000)),
    ],
)
def test_endpoints_as_users_write_them(text: str, expected: Endpoint) -> None:
    assert Endpoint.parse(text) == expected


def test_users_cannot_have_this_machine_asked() -> None:
    """A user names the endpoint; that of a cloud's credentials is out of reach likewise."""
    with server(OK, b"\r\n") as endpoint:
        assert ask(Endpoint.parse(endpoint), Request("HEAD"), Deadline.after(1.0)) is None


def test_a_login_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="secretRef") as refusal:
        Endpoint.parse("http://user:secret@minio:9000")
    assert "secret@" not in str(refusal.value)


@pytest.mark.parametrize("value", ["a\r\nHost: b", "a\nb", "\u00e9"])
def test_a_value_that_would_end_its_header_is_not_sent(value: str) -> None:
    heard: list[bytes] = []
    with server(OK, b"\r\n", heard=heard) as endpoint:
        assert asked(endpoint, Request("GET", headers={"X-One": value})) is None
    assert heard in ([], [b""])
