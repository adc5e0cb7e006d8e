# SPDX-License-Identifier: Apache-2.0
"""What the round over a set's compute nodes has to say: see the action ``cn_stores``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..api.timestamps import timestamp
from ..reporting.conditions import find
from ..reporting.events import Occurrence, occurrence
from ..reporting.reasons import ConditionType, Reason

Round = Mapping[str, Any]
"""The ``stores`` that the action returned; empty when no round was made."""

_SOON = "5s"
_NOW_AND_THEN = "60s"
"""HAKeeper forgets labels and work state of a node that was silent for half a minute."""
_GIVEN_UP = "GivenUp"


def draining(round_: Round, ending: Mapping[str, str] | None = None) -> str:
    """Return what the drains of a set wait for; empty when none is under way.

    Args:
        round_: how the round ended.
        ending: Pods that still serve after their deletion, see `ending`; the round knows of those
            that HAKeeper knows.
    """
    drains = round_.get("drains") or {}
    under_way = {
        pod: f"{pod} until {timestamp(drain['until'])} at most ({drain['message']})"
        for pod, drain in drains.items()
        if not drain["finished"]
    }
    for pod, end in (ending or {}).items():
        under_way.setdefault(pod, f"{pod} until {end} at most (its clients have not all gone)")
    return f"draining {', '.join(under_way[pod] for pod in sorted(under_way))}" if under_way else ""


def ending(
    resource: Mapping[str, Any], pods: Iterable[Mapping[str, Any]], now: str
) -> dict[str, str]:
    """Return the Pods of a set that drains which are deleted and have time left, and until when.

    Args:
        resource: a CNSet.
        pods: its Pods.
        now: the present, RFC 3339.
    """
    spec = resource.get("spec") or {}
    if not (spec.get("scalingConfig") or {}).get("storeDrainEnabled"):
        return {}
    ends = {pod["metadata"]["name"]: pod["metadata"].get("deletionTimestamp") for pod in pods}
    # A Pod on a node that is lost stays after its time.
    return {name: end for name, end in ends.items() if end and end > now}


def awaited(round_: Round) -> str:
    """Return what the end of a set waits for that drains first; empty when nothing drains."""
    told = draining(round_)
    return "; ".join(part for part in (told, unheard(round_)) if part) if told else ""


def unheard(round_: Round) -> str:
    """Return why HAKeeper could not be told what it has to be; empty when it could."""
    if not round_.get("managed") or round_.get("reached", True):
        return ""
    problem = round_.get("problem") or "no log store is running"
    return f"work state and labels cannot be set: {problem}"


def look_again(round_: Round, otherwise: str) -> str:
    """Return when to look again.

    Args:
        round_: how the round ended.
        otherwise: when to look again without it.
    """
    reached, managed = bool(round_.get("reached")), bool(round_.get("managed"))
    if round_.get("drains") or (reached and round_.get("unsettled")):
        return _SOON
    if otherwise or not managed:
        return otherwise
    return _NOW_AND_THEN


def occurrences(
    resource: Mapping[str, Any], round_: Round, ending: Mapping[str, str]
) -> list[Occurrence]:
    """Return an event for each drain that was given up, and for the end of all that were told.

    Args:
        resource: a CNSet with its status so far.
        round_: how the round ended.
        ending: as for `draining`.
    """
    events = [
        occurrence("DrainTimedOut", f"{pod}: {drain['message']}", action="Drain", warning=True)
        for pod, drain in (round_.get("drains") or {}).items()
        if drain["step"] == _GIVEN_UP
    ]
    told = find(resource, ConditionType.PROGRESSING).get("reason") == Reason.DRAINING
    if told and round_ and not draining(round_, ending):
        events.append(occurrence("DrainEnded", "no compute node drains any more", action="Drain"))
    return events
