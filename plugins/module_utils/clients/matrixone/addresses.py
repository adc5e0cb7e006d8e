# SPDX-License-Identifier: Apache-2.0
"""Addresses as HAKeeper and users write them, and their resolution within a deadline."""

from __future__ import annotations

import queue
import socket
import threading
from dataclasses import dataclass

from .deadlines import Deadline
from .errors import TimedOut, Unreachable

_SCHEMES = ("tcp://", "tcp4://", "tcp6://")
_Target = tuple[socket.AddressFamily, tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read ``host:port``, with brackets around an IPv6 address.

        Raises:
            Unreachable: the text is no such address; an unset address is an empty text.
        """
        plain = text
        for scheme in _SCHEMES:
            plain = plain.removeprefix(scheme)
        host, _colon, port = plain.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise Unreachable(f"{text!r} is no address of the form host:port")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _look_up(address: Address) -> list[_Target]:
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return [(entry[0], (str(entry[4][0]), int(entry[4][1]))) for entry in found]


def resolve(address: Address, deadline: Deadline) -> list[_Target]:
    """Return where to connect to, in the resolver's order.

    The resolver has time limits of its own, longer than ours, and cannot be interrupted: it works
    in a thread that is left behind when the deadline passes.

    Raises:
        Unreachable: the name does not resolve.
        TimedOut: the resolver does not answer in time.
    """
    answers: queue.SimpleQueue[list[_Target] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_look_up(address))
        except (OSError, UnicodeError) as error:
            answers.put(error if isinstance(error, OSError) else OSError(str(error)))

    left = deadline.require(f"resolving {address.host}")
    threading.Thread(target=ask, name=f"resolve {address.host}", daemon=True).start()
    try:
        answer = answers.get(timeout=left)
    except queue.Empty:
        raise TimedOut(f"resolving {address.host}: no answer in time") from None
    if isinstance(answer, OSError):
        raise Unreachable(f"resolving {address.host}: {answer.strerror or answer}") from answer
    return answer
