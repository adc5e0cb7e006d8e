# SPDX-License-Identifier: Apache-2.0
"""What is reported of the SQL user of the metrics tables; the action ``metric_user`` creates it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..api.types import Resource
from ..reporting.events import Occurrence, occurrence
from .database_results import DatabaseResults

LOOK_AGAIN = "10m"
"""A change of a Secret starts no pass: none is watched."""


def status_of(resource: Resource, results: DatabaseResults) -> dict[str, Any]:
    """Return ``status.clusterMetrics``; empty when no such user is asked for."""
    if not (resource.get("spec") or {}).get("metricReaderEnabled"):
        return {}
    before = (resource.get("status") or {}).get("clusterMetrics") or {}
    return dict(results.metrics or before)


def requeue(resource: Resource, metrics: Mapping[str, Any], otherwise: str) -> str:
    """Return when to check again.

    Args:
        resource: the MatrixOneCluster.
        metrics: what its status is to say.
        otherwise: when to check again without it.
    """
    if otherwise or not (resource.get("spec") or {}).get("metricReaderEnabled"):
        return otherwise
    return LOOK_AGAIN if metrics.get("initialized") else "15s"


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
