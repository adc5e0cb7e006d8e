# SPDX-License-Identifier: Apache-2.0
"""Which Pods of a MatrixoneCluster keep crashing, and so stop a roll-out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from .observed import EarlyObserved
from .rendering import ORDERED, EarlyContext

_HOPELESS: Final = frozenset({"CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff"})
_RESTARTS: Final = 1
_LEAST_AGE: Final = 15.0  # seconds that a Pod gets before it counts as broken


def doomed(
    context: EarlyContext, observed: EarlyObserved, live: Mapping[str, Any], now: datetime
) -> list[dict[str, Any]]:
    """Return the one Pod of an old revision that keeps crashing.

    The StatefulSet's controller would wait for it for ever. With Parallel it does not wait.
    """
    spec = context.spec
    if not spec.flag("forceDeleteStsPodOnError") or spec.text("podManagementPolicy") != ORDERED:
        return []
    revision = (live.get("status") or {}).get("updateRevision")
    broken = [
        pod
        for pod in observed.pods
        if not pod["metadata"].get("deletionTimestamp")
        and (pod["metadata"].get("labels") or {}).get("controller-revision-hash") != revision
        and _age(pod, now) >= _LEAST_AGE
        and crashing(pod)
    ]
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {key: pod["metadata"][key] for key in ("name", "namespace", "uid")},
        }
        for pod in sorted(broken, key=lambda pod: str(pod["metadata"]["name"]))[:1]
    ]


def crashing(pod: Mapping[str, Any]) -> bool:
    """Return whether a Pod that is not ready keeps failing; one without containers yet does not."""
    status = pod.get("status") or {}
    conditions = {
        condition.get("type"): condition.get("status")
        for condition in status.get("conditions") or []
    }
    if conditions.get("ContainersReady") != "False" and status.get("phase") == "Running":
        return False
    containers = [
        *(status.get("initContainerStatuses") or []),
        *(status.get("containerStatuses") or []),
    ]
    return any(_keeps_failing(container) for container in containers)


def _keeps_failing(container: Mapping[str, Any]) -> bool:
    waiting = (container.get("state") or {}).get("waiting") or {}
    if waiting.get("reason") in _HOPELESS:
        return True
    return not container.get("ready") and int(container.get("restartCount") or 0) > _RESTARTS


def _age(pod: Mapping[str, Any], now: datetime) -> float:
    """Return the seconds since a Pod was created."""
    created = str(pod["metadata"]["creationTimestamp"]).replace("Z", "+00:00")
    return (now - datetime.fromisoformat(created)).total_seconds()
