# SPDX-License-Identifier: Apache-2.0
"""A server on loopback that handles each connection as it is told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

Handler = Callable[[socket.socket], None]
_SECONDS: Final = 20.0
_CHUNK: Final = 1 << 16


@contextmanager
def serving(handler: Handler) -> Iterator[str]:
    """Listen, and give each connection to a handler in a thread of its own.

    A handler that returns closes its connection; what it does not read is thrown away first, so
    that the other side reads all that was sent.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    peers: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def handle(peer: socket.socket) -> None:
        with suppress(OSError):
            handler(peer)
        with suppress(OSError):
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(_CHUNK):
                pass

    def accept() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            peer.settimeout(_SECONDS)
            peers.append(peer)
            threads.append(threading.Thread(target=handle, args=(peer,), daemon=True))
            threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for one in (listener, *peers):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in (acceptor, *threads):
            thread.join(_SECONDS)
