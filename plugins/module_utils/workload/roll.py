# SPDX-License-Identifier: Apache-2.0
"""Which Pods of a StatefulSet are replaced next, and what the next replacement waits for.

The StatefulSets have the update strategy OnDelete. Kubernetes' own rolling update considers the
readiness of Pods only: before 1.35 it deletes a healthy log store while one of a lower ordinal
is down, and from 1.35 on it never replaces a Pod that a bad template has broken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ..api.pods import is_ready, ready_since
from ..reporting import pods as pod_status

LABEL_REVISION: Final = "controller-revision-hash"

Pod = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """The next step of a roll; all names are names of Pods.

    Attributes:
        outdated: Pods of an earlier template.
        replace: those of them to delete now: they do not serve, or nothing can be lost any more.
        candidates: those of which one may be deleted if its store is dispensable, the best
            one first.
        waiting: what the next replacement waits for; empty at the end or when something is deleted.
        seconds: when time alone will have brought that about; 0 where it is unknown.
    """

    outdated: tuple[str, ...] = ()
    replace: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    waiting: str = ""
    seconds: int = 0


def next_turn(
    workload: Mapping[str, Any], pods: Iterable[Pod], now: datetime, partition: int = 0
) -> Turn:
    """Decide about a StatefulSet.

    Args:
        workload: the live StatefulSet.
        pods: its live Pods.
        now: the present, with a time zone.
        partition: the lowest ordinal that is changed.
    """
    known = {pod["metadata"]["name"]: pod for pod in pods}
    old = _outdated(workload, known.values(), partition)
    outdated = tuple(_names(old))
    if not old:
        return Turn()
    hopeless = tuple(_names(pod for pod in old if pod_status.is_hopeless(pod)))
    if hopeless:
        return Turn(outdated, replace=hopeless)
    spec = workload["spec"]
    expected = [f"{workload['metadata']['name']}-{number}" for number in range(spec["replicas"])]
    serving = [name for name in expected if name in known and is_ready(known[name])]
    idle = tuple(name for name in outdated if not is_ready(known[name]))
    if idle and 2 * len(serving) <= len(expected):
        return Turn(outdated, replace=idle)
    others = [name for name in expected if name not in idle]
    surplus = ", ".join(_names(pod for name, pod in known.items() if name not in expected))
    waiting, seconds = f"{surplus} to leave" if surplus else "", 0
    if not waiting:
        waiting, seconds = _waiting_for(known, others, int(spec.get("minReadySeconds") or 0), now)
    if waiting:
        return Turn(outdated, waiting=waiting, seconds=seconds)
    if len(idle) > 1:
        return Turn(outdated, replace=idle[:1])
    return Turn(outdated, candidates=idle or outdated)


def is_rolling(workload: Mapping[str, Any] | None, pods: Iterable[Pod], partition: int = 0) -> bool:
    """Return whether a workload is a StatefulSet with Pods of an earlier template to change."""
    if workload is None or workload.get("kind") != "StatefulSet":
        return False
    return bool(_outdated(workload, pods, partition))


def _outdated(workload: Mapping[str, Any], pods: Iterable[Pod], partition: int) -> list[Pod]:
    revision = _wanted_revision(workload)
    old = [pod for pod in pods if revision and _is_outdated(pod, revision)]
    return [pod for pod in old if int(pod["metadata"]["name"].rpartition("-")[2]) >= partition]


def _wanted_revision(workload: Mapping[str, Any]) -> str:
    """Return the revision of the latest template; empty until the controller has seen it."""
    status = workload.get("status") or {}
    seen = (status.get("observedGeneration") or 0) >= workload["metadata"].get("generation", 0)
    deleting = workload["metadata"].get("deletionTimestamp")
    return str(status.get("updateRevision") or "") if seen and not deleting else ""


def _is_outdated(pod: Pod, revision: str) -> bool:
    metadata = pod["metadata"]
    labels = metadata.get("labels") or {}
    return not metadata.get("deletionTimestamp") and labels.get(LABEL_REVISION) != revision


def _names(pods: Iterable[Pod]) -> list[str]:
    """Return the names of Pods, the highest ordinal first."""
    found = [str(pod["metadata"]["name"]) for pod in pods]
    return sorted(found, key=pod_status.natural_order, reverse=True)


def _waiting_for(
    known: Mapping[str, Pod], expected: Sequence[str], least: int, now: datetime
) -> tuple[str, int]:
    """Return which Pods are not ready, or else not for long enough yet, and for how many seconds.

    Returns:
        What is waited for, empty if nothing is; and the seconds, 0 where it is unknown.
    """
    present = [known[name] for name in expected if name in known]
    down = pod_status.unready(present, expected)
    if down:
        return down, 0
    left = {str(pod["metadata"]["name"]): _seconds_left(pod, least, now) for pod in present}
    young = [name for name in left if left[name]]
    if not young:
        return "", 0
    return f"{', '.join(young)} to be ready for {least} s", max(left.values())


def _seconds_left(pod: Pod, least: int, now: datetime) -> int:
    """Return in how many seconds a Pod that is ready will have been so for ``least`` seconds."""
    since = ready_since(pod)
    if since is None:
        return 0
    return max(0, math.ceil(least - (now - since).total_seconds()))
