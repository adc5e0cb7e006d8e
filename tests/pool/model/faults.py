# SPDX-License-Identifier: Apache-2.0
"""What happens to Pods, nodes, HAKeeper and sessions."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.pool.model.world import World

Json = dict[str, Any]


class Faults:
    """Random events; each returns what it did, or None."""

    world: World
    rng: random.Random

    def pass_time(self) -> None:
        self.world.now += self.rng.choice((1, 2, 4, 8))

    def start_pod(self) -> str | None:
        name = self._pod(lambda pod: pod["status"]["phase"] == "Pending")
        if name:
            self.world.start_pod(name)
        return name and f"{name} starts"

    def begin_session(self) -> str | None:
        name = self._pod(lambda pod: self.world.is_routed(pod["metadata"]["name"]))
        if name:
            self.world.sessions[name] = self.world.sessions.get(name, 0) + 1
        return name and f"session on {name}"

    def end_session(self) -> str | None:
        name = self.rng.choice(sorted(self.world.sessions) or [""])
        if name:
            self.world.sessions.pop(name)
        return None

    def kill_pod(self) -> str | None:
        name = self._pod(is_live)
        if not name:
            return None
        how = self.rng.choice((self.world.fail_pod, self.world.end_pod, self.world.vanish))
        how(name)
        return f"{how.__name__} {name}"

    def restart_store(self) -> str | None:
        name = self._pod(is_live)
        if name:
            self.world.restart(name)
        return name and f"{name} restarts"

    def lose_node(self) -> str | None:
        if len(self.world.lost_nodes) > 1:
            return None
        node = self.rng.choice(self.world.nodes)
        self.world.lost_nodes.add(node)
        for name, pod in self.world.server.list("Pod").items():
            if pod["spec"].get("nodeName") == node and name in self.world.stores:
                self.world.stores[name].registered = False
                self.world.set_ready(name, False)
        return f"node {node} is lost"

    def find_node(self) -> str | None:
        for node in sorted(self.world.lost_nodes)[:1]:
            self.world.lost_nodes.remove(node)
            for name, pod in self.world.server.list("Pod").items():
                if pod["spec"].get("nodeName") == node and name in self.world.stores:
                    self.world.stores[name].registered = True
                    self.world.set_ready(name, True)
            return f"node {node} is back"
        return None

    def remove_ended_pod(self) -> str | None:
        name = self._pod(lambda pod: bool(pod["metadata"].get("deletionTimestamp")))
        if name:
            self.world.vanish(name)
        return name and f"{name} has gone"

    def touch_pod(self) -> None:
        name = self._pod(is_live)
        if name:
            self.world.server.update("Pod", name, lambda pod: None)

    def flap_readiness(self) -> str | None:
        name = self._pod(lambda pod: pod["status"]["phase"] == "Running")
        if name:
            self.world.set_ready(name, self.rng.random() < 0.7)
        return name and f"readiness of {name}"

    def forget_store(self) -> str | None:
        name = self.rng.choice(sorted(self.world.stores) or [""])
        if name:
            store = self.world.stores[name]
            store.registered = not store.registered
        return name and f"{name} registered: {self.world.stores[name].registered}"

    def toggle_hakeeper(self) -> str:
        self.world.hakeeper_up = not self.world.hakeeper_up or self.rng.random() < 0.5
        return f"HAKeeper up: {self.world.hakeeper_up}"

    def toggle_samples(self) -> None:
        self.world.sampling_works = not self.world.sampling_works

    def _pod(self, fits: Callable[[Json], bool]) -> str | None:
        names = [name for name, pod in self.world.server.list("Pod").items() if fits(pod)]
        return self.rng.choice(names) if names else None


def is_live(pod: Json) -> bool:
    """Whether a Pod neither ended nor is being deleted."""
    return not pod["metadata"].get("deletionTimestamp") and pod["status"]["phase"] != "Failed"
