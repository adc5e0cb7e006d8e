# SPDX-License-Identifier: Apache-2.0
"""Files that Kubernetes clients keep per server URL, removed with the run (runner.md §2.23).

The URL carries the run's token, so such a file is never of use to another run: left alone, one
would stay behind for every run. TLS would allow one URL for all runs, but costs each play some
30 ms of CPU for certificates that it does not check. kubectl and helm are told to keep their
files beside the kubeconfig instead, by ``KUBECACHEDIR``.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


def discovery_files(server: str) -> Iterator[Path]:
    """Where kubernetes.core and the Python client keep what they discovered of a server."""
    folder = Path(tempfile.gettempdir())
    plain = hashlib.md5(server.encode(), usedforsecurity=False).hexdigest()
    yield folder / f"osrcp-{plain}.json"
    for identity in (server, *(f"{server}-{user}" for user in _users())):
        digest = hashlib.sha256(identity.encode()).hexdigest()
        yield folder / f"k8srcp-{digest}.json"


def _users() -> Iterator[str]:
    """The names under which kubernetes.core may know this process's user."""
    with contextlib.suppress(OSError):
        yield os.getlogin()
    yield str(os.getuid())


def forget(server: str) -> None:
    """Remove what clients have kept of a server."""
    for file in discovery_files(server):
        file.unlink(missing_ok=True)
