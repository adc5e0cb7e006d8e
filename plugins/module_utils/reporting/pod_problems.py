# SPDX-License-Identifier: Apache-2.0
"""Why Pods of a set do not exist, or do not start, as the Events of Kubernetes tell it.

Nothing else tells why a Pod of a StatefulSet is not created: the API server refuses it, by a quota,
a LimitRange, a policy, or because its PriorityClass or ServiceAccount does not exist. Neither does
the status of a Pod that waits for a volume say what the volume lacks. Events may be outdated, so
that none counts that is older than what it would explain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..api.timestamps import unix_time

Event = Mapping[str, Any]

ANY_POD: Final = ""
"""In place of a name, where the names of Pods are random."""
_LONGEST_CAUSE: Final = 400
"""Characters of what Kubernetes says that a message quotes."""
_COMBINED: Final = "(combined from similar events): "
_OF_STATEFUL_SET: Final = re.compile(
    r"(?i:create) (?:Claim (?P<claim>\S+) for )?Pod (?P<pod>\S+) in StatefulSet \S+"
    r" (?:failed error: (?P<cause>.*)|successful.*)",
    re.DOTALL,
)
_OF_REPLICA_SET: Final = re.compile(r"Error creating: (?P<cause>.*)", re.DOTALL)
_OF_CLAIM: Final = re.compile(r"^failed to create PVC (?P<claim>\S+): ")
"""A refused claim is told of twice in one moment: by itself, and as the cause of its Pod."""
_REFUSED_OBJECT: Final = re.compile(r'^[A-Za-z]+ "[^"]*" is (?:forbidden|invalid): ')
"""Names the Pod, which a random part changes with each attempt of a ReplicaSet."""
_PROVISIONING: Final = ("ProvisioningFailed", "FailedBinding", "ExternalProvisioning")
"""Reasons of Events about a claim without a volume, what says most first."""
_PROVISIONER_SECONDS: Final = 360.0
"""A provisioner tries again after five minutes at the latest; what it said before is outdated."""
_MOUNTING: Final = frozenset(
    {
        "FailedAttachVolume",
        "FailedCreatePodSandBox",
        "FailedMapVolume",
        "FailedMount",
        "NetworkNotReady",
    }
)


@dataclass(frozen=True, slots=True)
class PodProblems:
    """What keeps Pods of a set from existing or from starting.

    Attributes:
        not_created: why a Pod is not created, by its name or `ANY_POD`.
        not_started: what a Pod that exists waits for, by its name.
    """

    not_created: Mapping[str, str] = field(default_factory=dict)
    not_started: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, found: Mapping[str, Any] | None) -> PodProblems:
        """Return them from the result of a task; there are none where nothing was asked."""
        given = found or {}
        return cls(
            not_created=dict(given.get("notCreated") or {}),
            not_started=dict(given.get("notStarted") or {}),
        )

    def as_result(self) -> dict[str, dict[str, str]]:
        """Return them as the result of a task has them."""
        return {"notCreated": dict(self.not_created), "notStarted": dict(self.not_started)}

    @property
    def refusals(self) -> str:
        """The Pods that are not created and why, those of one cause together; empty if none."""
        by_cause: dict[str, list[str]] = {}
        for pod, cause in self.not_created.items():
            by_cause.setdefault(cause, []).append(pod or "Pods")
        return ", ".join(
            f"{', '.join(pods)} (not created: {cause})" for cause, pods in by_cause.items()
        )


NO_PROBLEMS: Final = PodProblems()


def refused_pods(events: Iterable[Event], missing: Sequence[str], since: float) -> dict[str, str]:
    """Return why the missing Pods of a StatefulSet are not created, by name.

    Its controller ends an attempt with the first Pod that is refused, so that the others wait for
    the same.

    Args:
        events: those about the StatefulSet.
        missing: names of the Pods that should exist.
        since: when the StatefulSet was changed last, Unix time; what was said before is outdated.
    """
    latest: dict[str, tuple[float, str]] = {}
    for event in sorted(events, key=event_time):
        match = _OF_STATEFUL_SET.fullmatch(_text(event))
        if match is not None and event_time(event) >= since:
            latest[match["pod"]] = (event_time(event), _cause(match["cause"], match["claim"]))
    causes = {pod: latest[pod] for pod in missing if pod in latest and latest[pod][1]}
    if not causes:
        return {}
    _time, newest = max(causes.values())
    return {pod: causes[pod][1] if pod in causes else newest for pod in missing}


def replica_failure(deployment: Mapping[str, Any]) -> str:
    """Return why a Deployment lacks Pods, as its condition tells it; empty if it lacks none.

    The condition keeps the cause of the first attempt that failed, and goes when one succeeds.
    """
    for entry in (deployment.get("status") or {}).get("conditions") or []:
        if entry.get("type") == "ReplicaFailure" and entry.get("status") == "True":
            return _cause(str(entry.get("message") or entry.get("reason")), None)
    return ""


def refused_helpers(objects: Mapping[str, Mapping[str, Any]], workload: str) -> dict[str, str]:
    """Return why Deployments beside the workload of a set lack their Pods, by name.

    Args:
        objects: what was applied, by ``Kind/name``.
        workload: ``Kind/name`` of the workload.
    """
    helpers = (one for name, one in objects.items() if name != workload)
    deployments = (helper for helper in helpers if helper.get("kind") == "Deployment")
    causes = {
        str(deployment["metadata"]["name"]): replica_failure(deployment)
        for deployment in deployments
    }
    return {name: cause for name, cause in causes.items() if cause}


def refused_by_replica_set(events: Iterable[Event]) -> str:
    """Return why ReplicaSets or Jobs that lack Pods could not create one; empty if unknown.

    Args:
        events: those about the ReplicaSets or Jobs.
    """
    cause = ""
    for event in sorted(events, key=event_time):
        match = _OF_REPLICA_SET.fullmatch(_text(event))
        cause = _cause(match["cause"], None) if match is not None else cause
    return cause


def unprovisioned(claim: str, events: Iterable[Event]) -> str:
    """Return why a claim has no volume; empty if nobody says it.

    Args:
        claim: its name.
        events: those about it.
    """
    told = sorted(
        (event for event in events if event.get("reason") in _PROVISIONING), key=event_time
    )
    if not told:
        return ""
    newest = event_time(told[-1])
    present = [one for one in told if event_time(one) >= newest - _PROVISIONER_SECONDS]
    said = min(reversed(present), key=lambda one: _PROVISIONING.index(one["reason"]))
    return f"claim {claim} is pending: {said['reason']}: {_short(_text(said))}"


def unmounted(events: Iterable[Event]) -> str:
    """Return what a Pod on a node waits for before its containers; empty if nobody says it.

    Args:
        events: those about the Pod; the newest one tells whether it still waits.
    """
    newest = max(events, key=event_time, default=None)
    if newest is None or newest.get("reason") not in _MOUNTING:
        return ""
    return f"{newest['reason']}: {_short(_text(newest))}"


def event_time(event: Event) -> float:
    """Return when an Event was seen last, Unix time; a repeated one is counted, not written."""
    times = (
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        (event.get("metadata") or {}).get("creationTimestamp"),
    )
    return max(unix_time(time) for time in times)


def _text(event: Event) -> str:
    return str(event.get("message") or "").removeprefix(_COMBINED)


def _cause(text: str | None, claim: str | None) -> str:
    """Return what the API server said, without the name of the Pod; empty after a success."""
    if text is None:
        return ""
    if (inner := _OF_CLAIM.match(text)) is not None:
        claim, text = inner["claim"], text[inner.end() :]
    said = _short(_REFUSED_OBJECT.sub("", text, count=1))
    return f"claim {claim}: {said}" if claim else said


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_CAUSE else f"{line[:_LONGEST_CAUSE]}..."
