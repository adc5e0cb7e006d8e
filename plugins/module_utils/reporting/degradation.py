# SPDX-License-Identifier: Apache-2.0
"""What is broken in a set, beyond being merely under way."""

from __future__ import annotations

from . import pods as pod_status
from .conditions import find, has_served, holds
from .reasons import ConditionType, Reason
from .roll import roll_message
from .rollout import is_held
from .set_facts import SetFacts
from .storage import storage_fault

_MAY_SERVE = frozenset({"True", "Unknown"})


def broken(facts: SetFacts) -> tuple[Reason, str] | None:
    """Return what is broken, worst first: what only a human can fix, what is lost, the rest."""
    findings = facts.findings
    if findings.failure:
        reason, message = findings.failure
        return reason, sentences(message, facts.problems.refusals)
    if stuck := _stuck(facts):
        return stuck
    if _lost_stores(facts) or findings.lost:
        return Reason.STORES_FAILED, sentences(*_losses(facts), findings.outlook)
    if has_served(facts.resource) and not facts.health.is_good:
        faults, unknown = facts.health.faults, facts.health.unknown
        return (Reason.STORES_FAILED, faults) if faults else (Reason.HAKEEPER_UNREACHABLE, unknown)
    if facts.rollout.ready and findings.unreachable:
        return Reason.HAKEEPER_UNREACHABLE, findings.unreachable
    return storage_fault(facts.resource, facts.health.storage) or facts.certificate


def _stuck(facts: SetFacts) -> tuple[Reason, str] | None:
    """Return which Pods do not come up, or are refused, and why; None if there are none."""
    outlook, refusals = facts.findings.outlook, facts.problems.refusals
    if stuck := pod_status.stuck(facts.pods):
        return Reason.ROLLOUT_STUCK, sentences(f"not coming up: {stuck}", outlook)
    if facts.roll.fault:
        return Reason.ROLLOUT_STUCK, f"{roll_message(facts.roll)}: {facts.roll.fault}"
    return (Reason.PODS_NOT_CREATED, sentences(refusals, outlook)) if refusals else None


def sentences(*parts: str) -> str:
    """Join what there is to say; empty parts are left out."""
    return "; ".join(part for part in parts if part)


def _losses(facts: SetFacts) -> list[str]:
    """Name the stores that are down, and those that run and are of no use."""
    rollout = facts.rollout
    parts = [f"{pod} {why}" for pod, why in sorted(facts.findings.lost.items())]
    if rollout.ready < rollout.desired:
        missing_pods = pod_status.unready(facts.pods, facts.expected, facts.problems)
        missing = rollout.desired - rollout.ready
        parts.append(f"{missing} of {rollout.desired} {facts.noun} are down: {missing_pods}")
    return parts


def _lost_stores(facts: SetFacts) -> bool:
    """Return whether Pods that were ready are gone although no change asked for it."""
    rollout = facts.rollout
    before = find(facts.resource, ConditionType.SYNCED)
    unchanged = before.get("observedGeneration") == facts.generation
    done = before.get("status") == "True" or is_held(facts.resource)
    all_served = done and find(facts.resource, ConditionType.READY).get("status") in _MAY_SERVE
    was_up = all_served or holds(facts.resource, ConditionType.DEGRADED)
    served = has_served(facts.resource)
    return rollout.seen and rollout.ready < rollout.desired and unchanged and was_up and served
