# SPDX-License-Identifier: Apache-2.0
"""A test bed per measurement: objects to work on, who does what, and how often it asks."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import testbed
from testbed.api import ApiClient, ApiError
from testbed.bed import TestBed

WORKS = "/apis/bench.example.com/v1alpha1/namespaces/bench/works"
DEPLOYMENTS = "/apis/apps/v1/namespaces/bench/deployments"
_CLIENTS = 4
_AGAIN_SECONDS = 0.2
_DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "works.bench.example.com"},
    "spec": {
        "group": "bench.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Work", "plural": "works", "singular": "work"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                        "properties": {
                            part: {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                            for part in ("spec", "status")
                        },
                    }
                },
            }
        ],
    },
}


def work(name: str) -> dict[str, Any]:
    """A custom resource that asks for a Deployment of one pod."""
    return {
        "apiVersion": "bench.example.com/v1alpha1",
        "kind": "Work",
        "metadata": {"name": name, "namespace": "bench"},
        "spec": {"size": 1},
    }


def is_done(obj: dict[str, Any]) -> bool:
    """Whether the status says that a run has succeeded and none goes on."""
    status = obj.get("status") or {}
    if status.get("done"):
        return True
    conditions = {item["type"]: item for item in status.get("conditions") or ()}
    running = conditions.get("Running", {})
    succeeded = conditions.get("Successful", {}).get("status") == "True"
    return succeeded and bool(running.get("reason") == "Successful")


@dataclass
class Seen:
    """When something was first true of each object of a collection, in monotonic seconds."""

    times: dict[str, float] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def note(self, obj: dict[str, Any], holds: Callable[[dict[str, Any]], bool]) -> None:
        """Take the time if it is the first at which this holds of the object."""
        name = obj["metadata"]["name"]
        if name not in self.times and holds(obj):
            with self.changed:
                self.times[name] = time.monotonic()
                self.changed.notify_all()

    def wait(self, count: int, deadline: float) -> bool:
        """Wait until it was true of so many objects; False when the deadline passes."""
        with self.changed:
            while len(self.times) < count:
                left = deadline - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    return len(self.times) >= count
        return True


@dataclass(frozen=True, slots=True)
class Cluster:
    """A fresh test bed with an audit log, for one measurement."""

    bed: TestBed
    namespace: str = "bench"

    def account(self, name: str, folder: Path) -> tuple[str, Path]:
        """Make a user that may do everything; its name in the audit log, and its kubeconfig."""
        self.bed.kubectl("-n", self.namespace, "create", "serviceaccount", name)
        self.bed.kubectl(
            *("create", "clusterrolebinding", name, "--clusterrole=cluster-admin"),
            f"--serviceaccount={self.namespace}:{name}",
        )
        path = self.bed.account(self.namespace, name, folder / "kubeconfig")
        return f"system:serviceaccount:{self.namespace}:{name}", path

    def forget(self, name: str) -> None:
        """Remove the user of :meth:`account`."""
        self.bed.kubectl("-n", self.namespace, "delete", "serviceaccount", name)
        self.bed.kubectl("delete", "clusterrolebinding", name)

    def each(self, names: list[str], do: Callable[[ApiClient, str], object]) -> None:
        """Do something for each name over a few connections at once."""
        share = [names[start::_CLIENTS] for start in range(_CLIENTS)]

        def run(part: list[str]) -> None:
            client = ApiClient(self.bed.kubeconfig)
            for name in part:
                do(client, name)

        with ThreadPoolExecutor(_CLIENTS) as pool:
            list(pool.map(run, share))

    @contextmanager
    def watching(self, path: str, holds: Callable[[dict[str, Any]], bool]) -> Iterator[Seen]:
        """Watch a collection during the block and note when something first holds of an object."""
        client = ApiClient(self.bed.kubeconfig)
        version = client.request("GET", f"{path}?limit=1")["metadata"]["resourceVersion"]
        seen, ended = Seen(), threading.Event()
        thread = threading.Thread(
            target=_follow, args=(client, path, version, holds, seen, ended), daemon=True
        )
        thread.start()
        try:
            yield seen
        finally:
            ended.set()

    def requests(self, user: str, offset: int = 0) -> tuple[dict[str, int], int]:
        """Requests of a user by verb since an offset of the audit log, and the offset now.

        Watches count once they end; other requests when they have been answered.
        """
        counts: dict[str, int] = {}
        with self.bed.audit_log.open("rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                offset += len(line)
                entry = json.loads(line)
                if entry["user"].get("username") == user and entry["stage"] == "ResponseComplete":
                    counts[entry["verb"]] = counts.get(entry["verb"], 0) + 1
        return counts, offset


def _follow(
    client: ApiClient,
    path: str,
    version: str,
    holds: Callable[[dict[str, Any]], bool],
    seen: Seen,
    ended: threading.Event,
) -> None:
    """Watch until the end, going on behind the last change whenever the server ends a watch."""
    while not ended.is_set():
        try:
            for kind, obj in client.watch(path, version):
                version = obj["metadata"]["resourceVersion"]
                if kind != "BOOKMARK":
                    seen.note(obj, holds)
                if ended.is_set():
                    return
        except ApiError:
            if ended.wait(_AGAIN_SECONDS):
                return
            found = client.request("GET", path)
            version = found["metadata"]["resourceVersion"]
            for obj in found["items"]:
                seen.note(obj, holds)


@contextmanager
def fresh(name: str) -> Iterator[Cluster]:
    """Bring a test bed with fake nodes up for the block, with the benchmark's kind in it."""
    try:
        bed = testbed.up(name, nodes="fake", node_count=10, audit=True)
        bed.kubectl("create", "namespace", "bench")
        bed.kubectl("create", "-f", "-", input=json.dumps(_DEFINITION))
        bed.kubectl(
            *("wait", "--for=condition=Established", "--timeout=30s", "crd/works.bench.example.com")
        )
        yield Cluster(bed)
    finally:
        testbed.down(name)
