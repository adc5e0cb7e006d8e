# SPDX-License-Identifier: Apache-2.0
"""How many log stores may be evicted: none that serves while a log shard lacks replicas.

A Pod that is ready says nothing about the replicas of its store. When nodes are drained one after
the other, the next one would be allowed as soon as the Pods of the last one are ready again, and
take the second of three replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..api.pods import is_ready
from ..api.types import Manifest, Resource
from ..reporting.conditions import has_served
from ..workload.observed import SetObserved
from .shards import lacking, reported_shards
from .stores_result import LogStoresResult


def with_limit(
    objects: Iterable[Manifest], resource: Resource, observed: SetObserved
) -> list[Manifest]:
    """Return the objects of a LogSet, with a budget that lets no ready Pod go, if it must.

    Pods of a minority that are not ready may be evicted all the same: a drain of their node can
    only help. More of them may be recovering what the log shards need.

    Args:
        objects: as they are rendered by the spec.
        resource: the LogSet, with its status.
        observed: its workload, its Pods, and what was found out about its stores.
    """
    if not _lacks_replicas(resource, LogStoresResult.of(observed.stores)):
        return list(objects)
    limit: dict[str, Any] = {"maxUnavailable": 0}
    if _is_minority_unready(observed.workload, observed.pods):
        limit["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    return [
        {**one, "spec": {**one["spec"], **limit}} if one["kind"] == "PodDisruptionBudget" else one
        for one in objects
    ]


def _lacks_replicas(resource: Resource, stores: LogStoresResult) -> bool:
    """Return whether a log shard is known to have fewer replicas than it should.

    Where HAKeeper cannot be asked the budget goes by the Pods alone, as those of Kubernetes do: an
    operator that a network keeps from it must not hold up every drain. A set that never served may
    be founded, and waits for nodes to be had.
    """
    shards = stores.shards if stores.asked else reported_shards(resource)
    return has_served(resource) and bool(lacking(shards) or stores.lost)


def _is_minority_unready(workload: Manifest | None, pods: Sequence[Manifest]) -> bool:
    expected = int(((workload or {}).get("spec") or {}).get("replicas") or 0)
    return 2 * sum(map(is_ready, pods)) > expected
