# SPDX-License-Identifier: Apache-2.0
"""What the status of a LogSet reports of stores that are lost, replaced or leaving."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..api import names
from ..api.timestamps import unix_time
from ..api.types import Resource
from ..reporting.degradation import sentences
from ..reporting.reasons import Reason
from ..reporting.rollout import Rollout
from ..reporting.set_facts import Findings
from ..workload.component import SetPass
from ..workload.observed import SetObserved
from .deleted_claims import deleted_claims, told
from .failover import UNDER_WAY, Step, Verdict
from .health import SETTLING_SECONDS, Pod, came_back_lately
from .replaced_volumes import remembered, seconds_left
from .shards import ShardCount, known_shards, lacking, lists_none, shard_replicas
from .stores_result import LogStoresResult

_RELEASE_RETRY_SECONDS = (30.0, 600.0)
"""Shortest and longest time between two attempts to release a volume whose time is over."""
_BETWEEN_PASSES = 10.5 * 3600
"""Longest time in seconds until the next pass that nobody asks for: the period of LogSets in
``watches.yaml``, and what the runner adds to it. One that is asked for takes its place."""
_AT_ONCE = frozenset({Step.RECORD, Step.RENDER, Step.TAKE_AWAY, Step.FINISH, Step.CALL_OFF})


def result_of(observed: SetObserved) -> LogStoresResult:
    """Return what the pass over the stores came to, with the log shards as they were told last.

    HAKeeper may have had half a second only to answer that pass; to tell how the stores are, it had
    more.
    """
    stores, told = LogStoresResult.of(observed.stores), observed.health.shards
    if stores.shards or told is None:
        return stores
    return replace(stores, asked=True, reached=True, shards=tuple(map(ShardCount.read, told)))


def findings(seen: SetPass) -> Findings:
    """Return what is known of log stores beyond what Kubernetes reports."""
    stores = result_of(seen.observed)
    replacing = _message_of(stores.repair, *UNDER_WAY)
    activity = None
    if replacing:
        activity = Reason.FAILING_OVER, replacing
    elif stores.scaling:
        activity = Reason.SCALING, stores.scaling
    return Findings(
        activity=activity,
        failure=_volume_deleted(seen) or _failure(stores, seen.rollout, replacing),
        lost=stores.lost,
        outlook=_message_of(stores.repair, Step.WAIT),
    )


def _volume_deleted(seen: SetPass) -> tuple[Reason, str] | None:
    observed = seen.observed
    live = observed.live or seen.resource
    found = told(deleted_claims(live, observed.workload, observed.claims))
    return (Reason.VOLUME_DELETED, found) if found else None


def _failure(
    stores: LogStoresResult, rollout: Rollout, replacing: str
) -> tuple[Reason, str] | None:
    if blocked := _message_of(stores.repair, Step.BLOCKED):
        return Reason.FAILOVER_BLOCKED, blocked
    if replacing and (rollout.ready < rollout.desired or lacking(stores.shards)):
        return Reason.STORES_FAILED, sentences(lacking(stores.shards), replacing)
    return None


def _message_of(repair: Verdict, *steps: Step) -> str:
    """Return the message of a repair that is at one of these steps; empty if it is not."""
    return repair.message if repair.step in steps else ""


def status_fields(seen: SetPass) -> dict[str, Any]:
    """Return the fields of the status that only a LogSet has."""
    stores = result_of(seen.observed)
    shards = known_shards(seen.resource, stores.shards, asked=stores.asked, serves=seen.serves)
    found: dict[str, Any] = {
        "logShardReplicas": shard_replicas(seen.resource, rendered=bool(seen.plan.objects)),
        "lastReplicas": _last_replicas(seen),
        "shards": None if shards is None else [shard.as_field() for shard in shards],
    }
    if seen.rollout.exists:
        found["discovery"] = _discovery(seen.resource)
    return found


def _last_replicas(seen: SetPass) -> int | None:
    """Return how many stores the workload has, or had before it was stopped; None if unknown."""
    live = (seen.observed.workload or {}).get("spec") or {}
    return live.get("replicas") or (seen.resource.get("status") or {}).get("lastReplicas")


def _discovery(resource: Resource) -> dict[str, Any]:
    metadata, spec = resource["metadata"], resource.get("spec") or {}
    domain = names.service_domain(metadata["namespace"], spec.get("clusterDomain"))
    service = names.discovery_name(names.base_name(names.LOG_SET, metadata["name"]))
    return {"port": names.PORT_LOG, "address": f"{service}.{domain}"}


def requeue(
    resource: Resource, pods: Iterable[Pod], stores: LogStoresResult, otherwise: str, now: str
) -> str:
    """Return when to check again.

    Args:
        resource: the LogSet.
        pods: its Pods.
        stores: what the action on its stores came to.
        otherwise: when to check again without it; empty for not at all.
        now: the present, RFC 3339.
    """
    moment = unix_time(now)
    step, due = stores.repair.step, stores.repair.due
    if step in _AT_ONCE:
        return "2s"
    if step in UNDER_WAY or stores.scaling or stores.leaving:
        return "5s"
    if due is not None:
        return f"{max(1, min(15, math.ceil(due - moment)))}s"
    has_begun = stores.shards is not None and lists_none(stores.shards)
    if otherwise or has_begun or lacking(stores.shards):
        return otherwise or "15s"
    settling = any(came_back_lately(resource, pod, moment, SETTLING_SECONDS) for pod in pods)
    return f"{SETTLING_SECONDS + 1:.0f}s" if settling else _when_volumes_go(resource, moment)


def _when_volumes_go(resource: Resource, now: float) -> str:
    """Return when the volume of a replaced store has been kept for long enough; empty for never.

    One that could not be released at its time is tried again, each time after twice as long: most
    often HAKeeper has just not answered.
    """
    left = seconds_left(remembered(resource), now)
    if left is None or left > _BETWEEN_PASSES:
        return ""
    if left > 0:
        return f"{math.ceil(left) + 1}s"
    shortest, longest = _RELEASE_RETRY_SECONDS
    return f"{max(shortest, min(longest, -left)):.0f}s"
