# SPDX-License-Identifier: Apache-2.0
"""What is reported of the SQL user of the metrics tables; the action ``metric_user`` creates it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..api.cron import duration
from ..api.pacing import pause_after
from ..api.timestamps import timestamp, unix_time
from ..api.types import Resource
from ..reporting.events import Occurrence, occurrence
from .database_results import DatabaseResults

_FIRST_SECONDS: Final = 15.0
_LONGEST_SECONDS: Final = 600.0
LOOK_AGAIN = "10m"
"""A change of a Secret starts no pass: none is watched."""


def status_of(resource: Resource, results: DatabaseResults) -> dict[str, Any]:
    """Return ``status.clusterMetrics``; empty when no such user is asked for."""
    if not (resource.get("spec") or {}).get("metricReaderEnabled"):
        return {}
    before = (resource.get("status") or {}).get("clusterMetrics") or {}
    return dict(results.metrics or before)


def failed(
    before: Mapping[str, Any], metrics: Mapping[str, Any], problem: str, now: float
) -> dict[str, Any]:
    """Return ``status.clusterMetrics`` of a user that cannot be created.

    Args:
        before: the same as it is; another version of the Secret is another try.
        metrics: what it would be if the user were there.
        problem: why it cannot be.
        now: the present, Unix time.
    """
    again = before.get("secretVersion") == metrics["secretVersion"]
    since = str(before.get("since") or "") if again else ""
    told = {"initialized": False, "message": problem, "since": since or timestamp(now)}
    return {**metrics, **told}


def retry(metrics: Mapping[str, Any], now: float) -> str:
    """Return when what `failed` tells of is tried again: each pass asks the database."""
    failing = now - unix_time(metrics["since"])
    return duration(pause_after(failing, _FIRST_SECONDS, _LONGEST_SECONDS))


def requeue(resource: Resource, results: DatabaseResults, otherwise: str) -> str:
    """Return when to check again.

    Args:
        resource: the MatrixOneCluster.
        results: what the action came to.
        otherwise: when to check again without it.
    """
    if otherwise or not (resource.get("spec") or {}).get("metricReaderEnabled"):
        return otherwise
    if status_of(resource, results).get("initialized"):
        return LOOK_AGAIN
    return results.metric_user_retry or "15s"


def occurrences(results: DatabaseResults, resource: Resource) -> list[Occurrence]:
    """Return an event when the user was created, or when it newly cannot be."""
    metrics = results.metrics
    before = (resource.get("status") or {}).get("clusterMetrics") or {}
    if results.metric_user_created:
        note = f"the metric user has the password of Secret {metrics['secretRef']['name']}"
        return [occurrence("MetricUserReady", note, action="Create")]
    problem = metrics.get("message") or ""
    if not problem or problem == before.get("message"):
        return []
    note = f"the metric user cannot be created: {problem}"
    return [occurrence("MetricUserFailed", note, action="Create", warning=True)]
