# SPDX-License-Identifier: Apache-2.0
"""The stages of a cluster's start: pure functions of observed workloads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CLUSTER = "mo"

COMPONENTS = {
    "StatefulSet/mo-log": "log service",
    "StatefulSet/mo-dn": "transaction node",
    "Deployment/mo-tp-cn": "compute node",
    "Deployment/mo-proxy": "proxy",
}

# What has to be ready before the operator may go on to the component.
PREDECESSOR = {
    "StatefulSet/mo-dn": "StatefulSet/mo-log",
    "Deployment/mo-tp-cn": "StatefulSet/mo-dn",
    "Deployment/mo-proxy": "StatefulSet/mo-log",
}


@dataclass(slots=True)
class Timeline:
    """When things were first seen, in seconds of a monotonic clock.

    Attributes:
        applied: when the resource was applied.
        seen: component -> its workload exists.
        ready: component -> all its replicas are ready.
        cluster_ready: when the MatrixOneCluster said Ready.
    """

    applied: float
    seen: dict[str, float] = field(default_factory=dict)
    ready: dict[str, float] = field(default_factory=dict)
    cluster_ready: float | None = None

    def own_seconds(self) -> dict[str, float]:
        """Seconds that the operator itself took, per component and for the final status.

        A component's time runs from the moment its predecessor was ready (or the resource was
        applied) until its workload exists; the database's own start is not in it.
        """
        spent = {}
        for component, at in self.seen.items():
            predecessor = PREDECESSOR.get(component)
            begin = self.ready.get(predecessor, at) if predecessor else self.applied
            spent[COMPONENTS[component]] = max(0.0, at - begin)
        if self.cluster_ready is not None and self.ready:
            spent["status"] = max(0.0, self.cluster_ready - max(self.ready.values()))
        return spent

    def own_total(self) -> float:
        """Seconds that the operator itself took in all.

        Components that wait for the same predecessor are made side by side: the slowest counts.
        """
        stages: dict[str, float] = {}
        titles = {title: component for component, title in COMPONENTS.items()}
        for title, seconds in self.own_seconds().items():
            stage = PREDECESSOR.get(titles.get(title, ""), title)
            stages[stage] = max(seconds, stages.get(stage, 0.0))
        return sum(stages.values())


def replicas(workload: Mapping[str, Any]) -> tuple[int, int]:
    """Ready and desired replicas of a StatefulSet or Deployment."""
    status = workload.get("status") or {}
    return status.get("readyReplicas") or 0, (workload.get("spec") or {}).get("replicas", 1)


def is_ready(workload: Mapping[str, Any]) -> bool:
    """Whether all replicas of the current generation are ready."""
    ready, wanted = replicas(workload)
    status = workload.get("status") or {}
    current = status.get("observedGeneration") == workload["metadata"].get("generation")
    return current and ready >= wanted > 0


def condition(resource: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """A condition of a custom resource, or an empty mapping."""
    conditions = (resource.get("status") or {}).get("conditions") or []
    return next((entry for entry in conditions if entry.get("type") == kind), {})


def cluster_is_ready(resource: Mapping[str, Any]) -> bool:
    """Whether Ready is true for the generation that is asked for."""
    ready = condition(resource, "Ready")
    return ready.get("status") == "True" and ready.get("observedGeneration", 0) >= resource[
        "metadata"
    ].get("generation", 0)


def observe(timeline: Timeline, kind: str, resource: Mapping[str, Any], at: float) -> str:
    """Note what an event says; return a line for the user, or "" if it is no news."""
    if kind == "MatrixOneCluster":
        if resource["metadata"]["name"] != CLUSTER:
            return ""
        return _observe_cluster(timeline, resource, at)
    component = f"{kind}/{resource['metadata']['name']}"
    if component not in COMPONENTS:
        return ""
    title, (ready, desired) = COMPONENTS[component], replicas(resource)
    if component not in timeline.seen:
        timeline.seen[component] = at
        return f"{title}: created, {desired} desired"
    if component not in timeline.ready and is_ready(resource):
        timeline.ready[component] = at
        return f"{title}: {ready}/{desired} ready"
    return ""


def _observe_cluster(timeline: Timeline, resource: Mapping[str, Any], at: float) -> str:
    if cluster_is_ready(resource):
        if timeline.cluster_ready is None:
            timeline.cluster_ready = at
            return "cluster: ready"
        return ""
    synced, ready = condition(resource, "Synced"), condition(resource, "Ready")
    if synced.get("status") == "False" and synced.get("reason") == "InvalidSpec":
        return f"cluster: {synced.get('message', '')}"
    return f"cluster: {ready['message']}" if ready.get("message") else ""
