# SPDX-License-Identifier: Apache-2.0
"""Sources of bearer tokens: fixed, from a file that is rotated, from a credential plugin."""

import asyncio
import datetime
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ansible_operator.errors import ConfigError, KubeError

FILE_LIFETIME = 60.0
PLUGIN_TIMEOUT = 60.0
EXPIRY_MARGIN = 30.0


class TokenSource(Protocol):
    """Gives the current bearer token."""

    async def token(self, *, renew: bool = False) -> str:
        """The token; ``renew`` after the server has refused the last one.

        Raises:
            KubeError: no token can be had.
        """
        ...


@dataclass(frozen=True, slots=True)
class StaticToken:
    """A token that never changes."""

    value: str = field(repr=False)

    async def token(self, *, renew: bool = False) -> str:  # noqa: ARG002
        """The token."""
        return self.value


@dataclass(slots=True)
class FileToken:
    """A token in a file that the kubelet rewrites; read again once a minute."""

    path: Path
    _value: str = field(default="", repr=False)
    _read_at: float = 0.0

    async def token(self, *, renew: bool = False) -> str:
        """The token in the file, at most a minute old."""
        now = time.monotonic()
        if renew or not self._value or now - self._read_at > FILE_LIFETIME:
            try:
                self._value = self.path.read_text().strip()
            except OSError as error:
                raise KubeError(f"token file {self.path} cannot be read: {error}") from error
            self._read_at = now
        return self._value


@dataclass(slots=True)
class ExecToken:
    """A token printed by a credential plugin (``client.authentication.k8s.io`` ExecCredential)."""

    command: tuple[str, ...]
    api_version: str
    environment: Mapping[str, str] = field(repr=False)
    _value: str = field(default="", repr=False)
    _expires: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def from_kubeconfig(cls, entry: Mapping[str, Any], folder: Path) -> "ExecToken":
        """Build from the ``exec`` part of a kubeconfig user; relative commands start there."""
        program = str(entry.get("command", ""))
        if not program:
            raise ConfigError("kubeconfig: exec plugin without a command")
        if "/" in program:
            program = str(folder / program)
        extra = {item["name"]: item["value"] for item in entry.get("env") or []}
        return cls(
            command=(program, *map(str, entry.get("args") or [])),
            api_version=entry.get("apiVersion", "client.authentication.k8s.io/v1"),
            environment=extra,
        )

    async def token(self, *, renew: bool = False) -> str:
        """The plugin's token, kept until shortly before it expires."""
        async with self._lock:
            if renew or not self._value or time.time() > self._expires - EXPIRY_MARGIN:
                await self._run_plugin()
            return self._value

    async def _run_plugin(self) -> None:
        info = {
            "apiVersion": self.api_version,
            "kind": "ExecCredential",
            "spec": {"interactive": False},
        }
        environment = {**os.environ, **self.environment, "KUBERNETES_EXEC_INFO": json.dumps(info)}
        try:
            async with asyncio.timeout(PLUGIN_TIMEOUT):
                process = await asyncio.create_subprocess_exec(
                    *self.command,
                    env=environment,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                )
                output, _ = await process.communicate()
            status = json.loads(output)["status"] if process.returncode == 0 else {}
            self._value = status["token"]
        except (OSError, TimeoutError, ValueError, KeyError) as error:
            raise KubeError(f"credential plugin {self.command[0]} gave no token") from error
        expiry = status.get("expirationTimestamp")
        self._expires = (
            datetime.datetime.fromisoformat(expiry).timestamp() if expiry else float("inf")
        )
