# SPDX-License-Identifier: Apache-2.0
"""What the round over a set's compute nodes has to say: see the action ``cn_stores``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from .events import Occurrence, occurrence

Round = Mapping[str, Any]
"""The ``stores`` that the action returned; empty when no round was made."""

_SOON = "5s"
_NOW_AND_THEN = "60s"
"""HAKeeper forgets labels and work state of a node that was silent for half a minute."""
_GIVEN_UP = "GivenUp"


def draining(round_: Round) -> str:
    """Return what the drains of a set wait for; empty when none is under way."""
    under_way = [
        f"{pod} until {_time(drain['until'])} at most ({drain['message']})"
        for pod, drain in (round_.get("drains") or {}).items()
        if not drain["finished"]
    ]
    return f"draining {', '.join(under_way)}" if under_way else ""


def _time(seconds: float) -> str:
    """Return a Unix time as Kubernetes writes it."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


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


def occurrences(round_: Round) -> list[Occurrence]:
    """Return an event for each drain that was given up."""
    return [
        occurrence("DrainTimedOut", f"{pod}: {drain['message']}", action="Drain", warning=True)
        for pod, drain in (round_.get("drains") or {}).items()
        if drain["step"] == _GIVEN_UP
    ]
