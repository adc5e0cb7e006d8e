# SPDX-License-Identifier: Apache-2.0
"""Metrics of a CNPool, from what its pass found and did; the operator exposes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..api.types import Resource
from ..reporting.reasons import PoolReason

Json = dict[str, Any]

_PODS: Final = "matrixone_pool_pods"
_IDLE_DESIRED: Final = "matrixone_pool_idle_desired"
_BOUND: Final = "matrixone_pool_claims_bound"
_WAITING: Final = "matrixone_pool_claims_waiting"
_OLDEST: Final = "matrixone_pool_oldest_waiting_timestamp_seconds"
_LIMITED: Final = "matrixone_pool_at_max_pods"
_UNREACHABLE: Final = "matrixone_pool_hakeeper_unreachable"
_SECONDS: Final = "matrixone_pool_bind_seconds"
_MISSES: Final = "matrixone_pool_misses_total"
_CONFLICTS: Final = "matrixone_pool_conflicts_total"

METRICS: Final = {
    _PODS: ("gauge", "Pods of a pool by phase."),
    _IDLE_DESIRED: ("gauge", "Idle Pods that a pool should keep at this time."),
    _BOUND: ("gauge", "Claims that have a Pod of a pool."),
    _WAITING: ("gauge", "Claims of a pool that have no Pod, by reason."),
    _OLDEST: (
        "gauge",
        "Creation of the oldest claim of a pool that waits for a Pod; absent if none does.",
    ),
    _LIMITED: ("gauge", "1 while a pool needs more Pods than maxPods."),
    _UNREACHABLE: ("gauge", "1 while the HAKeeper of a pool does not answer."),
    _SECONDS: ("histogram", "Seconds from the creation of a claim until it was bound."),
    _MISSES: ("counter", "Claims that found no idle Pod and had to wait for one."),
    _CONFLICTS: ("counter", "Writes that were dropped because their object had changed."),
}
"""Names, types and descriptions. Their labels are ``pool_namespace`` and ``pool``: Prometheus has
its own ``namespace``, that of the operator."""

_PHASES: Final = ("starting", "idle", "bound", "draining", "terminating")
_REASONS: Final = (
    PoolReason.NO_IDLE_NODE,
    PoolReason.POOL_AT_MAX_PODS,
    PoolReason.OWNER_QUOTA,
    PoolReason.HAKEEPER_UNREACHABLE,
)
_BUCKETS: Final = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""With an idle Pod a claim takes about a second; without one, as long as a Pod takes to start."""


def metrics_of(resource: Resource, found: Mapping[str, Any]) -> list[Json]:
    """Return the requests to the metrics API that show how a pass ended.

    Args:
        resource: the CNPool.
        found: what its pass returned; empty if there was none.
    """
    if not found:
        return []
    pods, claims, waiting = found["pods"], found["claims"], found["waiting"]
    gauges: list[tuple[str, Json, float]] = [
        *((_PODS, {"phase": phase}, pods[phase]) for phase in _PHASES),
        *((_WAITING, {"reason": one.value}, waiting.get(one.value, 0)) for one in _REASONS),
        (_IDLE_DESIRED, {}, found["idleDesired"]),
        (_BOUND, {}, claims["bound"]),
        (_LIMITED, {}, float(bool(found["limited"]))),
        (_UNREACHABLE, {}, float(bool(found["problem"]))),
    ]
    oldest = found["oldestWaiting"]
    return [
        *(_request(resource, name, {"set": value}, labels) for name, labels, value in gauges),
        _request(resource, _OLDEST, {"remove": True} if oldest is None else {"set": oldest}),
        _request(resource, _SECONDS, {"observe": found["waits"], "buckets": list(_BUCKETS)}),
        _request(resource, _MISSES, {"add": found["missed"]}),
        _request(resource, _CONFLICTS, {"add": found["dropped"]}),
    ]


def no_metrics_of(resource: Resource) -> list[Json]:
    """Return the requests to the metrics API that remove the series of a pool."""
    return [_request(resource, name, {"remove": True}) for name in METRICS]


def series() -> Iterable[str]:
    """Return the names of all series, as Prometheus has them."""
    for name, (kind, _description) in METRICS.items():
        parts = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        yield from (f"{name}{part}" for part in parts)


def _request(resource: Resource, name: str, operation: Json, labels: Json | None = None) -> Json:
    kind, description = METRICS[name]
    metadata = resource["metadata"]
    place = {"pool_namespace": metadata["namespace"], "pool": metadata["name"]}
    return {
        "name": name,
        "description": description,
        "labels": {**place, **(labels or {})},
        kind: operation,
    }
