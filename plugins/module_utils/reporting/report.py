# SPDX-License-Identifier: Apache-2.0
"""What is reported at the end of a pass, and the statuses that all kinds have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..api import names
from ..api.annotations import is_fenced
from ..api.types import Resource
from .conditions import condition, phase
from .events import Occurrence
from .reasons import ConditionType, Reason

_NAMED = 4
"""How many of the objects that hold up a deletion are named."""


@dataclass(frozen=True, slots=True)
class Report:
    """The end of a pass.

    Attributes:
        status: to write; the writer adds the conditions' times.
        events: to emit beside those that the conditions' transitions deserve.
        ready: it serves, and what the spec asks for is applied everywhere.
        message: what it is waiting for, if anything.
        requeue: when to check again, e.g. ``15s``; empty for not at all.
    """

    status: Mapping[str, Any]
    events: Sequence[Occurrence]
    ready: bool
    message: str
    requeue: str


def is_ready_and_synced(status: Mapping[str, Any]) -> bool:
    """Return whether a status says that all is up and applied."""
    states = {entry["type"]: entry["status"] for entry in status["conditions"]}
    return {states[ConditionType.READY.value], states[ConditionType.SYNCED.value]} == {"True"}


def beginning(resource: Resource) -> dict[str, Any]:
    """Return the status for the moment in which work on a new generation starts.

    Whether the set still serves is not known until the change has been applied.
    """
    status = dict(resource.get("status") or {})
    generation = int(resource["metadata"].get("generation") or 0)
    unknown = condition(
        ConditionType.READY, None, Reason.RECONCILING, "a change is being applied", generation
    )
    others = [one for one in status.get("conditions") or [] if one["type"] != unknown["type"]]
    return {**status, "conditions": [unknown, *others]}


def unobserved(resource: Resource, failure: str) -> Report:
    """Report that nothing could be observed: whether it serves is unknown, all else stays.

    Sizes and lists keep what was observed last: autoscalers and deadlines of repairs go by them.

    Args:
        resource: with its status so far.
        failure: why nothing could be observed.
    """
    before = resource.get("status") or {}
    generation = int(resource["metadata"].get("generation") or 0)
    unknown = condition(ConditionType.READY, None, Reason.OBSERVATION_FAILED, failure, generation)
    others = [one for one in before.get("conditions") or [] if one["type"] != unknown["type"]]
    conditions = [unknown, *others]
    said = {"conditions": conditions, "phase": phase(conditions).value, "message": failure}
    return Report(status={**before, **said}, events=[], ready=False, message=failure, requeue="")


def deleting(resource: Resource, left: Sequence[str] = (), seconds: int = 0) -> dict[str, Any]:
    """Return the status while a resource is being deleted.

    Args:
        resource: with its status so far.
        left: what still exists.
        seconds: how long that is waited for; 0 to leave that open.
    """
    if held := held_by_fence(resource):
        return terminating(resource, held, Reason.DELETING)
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    bound = f", at most {seconds} s" if seconds else ""
    message = f"waiting for deletion{bound}: {', '.join(left[:_NAMED])}{more}"
    return terminating(resource, message if left else "being deleted", Reason.DELETING)


def held_by_fence(resource: Resource) -> str:
    """Return why a resource is not deleted; empty for one that is not fenced."""
    if not is_fenced(resource):
        return ""
    return (
        f"{resource['kind']} {resource['metadata']['name']} is fenced: nothing of it is deleted "
        f"until its annotation {names.ANNOTATION_FENCED} is removed"
    )


def terminating(resource: Resource, message: str, progress: Reason) -> dict[str, Any]:
    """Return the status of a resource that is being deleted.

    Args:
        resource: with its status so far.
        message: what its end waits for.
        progress: reason of the condition Progressing.
    """
    generation = int(resource["metadata"].get("generation") or 0)
    states = (
        (ConditionType.READY, False, Reason.DELETING),
        (ConditionType.SYNCED, False, Reason.DELETING),
        (ConditionType.PROGRESSING, True, progress),
    )
    conditions = [
        condition(kind, state, reason, message, generation) for kind, state, reason in states
    ]
    return {
        **(resource.get("status") or {}),
        "observedGeneration": generation,
        "conditions": conditions,
        "phase": "Deleting",
        "message": message,
    }
