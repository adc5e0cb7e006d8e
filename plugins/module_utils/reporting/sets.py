# SPDX-License-Identifier: Apache-2.0
"""Status of LogSet, DNSet, CNSet, ProxySet and WebUI from their workload and Pods."""

from __future__ import annotations

from typing import Any

from . import pods as pod_status
from .conditions import (
    Condition,
    condition,
    has_served,
    of_earlier_spec,
    paused,
    phase,
    summary,
    unapplied,
)
from .degradation import broken
from .reasons import ConditionType, Reason
from .roll import roll_message
from .set_facts import SetFacts
from .storage import credential_conditions, storage_conditions

_JUST_APPLIED = "the change has just been applied"


def set_status(facts: SetFacts, now: str) -> dict[str, Any]:
    """Return the status to write, complete but for the conditions' times.

    Args:
        facts: what is known.
        now: the present, RFC 3339.
    """
    resource, rollout = facts.resource, facts.rollout
    conditions = _conditions(facts)
    status: dict[str, Any] = {
        "observedGeneration": facts.generation,
        "conditions": conditions,
        "phase": phase(conditions).value,
        "message": summary(conditions),
        "version": pod_status.running_version(facts.pods),
        "pods": f"{rollout.ready}/{rollout.desired}",
        "replicas": rollout.current,
        "readyReplicas": rollout.ready,
        "updatedReplicas": rollout.updated,
    }
    if facts.has_stores:
        previous, lost = resource.get("status"), facts.findings.lost
        status.update(pod_status.stores(facts.pods, facts.expected, previous, now, lost))
    return status


def _conditions(facts: SetFacts) -> list[Condition]:
    found = [_ready(facts), _synced(facts), _progressing(facts), _degraded(facts)]
    found += storage_conditions(facts.resource, facts.health.storage, facts.generation)
    found += credential_conditions(facts.resource, facts.health.credential, facts.generation)
    return found + paused(facts.resource, facts.paused, facts.generation)


def _ready(facts: SetFacts) -> Condition:
    """Report whether enough Pods serve; outdated where these are the Pods of an earlier spec."""
    if not facts.rollout.exists:
        held = f"not created: {_reason_for_nothing(facts)}"
        refused = facts.invalid and not facts.paused
        reason = Reason.INVALID_SPEC if refused else Reason.NOT_ENOUGH_READY_STORES
        return condition(ConditionType.READY, False, reason, held, facts.generation)
    invalid = "" if facts.paused else facts.invalid
    cause = unapplied(facts.resource, invalid=invalid, failure=facts.failure)
    ready = _served(facts)
    return of_earlier_spec(ready, facts.resource, cause) if cause else ready


def _served(facts: SetFacts) -> Condition:
    """Report whether enough Pods serve; Unknown until the controller has seen the spec."""
    rollout = facts.rollout
    counted = f"{rollout.ready}/{rollout.desired} {facts.noun} are ready"
    if not rollout.seen:
        return condition(
            ConditionType.READY,
            None,
            Reason.RECONCILING,
            _JUST_APPLIED,
            facts.generation,
        )
    unserved = _unserved(facts)
    if rollout.ready >= rollout.desired and not unserved and facts.health.unknown:
        unheard = facts.health.unknown
        return condition(
            ConditionType.READY, None, Reason.HAKEEPER_UNREACHABLE, unheard, facts.generation
        )
    if rollout.ready >= rollout.desired and not unserved:
        return condition(
            ConditionType.READY, True, Reason.ENOUGH_READY_STORES, counted, facts.generation
        )
    missing_pods = unserved or pod_status.unready(facts.pods, facts.expected, facts.problems)
    message = f"{counted}, waiting for {missing_pods}" if missing_pods else counted
    return condition(
        ConditionType.READY, False, Reason.NOT_ENOUGH_READY_STORES, message, facts.generation
    )


def _unserved(facts: SetFacts) -> str:
    """Return what Pods that are ready lack to serve; empty if nothing is known to be lacking."""
    health = facts.health
    beginning = health.unknown if not has_served(facts.resource) else ""
    parts = (facts.findings.unserved, health.faults, "HAKeeper to answer" if beginning else "")
    return ", ".join(part for part in parts if part)


def _reason_for_nothing(facts: SetFacts) -> str:
    if facts.paused:
        return "paused by an annotation"
    return facts.invalid or facts.waiting or facts.failure or "reconciliation has just started"


def _synced(facts: SetFacts) -> Condition:
    """Report whether what the spec asks for is applied and has reached every Pod."""
    rollout = facts.rollout
    if facts.paused:
        holds_, reason, message = False, Reason.PAUSED, "changes are not applied while paused"
    elif facts.invalid:
        holds_, reason, message = False, Reason.INVALID_SPEC, facts.invalid
    elif facts.failure:
        holds_, reason, message = False, Reason.APPLY_FAILED, facts.failure
    elif facts.held:
        holds_, reason, message = False, Reason.PAUSED, facts.held
    elif facts.waiting:
        holds_, reason, message = False, Reason.DEPENDENCY_NOT_READY, facts.waiting
    elif not rollout.seen:
        holds_, reason, message = False, Reason.ROLLING_OUT, _JUST_APPLIED
    elif not rollout.up_to_date:
        counted = f"{rollout.updated}/{rollout.desired} {facts.noun} run what the spec asks for"
        holds_, reason, message = False, Reason.ROLLING_OUT, f"{counted}; {_work(facts)[1]}"
    elif facts.volumes:
        holds_, reason, message = False, Reason.GROWING_VOLUMES, facts.volumes
    elif facts.refused:
        holds_, reason, message = False, Reason.VOLUME_REFUSED, facts.refused
    else:
        holds_, reason, message = True, Reason.APPLIED, "all that the spec asks for is applied"
    return condition(ConditionType.SYNCED, holds_, reason, message, facts.generation)


def _progressing(facts: SetFacts) -> Condition:
    """Return what is under way."""
    rollout = facts.rollout
    if facts.paused:
        under_way, reason, message = False, Reason.PAUSED, ""
    elif facts.invalid or facts.failure:
        under_way, reason, message = False, Reason.SETTLED, facts.invalid or facts.failure
    elif facts.held:
        under_way, reason, message = False, Reason.PAUSED, facts.held
    elif facts.waiting:
        under_way, reason, message = True, Reason.WAITING_FOR_DEPENDENCY, facts.waiting
    elif facts.findings.activity:
        under_way, (reason, message) = True, facts.findings.activity
    elif not rollout.up_to_date or rollout.ready < rollout.desired:
        under_way, (reason, message) = True, _work(facts)
    elif facts.volumes:
        under_way, reason, message = True, Reason.GROWING_VOLUMES, facts.volumes
    else:
        under_way, reason, message = False, Reason.SETTLED, facts.refused
    return condition(ConditionType.PROGRESSING, under_way, reason, message, facts.generation)


def _work(facts: SetFacts) -> tuple[Reason, str]:
    """Tell creating, scaling and rolling out from each other."""
    rollout = facts.rollout
    ageing = f"{rollout.young} {facts.noun} to be ready for {rollout.least} s"
    missing_pods = pod_status.unready(facts.pods, facts.expected, facts.problems) or (
        ageing if rollout.young else ""
    )
    message = (
        f"waiting for {missing_pods}" if missing_pods else "waiting for the workload's controller"
    )
    message = roll_message(facts.roll) or message
    if not has_served(facts.resource):
        return Reason.CREATING, message
    if rollout.seen and rollout.updated < min(rollout.current, rollout.desired):
        return Reason.ROLLING_OUT, message
    if rollout.updated < rollout.current:
        surplus = rollout.current - rollout.desired
        if rollout.young:
            return Reason.ROLLING_OUT, message
        return (
            Reason.ROLLING_OUT,
            f"waiting for {surplus} {facts.noun} of an earlier template to terminate",
        )
    if rollout.current != rollout.desired:
        return Reason.SCALING, f"{rollout.current} of {rollout.desired} {facts.noun} exist"
    return Reason.ROLLING_OUT, message


def _degraded(facts: SetFacts) -> Condition:
    """Report whether something is broken, beyond being merely under way."""
    found = None if facts.paused else broken(facts)
    if found is None:
        return condition(ConditionType.DEGRADED, False, Reason.AS_EXPECTED, "", facts.generation)
    return condition(ConditionType.DEGRADED, True, *found, facts.generation)
