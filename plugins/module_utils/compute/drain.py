# SPDX-License-Identifier: Apache-2.0
"""How far the drain of a compute node is.

Pure decisions from what was observed. What is not known never counts as zero: a node that could not
be asked is busy until its time is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .load import Load
from .stores import CNStore

_SECONDS_FOR_NOBODY: Final = 30
"""Locks are handed over within seconds, unless the compute node has lost track of a transaction."""
_SLACK_SECONDS: Final = 60


class Locks(StrEnum):
    """What the transaction node says about a store's locks."""

    HANDED_OVER = "HandedOver"
    HELD = "Held"
    UNSUPPORTED = "Unsupported"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Policy:
    """How a set drains.

    Attributes:
        drains: whether it does at all.
        delay: seconds until all proxies and nodes know that a node drains.
        timeout: seconds after which a drain is given up and the node is deleted as it is.
    """

    drains: bool
    delay: int
    timeout: int

    @property
    def patience(self) -> int:
        """Seconds after which each drain is over, and the operator has noticed."""
        return self.timeout + self.delay + _SLACK_SECONDS


class Step(StrEnum):
    """How far a drain is."""

    SPREADING = "Spreading"
    """Proxies and other nodes are still learning of it: counts are not to be trusted yet."""
    BUSY = "Busy"
    """There is work left, or it is unknown."""
    ASK_FOR_LOCKS = "AskForLocks"
    """Quiet: the transaction node is to be asked to take the locks back, once."""
    WAIT_FOR_LOCKS = "WaitForLocks"
    """It was asked, or cannot be asked now."""
    DONE = "Done"
    """Nothing is left."""
    GIVEN_UP = "GivenUp"
    """The time is over."""


FINISHED: Final = frozenset({Step.DONE, Step.GIVEN_UP})


@dataclass(frozen=True, slots=True)
class Drain:
    """How far the drain of one store is.

    Attributes:
        step: what comes next.
        message: what it waits for.
        until: when it is given up at the latest, Unix time.
    """

    step: Step
    message: str
    until: float = 0.0

    @property
    def finished(self) -> bool:
        """Whether the Pod may be deleted."""
        return self.step in FINISHED


def next_step(
    store: CNStore,
    load: Load,
    locks: Locks,
    policy: Policy,
    now: float,
    *,
    needed: bool = True,
) -> Drain:
    """Return how far a drain is.

    Args:
        store: what drains; ``draining_since`` is set.
        load: what it is busy with.
        locks: what the transaction node says; asked for only when it is quiet.
        policy: how the set drains.
        now: the present, Unix time.
        needed: whether a compute node is left that may have transactions: not when all leave, and
            all are idle.
    """
    begun = now if store.draining_since is None else store.draining_since
    until = begun + max(policy.timeout, policy.delay)
    if not policy.drains:
        step, message = Step.DONE, "this set does not drain"
    elif now >= until:
        left = load.text() or "locks"
        step, message = Step.GIVEN_UP, f"gave up after {now - begun:.0f} s with {left} left"
    elif not store.process or (store.asked and store.record is None):
        step, message = Step.DONE, "no process that HAKeeper knows"
    elif now < begun + policy.delay:
        step, message = (
            Step.SPREADING,
            f"{begun + policy.delay - now:.0f} s until all proxies and nodes know",
        )
    elif not load.idle:
        step, message = Step.BUSY, load.text()
    else:
        step, message = _step_of_locks(store, locks)
        patience = begun + policy.delay + _SECONDS_FOR_NOBODY
        if step is Step.WAIT_FOR_LOCKS and locks is Locks.HELD and not needed and now >= patience:
            step, message = Step.DONE, "drained except for locks that no transaction needs"
    return Drain(step, message, until)


def _step_of_locks(store: CNStore, locks: Locks) -> tuple[Step, str]:
    if locks in {Locks.HANDED_OVER, Locks.UNSUPPORTED}:
        return Step.DONE, "drained"
    if locks is Locks.HELD and not store.locks_asked:
        return Step.ASK_FOR_LOCKS, "its locks are to be handed over"
    waiting = "unknown locks" if locks is Locks.UNKNOWN else "locks of open transactions"
    return Step.WAIT_FOR_LOCKS, waiting
