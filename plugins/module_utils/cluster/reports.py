# SPDX-License-Identifier: Apache-2.0
"""What a pass over a MatrixOneCluster reports at its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..api.cron import duration
from ..api.durations import seconds
from ..api.errors import RenderingError
from ..api.fields import Fields
from ..api.timestamps import unix_time
from ..api.types import Manifest, Resource
from ..reporting.events import Occurrence, occurrence
from ..reporting.reasons import STOPPED_ON_PURPOSE, ConditionType
from ..reporting.report import Report, is_ready_and_synced, unobserved
from ..upgrade.record import CATALOG, UPDATING
from ..workload.kind import PassEnd
from ..workload.plans import Observed, named
from . import fencing, hibernation, restore_status, restoring, upgrade_status, upgrading
from . import metric_user_status as metrics
from . import root_credential_events as logins
from .conditions import ClusterFacts
from .database_results import DatabaseResults
from .planning import ClusterPlan
from .rendering import render_matrixonecluster
from .status import cluster_status

_PERIOD = "15s"
_NEXT = "1s"
_SOON = "5s"
"""Nothing that is watched changes when the database answers."""
_REFUSED = "60s"
"""A credential may be corrected, and no watched object changes then."""


def report_on_cluster(end: PassEnd[ClusterPlan]) -> Report:
    """Report what a pass came to."""
    resource, plan, observed, failure = end.resource, end.plan, end.observed, end.failure
    if failure and "logSet" not in observed:
        return unobserved(resource, failure)
    results = DatabaseResults.read(observed.get("results") or {})
    status = cluster_status(_facts(end, results))
    ready = is_ready_and_synced(status) or _is_stopped(status)
    idle = ready or plan.paused or bool(plan.invalid)
    requeue = "" if idle else _retry(results) or _PERIOD
    if results.unanswered or plan.upgrade.get("phase") == CATALOG:
        requeue = _SOON
    if plan.restoring and plan.restore.get("phase") == restoring.COMPLETED and not failure:
        # Components follow as soon as it is on record that the data are there.
        requeue = _NEXT
    if plan.upgrade.get("phase") == UPDATING != upgrading.recorded(resource, observed).get("phase"):
        # They are changed as soon as it is on record that this begins.
        requeue = _NEXT
    sleep, windows = status.get("hibernation") or {}, status.get("maintenance") or {}
    fence = status.get("fence") or {}
    if closing := fencing.requeue(fence, plan.fence):
        requeue = closing
    if not plan.paused:
        requeue = metrics.requeue(resource, results, requeue)
        changes = [one["nextChange"] for one in (sleep, windows) if one.get("nextChange")]
        now = str(plan.hibernation.get("at") or "")
        requeue = _soonest([requeue, hibernation.requeue(sleep), *_until(changes, now)])
    return Report(
        status=status,
        events=[
            *_credential_events(plan, observed, failure),
            *logins.occurrences(results.login),
            *metrics.occurrences(results, resource),
            *restore_status.occurrences(plan.restoring, plan.restore, failure),
            *_upgrade_events(resource, plan, observed, failure),
            *hibernation.occurrences(hibernation.recorded(resource), sleep),
            *fencing.occurrences(fencing.recorded(resource), fence),
        ],
        ready=ready,
        message=str(status["message"]),
        requeue=requeue,
    )


def _until(changes: Iterable[str], now: str) -> list[str]:
    """Return the times to wait until some moments, RFC 3339; none if the present is unknown."""
    return [duration(unix_time(change) - unix_time(now)) for change in changes if now]


def _soonest(times: Iterable[str]) -> str:
    """Return the shortest of some times to wait, of which an empty one means never."""
    found = [one for one in times if one]
    return min(found, key=lambda one: seconds(Fields("", {"time": one}), "time"), default="")


def _retry(results: DatabaseResults) -> str:
    """Return when the credential is tried again; empty if the database has it."""
    return (results.login.retry or _REFUSED) if results.login.problem else ""


def _is_stopped(status: Mapping[str, Any]) -> bool:
    """Return whether a cluster is as its spec asks for, and answers no SQL because of that."""
    states = {entry["type"]: entry for entry in status["conditions"]}
    is_synced = states[ConditionType.SYNCED.value]["status"] == "True"
    return is_synced and states[ConditionType.READY.value]["reason"] in STOPPED_ON_PURPOSE


def _facts(end: PassEnd[ClusterPlan], results: DatabaseResults) -> ClusterFacts:
    resource, plan, observed, failure = end.resource, end.plan, end.observed, end.failure
    single = [observed.get(label) for label in ("logSet", "dnSet", "proxySet", "webUI")]
    found = [one for one in [*single, *(observed.get("cnSets") or [])] if one is not None]
    credential = observed.get("credential")
    return ClusterFacts(
        resource=resource,
        desired=(() if plan.restoring or plan.held else plan.objects) or _parts(resource, found),
        live={**{named(one): one for one in found}, **end.applied.objects},
        credential=credential["metadata"]["name"] if credential else _created(plan, failure),
        paused=plan.paused,
        invalid=plan.invalid,
        waiting=plan.waiting_for,
        failure=failure,
        metrics=metrics.status_of(resource, results),
        login=logins.problem(results.login),
        connection=results.connection,
        unanswered=results.unanswered,
        restore=plan.restore or restoring.recorded(resource, observed),
        restoring=plan.restoring,
        upgrade=plan.upgrade or upgrading.recorded(resource, observed),
        no_answer=plan.unanswered,
        stuck=plan.stuck,
        hibernation=plan.hibernation,
        maintenance=plan.maintenance,
        fence=fencing.report(resource, plan.fence, results.fence),
        held=bool(plan.held),
    )


def _created(plan: ClusterPlan, failure: str) -> str:
    return "" if failure else plan.credential


def _parts(resource: Resource, existing: list[Manifest]) -> list[Manifest]:
    """Return the parts of a cluster that is left alone: those that exist, and kinds that it lacks.

    Without any of these the cluster does not serve.
    """
    try:
        rendered = render_matrixonecluster(resource)
    except RenderingError:
        return existing
    kinds = {one["kind"] for one in existing}
    return [*existing, *(one for one in rendered if one["kind"] not in kinds)]


def _upgrade_events(
    resource: Resource, plan: ClusterPlan, observed: Observed, failure: str
) -> list[Occurrence]:
    if failure or not plan.upgrade:
        return []
    return upgrade_status.occurrences(upgrading.recorded(resource, observed), plan.upgrade)


def _credential_events(plan: ClusterPlan, observed: Observed, failure: str) -> list[Occurrence]:
    if not plan.credential or observed.get("credential") is not None or failure:
        return []
    note = f"created a random root credential in Secret {plan.credential}"
    return [occurrence("CredentialCreated", note, action="Create")]
