# SPDX-License-Identifier: Apache-2.0
"""A service at a fixed address: connects on first use, and again after a failure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final, Self

from .addresses import Address, Reach
from .connection import Connection, Protocol
from .deadlines import Deadline
from .protobuf import Values

_CONNECT_SECONDS: Final = 3.0
CALL_SECONDS: Final = 5.0
"""Longer than the two seconds in which a server gives up, shorter than what its pings allow."""


class Peer:
    """Base of the clients of one service; a context manager that closes the connection.

    Nothing is repeated here: the answer of a call that failed is unknown, and who called knows
    whether asking again is safe.
    """

    protocol: Protocol

    def __init__(self, address: str, reach: Reach = Reach.NETWORK) -> None:
        """Connect to nothing yet.

        Args:
            address: ``host:port``.
            reach: what is dialled; more than the default only for an address that no peer named.

        Raises:
            Unreachable: the text is no address.
        """
        self._address = Address.parse(address)
        self._reach = reach
        self._connection: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        """Where the service is, for messages."""
        return str(self._address)

    def close(self) -> None:
        """Close the connection, if there is one; the next call connects again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def title(self, method: IntEnum) -> str:
        """Return what a call and its target are called in messages."""
        return f"{self.protocol.name} {method.name} at {self.address}"

    def exchange(self, method: IntEnum, values: Mapping[str, Any], deadline: Deadline) -> Values:
        """Make a call and return its answer, which may be a refusal.

        Raises:
            MatrixOneError: there is no answer.
        """
        connection = self._connection
        if connection is None or not connection.usable:
            within = deadline.within(_CONNECT_SECONDS)
            connection = Connection.open(self.protocol, self._address, within, self._reach)
            self._connection = connection
        within = deadline.within(CALL_SECONDS)
        return connection.call(method, method.name, values, within)
