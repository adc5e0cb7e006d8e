# SPDX-License-Identifier: Apache-2.0
"""A server that answers SQL gets no password, no more time than the deadline, and little memory.

Whoever has the Pods behind a cluster's Service chooses every byte of the exchange.
"""

import hashlib
import socket
import struct
import time
import tracemalloc
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients import (
    sql,
    sql_session,
)

from faults.peers.sql import refusal, result
from tests.clients.matrixone.scripted import serving
from tests.clients.sql_server import NATIVE, OK, SALT, Server

PASSWORD = "only-the-database-knows"
CLEAR = b"mysql_clear_password"
Script = Callable[[Server], None]


def attempt(script: Script, seconds: float = 3.0) -> tuple[sql.SqlError, float, bytes]:
    """Return the error of a login and a statement, how long it took, and what the server got."""
    received = bytearray()

    class Recorded(Server):
        def _exactly(self, count: int) -> bytes:
            data = super()._exactly(count)
            received.extend(data)
            return data

    with serving(lambda peer: script(Recorded(peer))) as address:
        entrance = sql.Entrance("127.0.0.1", int(address.split(":")[1]), "dump", PASSWORD)
        begun = time.monotonic()
        with pytest.raises(sql.SqlError) as caught:
            sql.run(entrance, [("select %s", ("x",))], seconds)
        return caught.value, time.monotonic() - begun, bytes(received)


def sha1(data: bytes) -> bytes:
    return hashlib.sha1(data).digest()  # noqa: S324 - the protocol's own


def native(challenge: bytes) -> bytes:
    first = sha1(PASSWORD.encode())
    second = sha1(challenge + sha1(first))
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


def answering(*answers: Sequence[bytes], heard: list[bytes] | None = None) -> Script:
    """Return a server that gives each question the next of some answers."""

    def script(peer: socket.socket) -> None:
        server = Server(peer)
        server.greet()
        server.take()
        server.send(OK)
        for answer in answers:
            while not (asked := server.take()[1:]).startswith(b"select"):
                server.number = 1
                server.send(OK)
            if heard is not None:
                heard.append(asked)
            server.number = 1
            for payload in answer:
                server.send(payload)

    return script


def test_an_error_tells_how_many_statements_were_answered_before_it() -> None:
    script = answering(result([["1"]]), result([["2"]]), [refusal(1146, b"no such table")])

    with serving(script) as address:
        entrance = sql.Entrance("127.0.0.1", int(address.split(":")[1]), "dump", PASSWORD)
        with pytest.raises(sql.SqlError) as caught:
            sql.ask_all(entrance, [(f"select {one}", ()) for one in (1, 2, 3)], 5)
    assert (caught.value.answered, caught.value.refused) == (2, True)
    assert caught.value.said().endswith("refused (error 1146): no such table")


def test_a_statement_depends_on_the_answers_before_it() -> None:
    """All of them in one session; what the conversation returns is returned."""
    heard: list[bytes] = []

    def talk() -> Generator[sql.Statement, sql.Rows, str]:
        [(number,)] = yield "select 1", ()
        rows = yield f"select {number}0", ()
        return f"{number} {rows[0][0]}"

    script = answering(result([["4"]]), result([["5"]]), heard=heard)
    with serving(script) as address:
        entrance = sql.Entrance("127.0.0.1", int(address.split(":")[1]), "dump", PASSWORD)
        assert sql.converse(entrance, talk(), 5) == "4 5"
    assert heard == [b"select 1", b"select 40"]


def test_a_conversation_ends_with_what_is_refused() -> None:
    def talk() -> Generator[sql.Statement, sql.Rows, None]:
        yield "select 1", ()
        yield "select 2", ()

    with serving(answering([refusal(1146, b"no such table")])) as address:
        entrance = sql.Entrance("127.0.0.1", int(address.split(":")[1]), "dump", PASSWORD)
        with pytest.raises(sql.SqlError) as caught:
            sql.converse(entrance, talk(), 5)
    assert (caught.value.refused, caught.value.words) == (True, "no such table")


@pytest.mark.parametrize("switches", [False, True])
def test_the_database_gets_the_answer_to_a_challenge(*, switches: bool) -> None:
    seen: list[bytes] = []

    def script(peer: socket.socket) -> None:
        server = Server(peer)
        server.greet()
        seen.append(server.take())
        if switches:
            server.switch(NATIVE, SALT[::-1] + b"\x00")
            seen.append(server.take())
        server.send(OK)
        server.serve()

    with serving(script) as address:
        entrance = sql.Entrance("127.0.0.1", int(address.split(":")[1]), "dump", PASSWORD)
        sql.run(entrance, [("select %s", ("x",))], 5)
        assert sql.accepts(entrance, 5)
    assert native(SALT) in seen[0]
    if switches:
        assert len(seen[1]) == len(native(SALT))


@pytest.mark.parametrize(
    "plugin",
    [
        CLEAR,
        b"dialog",
        b"sha256_password",
        b"caching_sha2_password",
        b"mysql_old_password",
        b"client_ed25519",
    ],
)
def test_a_switch_to_another_plugin_is_refused(plugin: bytes) -> None:
    def script(server: Server) -> None:
        server.greet()
        server.take()
        prompt = b"\x02Password: " if plugin == b"dialog" else SALT + b"\x00"
        server.switch(plugin, prompt)
        server.take()
        server.send(OK)

    error, took, received = attempt(script)
    assert "wants the password itself, and does not get it" in str(error)
    assert PASSWORD.encode() not in received
    assert PASSWORD not in str(error)
    assert took < 2  # it is not asked again


@pytest.mark.parametrize("plugin", [CLEAR, b"sha256_password", b"caching_sha2_password"])
def test_a_greeting_with_another_plugin_is_refused(plugin: bytes) -> None:
    def script(server: Server) -> None:
        server.greet(plugin)
        server.take()
        server.send(b"\x01\x04")
        server.take()

    error, _, received = attempt(script)
    assert "does not get it" in str(error)
    assert received == b""


def trickle(server: Server) -> None:
    """A byte at a time, each well within any timeout."""
    server.peer.sendall(b"\x00\x00\x08\x00")
    for _ in range(1000):
        server.peer.sendall(b"x")
        time.sleep(0.05)


def silent(server: Server) -> None:
    server.greet()
    server.take()
    server.peer.recv(1)


def endless_rows(server: Server) -> None:
    server.greet()
    server.take()
    server.send(OK)
    server.take()  # SET NAMES
    server.number = 1
    server.send(OK)
    server.take()
    server.number = 1
    server.send(b"\x01")
    column = b"\x03def" + b"\x00" * 3 + b"\x01a\x00\x0c" + struct.pack("<HIBHB2x", 45, 9, 253, 0, 0)
    server.send(column)
    server.send(b"\xfe\x00\x00\x02\x00")
    for _ in range(100_000):
        server.send(b"\x01x" * 500)


def large_packet(server: Server) -> None:
    server.peer.sendall(b"\xff\xff\xff\x00")
    server.peer.sendall(bytes(16 << 20))


@pytest.mark.parametrize("script", [trickle, silent])
def test_slowness_ends_with_the_deadline(script: Script) -> None:
    error, took, _ = attempt(script, 1.0)
    assert "cannot be reached" in str(error)
    assert took < 2


@pytest.mark.parametrize("script", [endless_rows, large_packet])
def test_large_answers_are_refused(script: Script) -> None:
    tracemalloc.start()
    error, took, _ = attempt(script, 2.0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "cannot be reached" in str(error)
    assert took < 6
    assert most < 40 << 20


@pytest.mark.parametrize(
    "payload",
    [b"", b"\x0a", b"\x0aMatrixOne\x00" + bytes(60), b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff"],
)
def test_what_is_no_greeting_is_an_error(payload: bytes) -> None:
    error, _, _ = attempt(lambda server: server.send(payload), 1.0)
    assert str(error).startswith("SQL at 127.0.0.1:")


def test_a_file_is_not_sent() -> None:
    def script(server: Server) -> None:
        server.greet()
        server.take()
        server.send(OK)
        server.serve(b"\xfb/etc/hostname")

    error, _, received = attempt(script)
    assert "does not speak" in str(error) or "cannot be reached" in str(error)
    assert Path("/etc/hostname").read_bytes().strip() not in received


def test_a_refused_login_is_told_from_other_trouble() -> None:
    def script(peer: socket.socket) -> None:
        server = Server(peer)
        server.greet()
        server.take()
        server.send(b"\xff" + struct.pack("<H", 1045) + b"#28000Access denied")

    with serving(script) as address:
        entrance = sql.Entrance("127.0.0.1", int(address.split(":")[1]), "dump", PASSWORD)
        assert not sql.accepts(entrance, 5)


@pytest.mark.parametrize(("final", "logins"), [(True, 1), (False, 2)])
def test_what_the_database_says_can_end_the_attempts(*, final: bool, logins: int) -> None:
    seen: list[str] = []

    def script(peer: socket.socket) -> None:
        seen.append("login")
        server = Server(peer)
        server.greet()
        server.take()
        server.send(b"\xff" + struct.pack("<H", 20101) + b"#HY000user is locked")

    with serving(script) as address:
        entrance = sql.Entrance("127.0.0.1", int(address.split(":")[1]), "dump", PASSWORD)
        with pytest.raises(sql.SqlError) as caught:
            sql.accepts(entrance, 4, lambda words: final and "locked" in words)
    assert (len(seen), caught.value.words) == (logins, "user is locked")
    assert "locked" not in str(caught.value)


def test_the_driver_has_the_hooks() -> None:
    """A release of the driver that renames what the session overrides must not go unnoticed."""
    for name in ("_get_server_information", "_process_auth", "_read_packet", "_read_bytes"):
        assert hasattr(sql_session.Connection, name)
        assert name in vars(sql_session.Session)
