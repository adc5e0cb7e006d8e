# SPDX-License-Identifier: Apache-2.0
"""Log stores as Kubernetes shows them, and what is recorded on their LogSet (design D3)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from ..api import names
from ..api.durations import seconds
from ..api.fields import Fields
from ..api.pods import condition, ended_after, first_start, is_ready
from ..api.timestamps import unix_time
from ..api.types import Resource
from ..reporting.conditions import has_served
from ..reporting.pods import (
    why,
)
from ..workload import kruise, storage
from ..workload import nodes as node_states
from .failover import LogStore, Policy, Repair
from .health import REPAIR_ANNOTATION
from .view import ordinal_of_pod

ANNOTATION_REPAIR: Final = REPAIR_ANNOTATION
_DEFAULT_TIMEOUT: Final = 600
_MAJORITY_OF_THREE: Final = 3
_USELESS: Final = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
    }
)
"""Reasons of a waiting container that a new, empty store would have, too."""

Pod = Mapping[str, Any]
Claim = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """A replacement under way, as it is stored on the LogSet.

    Attributes:
        pod: whose store is replaced.
        ordinal: number of the Pod.
        incarnation: of the new store.
        began: when it was decided, Unix time.
        keep: whether the volumes of the old store are kept for good.
        hold: whether they are kept for a while, see `replaced_volumes`.
        pod_uid: uid of the old Pod; empty if there was none.
        claims: uid of the old claims by name.
        before: the incarnation that was recorded for the ordinal until then; None if unknown.
    """

    pod: str
    ordinal: int
    incarnation: int
    began: float
    keep: bool = False
    pod_uid: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)
    before: int | None = None
    hold: bool = False

    def text(self) -> str:
        """Return it as the annotation's value."""
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    def untouched(self, claims: Iterable[Claim]) -> bool:
        """Return whether the old store keeps all its volumes, and so its data.

        Args:
            claims: the claims of the set.
        """
        staying = {
            claim["metadata"]["uid"]
            for claim in claims
            if not claim["metadata"].get("deletionTimestamp")
        }
        return bool(self.claims) and staying >= set(self.claims.values())

    def state(self, pods: Iterable[Pod], claims: Iterable[Claim], gossip: str) -> Repair:
        """Return how far it is.

        Args:
            pods: the Pods of the set.
            claims: the claims of the set.
            gossip: text of the file that tells stores their incarnation.
        """
        pods, claims = list(pods), list(claims)
        old = {claim["metadata"]["uid"] for claim in claims} & set(self.claims.values())
        runs = any(pod["metadata"]["uid"] == self.pod_uid for pod in pods)
        rendered = f"{self.ordinal} {self.incarnation}" in gossip.splitlines()
        return Repair(
            pod=self.pod,
            ordinal=self.ordinal,
            incarnation=self.incarnation,
            began=self.began,
            removed=not old and not runs,
            touched=not self.untouched(claims),
            rendered=rendered,
            created=max(map(_made, (one for one in pods if _named(one) == self.pod)), default=0.0),
        )


def _named(pod: Pod) -> str:
    return str(pod["metadata"].get("name") or "")


def _made(pod: Pod) -> float:
    """Return when a Pod was created, Unix time; 0 when it is unknown."""
    return unix_time(pod["metadata"].get("creationTimestamp"))


def recorded(resource: Resource) -> Record | None:
    """Return the replacement under way; None if there is none, or it cannot be read."""
    annotations = resource["metadata"].get("annotations") or {}
    try:
        return Record(**json.loads(annotations.get(ANNOTATION_REPAIR) or "null"))
    except (TypeError, ValueError):
        return None


def incarnations(resource: Resource) -> dict[str, int]:
    """Return the recorded incarnations by ordinal; rendering refuses what cannot be read."""
    annotations = resource["metadata"].get("annotations") or {}
    try:
        found = json.loads(annotations.get(names.ANNOTATION_INCARNATIONS) or "{}")
        return {str(ordinal): int(number) for ordinal, number in found.items()}
    except (AttributeError, TypeError, ValueError):
        return {}


def policy_of(resource: Resource) -> Policy:
    """Return how a LogSet repairs itself.

    Raises:
        InvalidSpec: the timeout is no duration.
    """
    spec = Fields("spec", resource.get("spec") or {})
    timeout = _DEFAULT_TIMEOUT
    if spec.raw("storeFailureTimeout") is not None:
        timeout = seconds(spec, "storeFailureTimeout")
    annotations = resource["metadata"].get("annotations") or {}
    adopting = annotations.get(kruise.ANNOTATION_ADOPTION) == kruise.UNDER_WAY
    return Policy(timeout, _shard_replicas(resource), has_served(resource), adopting)


def _shard_replicas(resource: Resource) -> int:
    annotations = resource["metadata"].get("annotations") or {}
    try:
        members = len(json.loads(annotations.get(names.ANNOTATION_BOOTSTRAP) or "[]"))
    except (TypeError, ValueError):
        members = 0
    known = (resource.get("status") or {}).get("logShardReplicas") or 0
    replicas = int((resource.get("spec") or {}).get("replicas") or 0)
    return members or int(known) or (3 if replicas >= _MAJORITY_OF_THREE else 1)


def keeps_volumes(resource: Resource) -> bool:
    """Return whether the volume of a replaced store stays: `Orphan` says so, as does `Retain`."""
    spec = Fields("spec", resource.get("spec") or {})
    return spec.text("failedPodStrategy") == "Orphan" or storage.pvc_policy(spec) == "Retain"


def claims_stay(resource: Resource) -> bool:
    """Return whether a store that leaves a set keeps its claims."""
    return storage.pvc_policy(Fields("spec", resource.get("spec") or {})) == "Retain"


def incarnation_annotation(numbers: Mapping[str, int]) -> dict[str, str | None]:
    """Return the annotation that records incarnations."""
    text = json.dumps(dict(sorted(numbers.items())), separators=(",", ":"))
    return {names.ANNOTATION_INCARNATIONS: text}


def claims_of(pod: str, workload: Mapping[str, Any], claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims that a StatefulSet created for a Pod: one of each of its templates.

    A copy of such a claim has its labels, and may have the Pod's name in its own.
    """
    templates = (workload.get("spec") or {}).get("volumeClaimTemplates") or []
    created = {f"{template['metadata']['name']}-{pod}" for template in templates}
    return [claim for claim in claims if claim["metadata"]["name"] in created]


@dataclass(frozen=True, slots=True)
class SetState:
    """What decides whether a new store would come up where the old one does not.

    Attributes:
        pods: the Pods of the set.
        workload: its StatefulSet.
        nodes: the nodes that matter, as far as they may be read.
        volumes: the PersistentVolumes of each Pod that waits for a node.
    """

    pods: Sequence[Pod]
    workload: Mapping[str, Any]
    nodes: node_states.Nodes = field(default_factory=dict)
    volumes: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


def log_store(name: str, down_since: float | None, state: SetState) -> LogStore:
    """Return what is known about an expected store.

    Args:
        name: of its Pod.
        down_since: since when it is down (Unix time); None while it is up.
        state: Pods, nodes and volumes.
    """
    pod = next((one for one in state.pods if one["metadata"]["name"] == name), None)
    if down_since is None:
        return LogStore(name, ordinal_of_pod(name))
    return LogStore(
        name,
        ordinal_of_pod(name),
        down_since,
        obstacle=obstacle_of(pod, state),
        attempted=attempted(pod) if pod else 0.0,
        fails_repeatedly=ended_after(pod, down_since) if pod else False,
        is_created=pod is not None,
    )


def attempted(pod: Pod) -> float:
    """Return when a Pod got its node, or its process first started (Unix time); 0 if it did not.

    What a process that ended more than once did first is not known any more.
    """
    scheduled = condition(pod, "PodScheduled")
    placed = scheduled.get("lastTransitionTime") if scheduled.get("status") == "True" else None
    return max(unix_time(placed), unix_time(first_start(pod)))


def obstacle_of(pod: Pod | None, state: SetState) -> str:
    """Return why a new, empty store in place of a Pod would not start either; empty if it might."""
    if pod is None:
        return "Kubernetes has not created its Pod"
    if pod["metadata"].get("deletionTimestamp"):
        lost = node_states.is_lost(node_states.node_name(pod), state.nodes)
        return "" if lost else "its Pod is being deleted"
    return _why_pending(pod, state) or _unproven(pod, state)


def _why_pending(pod: Pod, state: SetState) -> str:
    """Return what keeps a Pod from starting that a Pod without data would meet, too."""
    reason = why(pod)
    if reason in _USELESS:
        return f"its Pod cannot start ({reason}), nor would a new one"
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        volumes = state.volumes.get(pod["metadata"]["name"]) or ()
        if any(not node_states.is_reachable(volume, state.nodes) for volume in volumes):
            return ""
        return f"its Pod waits for a node ({scheduled.get('message') or scheduled.get('reason')})"
    mounted = condition(pod, "PodReadyToStartContainers").get("status") == "True"
    return "its image is being pulled" if reason == "ContainerCreating" and mounted else ""


def _unproven(pod: Pod, state: SetState) -> str:
    """Return a reason where a Pod runs an update that has not started anywhere: not its volume."""
    status = state.workload.get("status") or {}
    newest = status.get("updateRevision")
    revision = _revision(pod)
    if not newest or newest == status.get("currentRevision") or revision != newest:
        return ""
    if any(is_ready(other) and _revision(other) == newest for other in state.pods):
        return ""
    return "it runs an update that has not come up anywhere yet; correct the spec"


def _revision(pod: Pod) -> str:
    labels = pod["metadata"].get("labels") or {}
    return str(labels.get("controller-revision-hash") or "")
