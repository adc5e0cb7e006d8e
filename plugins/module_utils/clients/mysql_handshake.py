# SPDX-License-Identifier: Apache-2.0
"""Ask servers of the MySQL protocol for a sign of life: they speak first."""

from __future__ import annotations

import ipaddress
import selectors
import socket
import time
from collections.abc import Mapping

_READ_BYTES = 5
"""The header of a packet and its first byte."""


def ungreeted(addresses: Mapping[str, tuple[str, int]], seconds: float) -> list[str]:
    """Return which servers did not send anything to a new connection in time, by name.

    All are asked at the same time. An error that a server sends, for instance that it has too many
    connections, is an answer.

    Args:
        addresses: IP address and port of each server by name.
        seconds: how long to wait for the answers.
    """
    deadline = time.monotonic() + seconds
    silent = set(addresses)
    sockets: dict[str, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        try:
            for name, (host, port) in addresses.items():
                found = _connecting(host, port)
                if found is not None:
                    sockets[name] = found
                    selector.register(found, selectors.EVENT_READ, name)
            while selector.get_map() and (left := deadline - time.monotonic()) > 0:
                for key, _events in selector.select(left):
                    if _has_spoken(sockets[key.data]):
                        silent.discard(key.data)
                    selector.unregister(key.fileobj)
        finally:
            for found in sockets.values():
                found.close()
    return sorted(silent)


def _connecting(host: str, port: int) -> socket.socket | None:
    """Return a socket that is being connected; None where there is no way to the host."""
    family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setblocking(False)
    try:
        found.connect((host, port))
    except BlockingIOError:
        return found
    except OSError:
        found.close()
        return None
    return found


def _has_spoken(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(_READ_BYTES))
    except OSError:
        return False
