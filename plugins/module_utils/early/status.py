# SPDX-License-Identifier: Apache-2.0
"""Status and Events of a MatrixoneCluster of the first operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..api import names, versions
from ..reporting.applied import Change
from ..reporting.conditions import Condition, phase
from ..reporting.events import Occurrence, occurrence
from ..reporting.pods import staying
from ..reporting.reasons import ACCEPTED, ConditionType, EarlyReason, Phase, Reason
from ..reporting.set_facts import SetFacts
from ..reporting.sets import set_status
from .events import EarlyEvent

_MANY: Final = 10
"""Events of one pass at most; what else was done is counted in the last of them."""
_WEIGHT: Final = {
    kind: place
    for place, kind in enumerate(("PersistentVolumeClaim", "StatefulSet", "Pod", "Service"))
}


def early_status(
    facts: SetFacts, refused: Mapping[str, str], gate: str, lists: Mapping[str, list[str]]
) -> dict[str, Any]:
    """Return the status to write, complete but for the conditions' times.

    Args:
        facts: what is known.
        refused: reason and message of what is not served; both empty if all is.
        gate: which roll-out cleanup waits for; empty if it does not wait.
        lists: names of the objects, by the field of the status.
    """
    status = set_status(facts, "")
    usual = [_worded(entry, facts, gate) for entry in status["conditions"]]
    conditions = [_accepted(facts, refused), *usual]
    metadata = facts.resource["metadata"]
    found: dict[str, Any] = {
        "observedGeneration": facts.generation,
        "conditions": conditions,
        "phase": phase_of(conditions),
        "message": _message(status["message"], conditions),
        "version": _running_version(facts.pods),
        **lists,
    }
    if facts.rollout.exists:
        address = names.service_domain(metadata["namespace"], None)
        found["endpoint"] = f"{metadata['name']}.{address}:{names.PORT_SQL}"
    return {name: value for name, value in found.items() if value != ""}


def phase_of(conditions: Iterable[Condition]) -> str:
    """Say the conditions in one word; the first operator had another one for what is not ready."""
    overall = phase(conditions)
    return "Pending" if overall is Phase.NOT_READY else overall.value


def is_stopped(facts: SetFacts) -> bool:
    """Return whether the database is stopped on purpose."""
    return facts.rollout.exists and facts.rollout.desired == 0 and facts.rollout.ready == 0


def _accepted(facts: SetFacts, refused: Mapping[str, str]) -> Condition:
    return {
        "type": ACCEPTED,
        "status": str(not refused["reason"]),
        "observedGeneration": facts.generation,
        "reason": refused["reason"] or EarlyReason.SPEC_ACCEPTED.value,
        "message": refused["message"],
    }


def _worded(entry: Condition, facts: SetFacts, gate: str) -> Condition:
    """Say a condition that all kinds have in the words of this one."""
    quiet = facts.paused or bool(facts.invalid or facts.failure)
    if entry["type"] == ConditionType.READY.value and is_stopped(facts):
        changed = {"reason": EarlyReason.STOPPED.value, "message": "stopped: replicas is 0"}
        return {**entry, "status": "False", **changed}
    if entry["type"] == ConditionType.PROGRESSING.value and gate and not quiet:
        changed = {"reason": EarlyReason.WAITING_FOR_ROLL_OUT.value, "message": gate}
        return {**entry, "status": "True", **changed}
    return entry


def _message(usual: str, conditions: Iterable[Condition]) -> str:
    """Pick the sentence that a human wants first."""
    by_type = {entry["type"]: entry for entry in conditions}
    ready = by_type[ConditionType.READY.value]
    if ready["reason"] == EarlyReason.STOPPED.value:
        return str(ready["message"])
    return usual or str(by_type[ACCEPTED]["message"])


def _running_version(pods: Iterable[Mapping[str, Any]]) -> str:
    """Return the tag of the image that runs; the lowest while there are several."""
    counted = staying(pods)
    images = [container["image"] for pod in counted for container in pod["spec"]["containers"][:1]]
    tags = (versions.image_tag(image.partition("@")[0]) for image in images)
    return min((tag for tag in tags if tag and "/" not in tag), default="")


def occurrences(changes: Iterable[Change], namespace: str) -> list[Occurrence]:
    """Return the Events for what was created, changed and deleted.

    Args:
        changes: what happened to which object.
        namespace: where all that is.
    """
    words = {
        "created": (EarlyEvent.CREATED, "Create"),
        "changed": (EarlyEvent.UPDATED, "Update"),
        "deleted": (EarlyEvent.DELETED, "Delete"),
    }
    done = list(changes)
    if len(done) > _MANY:
        # What matters most is reported by name, data first.
        done.sort(key=lambda entry: _WEIGHT.get(entry.kind, len(_WEIGHT)))
    found = []
    for entry in done[:_MANY]:
        reason, action = words[entry.change]
        note = f"{entry.change} {entry.kind} {entry.name} in namespace {namespace}"
        found.append(occurrence(reason.value, note, action=action))
    if len(done) > _MANY:
        last = found[-1]
        found[-1] = {**last, "note": f"{last['note']}, and {len(done) - _MANY} more"}
    return found


def failure_event(failure: str, exists: bool) -> Occurrence:
    """Return the Event for a request that the API server refused.

    Args:
        failure: begins with what was tried, e.g. ``apply StatefulSet prod/mo: …``.
        exists: whether the object of the request was there already.
    """
    tried = failure.partition(" ")[0]
    applied = EarlyEvent.UPDATE_FAILED if exists else EarlyEvent.CREATE_FAILED
    reasons = {
        "create": EarlyEvent.CREATE_FAILED,
        "change": EarlyEvent.UPDATE_FAILED,
        "delete": EarlyEvent.DELETE_FAILED,
        "get": EarlyEvent.GET_FAILED,
        "list": EarlyEvent.LIST_FAILED,
        "write": EarlyEvent.STATUS_FAILED,
    }
    reason = reasons.get(tried, applied)
    return occurrence(reason.value, failure, action=tried.capitalize() or "Apply", warning=True)


def reported_before(resource: Mapping[str, Any], failure: str) -> bool:
    """Return whether the status says already what went wrong."""
    conditions = (resource.get("status") or {}).get("conditions") or []
    return any(
        entry.get("message") == failure
        and entry.get("reason")
        in {
            Reason.APPLY_FAILED.value,
            Reason.OBSERVATION_FAILED.value,
            EarlyReason.VOLUME_NOT_EXPANDABLE.value,
        }
        for entry in conditions
    )
