# SPDX-License-Identifier: Apache-2.0
"""Sources of the server's certificate: a Secret that replicas share, or a folder."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ansible_operator.errors import ConfigError
from ansible_operator.serve.certificates import KeyPair, found_in
from ansible_operator.serve.webhook.shared_secret import SharedSecret


@dataclass(frozen=True, slots=True)
class Trust:
    """The serving certificate, and the CA that the API server has to trust for it.

    Attributes:
        bundle: certificates, PEM; None when another controller configures the API server.
    """

    serving: KeyPair
    bundle: bytes | None


class Source(Protocol):
    """Gives the current certificates."""

    async def refresh(self) -> Trust:
        """Read again; renew what is due.

        Raises:
            OperatorError: there are none.
        """
        ...


@dataclass(frozen=True, slots=True)
class SecretSource:
    """Certificates that the replicas create."""

    secret: SharedSecret

    async def refresh(self) -> Trust:
        """Read the Secret; renew what is due."""
        credentials = await self.secret.refresh()
        return Trust(credentials.serving, credentials.bundle)


@dataclass(frozen=True, slots=True)
class FolderSource:
    """``tls.crt`` and ``tls.key`` that another program renews, such as cert-manager.

    A ``ca.crt`` beside them is what the API server has to trust.
    """

    folder: Path

    async def refresh(self) -> Trust:
        """Read the files.

        Raises:
            ConfigError: they are not there.
        """
        return await asyncio.to_thread(self._read)

    def _read(self) -> Trust:
        pair = found_in(self.folder)
        if pair is None:
            raise ConfigError(
                f"there are no tls.crt and tls.key in {self.folder} (--webhook-cert-dir)"
            )
        try:
            bundle = (self.folder / "ca.crt").read_bytes()
        except FileNotFoundError:
            bundle = b""
        except OSError as error:
            raise ConfigError(f"ca.crt in {self.folder} cannot be read: {error}") from error
        return Trust(pair, bundle if bundle.strip() else None)
