# SPDX-License-Identifier: Apache-2.0
"""A server that answers what a test tells it: for answers that no MatrixOne would ever give."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    decoding,
    framing,
    protobuf,
    tables,
)

Handler = Callable[[socket.socket], None]
LARGEST = 1 << 20


def request(
    peer: socket.socket, message: protobuf.Message = tables.logservice.REQUEST
) -> protobuf.Values:
    """Read one request, of the log service by default; an empty dict when the peer is gone."""
    buffer = framing.FrameBuffer()
    while data := peer.recv(LARGEST):
        for frame in buffer.feed(data):
            return decoding.decode(message, frame.body)
    return {}


def answer(values: protobuf.Values, flags: int = 7) -> bytes:
    """Return the frame of a response."""
    body = protobuf.encode(tables.logservice.RESPONSE, values)
    return framing.encode_frame(framing.Frame(framing.Flag(flags), body, timeout=10**9))


def fitting(asked: protobuf.Values, **values: object) -> bytes:
    """Return the frame of a good answer to a request."""
    numbers = {name: asked[name] for name in ("RequestID", "Method")}
    return answer({**numbers, "LogResponse": {}, **values})


@contextmanager
def serving(*handlers: Handler) -> Iterator[str]:
    """Listen on loopback; each connection is given to the next handler, then they are closed.

    The last handler serves all further connections.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    open_sockets: list[socket.socket] = [listener]
    threads: list[threading.Thread] = []

    def handle(peer: socket.socket, handler: Handler) -> None:
        try:
            handler(peer)
        except OSError:
            return

    def accept() -> None:
        for number in range(1000):
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            open_sockets.append(peer)
            handler = handlers[min(number, len(handlers) - 1)]
            threads.append(threading.Thread(target=handle, args=(peer, handler)))
            threads[-1].start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for one in open_sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        acceptor.join(5)
        for thread in threads:
            thread.join(5)
            assert not thread.is_alive()


def silent(peer: socket.socket) -> None:
    """Accept, read, and never say a word: a half-open connection, as its peer sees it."""
    while peer.recv(LARGEST):
        pass


def hanging_up(peer: socket.socket) -> None:
    """Close the connection upon the first request."""
    request(peer)
    peer.close()


def replying(make: Callable[[protobuf.Values], bytes]) -> Handler:
    """Return a handler that sends what a function makes of each request."""

    def handler(peer: socket.socket) -> None:
        while asked := request(peer):
            peer.sendall(make(asked))

    return handler
