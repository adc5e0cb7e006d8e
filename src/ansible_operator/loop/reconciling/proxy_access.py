# SPDX-License-Identifier: Apache-2.0
"""What the loop needs of the proxy between plays and the API server; the manager connects them."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from ansible_operator.kube.interface import Object
from ansible_operator.loop.settings import Controlled


class RunProxy(Protocol):
    """Gives a run its access to the API server."""

    def session(self, controlled: Controlled, obj: Object) -> AbstractContextManager[Path]:
        """A kubeconfig for one run on behalf of an object; gone when the context ends."""
        ...
