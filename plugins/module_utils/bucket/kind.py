# SPDX-License-Identifier: Apache-2.0
"""What is asked of a BucketClaim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..admission.shapes import Mistake
from ..api import names
from ..api.types import Resource
from ..backup.task import jobs
from ..backup.task.objects import task_references
from ..backup.task.plan import PassContext
from ..reporting.events import Occurrence, occurrence
from ..reporting.report import Applied, Report
from ..workload.component import Reference
from ..workload.kind import ALONE, OwningKind, Play
from ..workload.plans import Observed
from ..workload.references import by_name
from .bucket_jobs import secrets_of
from .claims import RELEASED, owner_of
from .marking import SUFFIX as CLAIM
from .planning import SUFFIX, plan_bucket
from .plans import BucketPlan
from .status import metrics_of, status_of


class BucketClaimKind(OwningKind[BucketPlan]):
    """The right of a LogSet to a path in an object store."""

    plan_type = BucketPlan

    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label: other claims, the LogSet, and what deletes the data."""
        del play
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
        found |= {
            label: by_name("v1", "Secret", {"namespace": namespace, "name": secret})
            for label, secret in secrets_of(resource).items()
        }
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

    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> BucketPlan:
        """Decide what a pass does."""
        return plan_bucket(resource, observed, PassContext.of(observed, play))

    def report(
        self,
        resource: Resource,
        plan: BucketPlan,
        observed: Observed,
        applied: Applied,
        failure: str,
    ) -> Report:
        """Report what a pass came to."""
        del observed, applied
        message = failure or plan.invalid or plan.message
        found = status_of(resource, plan, failure)
        return Report(found, _events(resource, plan), plan.done, message, plan.requeue)

    def metrics(self, resource: Resource, status: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the metrics of a claim: its state."""
        return metrics_of(resource, status)

    def mistakes(self, resource: Resource) -> list[Mistake]:
        """Return nothing: the schema says all."""
        del resource
        return []

    def warnings(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid claim."""
        del resource, old
        return []


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
