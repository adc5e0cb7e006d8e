# SPDX-License-Identifier: Apache-2.0
"""What one round of planning has decided so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from . import keys
from .facts import ClaimFacts, ClaimPhase, Phase, PodFacts, Snapshot
from .writes import HandOver, PodWrite, Waiting, Write


@dataclass(slots=True)
class Round:
    """Collects the writes of one round.

    Attributes:
        snapshot: what is known.
        held: live Pods that are bound to a claim, by name of the claim.
        naming: live claims that name a Pod, by its name, in the order in which they are served.
        writes: what was decided.
        wants_fresh: something was left out because the snapshot may be stale.
        touched: Pods and claims (``Pod/p``, ``Claim/c``) that are written in this round.
        sample: Pods whose load is to be asked for.
        hand_over: Pods whose locks are to be handed over, in a pass as often as they are unknown.
        wakes: seconds after which time alone changes something.
        lost: claims that lost their Pod, and how.
        waiting: claims without a Pod.
        unbound: claims that a Pod is needed for, or about to be bound to.
        chosen: Pods that claims are to name after this round, by name of the claim.
    """

    snapshot: Snapshot
    held: Mapping[str, tuple[PodFacts, ...]]
    naming: Mapping[str, tuple[ClaimFacts, ...]]
    writes: list[Write] = field(default_factory=list)
    wants_fresh: bool = False
    touched: set[str] = field(default_factory=set)
    sample: list[str] = field(default_factory=list)
    hand_over: list[HandOver] = field(default_factory=list)
    wakes: list[float] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    waiting: list[Waiting] = field(default_factory=list)
    unbound: list[ClaimFacts] = field(default_factory=list)
    chosen: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot) -> Round:
        """Begin a round."""
        held: dict[str, list[PodFacts]] = {}
        for pod in snapshot.pods.values():
            claim = snapshot.claims.get(pod.claim)
            if claim is not None and holds(claim, pod):
                held.setdefault(claim.name, []).append(pod)
        naming: dict[str, list[ClaimFacts]] = {}
        for claim in sorted(snapshot.claims.values(), key=in_order):
            if claim.pod and not claim.deleting:
                naming.setdefault(claim.pod, []).append(claim)
        return cls(
            snapshot,
            {name: tuple(pods) for name, pods in held.items()},
            {name: tuple(claims) for name, claims in naming.items()},
        )

    def add(self, write: Write, *, on: str, fresh: bool = True) -> bool:
        """Plan a write, unless its object is written already or the snapshot may be stale.

        Args:
            write: the write.
            on: its object, e.g. ``Pod/p``.
            fresh: whether it must not be decided from a cache.

        Returns:
            Whether the object is now being written.
        """
        if on in self.touched:
            return True
        if fresh and not self.snapshot.fresh:
            self.wants_fresh = True
            return False
        self.writes.append(write)
        self.touched.add(on)
        return True

    @property
    def terminated(self) -> frozenset[str]:
        """Names of the Pods that were decided to end in this round."""
        return self._become(Phase.TERMINATING)

    @property
    def available(self) -> frozenset[str]:
        """Names of the Pods that were decided to be idle from this round on."""
        return self._become(Phase.IDLE)

    def _become(self, phase: Phase) -> frozenset[str]:
        writes = (write for write in self.writes if isinstance(write, PodWrite))
        return frozenset(
            one.name for one in writes if one.labels.get(keys.LABEL_PHASE) == phase.value
        )

    def wake(self, seconds: float) -> None:
        """Plan again after some time, at the earliest in a second."""
        self.wakes.append(max(1.0, seconds))


def holds(claim: ClaimFacts, pod: PodFacts) -> bool:
    """Return whether a live Pod is bound to just this claim, not to an earlier one of its name."""
    return (
        pod.phase is Phase.BOUND
        and pod.live
        and pod.claim == claim.name
        and pod.claim_uid in {"", claim.uid}
    )


def is_outdated(work: Round, pod: PodFacts) -> bool:
    """Return whether a Pod is not of the pool's present template."""
    present = work.snapshot.pool.generation
    return bool(present) and pod.generation != present


def in_order(claim: ClaimFacts) -> tuple[int, float, str]:
    """Return by what claims are served in order: priority, then age, whole times."""
    return (-claim.priority, claim.created, claim.name)


def is_lost(claim: ClaimFacts) -> bool:
    """Return whether a claim has lost its Pod for good."""
    return claim.phase == ClaimPhase.LOST
