# SPDX-License-Identifier: Apache-2.0
"""What is reported of one step of a roll; the action ``roll`` takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .events import Occurrence, occurrence

Roll = Mapping[str, Any]
"""The ``roll`` that the action returned; empty when it took no step."""


def roll_message(roll: Roll) -> str:
    """Return what a roll does now or waits for; empty when there is none."""
    replaced = roll.get("replaced") or []
    if replaced:
        return f"replacing {', '.join(replaced)}"
    if roll.get("waiting"):
        return f"waiting for {roll['waiting']}"
    return ""


def roll_requeue(roll: Roll, otherwise: str) -> str:
    """Return when to check again: when a Pod has been ready for long enough, if not before.

    Args:
        roll: what the step came to.
        otherwise: when to check again without it, in seconds such as ``10s``; empty for not at all.
    """
    seconds = int(roll.get("seconds") or 0)
    if not seconds or not otherwise:
        return otherwise
    return f"{min(seconds, int(otherwise.removesuffix('s')))}s"


def roll_events(roll: Roll) -> list[Occurrence]:
    """Return an event for each step that replaced Pods."""
    replaced, outdated = roll.get("replaced") or [], roll.get("outdated") or []
    if not replaced:
        return []
    left = len(outdated) - len(replaced)
    note = (
        f"replacing {', '.join(replaced)}; {left} more to replace" if left else roll_message(roll)
    )
    return [occurrence("ReplacingPods", note, action="Roll")]
