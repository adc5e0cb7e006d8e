# SPDX-License-Identifier: Apache-2.0
"""Ports and address ranges that nothing on the machine uses."""

import random
import socket
from collections.abc import Collection, Iterable
from pathlib import Path

from testbed.errors import RequirementError

# Below the ports that Linux gives to outgoing connections (32768 and up), so that a chosen port is
# not taken by chance between choosing and listening.
_FIRST_PORT = 21000
_LAST_PORT = 31999
_FIRST_SUBNET = 120
_LAST_SUBNET = 219


def is_free(port: int, address: str = "127.0.0.1") -> bool:
    """Return whether a server could listen on the port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def _shuffled(first: int, last: int) -> list[int]:
    """Return the numbers in random order: others, who keep other records, choose meanwhile."""
    return random.sample(range(first, last + 1), last - first + 1)


def choose_ports(purposes: Iterable[str], taken: Collection[int]) -> dict[str, int]:
    """Give each purpose a free port.

    Args:
        purposes: what the ports are for.
        taken: ports that other test beds have reserved, listening or not.

    Raises:
        RequirementError: the range is used up.
    """
    chosen: dict[str, int] = {}
    candidates = iter(_shuffled(_FIRST_PORT, _LAST_PORT))
    for purpose in purposes:
        for port in candidates:
            # All addresses are probed: a server on 0.0.0.0 would shadow one on 127.0.0.1.
            if port not in taken and is_free(port, ""):
                chosen[purpose] = port
                break
        else:
            raise RequirementError(
                f"no free TCP port between {_FIRST_PORT} and {_LAST_PORT}: end what listens there"
            )
    return chosen


def _routed_networks(table: str) -> list[tuple[int, int]]:
    networks = []
    for line in table.splitlines()[1:]:
        fields = line.split()
        # The kernel prints the bytes of an address as a number of the machine's own byte order.
        network, mask = (socket.ntohl(int(fields[column], 16)) for column in (1, 7))
        if mask:
            networks.append((network, mask))
    return networks


def choose_subnet(taken: Collection[int], table: str | None = None) -> int:
    """Return the second octet of a 10.x.0.0/16 that neither a route nor a test bed uses.

    Args:
        taken: second octets that other test beds have reserved.
        table: content of ``/proc/net/route``; read when left out.

    Raises:
        RequirementError: all ranges are in use.
    """
    routes = _routed_networks(Path("/proc/net/route").read_text() if table is None else table)
    for octet in _shuffled(_FIRST_SUBNET, _LAST_SUBNET):
        network = (10 << 24) | (octet << 16)
        overlaps = any((network ^ route) & mask & 0xFFFF0000 == 0 for route, mask in routes)
        if octet not in taken and not overlaps:
            return octet
    raise RequirementError(
        f"no free network between 10.{_FIRST_SUBNET}.0.0/16 and 10.{_LAST_SUBNET}.0.0/16: "
        "take down a test bed"
    )
