# SPDX-License-Identifier: Apache-2.0
"""Which log stores a roll replaces next: those that the log shards can do without."""

from __future__ import annotations

from collections.abc import Sequence

from ..workload.roll import Turn
from .presence import Presence
from .view import View, ordinal_of, ordinal_of_pod


def next_stores(
    turn: Turn, view: View, presence: Presence, *, present: int, desired: int
) -> tuple[tuple[str, ...], str]:
    """Choose the log stores that are replaced now.

    Args:
        turn: what the Pods of the set allow.
        view: what HAKeeper says.
        presence: the Pods of the set.
        present: replicas of the workload.
        desired: replicas that the spec asks for.

    Returns:
        Their Pods, or none and what is being waited for.
    """
    if turn.replace:
        return _broken(turn.replace, presence.existing(view))
    if not turn.candidates:
        return (), turn.waiting
    waiting = waits_for_scale_in(present, desired)
    # A locality keeps stores from leaving, and only a roll can take it out of their configuration.
    if waiting and not view.placed:
        return (), waiting
    pod, waiting = dispensable(turn.candidates, presence.serving(view))
    return ((pod,) if pod else ()), waiting


def waits_for_scale_in(present: int, desired: int) -> str:
    """Return that surplus stores leave first, one by one; empty if there are none.

    Args:
        present: replicas of the workload.
        desired: replicas that the spec asks for.
    """
    if not 0 < desired < present:
        return ""
    return f"the log service to be scaled in to {desired} stores"


def _broken(pods: Sequence[str], view: View) -> tuple[tuple[str, ...], str]:
    """Choose from Pods that are not ready: of those that HAKeeper hears all the same, one."""
    silent = tuple(pod for pod in pods if not view.runs_on(ordinal_of_pod(pod)))
    heard, waiting = dispensable([pod for pod in pods if pod not in silent], view)
    chosen = (*silent, heard) if heard else silent
    return chosen, "" if chosen else waiting


def dispensable(candidates: Sequence[str], view: View) -> tuple[str, str]:
    """Choose the log store that the shards can do without.

    Args:
        candidates: Pods, the best one first.
        view: the log shards; who is not alive there counts as away.

    Returns:
        The Pod, or an empty text and what is being waited for.
    """
    waiting = ""
    for pod in sorted(candidates, key=lambda name: view.led_by(ordinal_of_pod(name))):
        waiting = _missing_without(ordinal_of_pod(pod), view)
        if not waiting:
            return pod, ""
    return "", waiting


def _missing_without(ordinal: int, view: View) -> str:
    """Return which replica is missing besides those of one ordinal; empty if none is."""
    for shard in view.shards:
        gone = [uuid for uuid in shard.members - shard.alive if ordinal_of(uuid) != ordinal]
        if gone:
            stores = ", ".join(f"store {_named(uuid)}" for uuid in sorted(gone))
            return f"log shard {shard.number} to have its replica on {stores} back"
        if len(shard.members) < (shard.desired or 0):
            counted = f"{len(shard.members)} of {shard.desired}"
            return f"log shard {shard.number} to get all its replicas ({counted})"
    return ""


def _named(uuid: str) -> str:
    ordinal = ordinal_of(uuid)
    return uuid if ordinal is None else str(ordinal)
