# SPDX-License-Identifier: Apache-2.0
"""What can go wrong between this collection and a running MatrixOne.

Every message names the call and the address, then says what happened. What a peer sent is quoted
only where it is an error text of the database; bodies may hold SQL or credentials and never are.
"""

from __future__ import annotations


class MatrixOneError(Exception):
    """A call to MatrixOne did not do what was asked."""


class BadRequest(MatrixOneError):
    """The request was not sent: the database would store it unchecked or die of it."""


class Unreachable(MatrixOneError):
    """No connection: the name does not resolve, the port is closed, or the peer hung up."""


class TimedOut(MatrixOneError):
    """The deadline passed. A mutation may or may not have been applied."""


class NotLeader(MatrixOneError):
    """The store has no HAKeeper replica, or nobody knows where the leader is."""


class MalformedAnswer(MatrixOneError):
    """The peer sent something that is no answer: wrong checksum, length, type or encoding."""


class Refused(MatrixOneError):
    """The peer understood the call and answered with an error.

    Attributes:
        code: error code of the database.
        text: what the database said; empty for errors of its Raft library.
    """

    def __init__(self, message: str, code: int, text: str) -> None:
        super().__init__(message)
        self.code = code
        self.text = text


class UnknownStore(Refused):
    """HAKeeper does not know the store: not registered yet, expired, or gone."""


class NotNow(Refused):
    """A passing state: no quorum, shard not ready, store shutting down.

    Attributes:
        pause: seconds to wait at least before the same call is worth repeating.
    """

    def __init__(self, message: str, code: int, text: str, pause: float = 0.0) -> None:
        super().__init__(message, code, text)
        self.pause = pause


class Unsupported(Refused):
    """This release does not have the call."""
