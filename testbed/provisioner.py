# SPDX-License-Identifier: Apache-2.0
"""The process that makes, grows and removes the volumes of a test bed.

It watches claims and volumes, and treats each change the same way: look at the object as it is now,
do what is missing (``volumes.py``).

Run as ``python -m testbed.provisioner KUBECONFIG FOLDER``.
"""

import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from testbed.api import ApiClient, ApiError, Json
from testbed.volumes import Folders

_CLAIMS = "/api/v1/persistentvolumeclaims"
_VOLUMES = "/api/v1/persistentvolumes"
_LONGEST_PAUSE_SECONDS = 10.0
_FIRST_PAUSE_SECONDS = 0.1


@dataclass
class Mirror:
    """Keeps the newest state of a collection and reports the objects that have changed."""

    path: str
    client: ApiClient
    changed: Callable[[str, str], None]
    objects: dict[str, Json] = field(default_factory=dict)

    def run(self) -> None:
        """List and watch forever; lists again after a lost watch, with back-off on failures."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                self._follow(self._list())
                pause = _FIRST_PAUSE_SECONDS
            except ApiError as error:
                print(f"{self.path}: {error}", flush=True)
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def _list(self) -> str:
        answer = self.client.request("GET", self.path)
        self.objects = {item["metadata"]["uid"]: item for item in answer["items"]}
        for uid in self.objects:
            self.changed(self.path, uid)
        return str(answer["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> None:
        while True:
            for kind, item in self.client.watch(self.path, version):
                version = item["metadata"]["resourceVersion"]
                if kind == "BOOKMARK":
                    continue
                uid = item["metadata"]["uid"]
                if kind == "DELETED":
                    self.objects.pop(uid, None)
                else:
                    self.objects[uid] = item
                    self.changed(self.path, uid)


class Worker:
    """Handles changed objects one after the other, and those that failed again later."""

    def __init__(self, kubeconfig: Path, root: Path) -> None:
        self._folders = Folders(ApiClient(kubeconfig), root)
        self._due: queue.PriorityQueue[tuple[float, int, str, str]] = queue.PriorityQueue()
        self._mirrors = {
            path: Mirror(path, ApiClient(kubeconfig), self._enqueue) for path in (_CLAIMS, _VOLUMES)
        }

    def _enqueue(self, path: str, uid: str, failures: int = 0) -> None:
        pause = min(2.0**failures * _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        self._due.put((time.monotonic() + (pause if failures else 0), failures, path, uid))

    def run(self) -> None:
        """Work until the process is killed."""
        for path, mirror in self._mirrors.items():
            threading.Thread(target=mirror.run, name=path, daemon=True).start()
        while True:
            due, failures, path, uid = self._due.get()
            early = due - time.monotonic()
            if early > 0:
                self._due.put((due, failures, path, uid))
                time.sleep(min(early, _FIRST_PAUSE_SECONDS))
                continue
            self._handle(path, uid, failures)

    def _handle(self, path: str, uid: str, failures: int) -> None:
        item = self._mirrors[path].objects.get(uid)
        if item is None:
            return
        handle = self._folders.claim if path == _CLAIMS else self._folders.volume
        try:
            handle(item)
        except (ApiError, OSError, ValueError) as error:
            print(f"{path} {item['metadata']['name']}: {error}", flush=True)
            self._enqueue(path, uid, failures + 1)


if __name__ == "__main__":
    Worker(Path(sys.argv[1]), Path(sys.argv[2])).run()
