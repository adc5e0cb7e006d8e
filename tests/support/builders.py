# SPDX-License-Identifier: Apache-2.0
"""Small live objects for the tests of status and planning."""

from typing import Any

NOW = "2026-01-02T03:04:05Z"
Json = dict[str, Any]


def resource(kind: str = "LogSet", name: str = "mo", replicas: int = 3, **more: Any) -> Json:
    """Return a set in the cluster, generation 2."""
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "prod", "uid": "u-1", "generation": 2},
        "spec": {"replicas": replicas, "image": "matrixorigin/matrixone:1.3.0"},
        **more,
    }


def workload(kind: str = "StatefulSet", name: str = "mo-log", **numbers: int) -> Json:
    """Return a workload that is settled with three Pods, but for the numbers given."""
    counted = {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, **numbers}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "prod", "generation": counted.pop("generation", 1)},
        "spec": {"replicas": counted.pop("wanted", 3)},
        "status": {"observedGeneration": counted.pop("observedGeneration", 1), **counted},
    }


def pod(name: str, *, ready: bool = True, waiting: str = "", since: str = NOW, **more: Any) -> Json:
    """Return a Pod; ``waiting`` is the reason why its container does not run."""
    state: Json = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    metadata = {"name": name, "namespace": "prod", **more.pop("metadata", {})}
    return {
        "metadata": metadata,
        "spec": {"containers": [{"name": "main", "image": "matrixorigin/matrixone:1.3.0"}]},
        "status": {
            "phase": "Pending" if waiting else "Running",
            "conditions": [
                {"type": "Ready", "status": str(ready), "lastTransitionTime": since},
            ],
            "containerStatuses": [{"name": "main", "state": state}],
        },
        **more,
    }


def conditions(*entries: tuple[str, str, str], generation: int = 2) -> list[Json]:
    """Return conditions from type, status and reason."""
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": f"{kind} is {status}",
            "observedGeneration": generation,
            "lastTransitionTime": NOW,
        }
        for kind, status, reason in entries
    ]


SERVING = (("Ready", "True", "EnoughReadyStores"), ("Synced", "True", "Applied"))


def serving(kind: str, name: str, pods: str = "1/1", generation: int = 2) -> Json:
    """Return a child that serves and is synced at its generation."""
    child = resource(kind, name)
    child["metadata"]["generation"] = generation
    child["status"] = {
        "conditions": conditions(*SERVING, generation=2),
        "pods": pods,
        "version": "1.3.0",
    }
    return child


def states(status: Json) -> dict[str, tuple[str, str]]:
    """Return status and reason by condition type."""
    return {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
