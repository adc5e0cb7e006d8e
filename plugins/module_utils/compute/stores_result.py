# SPDX-License-Identifier: Apache-2.0
"""What the action ``cn_stores`` came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from ..workload.stores_result import StoresResult
from .drain import Drain, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class CNStoresResult(StoresResult):
    """What a pass over the compute nodes of a set did and heard.

    Attributes:
        managed: whether anything of this set is to be set in HAKeeper.
        reached: whether HAKeeper answered.
        problem: the first thing that went wrong; empty if nothing did.
        states: work state by Pod.
        drains: how far the drain of each Pod is that leaves.
        resumed: Pods that HAKeeper did not hear, and that serve on by themselves.
        unsettled: Pods that run but are not yet what they should be in HAKeeper.
    """

    managed: bool = False
    reached: bool = False
    problem: str = ""
    states: Mapping[str, str] = field(default_factory=dict)
    drains: Mapping[str, Drain] = field(default_factory=dict)
    resumed: Sequence[str] = ()
    unsettled: Sequence[str] = ()

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Return it from a task's result: ``stores``; empty when the action did not run."""
        drains = found.get("drains") or {}
        return cls(
            ran=bool(found),
            managed=bool(found.get("managed")),
            reached=bool(found.get("reached")),
            problem=str(found.get("problem") or ""),
            states=dict(found.get("states") or {}),
            resumed=tuple(found.get("resumed") or ()),
            unsettled=tuple(found.get("unsettled") or ()),
            replicas=found.get("replicas"),
            drains={pod: _drain(drain) for pod, drain in drains.items()},
        )

    def as_result(self) -> dict[str, Any]:
        """Return what a task's result has of it: ``stores``."""
        return {
            "managed": self.managed,
            "reached": self.reached,
            "problem": self.problem,
            "states": dict(self.states),
            "resumed": list(self.resumed),
            "unsettled": list(self.unsettled),
            "replicas": self.replicas,
            "drains": {
                pod: {
                    "step": drain.step.value,
                    "message": drain.message,
                    "until": drain.until,
                    "finished": drain.finished,
                }
                for pod, drain in sorted(self.drains.items())
            },
        }


def _drain(found: Mapping[str, Any]) -> Drain:
    return Drain(Step(found["step"]), str(found["message"]), float(found.get("until") or 0))
