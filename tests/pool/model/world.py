# SPDX-License-Identifier: Apache-2.0
"""Pods, stores in HAKeeper and sessions around a simulated API server."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import timestamp
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.records import (
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.drain import Locks
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.load import Load
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import keys
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import StoreFacts
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.writes import HandOver

from tests.pool.model.server import Refused, Server

PROXIES_LEARN = 10.0
"""Seconds for which proxies still route to a store that drains."""
Json = dict[str, Any]


class Unreachable(Exception):
    """HAKeeper does not answer."""


@dataclass
class Store:
    state: WorkState = WorkState.DRAINING
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    registered: bool = True


@dataclass
class World:
    """Everything outside of the operator.

    Attributes:
        tenants: account of each claim that ever was, by uid.
        served: uid of the claim that a Pod (by uid) was bound to last.
        sessions, routed_until: by name of Pod.
        lost_nodes: whose Pods are no longer reported.
    """

    rng: random.Random
    server: Server = field(default_factory=Server)
    now: float = 1_800_000_000.0
    stores: dict[str, Store] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    routed_until: dict[str, float] = field(default_factory=dict)
    hakeeper_up: bool = True
    sampling_works: bool = True
    nodes: tuple[str, ...] = ("n1", "n2", "n3")
    lost_nodes: set[str] = field(default_factory=set)

    # --- Kubernetes -------------------------------------------------------------------------

    def has_pod_of(self, generation: str) -> bool:
        """Return whether there is a Pod of a generation, as the API server itself answers."""
        pods = self.server.list("Pod").values()
        return any(_instance(pod) == generation for pod in pods)

    def create_pod(self, pool: Json, generation: str) -> Json:
        labels = {
            **pool["spec"]["podLabels"],
            keys.LABEL_PHASE: "Unknown",
            keys.LABEL_POOL: pool["metadata"]["name"],
            "matrixorigin.io/instance": generation,
        }
        manifest = {
            "metadata": {
                "generateName": f"{generation}-",
                "namespace": "ns",
                "labels": labels,
                "creationTimestamp": timestamp(self.now),
            },
            "spec": {},
            "status": {"phase": "Pending"},
        }
        return self.server.create("Pod", manifest, self.now)

    def start_pod(self, name: str) -> None:
        """A node runs the Pod, and its store registers."""

        def change(pod: Json) -> None:
            pod["spec"]["nodeName"] = node
            pod["status"] = {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
            }

        usable = [node for node in self.nodes if node not in self.lost_nodes]
        if not usable:
            return
        node = self.rng.choice(usable)
        self.server.update("Pod", name, change)
        self.stores[name] = Store()

    def set_ready(self, name: str, ready: bool) -> None:
        def change(pod: Json) -> None:
            status = "True" if ready else "False"
            pod["status"]["conditions"] = [{"type": "Ready", "status": status}]

        self.server.update("Pod", name, change)

    def restart(self, name: str) -> None:
        """The container starts again: nothing of the store but its name is left."""
        if name in self.stores:
            self.stores[name] = Store()
        self.sessions.pop(name, None)

    def fail_pod(self, name: str) -> None:
        self.server.update("Pod", name, lambda pod: pod["status"].update(phase="Failed"))
        self._stop(name)

    def end_pod(self, name: str) -> None:
        """Begin a deletion, as `kubectl delete`, an eviction or the operator do."""
        self.server.update(
            "Pod", name, lambda pod: pod["metadata"].update(deletionTimestamp=timestamp(self.now))
        )

    def vanish(self, name: str) -> None:
        self.server.delete("Pod", name)
        self._stop(name)

    def _stop(self, name: str) -> None:
        self.stores.pop(name, None)
        self.sessions.pop(name, None)
        self.routed_until.pop(name, None)

    # --- HAKeeper and load ------------------------------------------------------------------

    def set_state(self, pod: str, state: WorkState | None, labels: Json | None) -> None:
        """PatchCNStore or UpdateCNLabel."""
        if not self.hakeeper_up:
            raise Unreachable
        store = self.stores.get(pod)
        if store is None or not store.registered:
            raise Refused("does not exist")
        if state is not None:
            if store.state is WorkState.WORKING and state is not WorkState.WORKING:
                self.routed_until[pod] = self.now + PROXIES_LEARN
            store.state = state
        if labels is not None:
            store.labels = dict(labels)

    def store_facts(self, pod: str, loaded: bool = False) -> StoreFacts:
        if not self.hakeeper_up:
            return StoreFacts()
        store = self.stores.get(pod)
        if store is None or not store.registered:
            return StoreFacts(known=False, seen_at=self.now)
        load, at = Load(), None
        if loaded and self.sampling_works:
            load, at = Load(self.sessions.get(pod, 0), 0, 0), self.now
        return StoreFacts(True, store.state, dict(store.labels), self.now, load, at, pod)

    def handed_over(self, wanted: Iterable[HandOver]) -> dict[str, StoreFacts]:
        """What the transaction node says about locks, and takes note of."""
        facts = {}
        for one in wanted:
            locks = self.rng.choice(list(Locks)) if self.hakeeper_up else Locks.UNKNOWN
            asks = one.begins and locks is Locks.HELD
            known = self.store_facts(one.pod, loaded=True)
            facts[one.pod] = replace(known, locks=locks, locks_asked=asks)
        return facts

    def is_routed(self, pod: str) -> bool:
        """Whether proxies may send new sessions to a Pod."""
        store = self.stores.get(pod)
        if store is None or not self.is_running(pod):
            return False
        working = store.state is WorkState.WORKING
        return working or self.now < self.routed_until.get(pod, 0.0)

    def is_running(self, pod: str) -> bool:
        live = self.server.get("Pod", pod)
        return live is not None and live["status"].get("phase") == "Running"


def _instance(pod: Json) -> str:
    return str(pod["metadata"]["labels"]["matrixorigin.io/instance"])
