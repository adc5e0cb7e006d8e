# SPDX-License-Identifier: Apache-2.0
"""The way to the proxy of the operator that a play runs in: HTTP without TLS on this host.

Each run has a kubeconfig of its own, which is JSON and names little. Loading it, and requests
through it, take several times as long with the ``kubernetes`` package and its connection pools.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import select
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

_OWN_OPTIONS: Final = frozenset({"kubeconfig", "default_config"})
_CLUSTER: Final = frozenset({"server", "proxy-url", "insecure-skip-tls-verify"})
_USER: Final = frozenset({"username", "password"})
_SERVER: Final = "http://localhost:"
_MOST_IDLE: Final = 4


@dataclass(frozen=True, slots=True)
class Loopback:
    """What a kubeconfig of a run says.

    Attributes:
        host: URL of the proxy.
        authorization: value of the header that authenticates.
    """

    host: str
    authorization: str

    def auth_settings(self) -> dict[str, dict[str, str]]:
        """Return the credentials as the configuration of the ``kubernetes`` package does."""
        header = {"in": "header", "key": "authorization", "value": self.authorization}
        return {"BasicToken": header}


def loopback(options: Mapping[str, Any]) -> Loopback | None:
    """Read the kubeconfig of a run; None if the options name another, or anything besides.

    Args:
        options: as ``connection.resolve_options`` returns them.
    """
    path = options.get("kubeconfig")
    if not isinstance(path, str) or not options.keys() <= _OWN_OPTIONS:
        return None
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            return _read(json.load(file))
    except (OSError, ValueError, TypeError, LookupError):
        return None  # the package says what is wrong with it


def _read(content: Any) -> Loopback | None:
    [cluster], [user] = content["clusters"], content["users"]
    [context] = content["contexts"]
    server, credentials = cluster["cluster"], user["user"]
    names = {"cluster": cluster["name"], "user": user["name"]}
    if context["context"] != names or content["current-context"] != context["name"]:
        return None
    if server.keys() != _CLUSTER or credentials.keys() != _USER:
        return None
    if not (server["server"].startswith(_SERVER) and _is_itself(server)):
        return None
    pair = f"{credentials['username']}:{credentials['password']}"
    return Loopback(server["server"], f"Basic {base64.b64encode(pair.encode()).decode()}")


def _is_itself(server: Mapping[str, str]) -> bool:
    """Tell whether the proxy that leads to a server is the server itself."""
    proxy, own = (urlsplit(server[name]).netloc for name in ("proxy-url", "server"))
    return proxy.rpartition("@")[2] == own


@dataclass(frozen=True, slots=True)
class Answer:
    """What the proxy answered.

    Attributes:
        headers: by names in any case.
        data: the body.
    """

    status: int
    headers: http.client.HTTPMessage
    data: bytes


@dataclass(frozen=True, slots=True)
class Connections:
    """Connections to one proxy, which all sessions of a process share; requests say whose they are.

    Attributes:
        address: ``host:port``.
        idle: those that no request uses.
    """

    address: str
    idle: list[http.client.HTTPConnection] = field(default_factory=list)

    def request(self, method: str, url: str, **how: Any) -> Answer:
        """Send a request and return the answer.

        Args:
            method: HTTP method.
            url: of the proxy; path and query are sent.
            how: ``body``, ``headers`` and ``timeout`` in seconds; others are for other pools.

        Raises:
            OSError, HTTPException: there was no answer.
        """
        connection = self._take(how["timeout"])
        try:
            target = url.partition(self.address)[2]
            connection.request(method, target, body=how["body"], headers=how["headers"])
            answer = connection.getresponse()
            data = answer.read()
        except BaseException:
            connection.close()
            raise
        if answer.will_close or len(self.idle) >= _MOST_IDLE:
            connection.close()
        else:
            self.idle.append(connection)
        return Answer(answer.status, answer.headers, data)

    def clear(self) -> None:
        """Leave the connections open: they serve the next session, too."""

    def _take(self, timeout: float) -> http.client.HTTPConnection:
        while self.idle:
            connection = self.idle.pop()
            if not _is_dropped(connection):
                return connection
            connection.close()
        return http.client.HTTPConnection(self.address, timeout=timeout)


def _is_dropped(connection: http.client.HTTPConnection) -> bool:
    """Tell whether the other side has closed a connection, or has sent what nobody asked for."""
    poller = select.poll()
    poller.register(connection.sock, select.POLLIN)
    return bool(poller.poll(0))


_connections: dict[tuple[int, str], Connections] = {}


def connections_to(proxy: Loopback) -> Connections:
    """Return the connections of this process to a proxy."""
    # A forked process must not share its parent's sockets, hence the process id in the key.
    key = (os.getpid(), urlsplit(proxy.host).netloc)
    if key not in _connections:
        _connections.clear()  # ansible-operator: kept, for the process and proxy in the key
        _connections[key] = Connections(key[1])  # ansible-operator: kept, as above
    return _connections[key]
