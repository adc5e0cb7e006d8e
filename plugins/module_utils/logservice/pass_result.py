# SPDX-License-Identifier: Apache-2.0
"""How a pass over log stores ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..reporting.events import Occurrence
from .failover import Step, Verdict
from .scaling import ScaleIn
from .shards import counted
from .stores_result import LogStoresResult
from .view import View


@dataclass(slots=True)
class PassResult:
    """How a pass ended.

    Attributes:
        asked: whether HAKeeper was asked.
        view: what it answered; None when it did not.
        problem: why it did not.
        verdict: what was found out and done about stores that are down.
        scale: how many stores the workload keeps for now.
        incarnations: the incarnations as they are recorded now.
        events: what happened.
        lost: why a store whose Pod is ready is of no use, by Pod.
        changed: whether anything was.
        leaving: whether claims of stores that left are still to be deleted.
    """

    asked: bool = False
    view: View | None = None
    problem: str = ""
    verdict: Verdict = field(default_factory=lambda: Verdict(Step.NOTHING))
    scale: ScaleIn | None = None
    incarnations: dict[str, int] = field(default_factory=dict)
    events: list[Occurrence] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    changed: bool = False
    leaving: bool = False

    def stores(self) -> LogStoresResult:
        """Return what the rest of the pass goes by."""
        scale = self.scale
        return LogStoresResult(
            ran=True,
            asked=self.asked,
            reached=self.view is not None,
            problem=self.problem,
            shards=counted(self.view.shards) if self.view else None,
            lost=self.lost,
            repair=self.verdict,
            replicas=scale.replicas if scale else None,
            scaling=scale.message if scale else "",
            leaving=self.leaving,
            incarnations=self.incarnations,
            events=self.events,
        )
