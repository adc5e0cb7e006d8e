# SPDX-License-Identifier: Apache-2.0
"""Ask a server of HTTP for a sign of life, such as an object store; it gets no credentials."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
from typing import Final
from urllib.parse import urlsplit

from .matrixone.addresses import Address, Reach, resolve
from .matrixone.deadlines import Deadline
from .matrixone.errors import MatrixOneError

_PORTS: Final = {"http": 80, "https": 443}
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})")
_STATUS_BYTES: Final = len(b"HTTP/1.1 200")
_SERVER_ERROR: Final = b"500"


def answers(endpoint: str, seconds: float, reach: Reach = Reach.NETWORK) -> bool:
    """Return whether a server answers a request in time, be it with a refusal.

    An answer with a status of 500 or more, such as that of a gateway whose server is away, is none.
    Certificates are not checked: nothing is sent that is worth protecting.

    Args:
        endpoint: URL, or host and port for HTTPS.
        seconds: for everything, the resolution of its name included.
        reach: which addresses may be asked; users name the endpoint.
    """
    deadline = Deadline.after(seconds)
    try:
        parts = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        for family, target in resolve(Address(host, port), deadline, reach):
            tls = parts.scheme == "https"
            if _answers(family, target, host if tls else "", _named(parts.netloc), deadline):
                return True
    except (MatrixOneError, OSError, ValueError, KeyError):
        pass
    return False


def _named(netloc: str) -> str:
    """Return host and port of an address; a user and a password before them are not sent."""
    return netloc.rpartition("@")[2]


def _answers(
    family: socket.AddressFamily,
    target: tuple[str, int],
    tls_name: str,
    host: str,
    deadline: Deadline,
) -> bool:
    with contextlib.ExitStack() as opened:
        connection = opened.enter_context(socket.socket(family, socket.SOCK_STREAM))
        try:
            connection.settimeout(deadline.require("connecting"))
            connection.connect(target)
            if tls_name:
                connection = opened.enter_context(
                    _unverified().wrap_socket(connection, server_hostname=tls_name)
                )
            request = f"HEAD / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            connection.settimeout(deadline.require("asking"))
            connection.sendall(request.encode("ascii"))
            found = _STATUS.match(_start_of_answer(connection, deadline))
        except (MatrixOneError, OSError):
            return False
    return found is not None and found.group(1) < _SERVER_ERROR


def _start_of_answer(connection: socket.socket, deadline: Deadline) -> bytes:
    """Return the first bytes; a server that sends them one by one does not get more time."""
    found = b""
    while len(found) < _STATUS_BYTES:
        connection.settimeout(deadline.require("reading"))
        part = connection.recv(_STATUS_BYTES - len(found))
        if not part:
            break
        found += part
    return found


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
