# SPDX-License-Identifier: Apache-2.0
"""Which log stores are there: as Kubernetes shows their Pods and as HAKeeper hears them.

Neither of the two is enough. HAKeeper takes seconds to miss a store whose Pod is gone, and a Pod
that is ready says nothing about the replicas of its store. What takes a store away (a roll, a
scale-in) counts on those stores only that both know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..api.pods import ready_at
from ..api.timestamps import unix_time
from .view import View, incarnation_of, ordinal_of, ordinal_of_pod

Pod = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Presence:
    """The Pods of a log service by ordinal.

    Attributes:
        pods: ordinals of all Pods, those included that are going.
        age: seconds for which a Pod has existed, by ordinal; none for one that is going.
        ready: seconds for which a Pod has been ready, by ordinal; none for one that is going.
    """

    pods: frozenset[int]
    age: Mapping[int, float]
    ready: Mapping[int, float]

    @classmethod
    def of(cls, pods: Iterable[Pod], now: float) -> Presence:
        """Read Pods.

        Args:
            pods: all live Pods of the set.
            now: the present, Unix time.
        """
        by_ordinal = {ordinal_of_pod(pod["metadata"]["name"]): pod for pod in pods}
        age, ready = {}, {}
        for ordinal, pod in by_ordinal.items():
            metadata, since = pod["metadata"], ready_at(pod)
            if not metadata.get("deletionTimestamp"):
                age[ordinal] = now - unix_time(metadata.get("creationTimestamp"))
            if since is not None:
                ready[ordinal] = now - since
        return cls(frozenset(by_ordinal), age, ready)

    def missing(self, expected: Iterable[int]) -> list[int]:
        """Return the ordinals of a set whose Pods are not ready."""
        return [ordinal for ordinal in expected if ordinal not in self.ready]

    def beyond(self, replicas: int) -> list[int]:
        """Return the ordinals of Pods that a set of this size has no place for."""
        return sorted(ordinal for ordinal in self.pods if ordinal >= replicas)

    def serving(self, view: View) -> View:
        """Return a view in which only stores run whose Pod is ready, and that spoke since it is.

        A Pod that was replaced within seconds is ready before HAKeeper has missed the old process,
        so an older sign of life proves nothing.
        """
        return _only(view, self.ready)

    def existing(self, view: View) -> View:
        """Return a view in which only stores run that spoke since their present Pod exists."""
        return _only(view, self.age)

    def runs_before(self, ordinal: int, incarnation: int, view: View | None) -> bool:
        """Return whether the present Pod of an ordinal is known to be of an earlier incarnation.

        Args:
            ordinal: of the Pod.
            incarnation: what it is compared with.
            view: what HAKeeper says; None when it did not answer.
        """
        ready = self.ready.get(ordinal, 0.0)
        spoke = [
            incarnation_of(uuid)
            for uuid in (view.stores_of(ordinal) if view else ())
            if view and view.silent.get(uuid, ready) < ready
        ]
        return bool(spoke) and max(spoke) < incarnation


def _only(view: View, since: Mapping[int, float]) -> View:
    """Leave those alive that spoke since a moment; what has no ordinal is HAKeeper's to judge."""
    present = frozenset(
        uuid
        for uuid, silent in view.silent.items()
        if (ordinal := ordinal_of(uuid)) is None or silent < since.get(ordinal, 0.0)
    )
    shards = [replace(shard, alive=shard.alive & present) for shard in view.shards]
    return replace(view, shards=shards)
