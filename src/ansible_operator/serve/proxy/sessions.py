# SPDX-License-Identifier: Apache-2.0
"""Access to the proxy: one token and one kubeconfig per run.

The token is the password of HTTP basic authentication, the owner is its user name, and every
client has to be able to send them. Python clients take them from ``users``. Go clients ignore
``users`` when the server speaks plain HTTP, and their WebSockets refuse names in the server's URL;
but they honour ``proxy-url``: they send each request here as to a forward proxy, with the same
name and token. The server's URL is the same for all runs, so clients share what they discover.
(TLS would do as well; it costs each play some 30 ms of CPU for certificates it does not check.)
Only digests of tokens are compared.
"""

import asyncio
import base64
import binascii
import contextlib
import hashlib
import hmac
import json
import math
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_operator.engine.private_files import create_private
from ansible_operator.errors import OperatorError
from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.serve.interface import BeforeRead, Owner, ProxyLimits, Session

TOKEN_BYTES = 32
ABSENT_SECONDS = 0.5
"""How long an object that a run has not found counts as missing in the writes of that run."""


class UnauthorizedError(OperatorError):
    """The request carries no token of a run that is under way."""


@dataclass(slots=True)
class Grant:
    """What the proxy knows of one run.

    Attributes:
        user: user name of the run's requests.
        tasks: requests under way, ended with the session.
        recovered: watches already reported from what the run has read.
        adopting: per applied object, whether it is the owner's (see ``writes``).
        look: to be called before the first request for objects of the owner's kind.
        answered: per written object, its metadata in the last answer, as far as they tell who has
            written it; the cache may know an older version.
        absent: by the path of an object, when the run asked for it and it did not exist.
        is_open: false once the run has ended.
    """

    owner: Owner
    limits: ProxyLimits
    user: str
    look: BeforeRead | None = None
    tasks: set[asyncio.Task[object]] = field(default_factory=set)
    recovered: set[tuple[GroupVersionKind, bool]] = field(default_factory=set)
    adopting: dict[tuple[str, str, str, str], bool] = field(default_factory=dict)
    answered: dict[tuple[str, str, str, str], Mapping[str, Any]] = field(default_factory=dict)
    absent: dict[str, float] = field(default_factory=dict)
    is_open: bool = True

    def track(self) -> None:
        """Let the current task end with the session."""
        if task := asyncio.current_task():
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def is_absent(self, path: str) -> bool:
        """Whether the run has just learned that there is no such object."""
        return time.monotonic() - self.absent.get(path, -math.inf) < ABSENT_SECONDS

    def end(self) -> None:
        """End the requests under way and accept no others."""
        self.is_open = False
        for task in list(self.tasks):
            task.cancel()


def owner_user(owner: Owner) -> str:
    """The user name that encodes an owner: URL-safe base64 of JSON, with Go's ``Namespace``."""
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


def kubeconfig_of(namespace: str, port: int, user: str, token: str) -> dict[str, Any]:
    """The kubeconfig of a run; written as JSON, which is YAML that plays can read quickly.

    The actions of the collection recognize it by its shape (``clients.kubernetes.loopback``).
    """
    context, name = f"{namespace}/proxy-server", "admin/proxy-server"
    cluster = {
        "server": f"http://localhost:{port}",
        "proxy-url": f"http://{user}:{token}@localhost:{port}",
        "insecure-skip-tls-verify": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "current-context": context,
        "clusters": [{"name": "proxy-server", "cluster": cluster}],
        "contexts": [{"name": context, "context": {"cluster": "proxy-server", "user": name}}],
        "users": [{"name": name, "user": {"username": user, "password": token}}],
    }


class Sessions:
    """The open sessions, found by the digest of their token."""

    def __init__(self) -> None:
        self._grants: dict[bytes, Grant] = {}

    def open(
        self, owner: Owner, limits: ProxyLimits, directory: Path, port: int, look: BeforeRead | None
    ) -> Session:
        """Make token and kubeconfig (0600, in ``directory``) for one run."""
        token, user = secrets.token_urlsafe(TOKEN_BYTES), owner_user(owner)
        kubeconfig = directory / f"kubeconfig{secrets.token_hex(8)}"
        content = kubeconfig_of(owner.namespace, port, user, token)
        create_private(str(kubeconfig), json.dumps(content))
        self._grants[_digest(token)] = Grant(owner=owner, limits=limits, user=user, look=look)
        return Session(kubeconfig=kubeconfig, token=token)

    def close(self, session: Session) -> None:
        """Forget the token, end what still uses it and remove the kubeconfig."""
        grant = self._grants.pop(_digest(session.token), None)
        session.kubeconfig.unlink(missing_ok=True)
        if grant is not None:
            grant.end()

    def close_all(self) -> None:
        """End the requests of all runs and forget their tokens; files stay with their runs."""
        for grant in self._grants.values():
            grant.end()
        self._grants.clear()

    def find(self, headers: Mapping[str, str]) -> Grant:
        """The session that a request belongs to.

        Raises:
            UnauthorizedError: with the reason why there is none.
        """
        names = ("Authorization", "Proxy-Authorization")
        sent = [headers[name] for name in names if name in headers] or [""]
        for text in sent[:-1]:
            with contextlib.suppress(UnauthorizedError):
                return self._prove(text)
        return self._prove(sent[-1])

    def _prove(self, text: str) -> Grant:
        """The session that the value of one header proves."""
        scheme, _, encoded = text.partition(" ")
        if scheme.lower() != "basic":
            raise UnauthorizedError(
                "the proxy needs the kubeconfig of a run: no basic authentication was sent"
            )
        try:
            decoded = base64.b64decode(encoded.strip(), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise UnauthorizedError("the basic authentication cannot be decoded") from None
        user, _, token = decoded.partition(":")
        # The lookup is by digest: its timing reveals nothing about the token.
        grant = self._grants.get(_digest(token))
        if grant is None:
            raise UnauthorizedError(
                "the token is unknown: the run that it was created for has ended"
            )
        # Older Go clients decoded the name with either alphabet.
        if not hmac.compare_digest(_plain(user), _plain(grant.user)):
            raise UnauthorizedError("the token belongs to a run of another object")
        return grant


def _plain(user: str) -> bytes:
    return user.replace("+", "-").replace("/", "_").encode()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
