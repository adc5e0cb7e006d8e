# SPDX-License-Identifier: Apache-2.0
"""Which work state and labels a compute node should have in HAKeeper."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from ..clients.matrixone.records import WorkState
from .drain import Policy
from .stores import CNStore

ANNOTATION_CORDON: Final = "matrixorigin.io/store-cordon"
"""Its presence, whatever its value, keeps new sessions away from a Pod."""


def desired_state(store: CNStore, *, leaves: bool) -> WorkState:
    """Return the work state that a store should have.

    Args:
        store: the Pod and its store.
        leaves: whether it is a victim or has to be replaced.
    """
    if leaves or store.is_terminating or store.cordoned:
        return WorkState.DRAINING
    return WorkState.WORKING


def opens_gate(store: CNStore) -> bool:
    """Return whether a Pod whose store is up in HAKeeper still waits for that to be said.

    It is said once: what happens to the node later, its own probes tell.
    """
    known = store.record
    return store.gated and not store.is_terminating and known is not None and not known.expired


class Change(StrEnum):
    """A call to HAKeeper."""

    STATE = "State"
    """Set the work state, keep the labels."""
    LABELS = "Labels"
    """Replace all labels, keep the work state."""
    BOTH = "Both"
    """Set the work state and replace all labels."""


def change_needed(store: CNStore, state: WorkState, policy: Policy) -> Change | None:
    """Return the call that makes HAKeeper agree; None when it does, or does not know the store.

    A store that leaves keeps its labels: the proxy finds its sessions another node by them. In a
    set that does not drain, a work state that somebody else has set is left alone.
    """
    known = store.record
    if known is None or known.expired:
        return None
    ours = policy.drains or state is WorkState.DRAINING or store.marked == WorkState.DRAINING
    wrong_state = ours and known.work_state != state
    wrong_labels = state is WorkState.WORKING and dict(known.labels) != dict(store.desired_labels)
    if wrong_state and wrong_labels:
        return Change.BOTH
    if wrong_state:
        return Change.STATE
    return Change.LABELS if wrong_labels else None
