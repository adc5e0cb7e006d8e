# SPDX-License-Identifier: Apache-2.0
"""A running test bed, as callers use it."""

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from testbed import namespaces
from testbed.errors import TestBedError
from testbed.places import Places
from testbed.state import State

_KUBECTL_SECONDS = 300.0


class KubectlError(TestBedError):
    """kubectl ended with an error; the message is what it said."""


@dataclass(frozen=True, slots=True)
class TestBed:
    """A handle to a test bed that is up.

    Attributes:
        state: its record.
    """

    __test__ = False

    state: State

    @property
    def name(self) -> str:
        """The test bed's name."""
        return self.state.name

    @property
    def places(self) -> Places:
        """Its folders and files."""
        return Places.of(self.state.name)

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of a cluster administrator."""
        return self.places.kubeconfig

    @property
    def server(self) -> str:
        """URL of the API server."""
        return self.state.server

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, one JSON object per line; only with ``audit=True``."""
        return self.places.logs / "audit.log"

    @property
    def kubectl_path(self) -> Path:
        """The kubectl program that fits the API server."""
        return Path(self.state.binaries["kubectl"])

    def kubectl(self, *args: str, input: str | None = None) -> str:  # noqa: A002
        """Run kubectl and return what it prints.

        Args:
            args: its arguments.
            input: text for its standard input.

        Raises:
            KubectlError: it ended with an error, or takes longer than five minutes.
        """
        try:
            result = subprocess.run(
                [self.kubectl_path, f"--kubeconfig={self.kubeconfig}", *args],
                input=input,
                capture_output=True,
                text=True,
                check=False,
                timeout=_KUBECTL_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise KubectlError(f"kubectl {' '.join(args)} does not end") from error
        if result.returncode:
            raise KubectlError(f"kubectl {' '.join(args)}: {result.stderr.strip()}")
        return result.stdout

    def account(self, namespace: str, name: str, path: Path) -> Path:
        """Write a kubeconfig with the rights of a ServiceAccount, for an hour.

        Args:
            namespace: of the ServiceAccount.
            name: of the ServiceAccount, which exists.
            path: file to write, readable by its owner only.

        Returns:
            The path.
        """
        token = self.kubectl("-n", namespace, "create", "token", name).strip()
        content = yaml.safe_load(self.kubeconfig.read_text())
        content["users"][0]["user"] = {"token": token}
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(content))
        return path

    @contextmanager
    def namespace(self, prefix: str = "test") -> Iterator[str]:
        """Make a fresh namespace for the block and begin its removal afterwards.

        Custom resources in it whose finalizers nobody removes are released when a later block ends.

        Args:
            prefix: begins the namespace's name.

        Yields:
            The name.
        """
        name = f"{prefix}-{secrets.token_hex(4)}"
        namespaces.create(self.kubeconfig, name)
        try:
            yield name
        finally:
            namespaces.end(self.kubeconfig, name)
