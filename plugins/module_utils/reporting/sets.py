# SPDX-License-Identifier: Apache-2.0
"""Status of LogSet, DNSet, CNSet, ProxySet and WebUI from their workload and Pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..api import names
from ..api.types import Resource
from ..compute import status as rounds
from ..logservice import status as log_states
from . import pods as pod_status
from . import rolls
from .conditions import Condition, condition, find, holds, paused, phase
from .reasons import ConditionType, Reason

_NOUNS = {
    names.LOG_SET: "log stores",
    names.DN_SET: "transaction nodes",
    names.CN_SET: "compute nodes",
    names.PROXY_SET: "proxies",
    names.WEB_UI: "web UI pods",
    names.EARLY: "databases",
}
_ENTRANCES = {
    names.CN_SET: names.PORT_SQL,
    names.PROXY_SET: names.PORT_SQL,
    names.WEB_UI: names.PORT_WEB,
}
"""Kinds with a client Service named like the workload, and its port."""
UPDATE_PAUSED = "spec.pauseUpdate holds back changes of Pods"
"""What an update waits for that somebody holds back on purpose."""
_HELD = "held at partition"
"""How a message begins about a roll that goes no further on purpose."""
_JUST_APPLIED = "the change has only just been applied"
_STORES = frozenset({names.LOG_SET, names.DN_SET, names.WEB_UI})


@dataclass(frozen=True, slots=True)
class Rollout:
    """How far a StatefulSet or Deployment is.

    Attributes:
        exists: there is a workload.
        seen: its controller has seen the latest template and size.
        wanted: Pods it should have.
        current: Pods it has.
        ready: Pods that are ready.
        updated: Pods of the latest template.
        young: Pods that are ready, but not for the seconds that count during an update.
        least: those seconds.
    """

    exists: bool
    seen: bool
    wanted: int
    current: int
    ready: int
    updated: int
    young: int = 0
    least: int = 0

    @classmethod
    def of(cls, workload: Mapping[str, Any] | None, replicas: int | None) -> Rollout:
        """Read a workload.

        Args:
            workload: the live object; None if there is none yet.
            replicas: what the spec asks for; None to go by the workload.
        """
        spec = (workload or {}).get("spec") or {}
        status = (workload or {}).get("status") or {}
        generation = ((workload or {}).get("metadata") or {}).get("generation") or 0
        wanted = replicas if replicas is not None else spec.get("replicas")
        ready, least = int(status.get("readyReplicas") or 0), int(spec.get("minReadySeconds") or 0)
        return cls(
            exists=workload is not None,
            seen=workload is not None and (status.get("observedGeneration") or 0) >= generation,
            wanted=1 if wanted is None else int(wanted),
            current=int(status.get("replicas") or 0),
            ready=ready,
            updated=int(status.get("updatedReplicas") or 0),
            young=max(0, ready - int(status.get("availableReplicas") or 0)) if least else 0,
            least=least,
        )

    @property
    def settled(self) -> bool:
        """Whether exactly the wanted Pods exist, all of the latest template."""
        return self.seen and self.current == self.wanted and self.updated >= self.wanted


@dataclass(frozen=True, slots=True)
class SetFacts:
    """Everything that the status of a set is made from.

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
        round: how the round over the compute nodes of a CNSet ended.
        roll: how the step of the roll of a StatefulSet ended.
        ending: Pods of a CNSet that serve the clients that they have, and until when.
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
    round: Mapping[str, Any] = field(default_factory=dict)
    roll: Mapping[str, Any] = field(default_factory=dict)
    ending: Mapping[str, str] = field(default_factory=dict)

    @property
    def generation(self) -> int:
        """Generation of the resource that this is about."""
        return int(self.resource["metadata"].get("generation") or 0)

    @property
    def held(self) -> str:
        """Say what somebody holds back on purpose, or at which partition; empty if nothing."""
        if self.waiting:
            return self.waiting if self.waiting == UPDATE_PAUSED else ""
        return "" if self.roll.get("outdated") else held_at(self.resource, self.rollout)

    @property
    def noun(self) -> str:
        """What the Pods of this set are called."""
        return _NOUNS[self.resource["kind"]]


def partition_of(resource: Mapping[str, Any]) -> int:
    """Return the lowest ordinal of a StatefulSet's Pods that a change of the spec reaches."""
    strategy = (resource.get("spec") or {}).get("updateStrategy") or {}
    return int(strategy.get("partition") or 0)


def held_at(resource: Mapping[str, Any], rollout: Rollout) -> str:
    """Say at which partition the roll of a set goes no further; empty if it does, or is over.

    Args:
        resource: the set.
        rollout: how far its workload is.
    """
    partition = partition_of(resource)
    whole = rollout.current == rollout.wanted <= rollout.ready
    done = rollout.updated >= rollout.wanted - partition
    if not partition or rollout.settled or not (rollout.seen and whole and done):
        return ""
    counted = f"{rollout.updated}/{rollout.wanted} {_NOUNS[resource['kind']]}"
    return f"{_HELD} {partition}: {counted} run what the spec asks for"


def is_on_purpose(waiting: str) -> bool:
    """Tell whether what an update waits for comes only when somebody changes a spec."""
    return waiting == UPDATE_PAUSED or f": {_HELD} " in waiting


def is_held(resource: Mapping[str, Any] | None) -> bool:
    """Tell whether the status of a set says that its roll goes no further on purpose."""
    return str(find(resource, ConditionType.SYNCED).get("message")).startswith(_HELD)


def set_status(facts: SetFacts, now: str) -> dict[str, Any]:
    """Return the status to write, complete but for the conditions' times.

    Args:
        facts: what is known.
        now: the present, RFC 3339.
    """
    resource, rollout = facts.resource, facts.rollout
    kind = resource["kind"]
    conditions = _conditions(facts)
    status: dict[str, Any] = {
        "observedGeneration": facts.generation,
        "conditions": conditions,
        "phase": phase(conditions).value,
        "message": _message(conditions),
        "version": pod_status.running_version(facts.pods),
        "pods": f"{rollout.ready}/{rollout.wanted}",
        "replicas": rollout.current,
        "readyReplicas": rollout.ready,
        "updatedReplicas": rollout.updated,
    }
    if kind in _STORES:
        previous = resource.get("status")
        empty = facts.round.get("empty") or ()
        status.update(pod_status.stores(facts.pods, facts.expected, previous, now, empty))
    if rollout.exists:
        status.update(_addresses(resource))
    return status


def _conditions(facts: SetFacts) -> list[Condition]:
    found = [_ready(facts), _synced(facts), _progressing(facts), _degraded(facts)]
    return found + paused(facts.resource, facts.paused, facts.generation)


def _ready(facts: SetFacts) -> Condition:
    """Say whether enough Pods serve; Unknown until the workload's controller has seen the spec."""
    rollout = facts.rollout
    counted = f"{rollout.ready}/{rollout.wanted} {facts.noun} are ready"
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
    unserved = facts.round.get("unserved") or ()
    if rollout.ready >= rollout.wanted and not unserved:
        return condition(
            ConditionType.READY, True, Reason.ENOUGH_READY_STORES, counted, facts.generation
        )
    awaited = pod_status.awaited(facts.pods, facts.expected)
    if unserved:
        awaited = f"{', '.join(unserved)} to take up its shard"
    message = f"{counted}, waiting for {awaited}" if awaited else counted
    return condition(
        ConditionType.READY, False, Reason.NOT_ENOUGH_READY_STORES, message, facts.generation
    )


def _reason_for_nothing(facts: SetFacts) -> str:
    if facts.paused:
        return "paused by an annotation"
    return facts.invalid or facts.waiting or facts.failure or "the work has only just begun"


def _synced(facts: SetFacts) -> Condition:
    """Say whether what the spec asks for is applied and has reached every Pod."""
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
    elif not rollout.settled:
        counted = f"{rollout.updated}/{rollout.wanted} {facts.noun} run what the spec asks for"
        holds_, reason, message = False, Reason.ROLLING_OUT, f"{counted}; {_work(facts)[1]}"
    elif facts.volumes:
        holds_, reason, message = False, Reason.GROWING_VOLUMES, facts.volumes
    elif facts.refused:
        holds_, reason, message = False, Reason.VOLUME_REFUSED, facts.refused
    else:
        holds_, reason, message = True, Reason.APPLIED, "all that the spec asks for is applied"
    return condition(ConditionType.SYNCED, holds_, reason, message, facts.generation)


def _progressing(facts: SetFacts) -> Condition:
    """Say what is under way."""
    rollout = facts.rollout
    if facts.paused:
        under_way, reason, message = False, Reason.PAUSED, ""
    elif facts.invalid or facts.failure:
        under_way, reason, message = False, Reason.SETTLED, facts.invalid or facts.failure
    elif facts.held:
        under_way, reason, message = False, Reason.PAUSED, facts.held
    elif facts.waiting:
        under_way, reason, message = True, Reason.WAITING_FOR_DEPENDENCY, facts.waiting
    elif drains := rounds.draining(facts.round, facts.ending):
        under_way, reason, message = True, Reason.DRAINING, drains
    elif log_states.under_way(facts.round):
        under_way, reason = True, Reason.FAILING_OVER
        message = log_states.under_way(facts.round)
    elif log_states.shrinking(facts.round):
        under_way, reason, message = True, Reason.SCALING, log_states.shrinking(facts.round)
    elif not rollout.settled or rollout.ready < rollout.wanted:
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
    awaited = pod_status.awaited(facts.pods, facts.expected) or (ageing if rollout.young else "")
    message = f"waiting for {awaited}" if awaited else "waiting for the workload's controller"
    message = rolls.under_way(facts.roll) or message
    if not log_states.has_served(facts.resource):
        return Reason.CREATING, message
    if rollout.seen and rollout.updated < min(rollout.current, rollout.wanted):
        return Reason.ROLLING_OUT, message
    if rollout.updated < rollout.current:
        surplus = rollout.current - rollout.wanted
        if rollout.young:
            return Reason.ROLLING_OUT, message
        return Reason.ROLLING_OUT, f"waiting for {surplus} {facts.noun} of before to go"
    if rollout.current != rollout.wanted:
        return Reason.SCALING, f"{rollout.current} of {rollout.wanted} {facts.noun} exist"
    return Reason.ROLLING_OUT, message


def _degraded(facts: SetFacts) -> Condition:
    """Say whether something is broken, beyond being merely under way."""
    found = None if facts.paused else _broken(facts)
    if found is None:
        return condition(ConditionType.DEGRADED, False, Reason.AS_EXPECTED, "", facts.generation)
    return condition(ConditionType.DEGRADED, True, *found, facts.generation)


def _broken(facts: SetFacts) -> tuple[Reason, str] | None:
    """Return what is broken, worst first: what only a human can mend, what is lost, the rest."""
    rollout, round_ = facts.rollout, facts.round
    stuck = pod_status.stuck(facts.pods)
    hope = log_states.waiting(round_)
    replaced = log_states.under_way(round_)
    if log_states.blocked(round_):
        return Reason.FAILOVER_BLOCKED, log_states.blocked(round_)
    if replaced and (rollout.ready < rollout.wanted or log_states.lacking(round_)):
        return Reason.STORES_FAILED, _sentences(log_states.lacking(round_), replaced)
    if stuck:
        return Reason.ROLLOUT_STUCK, _sentences(f"not coming up: {stuck}", hope)
    if _lost_stores(facts) or round_.get("empty"):
        return Reason.STORES_FAILED, _sentences(*_losses(facts), hope)
    if rollout.ready and rounds.unheard(round_):
        return Reason.HAKEEPER_UNREACHABLE, rounds.unheard(round_)
    return None


def _sentences(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _losses(facts: SetFacts) -> list[str]:
    """Name the stores that are down, and those that run without their data."""
    rollout = facts.rollout
    parts = [f"{pod} has lost its data" for pod in facts.round.get("empty") or ()]
    if rollout.ready < rollout.wanted:
        awaited = pod_status.awaited(facts.pods, facts.expected)
        missing = rollout.wanted - rollout.ready
        parts.append(f"{missing} of {rollout.wanted} {facts.noun} are down: {awaited}")
    return parts


def _lost_stores(facts: SetFacts) -> bool:
    """Tell whether Pods that were ready are gone though nobody asked for it."""
    rollout = facts.rollout
    before = find(facts.resource, ConditionType.SYNCED)
    unchanged = before.get("observedGeneration") == facts.generation
    done = before.get("status") == "True" or is_held(facts.resource)
    all_served = done and holds(facts.resource, ConditionType.READY)
    was_settled = all_served or holds(facts.resource, ConditionType.DEGRADED)
    served = log_states.has_served(facts.resource)
    return rollout.seen and rollout.ready < rollout.wanted and unchanged and was_settled and served


def _message(conditions: Sequence[Condition]) -> str:
    """Pick the sentence that a human wants first: what is broken, wrong, or awaited."""
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


def _addresses(resource: Resource) -> dict[str, Any]:
    """Return where clients find the set, in the fields of its kind."""
    kind, metadata = resource["kind"], resource["metadata"]
    base, namespace = names.base_name(kind, metadata["name"]), metadata["namespace"]
    spec = resource.get("spec") or {}
    if kind == names.LOG_SET:
        domain = names.service_domain(namespace, spec.get("clusterDomain"))
        address = f"{names.discovery_name(base)}.{domain}"
        return {"discovery": {"port": names.PORT_LOG, "address": address}}
    if kind not in _ENTRANCES:
        return {}
    return {"host": f"{base}.{namespace}", "port": _ENTRANCES[kind]}


def selector_text(resource: Resource) -> str:
    """Return the selector of a set's Pods as text, for the scale subresource."""
    metadata = resource["metadata"]
    labels = names.selector_labels(resource["kind"], metadata["name"], metadata["namespace"])
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
