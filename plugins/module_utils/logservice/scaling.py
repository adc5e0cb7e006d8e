# SPDX-License-Identifier: Apache-2.0
"""Which sizes a log service can be brought to, and which log store leaves next (design D3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.types import LogSetObserved, Resource
from ..workload import storage
from .claims import data_claims
from .presence import Presence
from .view import REFUSES_REPLICAS, View, listed, ordinal_of


def require_size(
    resource: Resource,
    workload: Mapping[str, Any] | None,
    observed: LogSetObserved,
    claims: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Refuse a size that a log service cannot be brought to.

    A resource in the cluster shrinks by one store at a time by itself; a playbook is played once
    and cannot wait for HAKeeper in between.

    Args:
        resource: the LogSet, with its status.
        workload: its live StatefulSet; None if there is none.
        observed: what was decided about it.
        claims: the live claims of its stores.

    Raises:
        InvalidSpec: there would be fewer stores than replicas, too many would leave at once, or
            fewer would start than were stopped.
    """
    desired = int((resource.get("spec") or {}).get("replicas") or 0)
    present = int(((workload or {}).get("spec") or {}).get("replicas") or 0)
    replicas = len(observed.get("bootstrap") or [])
    if desired == 0:
        return
    if present == 0:
        _require_all(desired, stopped_with(resource, claims if workload else ()))
    if desired >= present:
        return
    if desired < replicas:
        message = f"cannot be lowered below the number of replicas of a log shard ({replicas})"
        raise InvalidSpec("spec.replicas", message)
    if not resource["metadata"].get("uid") and desired < present - 1:
        message = (
            f"can be lowered by one at a time without an operator, to {present - 1} now; continue "
            "when HAKeeper has placed the replicas of the removed store again"
        )
        raise InvalidSpec("spec.replicas", message)


def _require_all(desired: int, before: int) -> None:
    if desired < before:
        message = (
            f"must be at least {before}, as before the log service was stopped, because log shards "
            f"may have replicas on each of these stores; start it with {before}, then lower it"
        )
        raise InvalidSpec("spec.replicas", message)


def stopped_with(resource: Resource, claims: Iterable[Mapping[str, Any]]) -> int:
    """Return how many stores a log service had when it was stopped; 0 if that is unknown.

    Args:
        resource: the LogSet with its status; a playbook's has none, nor has one that was stopped
            under an operator that did not record it.
        claims: the claims that it was stopped with. They tell it unless those of stores that left
            are kept, too.
    """
    recorded = (resource.get("status") or {}).get("lastReplicas")
    if recorded or storage.pvc_policy(Fields("spec", resource.get("spec") or {})) == "Retain":
        return int(recorded or 0)
    return max((ordinal + 1 for ordinal, _claim in data_claims(resource, claims)), default=0)


@dataclass(frozen=True, slots=True)
class ScaleIn:
    """How many log stores a set keeps for now.

    Attributes:
        replicas: for the workload.
        leaves: ordinal of the store that leaves now; None if none does.
        message: what the next one waits for; empty if nothing.
    """

    replicas: int
    leaves: int | None = None
    message: str = ""


def scale_in(present: int, desired: int, view: View | None, presence: Presence) -> ScaleIn:
    """Let one store leave at a time, when every shard keeps its quorum and is complete without it.

    A stop (0) is no scale-in: all stores leave at once and keep their volumes.

    Args:
        present: replicas of the workload.
        desired: replicas that the spec asks for.
        view: what HAKeeper says; None when it did not answer.
        presence: the Pods of the set.
    """
    if desired == 0 or desired >= present:
        return ScaleIn(desired)
    ordinal = present - 1
    refusal = _why_it_stays(ordinal, view, presence)
    if refusal:
        return ScaleIn(present, None, f"log store {ordinal} is kept for now: {refusal}")
    left = present - 1
    waiting = f"{left - desired} more to leave one by one" if left > desired else ""
    return ScaleIn(left, ordinal, waiting)


def _why_it_stays(ordinal: int, view: View | None, presence: Presence) -> str:
    if view is None:
        return "HAKeeper does not answer, so it is unknown which replicas it has"
    replicas = max((shard.desired or 0 for shard in view.shards), default=0)
    if ordinal < replicas:
        return f"a log shard has {replicas} replicas"
    if view.counts_on(ordinal) and view.refuses_replicas(ordinal):
        return REFUSES_REPLICAS
    away = presence.missing(range(ordinal)) or presence.beyond(ordinal + 1)
    if away:
        return f"log store {listed(away)} is not ready or still leaving"
    # HAKeeper misses a store only seconds after it has gone.
    return _what_depends(ordinal, presence.serving(view))


def _what_depends(ordinal: int, view: View) -> str:
    own = view.stores_of(ordinal)
    unplaced = [
        shard.number
        for shard in view.shards
        if not shard.members - shard.alive <= own
        or len(shard.members) < (shard.desired or 0)
        or any((ordinal_of(uuid) or 0) > ordinal for uuid in shard.members)
    ]
    if unplaced:
        return f"HAKeeper is placing replicas of log shard {listed(unplaced)}"
    lost = [shard.number for shard in view.shards if not shard.survives_without(own)]
    return f"log shard {listed(lost)} would have no quorum without it" if lost else ""
