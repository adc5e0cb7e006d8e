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
    if not _may_lack_replicas(resource, LogStoresResult.of(observed.stores)):
        return list(objects)
    limit: dict[str, Any] = {"maxUnavailable": 0}
    if _is_minority_unready(observed.workload, observed.pods):
        limit["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    return [
        {**one, "spec": {**one["spec"], **limit}} if one["kind"] == "PodDisruptionBudget" else one
        for one in objects
    ]


def _may_lack_replicas(resource: Resource, stores: LogStoresResult) -> bool:
    """Return whether a log shard has fewer replicas than it should, or it is not known.

    A set that never served may be founded, and waits for nodes to be had.
    """
    if not has_served(resource):
        return False
    if stores.asked:
        return not stores.shards or bool(lacking(stores.shards) or stores.lost)
    return bool(lacking(reported_shards(resource)))


def _is_minority_unready(workload: Manifest | None, pods: Sequence[Manifest]) -> bool:
    expected = int(((workload or {}).get("spec") or {}).get("replicas") or 0)
    return 2 * sum(map(is_ready, pods)) > expected
