# SPDX-License-Identifier: Apache-2.0
"""Who may use the proxy: one token and one kubeconfig per run (runner.md §2.18).

The token is the password of HTTP basic authentication, the owner is its user name, so that every
client that reads a kubeconfig can use the proxy. Both stand in the server's URL as well as under
``users``: Go clients ignore ``users`` when the server speaks plain HTTP, Python clients ignore
what is in the URL. Only digests of tokens are compared.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ansible_operator.errors import OperatorError
from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.serve.interface import Owner, ProxyLimits, Session
from ansible_operator.serve.proxy import client_caches

TOKEN_BYTES = 32

_KUBECONFIG = """\
apiVersion: v1
kind: Config
preferences: {{}}
current-context: {namespace}/proxy-server
clusters:
- name: proxy-server
  cluster:
    server: {server}
    insecure-skip-tls-verify: true
contexts:
- name: {namespace}/proxy-server
  context:
    cluster: proxy-server
    user: admin/proxy-server
users:
- name: admin/proxy-server
  user:
    username: {user}
    password: {token}
"""


class UnauthorizedError(OperatorError):
    """The request carries no token of a run that is under way."""


@dataclass(slots=True)
class Grant:
    """What the proxy knows of one run.

    Attributes:
        user: user name of the run's requests.
        server: URL in its kubeconfig.
        tasks: requests under way, ended with the session.
        recovered: watches already reported from what the run has read.
        adopting: per applied object, whether it is the owner's (see ``writes``).
    """

    owner: Owner
    limits: ProxyLimits
    user: str
    server: str = field(repr=False)
    tasks: set[asyncio.Task[object]] = field(default_factory=set)
    recovered: set[tuple[GroupVersionKind, bool]] = field(default_factory=set)
    adopting: dict[tuple[str, str, str, str], bool] = field(default_factory=dict)


def owner_user(owner: Owner) -> str:
    """The user name that stands for an owner: URL-safe base64 of JSON (capital N as ever)."""
    text = json.dumps(
        {
            "apiVersion": owner.gvk.api_version,
            "kind": owner.gvk.kind,
            "name": owner.name,
            "uid": owner.uid,
            "Namespace": owner.namespace,
        },
        separators=(",", ":"),
    )
    return base64.urlsafe_b64encode(text.encode()).decode()


class Sessions:
    """The open sessions, found by the digest of their token."""

    def __init__(self) -> None:
        self._grants: dict[bytes, Grant] = {}

    def open(self, owner: Owner, limits: ProxyLimits, directory: Path, port: int) -> Session:
        """Make token and kubeconfig (0600, in a folder of its own) for one run."""
        token, user = secrets.token_urlsafe(TOKEN_BYTES), owner_user(owner)
        server = f"http://{user}:{token}@localhost:{port}"
        text = _KUBECONFIG.format(namespace=owner.namespace, server=server, user=user, token=token)
        folder = tempfile.mkdtemp(prefix="session-", dir=directory)
        handle, name = tempfile.mkstemp(prefix="kubeconfig", dir=folder)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        grant = Grant(owner=owner, limits=limits, user=user, server=server)
        self._grants[_digest(token)] = grant
        return Session(kubeconfig=Path(name), token=token)

    def close(self, session: Session) -> None:
        """Forget the token, end what still uses it and remove the kubeconfig's folder."""
        grant = self._grants.pop(_digest(session.token), None)
        if grant is None:
            return
        for task in list(grant.tasks):
            task.cancel()
        shutil.rmtree(session.kubeconfig.parent, ignore_errors=True)
        client_caches.forget(grant.server)

    def close_all(self) -> None:
        """End the requests of all runs and forget their tokens; files stay with their runs."""
        for grant in self._grants.values():
            for task in list(grant.tasks):
                task.cancel()
        self._grants.clear()

    def find(self, headers: Mapping[str, str]) -> Grant:
        """The session that a request belongs to.

        Raises:
            UnauthorizedError: with the reason why there is none.
        """
        scheme, _, encoded = headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "basic":
            raise UnauthorizedError(
                "the proxy needs the kubeconfig of a run: no basic authentication was sent"
            )
        try:
            decoded = base64.b64decode(encoded.strip(), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise UnauthorizedError("the basic authentication cannot be decoded") from None
        user, _, token = decoded.partition(":")
        # The look-up is by digest: its timing tells nothing about the token.
        grant = self._grants.get(_digest(token))
        if grant is None:
            raise UnauthorizedError("the token is unknown: the run that it was made for has ended")
        # Go clients of old decoded the name with either alphabet.
        if not hmac.compare_digest(_plain(user), _plain(grant.user)):
            raise UnauthorizedError("the token belongs to a run of another object")
        return grant


def _plain(user: str) -> bytes:
    return user.replace("+", "-").replace("/", "_").encode()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
