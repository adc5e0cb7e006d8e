# SPDX-License-Identifier: Apache-2.0
"""A run reaches the proxy of its operator with little effort, and whatever else as before."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes import (
    loopback,
    session,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    BadConnection,
)

from ansible_operator.serve.proxy.sessions import kubeconfig_of


class Proxy(BaseHTTPRequestHandler):
    """Answers with what it was sent; counts the connections that it was sent over."""

    protocol_version = "HTTP/1.1"
    connections: set[Any]
    closes = False

    def do_PATCH(self) -> None:
        type(self).connections.add(self.client_address)
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = {"path": self.path, "who": self.headers["Authorization"], "sent": sent.decode()}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = type(self).closes

    do_GET = do_PATCH  # noqa: N815 (the library's name)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    monkeypatch.setattr(session, "_sessions", {})
    monkeypatch.setattr(loopback, "_connections", {})
    Proxy.connections, Proxy.closes = set(), False
    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def written(folder: Path, port: int, token: str = "", **changes: Any) -> dict[str, str]:
    """The options of a task in a run whose kubeconfig was changed."""
    path = folder / f"kubeconfig-{token}"
    path.write_text(json.dumps(kubeconfig_of("prod", port, "owner", token) | changes))
    return {"kubeconfig": str(path), "default_config": str(path)}


def test_runs_share_connections_and_each_has_its_own_credentials(
    tmp_path: Path, proxy: ThreadingHTTPServer
) -> None:
    seen = set()
    for token in ("one", "two"):
        opened = session.open_session(written(tmp_path, proxy.server_port, token))
        for number in range(2):
            answer = opened.request(
                "PATCH", "/api/v1/x", attempt="test", query={"a": "b c"}, body=[1]
            )
            assert answer["path"] == "/api/v1/x?a=b+c", number
            assert answer["sent"] == "[1]"
            seen.add(answer["who"])
        opened.close()
    assert len(seen) == 2
    assert all(value.startswith("Basic ") for value in seen)
    assert len(Proxy.connections) == 1


def test_a_connection_that_was_dropped_is_replaced(
    tmp_path: Path, proxy: ThreadingHTTPServer
) -> None:
    Proxy.closes = True
    opened = session.open_session(written(tmp_path, proxy.server_port))
    for _ in range(3):
        assert opened.request("GET", "/api", attempt="test")["path"] == "/api"
    assert len(Proxy.connections) == 3


def test_a_proxy_that_is_gone_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.time, "sleep", lambda _seconds: None)
    opened = session.open_session(written(tmp_path, 1))
    with pytest.raises(BadConnection, match=r"look: http://localhost:1: .*refused"):
        opened.request("GET", "/api", attempt="look")


REMOTE = {"name": "proxy-server", "cluster": {"server": "https://remote:6443"}}
TOKEN = {"name": "admin/proxy-server", "user": {"token": "t"}}


@pytest.mark.parametrize(
    "changes",
    [{"clusters": [REMOTE]}, {"users": [TOKEN]}, {"users": []}, {"current-context": "another"}],
    ids=str,
)
def test_other_kubeconfigs_are_left_to_the_package(tmp_path: Path, changes: Any) -> None:
    assert loopback.loopback(written(tmp_path, 8888)) is not None
    assert loopback.loopback(written(tmp_path, 8888, **changes)) is None


def test_so_are_other_options(tmp_path: Path) -> None:
    options = written(tmp_path, 8888)
    assert loopback.loopback({**options, "impersonate_user": "jane"}) is None
    assert loopback.loopback({"default_config": options["default_config"]}) is None
    Path(options["kubeconfig"]).write_text("apiVersion: v1\nkind: Config\n")
    assert loopback.loopback(options) is None
