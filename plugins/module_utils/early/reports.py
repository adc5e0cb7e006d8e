# SPDX-License-Identifier: Apache-2.0
"""What a pass over a MatrixoneCluster reports at its end: status, Events, when to check again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from ..api.types import Resource
from ..reporting.applied import Applied, changes_in
from ..reporting.events import Occurrence, occurrence
from ..reporting.reasons import ConditionType, EarlyReason
from ..reporting.report import Report, deleting, unobserved
from ..reporting.rollout import Rollout
from ..reporting.set_facts import SetFacts
from ..workload.kind import PassEnd
from . import status as early
from .events import EarlyEvent
from .observed import EarlyObserved
from .planning import EarlyPlan
from .storage import own_claims

_PERIOD: Final = "10s"
_LISTS: Final = {"statefulSets": "StatefulSet", "service": "Service"}


def report_on_early(end: PassEnd[EarlyPlan]) -> Report:
    """Report what a pass came to.

    Args:
        end: what it came to; ``growth`` of what was observed is the result of growing the claims.
    """
    resource, plan, observed = end.resource, end.plan, EarlyObserved.read(end.observed)
    applied, failure = end.applied, end.failure
    if failure and not observed.complete:
        unknown = unobserved(resource, failure)
        status = {**unknown.status, "phase": early.phase_of(unknown.status["conditions"])}
        return replace(unknown, status=status, events=_warnings(resource, plan, observed, failure))
    refused = plan.refusal
    facts = _facts(end, observed)
    gate = plan.gate
    status = early.early_status(facts, refused, gate, _lists(resource, observed, applied))
    if plan.runtime:
        status["runtime"] = plan.runtime
    announced = str((resource.get("status") or {}).get("rollOutAnnounced") or "")
    revision = plan.gate_revision or announced
    if revision and (gate or announced):
        status["rollOutAnnounced"] = revision if gate else announced
    states = {entry["type"]: entry for entry in status["conditions"]}
    synced = states[ConditionType.SYNCED.value]["status"] == "True"
    serves = states[ConditionType.READY.value]["status"] == "True" or early.is_stopped(facts)
    settled = serves and (synced or bool(facts.refused)) and not gate
    idle = settled or facts.paused or bool(facts.invalid)
    done = [*observed.growth.done, *applied.done]
    changes = early.occurrences(done, _namespace(resource))
    return Report(
        status=status,
        events=[*changes, *_warnings(resource, plan, observed, failure), *_waits(announced, plan)],
        ready=serves and synced,
        message=str(status.get("message") or ""),
        requeue="" if idle else _PERIOD,
    )


def terminating_report(
    resource: Resource, results: Iterable[Mapping[str, Any]], failure: str
) -> dict[str, Any]:
    """Return status and Events of a MatrixoneCluster that is being deleted.

    Args:
        resource: with its status so far.
        results: of the deletions.
        failure: why the pass failed; empty if it did not.
    """
    status = deleting(resource)
    reported = str((resource.get("status") or {}).get("message") or "")
    done = [change for result in results for change in changes_in(result)]
    events = early.occurrences(done, _namespace(resource))
    if failure:
        status["message"] = failure
        if reported != failure:
            events.append(early.failure_event(failure, exists=True))
    return {"status": status, "events": events}


def _namespace(resource: Resource) -> str:
    return str(resource["metadata"]["namespace"])


def _facts(end: PassEnd[EarlyPlan], observed: EarlyObserved) -> SetFacts:
    resource, plan = end.resource, end.plan
    name = resource["metadata"]["name"]
    refused = plan.refusal
    live = end.applied.objects.get(f"StatefulSet/{name}") or observed.workload
    as_it_is = plan.paused or refused["reason"] == EarlyReason.UNSUPPORTED_REPLICAS.value
    replicas = (resource.get("spec") or {}).get("replicas")
    rollout = Rollout.of(live, None if as_it_is or not isinstance(replicas, int) else replicas)
    return SetFacts(
        resource=resource,
        rollout=rollout,
        pods=observed.pods,
        expected=[f"{name}-{ordinal}" for ordinal in range(rollout.desired if live else 0)],
        paused=plan.paused,
        invalid=plan.invalid or (refused["message"] if as_it_is else ""),
        waiting="",
        failure=end.failure,
        refused=refused["message"],
        problems=observed.pod_problems,
    )


def _lists(resource: Resource, observed: EarlyObserved, applied: Applied) -> dict[str, list[str]]:
    """Return the names of what belongs to the resource, as far as this pass knows."""
    gone = {change.title for change in applied.deleted()}
    listed = {"statefulSets": observed.stateful_sets, "service": observed.services}
    found: dict[str, list[str]] = {}
    for field, kind in _LISTS.items():
        seen = {f"{kind}/{one['metadata']['name']}" for one in listed[field]}
        applied_names = {name for name in applied.objects if name.startswith(f"{kind}/")}
        found[field] = sorted(name.partition("/")[2] for name in (seen | applied_names) - gone)
    pods = (pod["metadata"]["name"] for pod in observed.pods)
    claims = own_claims(resource["metadata"]["name"], observed.claims)
    found["pods"] = sorted(name for name in pods if f"Pod/{name}" not in gone)
    found["persistentVolumeClaims"] = sorted(one["metadata"]["name"] for _template, one in claims)
    return found


def _warnings(
    resource: Resource, plan: EarlyPlan, observed: EarlyObserved, failure: str
) -> list[Occurrence]:
    """Return Events for what the API server refused, unless the status says it already."""
    found = []
    message = plan.refusal["message"]
    if plan.refusal["reason"] == EarlyReason.VOLUME_NOT_EXPANDABLE.value and not (
        early.reported_before(resource, message)
    ):
        found.append(early.failure_event(message, exists=True))
    if failure and not early.reported_before(resource, failure):
        found.append(early.failure_event(failure, _exists(failure, observed)))
    return found


def _exists(failure: str, observed: EarlyObserved) -> bool:
    """Return whether the object that a failure is about was there before."""
    subject = " ".join(failure.partition(":")[0].split(" ")[1:3])
    known = {
        f"{one['kind']} {one['metadata']['namespace']}/{one['metadata']['name']}"
        for one in (*observed.services, *observed.stateful_sets)
    }
    return subject in known


def _waits(announced: str, plan: EarlyPlan) -> list[Occurrence]:
    """Return the Event for a roll-out that is waited for, once for each revision."""
    revision = plan.gate_revision
    if not plan.gate or not revision or revision == announced:
        return []
    note = f"cleanup waits for the StatefulSet: {plan.gate}"
    return [occurrence(EarlyEvent.ROLL_OUT_AWAITED.value, note, action="Wait")]
