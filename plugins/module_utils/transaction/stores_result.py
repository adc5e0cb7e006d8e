# SPDX-License-Identifier: Apache-2.0
"""What the action ``tn_stores`` came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ..workload.stores_result import StoresResult


@dataclass(frozen=True, slots=True, kw_only=True)
class TNStoresResult(StoresResult):
    """What a pass over the transaction nodes of a set did and heard.

    Attributes:
        asked: whether HAKeeper was asked.
        reached: whether it answered.
        problem: why it did not; empty if it did.
        unserved: Pods whose transaction node has no shard.
        shards: what the others serve, as the set's ConfigMap keeps it; empty if that is unknown.
        blocked: which Pod should be replaced and must not be; empty for none.
    """

    asked: bool = False
    reached: bool = False
    problem: str = ""
    unserved: Sequence[str] = ()
    shards: str = ""
    blocked: str = ""

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Return it from a task's result: ``stores``; empty when the action did not run."""
        return cls(
            ran=bool(found),
            asked=bool(found.get("asked")),
            reached=bool(found.get("reached")),
            problem=str(found.get("problem") or ""),
            unserved=tuple(found.get("unserved") or ()),
            shards=str(found.get("tnShards") or ""),
            events=tuple(found.get("events") or ()),
            blocked=str(found.get("blocked") or ""),
        )

    def as_result(self) -> dict[str, Any]:
        """Return what a task's result has of it: ``stores``."""
        return {
            "asked": self.asked,
            "reached": self.reached,
            "problem": self.problem,
            "unserved": list(self.unserved),
            "tnShards": self.shards,
            "events": list(self.events),
            "blocked": self.blocked,
        }
