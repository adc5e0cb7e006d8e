# SPDX-License-Identifier: Apache-2.0
"""Ports for what tests start."""

from testbed.ports import choose_ports


def free_port() -> int:
    """A port on which nobody listens, and that Linux gives to no outgoing connection."""
    return choose_ports(["test"], ())["test"]
