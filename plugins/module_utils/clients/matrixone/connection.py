# SPDX-License-Identifier: Apache-2.0
"""One connection to one service of MatrixOne: a request out, the answer with its number back.

A connection that failed in any way is closed and never used again: what might still arrive on it
belongs to a call that has been given up.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .addresses import Address, Reach, resolve
from .deadlines import Deadline
from .decoding import decode
from .errors import MalformedAnswer, MatrixOneError, TimedOut, Unreachable
from .framing import Flag, Frame, FrameBuffer, encode_frame
from .protobuf import Message, Values, encode

_CHUNK: Final = 1 << 16
_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Protocol:
    """What one kind of service speaks.

    Attributes:
        name: the service, for messages.
        request: table of all requests.
        response: table of all responses.
        method: name of the field that says which call it is.
        flags: flags of every frame.
    """

    name: str
    request: Message
    response: Message
    method: str
    flags: Flag


def _connect(address: Address, deadline: Deadline, reach: Reach) -> socket.socket:
    """Connect to the first of a name's addresses that answers."""
    problem: OSError | None = None
    for family, target in resolve(address, deadline, reach):
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(deadline.require(f"connecting to {address}"))
            sock.connect(target)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            sock.close()
            problem = error
        except TimedOut:
            sock.close()
            raise
        else:
            return sock
    if isinstance(problem, TimeoutError):
        raise TimedOut(f"connecting to {address}: no answer in time") from problem
    reason = problem.strerror or problem if problem else "the name has no address"
    raise Unreachable(f"connecting to {address}: {reason}") from problem


class Connection:
    """A connection to a service; a context manager that closes it.

    Attributes:
        address: the service's address.
        usable: whether another call can be made.
    """

    def __init__(self, protocol: Protocol, sock: socket.socket, address: Address) -> None:
        self.address = address
        self.usable = True
        self._protocol = protocol
        self._socket = sock
        self._buffer = FrameBuffer()
        self._last_id = 0

    @classmethod
    def open(
        cls,
        protocol: Protocol,
        address: Address,
        deadline: Deadline,
        reach: Reach = Reach.NETWORK,
    ) -> Connection:
        """Connect.

        Raises:
            Unreachable: the name does not resolve, is out of reach, or nothing listens.
            TimedOut: nobody answers in time.
        """
        return cls(protocol, _connect(address, deadline, reach), address)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; no call can be made any more."""
        self.usable = False
        self._socket.close()

    def call(
        self, method: int, title: str, values: Mapping[str, Any], deadline: Deadline
    ) -> Values:
        """Send a request and return the response that carries its number.

        Args:
            method: number of the call.
            title: the call, for messages.
            values: the request without its number and its method.
            deadline: when to give up; the server is told as well.

        Raises:
            Unreachable: the peer has closed the connection.
            TimedOut: no answer came in time.
            MalformedAnswer: what came is no answer.
            BadRequest: the request cannot be encoded; nothing was sent.
        """
        what = f"{self._protocol.name} {title} at {self.address}"
        if not self.usable:
            raise Unreachable(f"{what}: the connection is closed")
        self._last_id += 1
        request = {**values, "RequestID": self._last_id, self._protocol.method: method}
        body = encode(self._protocol.request, request)
        try:
            self._send(body, deadline, what)
            answer = self._receive(self._last_id, deadline, what)
            self._require_method(answer, method)
        except MalformedAnswer as error:
            self.close()
            raise MalformedAnswer(f"{what}: {error}") from error
        except MatrixOneError:
            self.close()
            raise
        return answer

    def _require_method(self, answer: Values, method: int) -> None:
        if answer.get(self._protocol.method, 0) != method:
            raise MalformedAnswer("the answer belongs to another call")

    def _send(self, body: bytes, deadline: Deadline, what: str) -> None:
        left = deadline.require(what)
        frame = Frame(self._protocol.flags, body, timeout=max(1, int(left * _NANOSECONDS)))
        with self._translated(what):
            self._socket.settimeout(left)
            self._socket.sendall(encode_frame(frame))

    def _receive(self, request_id: int, deadline: Deadline, what: str) -> Values:
        """Read until the answer is there; answers to others were given up and are dropped."""
        while True:
            left = deadline.require(what)
            with self._translated(what):
                self._socket.settimeout(left)
                data = self._socket.recv(_CHUNK)
            if not data:
                raise Unreachable(f"{what}: the peer closed the connection")
            try:
                answer = self._answer_in(data, request_id, deadline)
            except TimedOut as error:
                raise TimedOut(f"{what}: {error}") from error
            if answer is not None:
                return answer

    def _answer_in(self, data: bytes, request_id: int, deadline: Deadline) -> Values | None:
        """Return the answer that is complete with these bytes, if one is."""
        for frame in self._buffer.feed(data, deadline):
            if frame.flags & (Flag.PING | Flag.PONG | Flag.STREAM):
                continue
            answer = decode(self._protocol.response, frame.body, deadline)
            if answer.get("RequestID", 0) == request_id:
                return answer
        return None

    @contextlib.contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise TimedOut(f"{what}: no answer in time") from error
        except OSError as error:
            raise Unreachable(f"{what}: {error.strerror or error}") from error
