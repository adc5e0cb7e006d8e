# SPDX-License-Identifier: Apache-2.0
"""How well claims are served: what a status that was just written says about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..api.timestamps import unix_time
from ..reporting.reasons import ConditionType, PoolReason
from .facts import ClaimPhase

Json = Mapping[str, Any]

_MISSES: Final = frozenset({PoolReason.NO_IDLE_NODE.value, PoolReason.POOL_AT_MAX_PODS.value})
_SERVED: Final = frozenset({ClaimPhase.BOUND.value, ClaimPhase.OUTDATED.value})


@dataclass(slots=True)
class Measures:
    """What happened to claims.

    Attributes:
        waits: seconds from the creation of claims until they were bound first. The API server
            records a creation to the second, so that each may be a second too long.
        missed: claims that found no idle Pod and had to wait for one.
    """

    waits: list[float] = field(default_factory=list)
    missed: int = 0

    def add(self, other: Measures) -> None:
        """Count those of another round, too."""
        self.waits += other.waits
        self.missed += other.missed


def measured(claim: Json, status: Json, now: float) -> Measures:
    """Return what the new status of a claim says.

    Args:
        claim: as it was, with its former status.
        status: the new one.
        now: when it was written.
    """
    before = claim.get("status") or {}
    found = Measures()
    if status.get("phase") in _SERVED and before.get("phase") not in _SERVED:
        created = str(claim["metadata"].get("creationTimestamp") or "")
        if created and not before.get("boundTime"):
            found.waits.append(max(0.0, now - unix_time(created)))
    found.missed = int(_waits_for_a_pod(status) and not _waits_for_a_pod(before))
    return found


def _waits_for_a_pod(status: Json) -> bool:
    return any(
        condition.get("type") == ConditionType.READY.value and condition.get("reason") in _MISSES
        for condition in status.get("conditions") or ()
    )
