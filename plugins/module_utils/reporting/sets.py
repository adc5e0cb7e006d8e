# SPDX-License-Identifier: Apache-2.0
"""Status of LogSet, DNSet, CNSet, ProxySet and WebUI from their workload and Pods."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..api import names
from ..api.types import Resource
from . import pods as pod_status
from .conditions import Condition, condition, find, has_served, holds, paused, phase, summary
from .health import Health
from .reasons import ConditionType, Reason
from .roll import roll_message
from .rollout import UPDATE_PAUSED, Rollout, held_at, is_held

_JUST_APPLIED = "the change has just been applied"
_MAY_SERVE = frozenset({"True", "Unknown"})


@dataclass(frozen=True, slots=True)
class Findings:
    """What a component knows of its Pods beyond what Kubernetes reports.

    Attributes:
        activity: what is under way, and its reason; None if nothing is.
        unserved: what Pods that are ready still wait for before they serve; empty if nothing.
        failure: what is broken and more important than Pods that do not start; None if nothing is.
        empty: Pods that are ready, but have lost their data.
        outlook: what will be done about stores that are down; empty if nothing.
        unreachable: why HAKeeper could not be asked or changed; empty if it could.
    """

    activity: tuple[Reason, str] | None = None
    unserved: str = ""
    failure: tuple[Reason, str] | None = None
    empty: Collection[str] = ()
    outlook: str = ""
    unreachable: str = ""


@dataclass(frozen=True, slots=True)
class SetFacts:
    """Everything that the status of a set is computed from.

    Attributes:
        resource: the set's resource with its present status.
        rollout: how far the workload is.
        pods: the set's Pods.
        expected: names of the Pods that should exist, where names are predictable.
        paused: the resource is left alone.
        invalid: what is wrong with the spec; empty if nothing is.
        waiting: what an update waits for; empty if nothing is held back.
        failure: why the objects could not be applied; empty if they could.
        refused: what of the spec cannot be done, while all else is; empty if nothing.
        volumes: which volumes are growing; empty if none is.
        roll: how the step of the roll of a StatefulSet ended.
        findings: what the component knows of the Pods.
        has_stores: whether the status lists stores that are up and down.
        health: what the processes behind ready Pods answered.
    """

    resource: Resource
    rollout: Rollout
    pods: Sequence[Mapping[str, Any]]
    expected: Sequence[str]
    paused: bool
    invalid: str
    waiting: str
    failure: str
    refused: str = ""
    volumes: str = ""
    roll: Mapping[str, Any] = field(default_factory=dict)
    findings: Findings = Findings()
    has_stores: bool = False
    health: Health = field(default_factory=Health)

    @property
    def generation(self) -> int:
        """Generation of the resource that this is about."""
        return int(self.resource["metadata"].get("generation") or 0)

    @property
    def held(self) -> str:
        """Return what is held back on purpose, or at which partition; empty if nothing."""
        if self.waiting:
            return self.waiting if self.waiting == UPDATE_PAUSED else ""
        return "" if self.roll.get("outdated") else held_at(self.resource, self.rollout, self.noun)

    @property
    def noun(self) -> str:
        """What the Pods of this set are called."""
        return names.NOUNS[self.resource["kind"]]


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
        previous, empty = resource.get("status"), facts.findings.empty
        status.update(pod_status.stores(facts.pods, facts.expected, previous, now, empty))
    return status


def _conditions(facts: SetFacts) -> list[Condition]:
    found = [_ready(facts), _synced(facts), _progressing(facts), _degraded(facts)]
    return found + paused(facts.resource, facts.paused, facts.generation)


def _ready(facts: SetFacts) -> Condition:
    """Report whether enough Pods serve; Unknown until the controller has seen the spec."""
    rollout = facts.rollout
    counted = f"{rollout.ready}/{rollout.desired} {facts.noun} are ready"
    if not rollout.exists:
        held = f"not created: {_reason_for_nothing(facts)}"
        return condition(
            ConditionType.READY, False, Reason.NOT_ENOUGH_READY_STORES, held, facts.generation
        )
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
    missing_pods = unserved or pod_status.unready(facts.pods, facts.expected)
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
    missing_pods = pod_status.unready(facts.pods, facts.expected) or (
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
    found = None if facts.paused else _broken(facts)
    if found is None:
        return condition(ConditionType.DEGRADED, False, Reason.AS_EXPECTED, "", facts.generation)
    return condition(ConditionType.DEGRADED, True, *found, facts.generation)


def _broken(facts: SetFacts) -> tuple[Reason, str] | None:
    """Return what is broken, worst first: what only a human can fix, what is lost, the rest."""
    findings = facts.findings
    if findings.failure:
        return findings.failure
    if stuck := pod_status.stuck(facts.pods):
        return Reason.ROLLOUT_STUCK, sentences(f"not coming up: {stuck}", findings.outlook)
    if _lost_stores(facts) or findings.empty:
        return Reason.STORES_FAILED, sentences(*_losses(facts), findings.outlook)
    if has_served(facts.resource) and not facts.health.is_good:
        faults, unknown = facts.health.faults, facts.health.unknown
        return (Reason.STORES_FAILED, faults) if faults else (Reason.HAKEEPER_UNREACHABLE, unknown)
    if facts.rollout.ready and findings.unreachable:
        return Reason.HAKEEPER_UNREACHABLE, findings.unreachable
    return None


def sentences(*parts: str) -> str:
    """Join what there is to say; empty parts are left out."""
    return "; ".join(part for part in parts if part)


def _losses(facts: SetFacts) -> list[str]:
    """Name the stores that are down, and those that run without their data."""
    rollout = facts.rollout
    parts = [f"{pod} has lost its data" for pod in facts.findings.empty]
    if rollout.ready < rollout.desired:
        missing_pods = pod_status.unready(facts.pods, facts.expected)
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
