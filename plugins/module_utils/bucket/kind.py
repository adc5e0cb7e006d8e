# SPDX-License-Identifier: Apache-2.0
"""What is asked of a BucketClaim."""

from __future__ import annotations

from typing import Final

from ..api import names
from ..api.types import Resource
from ..backup.task import jobs
from ..backup.task.objects import secret_references, task_references
from ..backup.task.plan import PassContext
from ..reporting.events import Occurrence, occurrence
from ..reporting.report import Report
from ..workload.component import Reference
from ..workload.kind import Kind, PassEnd, PassStart, Planner, Reporter
from ..workload.references import by_name
from .bucket_jobs import secrets_of
from .claims import RELEASED, owner_of
from .marking import SUFFIX as CLAIM
from .observed import BucketObserved
from .planning import SUFFIX, plan_bucket
from .plans import BucketPlan
from .status import metrics_of, status_of


def _references(start: PassStart) -> dict[str, Reference]:
    """Return what to observe, by label: other claims, the LogSet, and what deletes the data."""
    resource = start.resource
    namespace, owner = resource["metadata"]["namespace"], owner_of(resource)
    claims = {"api_version": names.API_VERSION, "kind": names.BUCKET_CLAIM, "labels": {}}
    found: dict[str, Reference] = {
        "claims": {**claims, "if_allowed": True},
        "neighbours": {**claims, "namespace": namespace},
    }
    if owner is not None:
        place = {"name": owner.name, "namespace": namespace}
        labels = names.selector_labels(names.LOG_SET, owner.name, namespace)
        found["logSet"] = by_name(names.API_VERSION, names.LOG_SET, place)
        found["logPods"] = {**_all("v1", "Pod", namespace), "labels": labels}
    name = resource["metadata"]["name"]
    marking = task_references(resource, namespace, jobs.base_name(name, CLAIM))
    found |= secret_references(namespace, secrets_of(resource))
    if not resource["metadata"].get("deletionTimestamp"):
        return {**found, **marking}
    base = jobs.base_name(name, SUFFIX)
    return {
        **found,
        "claimJob": marking["job"],
        "dnSets": _all(names.API_VERSION, names.DN_SET, namespace),
        "cnSets": _all(names.API_VERSION, names.CN_SET, namespace),
        **task_references(resource, namespace, base),
    }


def _plan(start: PassStart) -> BucketPlan:
    return plan_bucket(start.resource, BucketObserved.read(start.observed), PassContext.of(start))


def _report(end: PassEnd[BucketPlan]) -> Report:
    plan = end.plan
    message = end.failure or plan.invalid or plan.message
    found = status_of(end.resource, plan, end.failure)
    return Report(found, _events(end.resource, plan), plan.done, message, plan.requeue)


def _all(api_version: str, kind: str, namespace: str) -> Reference:
    return {"api_version": api_version, "kind": kind, "namespace": namespace, "labels": {}}


def _events(resource: Resource, plan: BucketPlan) -> list[Occurrence]:
    if plan.kept:
        return [occurrence("DataKept", plan.kept, action="Delete", warning=True)]
    before = (resource.get("status") or {}).get("state")
    if plan.phase == RELEASED and before != RELEASED:
        return [occurrence("Released", plan.message, action="Release")]
    if resource["metadata"].get("deletionTimestamp") and plan.done and plan.message:
        return [occurrence("DataDeleted", plan.message, action="Delete")]
    return []


BUCKET_CLAIM: Final = Kind(
    plan_type=BucketPlan,
    planner=Planner(references=_references, plan=_plan),
    reporter=Reporter(report=_report, metrics=metrics_of),
)
"""The right of a LogSet to a path in an object store; the schema says all about one."""
