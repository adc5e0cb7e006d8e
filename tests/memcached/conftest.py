# SPDX-License-Identifier: Apache-2.0
"""The memcached project under `ansible-operator run`, with the rights of its ServiceAccount."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demo import memcached
from testbed.bed import TestBed
from tests.support.namespaces import Namespace


class Caches(Namespace):
    """Memcached resources of a namespace that the operator watches."""

    def __init__(self, bed: TestBed, name: str, log: Path) -> None:
        super().__init__(bed, name)
        self.log = log

    def create(self, name: str, **spec: Any) -> None:
        resource = {"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached"}
        self.apply({**resource, "metadata": {"name": name}, "spec": spec})

    def resize(self, name: str, size: int) -> None:
        self.patch("memcached", name, {"spec": {"size": size}})

    def pods(self, name: str) -> list[str]:
        found = self.listed("pods", f"app=memcached,memcached_cr={name}")
        return sorted(
            pod["metadata"]["name"] for pod in found if "deletionTimestamp" not in pod["metadata"]
        )

    def nodes(self, name: str) -> list[str] | None:
        return self.get("memcached", name).get("status", {}).get("nodes")

    def has_nodes(self, name: str, count: int) -> bool:
        """Whether the status lists so many pods, and those that there are."""
        nodes = self.nodes(name)
        return nodes is not None and len(nodes) == count and nodes == self.pods(name)


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
