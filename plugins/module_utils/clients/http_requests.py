# SPDX-License-Identifier: Apache-2.0
"""One request to a server of HTTP that users name: bounded in time, in bytes, and in its reach.

Certificates are not checked: nothing is sent that is worth protecting. urllib3 resolves names
itself and bounds single reads; here the address that was allowed is the one that is asked, and one
deadline and one number of bytes hold for the whole, headers included.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..location import endpoints
from ..location.errors import InvalidLocation
from .matrixone.addresses import Address, Reach, resolve
from .matrixone.deadlines import Deadline
from .matrixone.errors import MatrixOneError

_PORTS: Final = {"http": 80, "https": 443}
_MOST_BYTES: Final = 64 << 10
"""Of an answer with its headers; what is asked for here is answered in less than 2 KiB."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked.

    Attributes:
        method: such as ``HEAD``.
        target: path and query, encoded.
        headers: besides Host, Connection and Content-Length.
        body: what is sent.
    """

    method: str
    target: str = "/"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said.

    Attributes:
        status: of HTTP.
        body: not longer than 64 KiB.
    """

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server.

    Attributes:
        tls: whether it is spoken to over TLS.
        host: its name or address.
        port: where it listens.
    """

    tls: bool
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Endpoint:
        """Read an endpoint, of which the path is ignored; without a scheme it is HTTPS.

        Raises:
            ValueError: it is none.
        """
        try:
            endpoint = endpoints.Endpoint.parse(text)
        except InvalidLocation as error:
            raise ValueError(str(error)) from error
        return cls(endpoint.scheme == "https", endpoint.host, endpoint.port)

    @property
    def authority(self) -> str:
        """What the header Host says: the port is left out where it is the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = _PORTS["https" if self.tls else "http"]
        return host if self.port == usual else f"{host}:{self.port}"


def ask(
    endpoint: Endpoint, request: Request, deadline: Deadline, reach: Reach = Reach.NETWORK
) -> Answer | None:
    """Return the answer of a server, at the first of its addresses that gives one; or None.

    Args:
        endpoint: of the server.
        request: what is asked.
        deadline: for everything, the resolution of its name included.
        reach: which addresses may be asked; users name the endpoint.
    """
    try:
        for family, target in resolve(Address(endpoint.host, endpoint.port), deadline, reach):
            if answer := _ask(family, target, endpoint, request, deadline):
                return answer
    except (MatrixOneError, OSError):
        pass
    return None


def _ask(
    family: socket.AddressFamily,
    target: tuple[str, int],
    endpoint: Endpoint,
    request: Request,
    deadline: Deadline,
) -> Answer | None:
    with contextlib.ExitStack() as opened:
        connection = opened.enter_context(socket.socket(family, socket.SOCK_STREAM))
        try:
            connection.settimeout(deadline.require("connecting"))
            connection.connect(target)
            if endpoint.tls:
                connection = opened.enter_context(
                    _unverified().wrap_socket(connection, server_hostname=endpoint.host)
                )
            connection.settimeout(deadline.require("asking"))
            connection.sendall(_written(endpoint, request))
            return _read(connection, request.method, deadline)
        except (MatrixOneError, OSError, ValueError, http.client.HTTPException):
            return None


def _written(endpoint: Endpoint, request: Request) -> bytes:
    headers = {
        "Host": endpoint.authority,
        "Connection": "close",
        **({"Content-Length": str(len(request.body))} if request.method != "HEAD" else {}),
        **request.headers,
    }
    lines = [f"{request.method} {request.target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any(not line.isprintable() for line in lines):
        raise ValueError("a header has a character that would end it")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii") + request.body


def _read(connection: socket.socket, method: str, deadline: Deadline) -> Answer:
    stream: Any = _Stream(connection, deadline)
    response = http.client.HTTPResponse(stream, method=method)
    response.begin()
    return Answer(response.status, response.read())


class _Stream(io.RawIOBase):
    """What a server sends; one that sends it byte by byte does not get more time."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        super().__init__()
        self._connection = connection
        self._deadline = deadline
        self._left = _MOST_BYTES

    def makefile(self, *_arguments: Any, **_options: Any) -> io.BufferedReader:
        """Return what the standard library reads an answer from."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._left <= 0:
            raise OSError("the answer is too long")
        self._connection.settimeout(self._deadline.require("reading"))
        count = self._connection.recv_into(memoryview(buffer)[: self._left])
        self._left -= count
        return count


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
