# SPDX-License-Identifier: Apache-2.0
"""Ports for what tests start."""

from testbed.ports import choose_ports

_given: set[int] = set()


def free_port() -> int:
    """A port on which nobody listens, that Linux gives to no outgoing connection; each only once."""
    port = choose_ports(["test"], _given)["test"]
    _given.add(port)
    return port
