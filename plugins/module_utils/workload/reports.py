# SPDX-License-Identifier: Apache-2.0
"""What a pass over a set reports at its end: status, events, when to check again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..api import names
from ..api.pods import is_ready
from ..api.types import Resource
from ..reporting.applied import Applied
from ..reporting.conditions import holds
from ..reporting.events import from_changes
from ..reporting.pod_problems import PodProblems, refused_helpers
from ..reporting.pods import became_unready_lately
from ..reporting.reasons import ConditionType
from ..reporting.report import Report, is_ready_and_synced, unobserved
from ..reporting.roll import roll_events, roll_requeue
from ..reporting.rollout import UPDATE_PAUSED, Rollout, is_held
from ..reporting.set_facts import Findings, SetFacts
from ..reporting.sets import set_status
from . import tls
from .component import Component, SetPass
from .kind import PassEnd
from .observed import SetObserved
from .plans import Plan
from .reading import read_observed
from .volumes import growing

_ENDING = "5s"
"""No change of a Deployment tells that a Pod is gone, and its version counts until then."""
_MOVING = "5s"
"""While Pods have changed a moment ago, or they and the status of their workload differ."""
_SILENT = "5s"
"""While processes give no sign of life, or it is not known: no event tells when they do again."""
_LEFT_ALONE = "60s"
"""While Pods of a set that is left alone (paused, a spec that is refused) do not serve."""
_REFUSED = "60s"
"""A StorageClass may be changed to expand its volumes, and no watched object changes then."""


def report_on_set(component: Component, end: PassEnd[Plan], now: str) -> Report:
    """Report what a pass came to.

    Args:
        component: of the set's kind.
        end: what the pass came to.
        now: the present, RFC 3339.
    """
    observed, reporter = read_observed(end.observed, component.stores), component.reporter
    if end.failure and not observed.complete:
        return unobserved(end.resource, end.failure)
    seen = SetPass(end.resource, end.plan, observed, _rollout(end, observed), now)
    status = _status(component, seen, _problems(seen, end.applied), end.failure)
    return Report(
        status=status,
        events=[
            *from_changes(end.applied.before, end.applied.objects, [end.plan.workload]),
            *roll_events(seen.roll),
            *(reporter.events(seen) if reporter.events else ()),
            *observed.stores.events,
        ],
        ready=is_ready_and_synced(status),
        message=str(status["message"]),
        requeue=_requeue(component, seen, status),
    )


def _rollout(end: PassEnd[Plan], observed: SetObserved) -> Rollout:
    workload = end.applied.objects.get(end.plan.workload) or observed.workload
    replicas = (end.resource.get("spec") or {}).get("replicas")
    found = Rollout.of(workload, None if end.plan.paused else replicas)
    return replace(found, seen=found.seen and not _is_uncounted(found, end.resource, observed))


def _is_uncounted(rollout: Rollout, resource: Resource, observed: SetObserved) -> bool:
    """Return whether a StatefulSet counts none of its Pods, although some of them are ready.

    One that was recreated for larger volumes does so until its controller has adopted them: how
    many there are is not known until then, and the database serves.
    """
    if rollout.current:
        return False
    expected = set(expected_pods(resource, rollout.desired))
    return any(one["metadata"]["name"] in expected and is_ready(one) for one in observed.pods)


def _problems(seen: SetPass, applied: Applied) -> PodProblems:
    """Return what keeps Pods from existing or starting, those of helpers included.

    The workload is newer than what was observed of its Pods; when all of them serve, that is over.
    """
    rollout = seen.rollout
    is_over = rollout.exists and rollout.up_to_date and rollout.ready >= rollout.desired
    found = PodProblems() if is_over else seen.observed.pod_problems
    helpers = refused_helpers(applied.objects, seen.plan.workload)
    return replace(found, not_created={**found.not_created, **helpers})


def _status(
    component: Component, seen: SetPass, problems: PodProblems, failure: str
) -> dict[str, Any]:
    plan, rollout, reporter = seen.plan, seen.rollout, component.reporter
    certificate = tls.status(seen.resource, seen.observed.certificate)
    facts = SetFacts(
        resource=seen.resource,
        rollout=rollout,
        pods=seen.pods,
        expected=expected_pods(seen.resource, rollout.desired if rollout.exists else 0),
        paused=plan.paused,
        invalid=plan.invalid,
        waiting=plan.waiting_for,
        failure=failure,
        refused=plan.refused,
        volumes=growing(seen.observed.claims),
        roll=seen.roll,
        findings=reporter.findings(seen) if reporter.findings else Findings(),
        has_stores=component.has_stores,
        health=seen.health,
        problems=problems,
        certificate=tls.expiring(certificate, seen.now),
    )
    found = set_status(facts, seen.now)
    seen = replace(seen, serves=holds({"status": found}, ConditionType.READY))
    status = {
        **found,
        **_client_address(component, seen, certificate),
        **(reporter.status(seen) if reporter.status else {}),
    }
    return {name: value for name, value in status.items() if value is not None}


def _client_address(
    component: Component, seen: SetPass, certificate: dict[str, str] | None
) -> dict[str, Any]:
    """Return where clients connect, and with which certificate."""
    if component.client_port is None or not seen.rollout.exists:
        return {}
    metadata = seen.resource["metadata"]
    base = names.base_name(component.kind, metadata["name"])
    address = {"host": f"{base}.{metadata['namespace']}", "port": component.client_port}
    return {**address, "tls": certificate}


def expected_pods(resource: Resource, replicas: int) -> list[str]:
    """Return the names of a StatefulSet's Pods; those of a Deployment are random."""
    kind = resource["kind"]
    if names.WORKLOADS[kind] != "StatefulSet":
        return []
    base = names.base_name(kind, resource["metadata"]["name"])
    return [f"{base}-{ordinal}" for ordinal in range(replicas)]


def _requeue(component: Component, seen: SetPass, status: dict[str, Any]) -> str:
    """Return when to check again; empty while nothing but an event can bring news."""
    plan = seen.plan
    held = plan.waiting_for == UPDATE_PAUSED or is_held({"status": status})
    idle = is_ready_and_synced(status) or plan.paused or bool(plan.invalid) or held
    found = "" if idle else _REFUSED if plan.refused else component.period
    found = found if seen.health.is_good or plan.paused else _SILENT
    found = _while_pods_change(seen, found)
    if component.reporter.requeue:
        found = component.reporter.requeue(seen, found)
    if not plan.paused and _awaits_the_end_of_pods(seen):
        found = _ENDING
    return roll_requeue(seen.roll, found)


def _while_pods_change(seen: SetPass, otherwise: str) -> str:
    """Return when to check Pods again, whose changes start no pass.

    The status of the workload reports their readiness, but not what keeps them from it, nor
    readiness that changes; and it may be newer than the Pods that were observed.
    """
    rollout = seen.rollout
    agreed = sum(map(is_ready, seen.pods)) == rollout.ready
    serves = rollout.ready >= rollout.desired
    if not rollout.exists or (agreed and serves):
        return otherwise
    early = serves and not holds(seen.resource, ConditionType.READY)
    if early or became_unready_lately(seen.pods, seen.now):
        return _MOVING
    return otherwise or ("" if serves else _LEFT_ALONE)


def _awaits_the_end_of_pods(seen: SetPass) -> bool:
    """Return whether Pods of a Deployment still end; the status of a StatefulSet shows its own."""
    if names.WORKLOADS[seen.resource["kind"]] != "Deployment":
        return False
    return any(pod["metadata"].get("deletionTimestamp") for pod in seen.pods)
