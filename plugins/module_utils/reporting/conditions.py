# SPDX-License-Identifier: Apache-2.0
"""Conditions: create them, read them, keep their times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..api import names
from ..api.annotations import is_fenced
from .kstatus import with_kstatus
from .reasons import BackupReason, ConditionType, ObjectReason, Phase, PoolReason, Reason

Condition = dict[str, Any]
"""An entry of ``status.conditions``: type, status, observedGeneration, reason, message; the
writer adds lastTransitionTime."""

RESTORE_ENDED: Final = frozenset({"Completed", "Skipped"})
"""Phases of ``status.restore`` of a cluster that are never left."""
_LONGEST_MESSAGE: Final = 8192
"""Characters; Kubernetes accepts 32,768 of a condition's message."""


def condition(
    kind: ConditionType,
    holds: bool | None,
    reason: Reason | BackupReason | PoolReason | ObjectReason,
    message: str,
    generation: int,
) -> Condition:
    """Return a condition.

    Args:
        kind: its type.
        holds: True, False, or None for Unknown.
        reason: from the closed list.
        message: for a human; what it is waiting for, if anything. It is cut where the API server
            would refuse the status: values and names of users are quoted in it.
        generation: ``metadata.generation`` that this was decided for.
    """
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]}..."
    return {
        "type": kind.value,
        "status": "Unknown" if holds is None else str(holds),
        "observedGeneration": generation,
        "reason": reason.value,
        "message": message,
    }


_FENCED = (
    "fenced: nothing is changed or deleted until the annotation "
    f"{names.ANNOTATION_FENCED} is removed"
)


def paused(resource: Mapping[str, Any], is_paused: bool, generation: int) -> list[Condition]:
    """Return the Paused condition: while the resource is paused, and ever after it once was."""
    if is_paused:
        fenced = is_fenced(resource)
        message = _FENCED if fenced else "an annotation pauses this resource"
        return [
            condition(ConditionType.PAUSED, True, Reason.PAUSED_BY_ANNOTATION, message, generation)
        ]
    if find(resource, ConditionType.PAUSED):
        return [condition(ConditionType.PAUSED, False, Reason.NOT_PAUSED, "", generation)]
    return []


def find(resource: Mapping[str, Any] | None, kind: ConditionType) -> Mapping[str, Any]:
    """Return a resource's condition of that type; empty if it has none."""
    status = (resource or {}).get("status") or {}
    for entry in status.get("conditions") or []:
        if entry.get("type") == kind.value:
            return entry  # type: ignore[no-any-return]
    return {}


def holds(resource: Mapping[str, Any] | None, kind: ConditionType) -> bool:
    """Return whether the condition is True, whichever generation it speaks about."""
    return find(resource, kind).get("status") == "True"


def holds_now(resource: Mapping[str, Any] | None, kind: ConditionType) -> bool:
    """Return whether the condition is True of the resource's present generation."""
    found = find(resource, kind)
    is_present = (found.get("observedGeneration") or 0) >= _generation(resource)
    return found.get("status") == "True" and is_present


def unapplied(
    resource: Mapping[str, Any], *, invalid: str, failure: str
) -> tuple[Reason, str] | None:
    """Return why the present spec is not carried out, as reason and message; None if it is.

    Args:
        resource: with its status so far.
        invalid: why the spec is refused; empty if it is not.
        failure: why a pass failed; empty if it did not. A generation that has been carried out
            before stays so when a later pass fails.
    """
    if invalid:
        return Reason.INVALID_SPEC, invalid
    before = find(resource, ConditionType.READY)
    is_present = (before.get("observedGeneration") or 0) >= _generation(resource)
    if failure and not (is_present and before.get("status") in {"True", "False"}):
        return Reason.APPLY_FAILED, failure
    return None


def of_earlier_spec(
    ready: Condition, resource: Mapping[str, Any], cause: tuple[Reason, str]
) -> Condition:
    """Return the condition Ready of something that still runs what an earlier spec asked for.

    Its status tells whether it serves, which alerts go by. Its ``observedGeneration`` tells that
    this is not so of the present spec: `kubectl wait` passes over a condition that is outdated.

    Args:
        ready: the condition as if the present spec were carried out.
        resource: with its status so far.
        cause: why the present spec is not carried out, as `unapplied` returns it.
    """
    generation = _generation(resource)
    reported = int(find(resource, ConditionType.READY).get("observedGeneration") or generation)
    earlier = max(0, min(reported, generation - 1))
    if ready["status"] != "True":
        return {**ready, "observedGeneration": earlier}
    reason, lack = cause
    message = f"{ready['message']}, with an earlier spec; the present one is not applied: {lack}"
    return condition(ConditionType.READY, True, reason, message, earlier)


def earlier_spec_of(resource: Mapping[str, Any] | None) -> tuple[Reason, str] | None:
    """Return why a resource serves with an earlier spec, as its status tells it; None otherwise."""
    ready, synced = find(resource, ConditionType.READY), find(resource, ConditionType.SYNCED)
    generation = _generation(resource)
    is_outdated = (ready.get("observedGeneration") or 0) < generation
    is_present = (synced.get("observedGeneration") or 0) >= generation
    reasons = {Reason.INVALID_SPEC.value, Reason.APPLY_FAILED.value}
    if ready.get("status") != "True" or not (is_outdated and is_present):
        return None
    reason = synced.get("reason")
    return (Reason(reason), str(synced.get("message"))) if reason in reasons else None


def serves_now(resource: Mapping[str, Any] | None) -> bool:
    """Return whether a resource serves, with its present spec or because that is not applied."""
    return holds_now(resource, ConditionType.READY) or earlier_spec_of(resource) is not None


def _generation(resource: Mapping[str, Any] | None) -> int:
    return int(((resource or {}).get("metadata") or {}).get("generation") or 0)


def has_served(resource: Mapping[str, Any]) -> bool:
    """Return whether a set was ready at least once, from its own earlier conditions."""
    if holds(resource, ConditionType.READY):
        return True
    before = find(resource, ConditionType.PROGRESSING).get("reason")
    return before not in {None, Reason.CREATING.value, Reason.WAITING_FOR_DEPENDENCY.value}


def phase(conditions: Iterable[Mapping[str, Any]]) -> Phase:
    """Say the conditions in one word."""
    states = {entry["type"]: entry for entry in conditions}

    def is_true(kind: ConditionType) -> bool:
        return bool(states.get(kind.value, {}).get("status") == "True")

    if any(entry["reason"] == Reason.DELETING.value for entry in states.values()):
        return Phase.DELETING
    if is_true(ConditionType.PAUSED):
        return Phase.PAUSED
    if is_true(ConditionType.DEGRADED):
        return Phase.DEGRADED
    if is_true(ConditionType.PROGRESSING):
        return Phase.PROGRESSING
    return Phase.READY if is_true(ConditionType.READY) else Phase.NOT_READY


def summary(conditions: Iterable[Condition]) -> str:
    """Pick the sentence that a human needs first: what is broken, wrong, or under way."""
    by_type = {entry["type"]: entry for entry in conditions}
    for kind, bad in (
        (ConditionType.PAUSED, "True"),
        (ConditionType.DEGRADED, "True"),
        (ConditionType.READY, "False"),
        (ConditionType.SYNCED, "False"),
        (ConditionType.PROGRESSING, "True"),
    ):
        entry = by_type.get(kind.value, {})
        if entry.get("status") == bad and entry.get("message"):
            return str(entry["message"])
    return ""


def completed(
    desired: Mapping[str, Any], live: Mapping[str, Any] | None, now: str
) -> dict[str, Any]:
    """Give a status the conditions that follow from others, and each its lastTransitionTime.

    Args:
        desired: status to write.
        live: status of the live object; a condition whose status stays keeps its time.
        now: the present, RFC 3339 in whole seconds.
    """
    known = {entry.get("type"): entry for entry in (live or {}).get("conditions") or []}
    timed = []
    for entry in with_kstatus(desired.get("conditions") or []):
        before = known.get(entry["type"], {})
        kept = before.get("lastTransitionTime") if before.get("status") == entry["status"] else None
        timed.append({**entry, "lastTransitionTime": kept or now})
    kept = _recorded_for_good(desired, live or {})
    return {**desired, **kept, "conditions": timed} if timed else {**desired, **kept}


def _recorded_for_good(desired: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the record of a restore, which whoever had read an older status would drop.

    Without it, a cluster would be restored a second time.
    """
    before, after = live.get("restore") or {}, desired.get("restore") or {}
    is_final = before.get("phase") in RESTORE_ENDED
    return {"restore": before} if before and (is_final or not after) else {}
