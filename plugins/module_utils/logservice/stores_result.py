# SPDX-License-Identifier: Apache-2.0
"""What the action ``log_stores`` came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from ..workload.stores_result import StoresResult
from .failover import Step, Verdict
from .shards import ShardCount


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStoresResult(StoresResult):
    """What a pass over the log stores of a set did and heard.

    Attributes:
        asked: whether HAKeeper was asked.
        reached: whether it answered.
        problem: why it did not; empty if it did.
        shards: the log shards as it has them; None when it did not answer.
        lost: why a store whose Pod is ready is of no use, by Pod.
        repair: what was found out and done about stores that are down.
        scaling: what a scale-in waits for; empty if there is none.
        leaving: whether claims of stores that left are still to be deleted.
        incarnations: the incarnations as they are recorded now, by ordinal.
    """

    asked: bool = False
    reached: bool = False
    problem: str = ""
    shards: Sequence[ShardCount] | None = None
    lost: Mapping[str, str] = field(default_factory=dict)
    repair: Verdict = field(default_factory=lambda: Verdict(Step.NOTHING))
    scaling: str = ""
    leaving: bool = False
    incarnations: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Return it from a task's result: ``stores``; empty when the action did not run."""
        shards = found.get("shards")
        return cls(
            ran=bool(found),
            asked=bool(found.get("asked")),
            reached=bool(found.get("reached")),
            problem=str(found.get("problem") or ""),
            shards=None if shards is None else tuple(map(ShardCount.read, shards)),
            lost=dict(found.get("lost") or {}),
            repair=_verdict(found.get("repair") or {}),
            replicas=found.get("replicas"),
            scaling=str(found.get("scaling") or ""),
            leaving=bool(found.get("leaving")),
            incarnations=dict(found.get("incarnations") or {}),
            events=tuple(found.get("events") or ()),
        )

    def as_result(self) -> dict[str, Any]:
        """Return what a task's result has of it: ``stores``."""
        return {
            "asked": self.asked,
            "reached": self.reached,
            "problem": self.problem,
            "shards": None if self.shards is None else [shard.as_field() for shard in self.shards],
            "lost": dict(self.lost),
            "repair": {
                "step": self.repair.step.value,
                "pod": self.repair.pod,
                "message": self.repair.message,
                "due": self.repair.due,
            },
            "replicas": self.replicas,
            "scaling": self.scaling,
            "leaving": self.leaving,
            "incarnations": dict(self.incarnations),
            "events": list(self.events),
        }


def _verdict(found: Mapping[str, Any]) -> Verdict:
    return Verdict(
        step=Step(found.get("step") or Step.NOTHING),
        pod=str(found.get("pod") or ""),
        message=str(found.get("message") or ""),
        due=found.get("due"),
    )
