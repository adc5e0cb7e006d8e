# SPDX-License-Identifier: Apache-2.0
"""What Services of an operator answer to its plays by HTTP, on nodes that run no containers.

Plays find it as a proxy, so that the names of Services need not resolve and no task is changed.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_POLL_SECONDS = 0.05


@contextmanager
def answering(answers: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Answer requests for the block; yield the variables by which clients find who does.

    Args:
        answers: JSON values, by a regular expression that the URL matches; other URLs are not
            found. Without any, nothing is served, and clients connect by themselves.
    """
    if not answers:
        yield {}
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(answers)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,))
        thread.start()
        try:
            # Only plain HTTP: the API server and the proxy of the runner are on this machine.
            address = f"http://127.0.0.1:{server.server_port}"
            yield {"http_proxy": address, "no_proxy": "127.0.0.1,localhost"}
        finally:
            server.shutdown()
            thread.join()


def _handler(answers: Mapping[str, Any]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = next((text for url, text in answers.items() if re.search(url, self.path)), None)
            if found is None:
                self.send_error(HTTPStatus.NOT_FOUND, "the recipe has no answer for this URL")
                return
            body = json.dumps(found).encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - their names

        def log_message(self, *_arguments: Any) -> None:
            """Say nothing: the play reports what it was answered."""

    return Handler
