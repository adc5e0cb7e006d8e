# SPDX-License-Identifier: Apache-2.0
"""Force-delete Pods of transaction nodes that are known to be dead, and name the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

from ..api import names
from ..clients.matrixone import Deadline, HAKeeper, MatrixOneError
from ..reporting.events import Occurrence, occurrence
from ..reporting.health import HEARD_SECONDS
from ..workload import nodes
from ..workload.sets import SetContext
from .lost_nodes import release_note, suspects, why_it_stays
from .served_shards import ServedShards
from .shards import store_uuid

Json = Mapping[str, Any]
_SECONDS = 1.0


class Kubernetes(Protocol):
    """What is needed of Kubernetes."""

    def nodes(self, selected: Iterable[str]) -> nodes.Nodes:
        """Return nodes by name, as far as they may be read; None for one that does not exist."""

    def delete(self, found: Json, *, force: bool = False) -> None:
        """Delete this very object; with ``force`` without waiting for its node."""


@dataclass(frozen=True, slots=True)
class Release:
    """What became of Pods that should have terminated.

    Attributes:
        events: one for each that was force-deleted.
        blocked: why others stay, and what a person has to do; empty if none does.
    """

    events: list[Occurrence] = field(default_factory=list)
    blocked: str = ""


def release(
    kubernetes: Kubernetes,
    resource: Json,
    pods: Sequence[Json],
    served: ServedShards,
    addresses: Sequence[str],
    deadline: Deadline,
    now: float,
) -> Release:
    """Force-delete the Pods of a DNSet that nothing runs of any more.

    Args:
        kubernetes: nodes are read, and Pods deleted, through it.
        resource: the DNSet.
        pods: its live Pods.
        served: what HAKeeper has already answered in this pass; it is asked only if it was not.
        addresses: where HAKeeper may be; empty when no log store runs.
        deadline: when the questions to HAKeeper end.
        now: the present, Unix time.

    Raises:
        InvalidSpec: the DNSet cannot be read.
    """
    late = nodes.overdue(pods, now)
    if not late:
        return Release()
    known = kubernetes.nodes({nodes.node_name(pod) for pod in late} - {""})
    found = Release()
    refusals = []
    for pod in suspects(late, known, now):
        refusal = why_it_stays(pod, known, _is_heard(resource, pod, served, addresses, deadline))
        if refusal:
            refusals.append(refusal)
            continue
        kubernetes.delete({"kind": "Pod", **pod}, force=True)
        note = release_note(pod)
        found.events.append(occurrence("PodReleased", note, action="Repair", warning=True))
    return Release(found.events, "; ".join(refusals))


def _is_heard(
    resource: Json,
    pod: Json,
    served: ServedShards,
    addresses: Sequence[str],
    deadline: Deadline,
) -> bool | None:
    """Return whether a transaction node speaks to HAKeeper; None when that does not answer."""
    if served.asked:
        silent = served.silent.get(pod["metadata"]["name"], inf)
        return silent <= HEARD_SECONDS if served.reached else None
    context = SetContext.of(names.DN_SET, dict(resource))
    uuid = store_uuid(context, int(pod["metadata"]["name"].rpartition("-")[2]))
    if not addresses:
        return None
    try:
        with HAKeeper(discovery=addresses, addresses=addresses) as hakeeper:
            stores = hakeeper.cluster_details(deadline.within(_SECONDS)).tn_stores
    except MatrixOneError:
        return None
    return any(store.uuid == uuid and store.silent <= HEARD_SECONDS for store in stores)
