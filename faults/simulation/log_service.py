# SPDX-License-Identifier: Apache-2.0
"""The log service of a database, as HAKeeper sees it: heartbeats, and replicas of two shards.

A store is heard while its Pod is ready and nobody has told it to end. HAKeeper removes the replicas
of a store that was silent for long, as long as the others are a majority, and gives them to one
that has none. A store that was removed is never heard again, as with MatrixOne 2.0 and newer.
"""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.errors import (  # noqa: E501
    Unreachable,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import pods
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.view import (
    Shard,
    View,
)

from faults.simulation.controllers import is_ready
from faults.simulation.server import ApiServer

Json = dict[str, Any]
_HEARD_SECONDS = 10.0
_LOST_SECONDS = 300.0
_REPLICAS = 3


class LogService:
    """What HAKeeper knows of all log stores of a cluster; a scene has one LogSet."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._heard: dict[str, float] = {}
        self._members: list[str] = []
        self._uuids: dict[str, str] = {}
        self._removed: set[str] = set()

    def step(self) -> None:
        """Hear the stores that run, and place replicas."""
        now = self._server.present
        for _key, resource in self._server.of_kind("LogSet"):
            for uuid in self._running(resource):
                self._heard[uuid] = now
        alive = self._alive()
        self._remove_silent(alive, now)
        free = sorted(alive - set(self._members))
        self._members += free[: max(0, _REPLICAS - len(self._members))]

    def _remove_silent(self, alive: set[str], now: float) -> None:
        for one in list(self._members):
            has_quorum = 2 * len(alive & set(self._members)) > len(self._members)
            if has_quorum and now - self._heard.get(one, 0.0) > _LOST_SECONDS:
                self._members.remove(one)
                self._removed.add(one)

    def _running(self, resource: Json) -> list[str]:
        name, namespace = resource["metadata"]["name"], resource["metadata"].get("namespace", "")
        numbers = pods.incarnations(resource)
        found = []
        for key, pod in self._server.of_kind("Pod"):
            ordinal = key[3].rpartition("-")[2]
            if key[2] == namespace and key[3] == f"{name}-log-{ordinal}" and is_ready(pod):
                uuid = f"00000000-0000-0000-{numbers.get(ordinal, 0):04x}-{int(ordinal):012x}"
                # A store has the incarnation that was rendered when its Pod began.
                found.append(self._uuids.setdefault(pod["metadata"]["uid"], uuid))
        return [one for one in found if one not in self._removed]

    def _alive(self) -> set[str]:
        now = self._server.present
        return {uuid for uuid, at in self._heard.items() if now - at <= _HEARD_SECONDS}

    def view(self, *_given: object) -> View:
        """Return what HAKeeper answers.

        Raises:
            Unreachable: it has no quorum.
        """
        alive = self._alive()
        running = frozenset(self._members) & alive
        if not self._members or 2 * len(running) <= len(self._members):
            raise Unreachable("HAKeeper: no answer")
        now = self._server.present
        shards = [
            Shard(number, frozenset(self._members), running, _REPLICAS, min(running))
            for number in (0, 1)
        ]
        return View(True, {uuid: now - at for uuid, at in self._heard.items()}, shards)

    def __repr__(self) -> str:
        return json.dumps({"heard": self._heard, "members": self._members})
