# SPDX-License-Identifier: Apache-2.0
"""What one step of a roll did, and what is reported of it; the action ``roll`` takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .events import Occurrence, occurrence


@dataclass(frozen=True, slots=True)
class RollStep:
    """What a step did; the default is that none was taken.

    Attributes:
        outdated: Pods of an earlier template, those included that were replaced now.
        replaced: Pods that were deleted, to come back with the new template.
        waiting: what the next replacement waits for.
        seconds: after how many seconds time alone brings that about; 0 if unknown.
        fault: why that will not come about by itself; empty if nothing is known to be wrong.
    """

    outdated: Sequence[str] = ()
    replaced: Sequence[str] = ()
    waiting: str = ""
    seconds: int = 0
    fault: str = ""

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> RollStep:
        """Return it from the result of a task: ``roll``; empty when it took no step."""
        return cls(
            outdated=tuple(found.get("outdated") or ()),
            replaced=tuple(found.get("replaced") or ()),
            waiting=str(found.get("waiting") or ""),
            seconds=int(found.get("seconds") or 0),
            fault=str(found.get("fault") or ""),
        )

    def as_result(self) -> dict[str, Any]:
        """Return what a task's result has of it: ``roll``."""
        return {
            "outdated": list(self.outdated),
            "replaced": list(self.replaced),
            "waiting": self.waiting,
            "seconds": self.seconds,
            "fault": self.fault,
        }


def roll_message(step: RollStep) -> str:
    """Return what a roll does now or waits for; empty when there is none."""
    if step.replaced:
        return f"replacing {', '.join(step.replaced)}"
    return f"waiting for {step.waiting}" if step.waiting else ""


def roll_requeue(step: RollStep, otherwise: str) -> str:
    """Return when to check again: when a Pod has been ready for long enough, if not before.

    Args:
        step: what the step came to.
        otherwise: when to check again without it, in seconds such as ``10s``; empty for not at all.
    """
    if not step.seconds or not otherwise:
        return otherwise
    return f"{min(step.seconds, int(otherwise.removesuffix('s')))}s"


def roll_events(step: RollStep) -> list[Occurrence]:
    """Return an event for each step that replaced Pods."""
    if not step.replaced:
        return []
    left = len(step.outdated) - len(step.replaced)
    replacing = roll_message(step)
    note = f"{replacing}; {left} more to replace" if left else replacing
    return [occurrence("ReplacingPods", note, action="Roll")]
