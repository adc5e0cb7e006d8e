# SPDX-License-Identifier: Apache-2.0
"""Volumes of log stores that left in a scale-in: their claims are deleted, and no others.

A StatefulSet could delete claims by itself. It would do so for whoever deletes it, or scales it to
zero, by hand, and the database would be gone. So it keeps them all, and those go by name and uid
that were recorded when HAKeeper could do without their stores.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from ..api.types import Resource
from .pods import claims_of, claims_stay
from .view import ordinal_of_pod

ANNOTATION_LEFT: Final = "logset.matrixorigin.io/left-stores"
"""On a LogSet: the stores that left, whose claims are still to be deleted."""
_MOST: Final = 100
_ORDINAL: Final = re.compile(r"[a-z0-9.-]+-[0-9]{1,5}")

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LeftStore:
    """A store that leaves, or has left.

    Attributes:
        pod: that it ran in.
        claims: uid of its claims by name.
    """

    pod: str
    claims: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Deletion:
    """What becomes of the claims of stores that left.

    Attributes:
        claims: to be deleted now.
        waiting: the stores whose turn comes later.
    """

    claims: Sequence[Json]
    waiting: Sequence[LeftStore]


def left_stores(resource: Resource) -> list[LeftStore]:
    """Return the stores that left, as a LogSet records them; none where that cannot be read."""
    annotations = resource["metadata"].get("annotations") or {}
    try:
        listed = json.loads(annotations.get(ANNOTATION_LEFT) or "[]")
        return [
            LeftStore(str(one["pod"]), {str(name): str(uid) for name, uid in one["claims"].items()})
            for one in listed[:_MOST]
            if _ORDINAL.fullmatch(str(one["pod"]))
        ]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return []


def annotation(stores: Iterable[LeftStore]) -> dict[str, str | None]:
    """Return the annotation that records stores; it goes with the last of them."""
    listed = [asdict(store) for store in stores]
    text = json.dumps(listed, separators=(",", ":"), sort_keys=True)
    return {ANNOTATION_LEFT: text if listed else None}


def with_store(
    stores: Iterable[LeftStore], pod: str, workload: Json, claims: Iterable[Json]
) -> list[LeftStore]:
    """Return them with one more, which leaves now; not with one that has no claims.

    Args:
        stores: those that are recorded.
        pod: whose store leaves.
        workload: its StatefulSet.
        claims: the live claims of the set.
    """
    own = claims_of(pod, workload, claims)
    if not own:
        return list(stores)
    left = LeftStore(pod, {one["metadata"]["name"]: one["metadata"]["uid"] for one in own})
    return [*(store for store in stores if store.pod != pod), left][-_MOST:]


def next_deletion(
    stores: Iterable[LeftStore],
    resource: Resource,
    workload: Json,
    pods: Iterable[Json],
    claims: Iterable[Json],
) -> Deletion:
    """Decide which claims of stores that left are deleted now.

    It is those whose Pods the StatefulSet has given up. One that has more Pods again, or that was
    stopped, by the spec or by hand, says nothing about that.

    Args:
        stores: those that are recorded.
        resource: the LogSet.
        workload: its StatefulSet.
        pods: its Pods.
        claims: its live claims.
    """
    if claims_stay(resource):
        return Deletion([], [])
    spec = workload.get("spec") or {}
    present = int(spec.get("replicas") or 0)
    desired = int((resource.get("spec") or {}).get("replicas") or 0)
    is_stopped = not present or not desired
    runs = {one["metadata"]["name"] for one in pods if not one["metadata"].get("deletionTimestamp")}
    claims, doomed, waiting = list(claims), [], []
    for store in stores:
        ordinal = ordinal_of_pod(store.pod)
        if not is_stopped and ordinal < min(present, desired):
            continue
        if is_stopped or ordinal < present or store.pod in runs or not _is_settled(workload):
            waiting.append(store)
            continue
        own = claims_of(store.pod, workload, claims)
        doomed += [one for one in own if one["metadata"]["uid"] in store.claims.values()]
    return Deletion(doomed, waiting)


def _is_settled(workload: Json) -> bool:
    """Return whether the StatefulSet's controller knows how many Pods there are to be."""
    seen = (workload.get("status") or {}).get("observedGeneration") or 0
    return int(seen) >= int(workload["metadata"].get("generation") or 0)


def claims_after_play(
    resource: Resource, workload: Json | None, claims: Iterable[Json]
) -> list[Json]:
    """Return the claims that a playbook deletes after it has lowered the number of stores.

    `scaling.require_size` has refused what would lose a quorum. Nothing is recorded, as there is
    no LogSet in the cluster: what a play leaves behind that ends in between stays.

    Args:
        resource: the LogSet that is played.
        workload: its StatefulSet as it was before.
        claims: the claims of the set as they were before.
    """
    present = int(((workload or {}).get("spec") or {}).get("replicas") or 0)
    desired = int((resource.get("spec") or {}).get("replicas") or 0)
    if workload is None or not desired or claims_stay(resource):
        return []
    name, claims = workload["metadata"]["name"], list(claims)
    left = (f"{name}-{ordinal}" for ordinal in range(desired, present))
    return [claim for pod in left for claim in claims_of(pod, workload, claims)]
