# SPDX-License-Identifier: Apache-2.0
"""Following a namespace's workloads and clusters while they change."""

import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes import client, config, watch

_RETRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Change:
    """One object as an event brought it; ``at`` is in seconds of the monotonic clock."""

    kind: str
    resource: dict[str, Any]
    at: float


class Watcher:
    """Watches StatefulSets, Deployments and MatrixOneClusters of one namespace."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._api = config.new_client_from_config(str(kubeconfig))
        self._changes: queue.Queue[Change] = queue.Queue()
        self._stopped = threading.Event()
        custom = client.CustomObjectsApi(self._api).list_namespaced_custom_object
        apps = ("apps", "v1", namespace)
        core = ("core.matrixorigin.io", "v1alpha1", namespace)
        for kind, arguments in (
            ("StatefulSet", (*apps, "statefulsets")),
            ("Deployment", (*apps, "deployments")),
            ("MatrixOneCluster", (*core, "matrixoneclusters")),
        ):
            threading.Thread(
                target=self._follow, args=(kind, custom, arguments), name=kind, daemon=True
            ).start()

    def _follow(self, kind: str, function: Any, arguments: tuple[str, ...]) -> None:
        while not self._stopped.is_set():
            try:
                for event in watch.Watch().stream(function, *arguments, timeout_seconds=60):
                    self._changes.put(Change(kind, event["object"], time.monotonic()))
                    if self._stopped.is_set():
                        return
            except (client.ApiException, OSError):
                self._stopped.wait(_RETRY_SECONDS)

    def changes(self, deadline: float) -> Iterator[Change | None]:
        """Changes as they come, ``None`` once a second in between, until the deadline."""
        while time.monotonic() < deadline:
            try:
                yield self._changes.get(timeout=1.0)
            except queue.Empty:
                yield None

    def stop(self) -> None:
        """End the watching threads at their next event."""
        self._stopped.set()
