# SPDX-License-Identifier: Apache-2.0
"""What a Pod says of itself: whether it serves and since when, and what its main container did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from . import names
from .timestamps import unix_time

Pod = Mapping[str, Any]

_NEVER_RAN = frozenset({"ContainerCannotRun", "StartError"})
"""Reasons of a terminated container whose process did not start."""
_ENDED = frozenset({"Succeeded", "Failed"})


def is_ready(pod: Pod) -> bool:
    """Return whether a Pod serves; one that is terminating does not."""
    return (
        not pod["metadata"].get("deletionTimestamp")
        and condition(pod, "Ready").get("status") == "True"
    )


def ready_since(pod: Pod) -> datetime | None:
    """Return when a Pod became ready; None where that is not known."""
    try:
        return datetime.fromisoformat(str(condition(pod, "Ready").get("lastTransitionTime")))
    except ValueError:
        return None


def ready_at(pod: Pod) -> float | None:
    """Return since when a Pod is ready (Unix time), 0 where it is unknown; None if it is not."""
    if not is_ready(pod):
        return None
    return unix_time(condition(pod, "Ready").get("lastTransitionTime"))


def condition(pod: Pod, kind: str) -> Mapping[str, Any]:
    """Return a condition of a Pod; empty where it has none of that type."""
    for entry in (pod.get("status") or {}).get("conditions") or []:
        if entry.get("type") == kind:
            return entry  # type: ignore[no-any-return]
    return {}


def is_scheduled(pod: Pod) -> bool:
    """Return whether a Pod has a node."""
    return bool((pod.get("spec") or {}).get("nodeName"))


def live_pods(pods: Iterable[Pod]) -> list[Pod]:
    """Return the Pods that have not ended, by name."""
    running = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in _ENDED]
    return sorted(running, key=lambda pod: str(pod["metadata"]["name"]))


def main_process(pod: Pod) -> str:
    """Return when the main container of a Pod started, RFC 3339; empty while it does not run."""
    running = (_main_container(pod).get("state") or {}).get("running") or {}
    return str(running.get("startedAt") or "")


def ended_after(pod: Pod, moment: float) -> bool:
    """Return whether the main container of a Pod started after a moment (Unix time), and ended.

    The number of its restarts does not tell: it counts those of its whole life.
    """
    container = _main_container(pod)
    ends = ((container.get(name) or {}).get("terminated") for name in ("state", "lastState"))
    return any(end and unix_time(end.get("startedAt")) > moment for end in ends)


def first_start(pod: Pod) -> str:
    """Return when the main container of a Pod first started, RFC 3339; empty where unknown.

    A status tells of the present process and of the one before: not of the first of many.
    """
    container = _main_container(pod)
    state, last = container.get("state") or {}, container.get("lastState") or {}
    first = {0: state, 1: last}.get(int(container.get("restartCount") or 0), {})
    process = first.get("running") or first.get("terminated") or {}
    return str(process.get("startedAt") or "")


def has_started(pod: Pod) -> bool:
    """Return whether the main container of a Pod has started at least once.

    A runtime that could not start the process reports an end, too.
    """
    container = _main_container(pod)
    states = [container.get(name) or {} for name in ("state", "lastState")]
    ends = [state["terminated"] or {} for state in states if "terminated" in state]
    return any("running" in state for state in states) or any(
        end.get("reason") not in _NEVER_RAN for end in ends
    )


def is_running(pod: Pod) -> bool:
    """Return whether the main container of a Pod runs, whatever its probes say."""
    return "running" in (_main_container(pod).get("state") or {})


def _main_container(pod: Pod) -> Mapping[str, Any]:
    for container in (pod.get("status") or {}).get("containerStatuses") or []:
        if container.get("name") == names.CONTAINER_MAIN:
            return container  # type: ignore[no-any-return]
    return {}
