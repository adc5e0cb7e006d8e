# SPDX-License-Identifier: Apache-2.0
"""Addresses as HAKeeper and users write them, and their resolution within a deadline."""

from __future__ import annotations

import ipaddress
import os
import queue
import re
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from .deadlines import Deadline
from .errors import TimedOut, Unreachable
from .texts import shown

_SCHEMES = ("tcp://", "tcp4://", "tcp6://")
_HOST: Final = re.compile(r"[A-Za-z0-9._:%-]{1,255}")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_API_SERVER: Final = "KUBERNETES_SERVICE_HOST"
"""Where the kubelet puts the API server's address."""
_NO_HOST: Final = (ipaddress.ip_network("0.0.0.0/8"), ipaddress.ip_network("240.0.0.0/4"))
_Target = tuple[socket.AddressFamily, tuple[str, int]]


class Reach(Enum):
    """What is dialled."""

    NETWORK = "network"
    """Addresses that a peer may name: none of this machine, of its link (there clouds serve their
    credentials), of many machines, of no machine, and not the API server's."""
    MACHINE = "machine"
    """This machine, too: for addresses that whoever runs this client has given."""


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
        is_right = _HOST.fullmatch(host) and _PORT.fullmatch(port)
        if not is_right or not 0 < int(port) < 1 << 16:
            raise Unreachable(f"'{shown(text, 100)}' is no address of the form host:port")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _look_up(address: Address) -> list[_Target]:
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return [(entry[0], (str(entry[4][0]), int(entry[4][1]))) for entry in found]


def _is_elsewhere(target: str) -> bool:
    """Tell whether an address is one that a peer may name."""
    host = ipaddress.ip_address(target.partition("%")[0])
    found = getattr(host, "ipv4_mapped", None) or host
    return not (
        found.is_loopback
        or found.is_link_local
        or found.is_multicast
        or found.is_unspecified
        or any(found in network for network in _NO_HOST if found.version == network.version)
        or str(found) == os.environ.get(_API_SERVER, "")
    )


def _within(reach: Reach, address: Address, found: Iterable[_Target]) -> list[_Target]:
    targets = list(found)
    if reach is Reach.MACHINE:
        return targets
    kept = [target for target in targets if _is_elsewhere(target[1][0])]
    if targets and not kept:
        raise Unreachable(
            f"{address} is not dialled: a peer has named it, and it is an address of this machine, "
            "of its link, of no single machine, or of the API server"
        )
    return kept


def resolve(address: Address, deadline: Deadline, reach: Reach = Reach.NETWORK) -> list[_Target]:
    """Return where to connect to, in the resolver's order.

    The resolver has time limits of its own, longer than ours, and cannot be interrupted: it works
    in a thread that is left behind when the deadline passes.

    Raises:
        Unreachable: the name does not resolve, or only to what is out of reach.
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
    return _within(reach, address, answer)
