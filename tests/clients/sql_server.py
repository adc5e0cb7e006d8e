# SPDX-License-Identifier: Apache-2.0
"""The server's side of the SQL protocol, as a script tells it."""

import socket
import ssl
import struct

from faults.peers.sql import OK, result

NATIVE = b"mysql_native_password"
SALT = bytes(range(1, 21))

__all__ = ["NATIVE", "OK", "SALT", "Server"]
_TLS = 0x0800
_CAPABILITIES = 0x001FF7FF & ~_TLS
_HEADER = 4


class Server:
    """Speaks as a script tells it, and keeps all bytes that it gets."""

    def __init__(self, peer: socket.socket, number: int = 0) -> None:
        self.peer, self.number = peer, number

    def send(self, payload: bytes) -> None:
        length = struct.pack("<I", len(payload))[:3]
        self.peer.sendall(length + bytes([self.number % 256]) + payload)
        self.number += 1

    def take(self) -> bytes:
        header = self._exactly(_HEADER)
        self.number = header[3] + 1
        return self._exactly(int.from_bytes(header[:3], "little"))

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.peer.recv(count - len(data))
            if not more:
                raise ConnectionError
            data += more
        return data

    def greet(self, plugin: bytes = NATIVE, *, tls: bool = False) -> None:
        offered = _CAPABILITIES | (_TLS if tls else 0)
        low, high = offered & 0xFFFF, offered >> 16
        self.send(
            b"\x0a8.0.30-MatrixOne\x00"
            + struct.pack("<I", 7)
            + SALT[:8]
            + struct.pack("<xHBHHB10x", low, 45, 2, high, 21)
            + SALT[8:]
            + b"\x00"
            + plugin
            + b"\x00"
        )

    def secure(self, context: ssl.SSLContext) -> None:
        """Take the request for TLS, and do the handshake."""
        self.take()
        self.peer = context.wrap_socket(self.peer, server_side=True)

    def switch(self, plugin: bytes, data: bytes = SALT + b"\x00") -> None:
        self.send(b"\xfe" + plugin + b"\x00" + data)

    def serve(self, answer: bytes | None = None) -> None:
        """Answer every statement of a session the same: a row, and settings with OK, by default."""
        while asked := self.take():
            self.number = 1
            is_setting = asked[1:].upper().startswith(b"SET")
            usual = [OK] if is_setting else result([["1"]])
            for payload in usual if answer is None else [answer]:
                self.send(payload)
