# SPDX-License-Identifier: Apache-2.0
"""The memcached project under `ansible-operator run`, with the rights of its ServiceAccount."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from demo import memcached
from testbed.bed import TestBed

T = TypeVar("T")


def eventually(look: Callable[[], T | None], seconds: float = 60.0) -> T:
    """What ``look`` finds, asked again until it is true; fails after some seconds."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds:g} s (last: {found!r})"
        time.sleep(0.1)


@dataclass
class Caches:
    """Memcached resources of a namespace that the operator watches."""

    bed: TestBed
    namespace: str
    log: Path

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        return self.bed.kubectl("-n", self.namespace, *arguments, input=text)

    def get(self, resource: str, *selection: str) -> Any:
        text = self.kubectl("get", resource, *selection, "--ignore-not-found", "-o", "json")
        return json.loads(text) if text else None

    def listed(self, resource: str, *selection: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(
            self.kubectl("get", resource, *selection, "-o", "json")
        )["items"]
        return found

    def apply(self, name: str, **spec: Any) -> None:
        resource = {
            "apiVersion": "cache.example.com/v1alpha1",
            "kind": "Memcached",
            "metadata": {"name": name},
            "spec": spec,
        }
        self.kubectl("apply", "-f", "-", text=json.dumps(resource))

    def patch(self, name: str, size: int) -> None:
        patch = json.dumps({"spec": {"size": size}})
        self.kubectl("patch", "memcached", name, "--type=merge", "-p", patch)

    def pods(self, name: str) -> list[str]:
        found = self.listed("pods", "-l", f"app=memcached,memcached_cr={name}")
        return sorted(
            pod["metadata"]["name"] for pod in found if "deletionTimestamp" not in pod["metadata"]
        )

    def nodes(self, name: str) -> list[str] | None:
        return (self.get("memcached", name) or {}).get("status", {}).get("nodes")

    def has_nodes(self, name: str, count: int) -> bool:
        """Whether the status lists so many pods, and those that there are."""
        nodes = self.nodes(name)
        return nodes is not None and len(nodes) == count and nodes == self.pods(name)

    def conditions(self, name: str) -> dict[str, dict[str, Any]]:
        found = (self.get("memcached", name) or {}).get("status", {}).get("conditions", [])
        return {item["type"]: item for item in found}


@pytest.fixture(scope="module")
def caches(fake_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caches]:
    folder = tmp_path_factory.mktemp("memcached")
    memcached.install(fake_testbed)
    account = memcached.service_account_kubeconfig(fake_testbed, folder)
    with (
        fake_testbed.namespace("memcached") as namespace,
        memcached.running_operator(account, folder) as log,
    ):
        caches = Caches(fake_testbed, namespace, log)
        yield caches
        # The namespace could not go while finalizers wait for an operator that has ended.
        caches.kubectl("delete", "memcached", "--all", "--timeout=30s")
