# SPDX-License-Identifier: Apache-2.0
"""Logins over TLS: who is trusted, and that there is no way around."""

import base64
import datetime
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients import sql

from tests.clients.matrixone.scripted import serving
from tests.clients.sql_server import OK, Server
from tests.support.certificates import Authority

AUTHORITY, OTHER = Authority(), Authority()
PASSWORD = "only-the-database-knows"


def pem(data: dict[str, str], name: str = "tls.crt") -> str:
    return base64.b64decode(data[name]).decode()


OURS = AUTHORITY.secret()
OLD = AUTHORITY.secret(valid=-datetime.timedelta(hours=1))


@contextmanager
def database(folder: Path, data: dict[str, str] | None, received: bytearray) -> Iterator[int]:
    """Serve SQL with a certificate; without one, offer no TLS. Yield the port."""
    context = None
    if data is not None:
        for name in ("tls.crt", "tls.key"):
            (folder / name).write_text(pem(data, name))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")

    def script(peer: socket.socket) -> None:
        server = Server(peer)
        server.greet(tls=context is not None)
        if context is not None:
            server.secure(context)
        received.extend(server.take())
        server.send(OK)
        server.serve()

    with serving(script) as address:
        yield int(address.rpartition(":")[2])


@pytest.mark.parametrize(
    ("data", "trusted", "said"),
    [
        (OURS, pem(OURS), ""),
        (OURS, AUTHORITY.certificate.decode(), ""),
        (OURS, pem(OURS) + AUTHORITY.certificate.decode(), ""),
        (OURS, pem(AUTHORITY.secret()), "is not trusted, or speaks no TLS: unable to get local"),
        (OURS, OTHER.certificate.decode(), "is not trusted, or speaks no TLS"),
        (OLD, pem(OLD), "is not trusted, or speaks no TLS: certificate has expired"),
        (OURS, "no certificate", "is not trusted, or speaks no TLS"),
        (None, pem(OURS), "offers no TLS"),
    ],
)
def test_who_does_not_prove_what_it_is_gets_no_login(
    tmp_path: Path, data: dict[str, str] | None, trusted: str, said: str
) -> None:
    received = bytearray()
    with database(tmp_path, data, received) as port:
        entrance = sql.Entrance("127.0.0.1", port, "dump", PASSWORD, trusted)
        if not said:
            assert sql.ask(entrance, sql.LIVENESS, 3) == [("1",)]
            assert b"dump" in received
            return
        with pytest.raises(sql.SqlError) as caught:
            sql.ask(entrance, sql.LIVENESS, 3)
    assert said in str(caught.value)
    assert caught.value.refused is False
    assert received == b""


def test_without_a_certificate_to_trust_there_is_no_attempt_at_tls(tmp_path: Path) -> None:
    """PyMySQL 1.2 would make one, without verification."""
    received = bytearray()

    def script(peer: socket.socket) -> None:
        server = Server(peer)
        server.greet(tls=True)
        received.extend(server.take())
        server.send(OK)
        server.serve()

    with serving(script) as address:
        port = int(address.rpartition(":")[2])
        assert sql.ask(sql.Entrance("127.0.0.1", port, "dump", PASSWORD), sql.LIVENESS, 3)
    assert b"dump" in received
