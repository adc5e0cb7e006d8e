# SPDX-License-Identifier: Apache-2.0
"""What is asked of a DatabaseUser."""

from __future__ import annotations

from typing import Final

from ..admission.shapes import Mistake, look_for
from ..api import names
from ..api.fields import as_table
from ..api.timestamps import timestamp_now
from ..api.types import Resource
from ..reporting.report import Report
from ..workload.component import Reference
from ..workload.kind import Judge, Kind, PassEnd, PassStart, Planner, Reporter
from ..workload.references import by_name
from .observed import UserObserved
from .planning import UserPlan, plan_user
from .spec import user_mistakes, user_warnings
from .status import report_on_user


def _references(start: PassStart) -> dict[str, Reference]:
    """Return what to observe, by label: the cluster, and the other users of the namespace."""
    resource = start.resource
    namespace = resource["metadata"]["namespace"]
    users = {"api_version": names.API_VERSION, "kind": names.DATABASE_USER, "labels": {}}
    found: dict[str, Reference] = {"others": {**users, "namespace": namespace}}
    name = as_table(as_table(resource.get("spec")).get("clusterRef")).get("name")
    if name and isinstance(name, str):
        place = {"namespace": namespace, "name": name}
        found["cluster"] = by_name(names.API_VERSION, names.CLUSTER, place)
    return found


def _plan(start: PassStart) -> UserPlan:
    return plan_user(start.resource, UserObserved.read(start.observed))


def _report(end: PassEnd[UserPlan]) -> Report:
    return report_on_user(end, timestamp_now())


def _mistakes(resource: Resource) -> list[Mistake]:
    return look_for(user_mistakes(resource))


DATABASE_USER: Final = Kind(
    plan_type=UserPlan,
    planner=Planner(references=_references, plan=_plan),
    reporter=Reporter(report=_report),
    judge=Judge(mistakes=_mistakes, warnings=user_warnings),
)
"""An SQL user of a cluster. It is in the database, so that nothing in Kubernetes belongs to it but
the Secret that is created for it."""
