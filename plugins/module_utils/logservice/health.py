# SPDX-License-Identifier: Apache-2.0
"""What HAKeeper is asked about log stores, and which of them are down."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Any

from ..api.pods import is_ready, ready_at
from ..api.timestamps import timestamp, unix_time
from ..api.types import Resource
from ..reporting import pods as pod_status
from ..reporting.conditions import find, has_served, holds
from ..reporting.reasons import ConditionType
from .replaced_volumes import overdue, remembered
from .shards import lacking, lists_none, reported_shards
from .view import View, ordinal_of_pod

REPAIR_ANNOTATION = "logset.matrixorigin.io/repair"
SETTLING_SECONDS = 30.0
"""A store that has only just started may not have taken up its replicas yet."""
_REJOIN_SECONDS = 60.0
"""A store that HAKeeper has removed while it was away may need so long to be heard again.

A spare one may be silent for some seconds while HAKeeper elects its leader.
"""
_EMPTY = "has lost its data"
_REMOVED = "was away until HAKeeper had removed its replicas, and does not report to it any more"
_NEWS_SECONDS = 120.0
"""How long HAKeeper may have news of a store that came back."""
_FIRST_SECONDS = 60.0
"""A Pod that is created so long after its LogSet is not the first of its ordinal."""

Pod = Mapping[str, Any]


class Question(Enum):
    """How much depends on what HAKeeper says."""

    NONE = 0
    """Nothing: it cannot have any news."""
    BRIEF = 1
    """It may have news, and it is no matter when it does not answer."""
    NEEDED = 2
    """Something is to be decided."""


def question(
    resource: Resource, workload: Mapping[str, Any], pods: Collection[Pod], now: float
) -> Question:
    """Return whether to ask HAKeeper.

    While a set first comes up it has nothing to say, and each question would take its whole time;
    neither has it when all stores have been up for long.

    Args:
        resource: the LogSet.
        workload: its StatefulSet.
        pods: its Pods.
        now: the present, Unix time.
    """
    ready = sum(is_ready(pod) for pod in pods)
    present = int((workload.get("spec") or {}).get("replicas") or 0)
    desired = int((resource.get("spec") or {}).get("replicas") or 0)
    if not ready or not (has_served(resource) or ready >= present):
        return Question.NONE
    status = resource.get("status") or {}
    shrinks = 0 < desired < present
    if shrinks or ready < present or status.get("failedStores") or _repairs(resource):
        return Question.NEEDED
    came_back = any(came_back_lately(resource, pod, now, _NEWS_SECONDS) for pod in pods)
    unknown = lists_none(reported_shards(resource))
    expected = unknown and _served_since(resource, now) < _NEWS_SECONDS
    old_volumes = overdue(remembered(resource), now)
    # A store that HAKeeper does not hear may be one that it has removed, of which no shard tells.
    is_unwell = not holds(resource, ConditionType.READY) or lacking(reported_shards(resource))
    if came_back or expected or is_unwell or old_volumes:
        return Question.BRIEF
    return Question.NONE


def _repairs(resource: Resource) -> bool:
    return REPAIR_ANNOTATION in (resource["metadata"].get("annotations") or {})


def _served_since(resource: Resource, now: float) -> float:
    """Return for how many seconds a set has been ready; 0 when it is not."""
    ready = find(resource, ConditionType.READY)
    moved = unix_time(ready.get("lastTransitionTime"))
    return now - moved if ready.get("status") == "True" and moved else 0.0


def came_back_lately(resource: Resource, pod: Pod, now: float, seconds: float) -> bool:
    """Return whether a Pod became ready within the last seconds, and not for the first time."""
    since = ready_at(pod)
    if since is None or since + seconds < now:
        return False
    created = unix_time(resource["metadata"].get("creationTimestamp"))
    born = unix_time(pod["metadata"].get("creationTimestamp"))
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    restarted = any(container.get("restartCount") for container in containers)
    return restarted or born > created + _FIRST_SECONDS


def lost_stores(pods: Iterable[Pod], view: View | None, now: float) -> dict[str, str]:
    """Return why stores whose Pods are ready are of no use, by Pod.

    Args:
        pods: Pods of the set.
        view: what HAKeeper reports; None when it did not answer.
        now: the present, Unix time.
    """
    if view is None:
        return {}
    ready = {pod["metadata"]["name"]: ready_at(pod) for pod in pods}
    found = {
        pod: _why_lost(view, ordinal_of_pod(pod), now - since)
        for pod, since in ready.items()
        if since is not None
    }
    return {pod: why for pod, why in found.items() if why}


def _why_lost(view: View, ordinal: int, ready: float) -> str:
    """Return why a store that has been ready for some seconds is of no use; empty if it may be."""
    if ready >= SETTLING_SECONDS and view.without_data(ordinal):
        return _EMPTY
    is_removed = view.has_removed(ordinal, _REJOIN_SECONDS)
    return _REMOVED if ready >= _REJOIN_SECONDS and is_removed else ""


def down_since(
    resource: Resource,
    pods: Iterable[Pod],
    expected: Iterable[str],
    lost: Collection[str],
    now: float,
) -> dict[str, float | None]:
    """Return since when each expected store is down (Unix time); None for those that are up.

    It is what the status says; a store that the status does not know to be down is down from now.
    """
    desired = list(expected)
    listed = pod_status.stores(pods, desired, resource.get("status"), timestamp(now), lost)
    down = {store["podName"]: store["lastTransition"] for store in listed["failedStores"]}
    return {pod: unix_time(down[pod]) if pod in down else None for pod in desired}
