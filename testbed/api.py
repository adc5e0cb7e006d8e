# SPDX-License-Identifier: Apache-2.0
"""A client for the API server: a few requests, one watch, the standard library only.

The volume provisioner lives on it for hours in 20 MiB; nothing here knows any kind of object.
"""

import base64
import http.client
import json
import math
import os
import ssl
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

from testbed.errors import TestBedError

Json = dict[str, Any]

_REQUEST_SECONDS = 10.0
_CLOSED = (http.client.RemoteDisconnected, ConnectionError, ssl.SSLEOFError)
"""How a connection that the server has closed shows: while sending, or by no answer."""
_WATCH_SECONDS = 300.0


class ApiError(TestBedError):
    """The API server refused or could not be reached; ``status`` is 0 in the latter case."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


def _context(cluster: Json, user: Json) -> ssl.SSLContext:
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    # OpenSSL reads a client's key from a file only.
    descriptor, name = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "wb") as file:
            for part in ("client-certificate-data", "client-key-data"):
                file.write(base64.b64decode(user[part]))
        context.load_cert_chain(name)
    finally:
        Path(name).unlink()
    return context


class ApiClient:
    """Talks to one API server as the user of a kubeconfig that a test bed has written.

    Attributes:
        warnings: what the server warned of in its last answer.
    """

    def __init__(self, kubeconfig: Path) -> None:
        content = yaml.safe_load(kubeconfig.read_text())
        cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
        url = urlsplit(cluster["server"])
        self._host, self._port = url.hostname or "", url.port or 443
        self._context = _context(cluster, user)
        self._connection: http.client.HTTPSConnection | None = None
        self.warnings: list[str] = []

    def _connect(self, timeout: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=timeout, context=self._context
        )

    def request(
        self, method: str, path: str, body: Json | None = None, content_type: str = ""
    ) -> Json:
        """Send one request and return the decoded answer (text under the key ``text``).

        Args:
            method: HTTP method.
            path: path and query.
            body: sent as JSON.
            content_type: of the body; JSON when left out.

        Raises:
            ApiError: the status is 400 or more, or no answer came.
        """
        headers = {"Content-Type": content_type or "application/json"} if body else {}
        payload = json.dumps(body) if body else None
        kept, self._connection = self._connection, None
        if kept is not None:
            try:
                return self._exchange(kept, method, path, payload, headers)
            except _CLOSED:
                pass  # the server closes connections that were idle: that says nothing
        try:
            return self._exchange(self._connect(_REQUEST_SECONDS), method, path, payload, headers)
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(f"{method} {path}: {error}") from error

    def _exchange(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        payload: str | None,
        headers: dict[str, str],
    ) -> Json:
        try:
            connection.request(method, path, payload, headers)
            answer = connection.getresponse()
            content = answer.read()
            self.warnings = answer.headers.get_all("Warning") or []
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return _decoded(method, path, answer.status, content)

    def merge(self, path: str, change: Json) -> Json:
        """Apply a JSON merge patch."""
        return self.request("PATCH", path, change, "application/merge-patch+json")

    def apply(self, path: str, wanted: Json) -> Json:
        """Apply an object server-side as field manager ``testbed``."""
        query = urlencode({"fieldManager": "testbed", "force": "true"})
        return self.request("PATCH", f"{path}?{query}", wanted, "application/apply-patch+yaml")

    def watch(
        self, path: str, version: str, seconds: float = _WATCH_SECONDS
    ) -> Generator[tuple[str, Json], None, None]:
        """Yield the type and object of each change of a collection, until the server ends it.

        Args:
            path: path of the collection.
            version: resource version to begin behind.
            seconds: after which the server ends it; rounded up to whole ones.

        Raises:
            ApiError: refused, interrupted, or the version is too old (status 410).
        """
        query = urlencode(
            {
                "watch": "true",
                "resourceVersion": version,
                "allowWatchBookmarks": "true",
                "timeoutSeconds": math.ceil(seconds),
            }
        )
        connection = self._connect(seconds + _REQUEST_SECONDS)
        try:
            connection.request("GET", f"{path}?{query}")
            answer = connection.getresponse()
            if answer.status >= 400:
                _decoded("WATCH", path, answer.status, answer.read())
            for line in answer:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise ApiError(f"watch {path}: {status.get('message')}", status.get("code", 0))
                yield event["type"], event["object"]
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ApiError(f"watch {path}: {error}") from error
        finally:
            connection.close()


def _decoded(method: str, path: str, status: int, payload: bytes) -> Json:
    try:
        content = json.loads(payload)
    except ValueError:
        content = {"text": payload.decode(errors="replace")}
    if status >= 400:
        message = content.get("message") or content.get("text") or status
        raise ApiError(f"{method} {path}: {message}", status)
    return content if isinstance(content, dict) else {"text": payload.decode()}
