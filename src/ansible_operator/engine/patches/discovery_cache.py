# SPDX-License-Identifier: Apache-2.0
"""One API discovery for all runs.

kubernetes.core keeps what an API server offers in a file that it names by the server's URL. The
URL that a run gets holds the run's own user name, so every object would discover again and leave a
file behind. Here the file is named by the URL without its user and lies in the engine's folder.
"""

import hashlib
import importlib
import inspect
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_DISCOVERY = "ansible_collections.kubernetes.core.plugins.module_utils.client.discovery"
_PARAMETERS = ("self", "client", "cache_file")
"""Of what is replaced: kubernetes.core promises nothing, and any release of it may be installed."""


def share(folder: Path) -> None:
    """Have modules of kubernetes.core keep their discovery in a folder, if it is installed."""
    try:
        discoverer: Any = importlib.import_module(_DISCOVERY).Discoverer
    except ImportError:
        return
    stock = discoverer.__init__
    if tuple(inspect.signature(stock).parameters) != _PARAMETERS:
        return  # each run discovers for itself, as without this

    def initialize(self: Any, client: Any, cache_file: Any) -> None:
        stock(self, client, cache_file or str(folder / _name(client.configuration.host)))

    discoverer.__init__ = initialize


def _name(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    digest = hashlib.sha256(f"{parts.scheme}://{host}{parts.path}".encode()).hexdigest()
    return f"discovery-{digest}.json"
