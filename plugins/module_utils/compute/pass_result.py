# SPDX-License-Identifier: Apache-2.0
"""How a pass over compute nodes ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from .drain import Drain
from .stores_result import CNStoresResult


@dataclass(slots=True)
class PassResult:
    """How a pass ended.

    Attributes:
        managed: whether anything of this set is to be set in HAKeeper.
        reached: whether HAKeeper answered.
        problem: the first thing that went wrong; empty if nothing did.
        changed: whether anything was changed, there or on a Pod.
        states: work state by Pod.
        drains: how far the drain of each Pod is that leaves.
        replicas: replicas that the workload keeps for now; None to leave them to the spec.
        resumed: Pods that HAKeeper did not hear, and that serve on by themselves.
        unsettled: Pods that run but are not yet what they should be in HAKeeper.
    """

    managed: bool = False
    reached: bool = False
    problem: str = ""
    changed: bool = False
    states: dict[str, str] = field(default_factory=dict)
    drains: dict[str, Drain] = field(default_factory=dict)
    replicas: int | None = None
    resumed: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)

    def stores(self) -> CNStoresResult:
        """Return what the rest of the pass goes by."""
        return CNStoresResult(
            ran=True,
            managed=self.managed,
            reached=self.reached,
            problem=self.problem,
            states=self.states,
            resumed=self.resumed,
            unsettled=self.unsettled,
            replicas=self.replicas,
            drains=self.drains,
        )
